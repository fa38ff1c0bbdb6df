// ResourceScatter* and ResourceScatterNd*: updates of some rows or slices, in place.
#include "convert.h"
#include "variable.h"

namespace mychip::bridge {
namespace {

using namespace tensorflow;  // NOLINT: OP_REQUIRES needs it

// What both kinds share: the checks of the variable, the launch, and when there is nothing to do. `Check` judges
// shapes.
using CheckFn = absl::Status (*)(const Tensor& params, const Tensor& indices, const Tensor& updates);
using BuildFn = decltype(&ops::ScatterRows);

void ComputeScatter(OpKernelContext* c, ops::Update update, KeyKind kind, CheckFn check, BuildFn build) {
  VarPtr variable;
  OP_REQUIRES_OK(c, Lookup(c, &variable));
  const Tensor& indices = c->input(1);
  const Tensor& updates = c->input(2);
  mutex_lock lock(*variable->mu());
  OP_REQUIRES_OK(c, CheckInitialized(c, variable.get()));
  const Tensor& params = *variable->tensor();
  OP_REQUIRES(c, params.dtype() == updates.dtype(),
              Invalid("Variable and updates dtypes don't match; respectively, ", DataTypeString(params.dtype()),
                      " and ", DataTypeString(updates.dtype())));
  OP_REQUIRES_OK(c, check(params, indices, updates));
  if (indices.NumElements() == 0 || updates.NumElements() == 0) return;
  ops::TensorType type, index_type, update_type;
  OP_REQUIRES_OK(c, TypeOf(params, &type));
  OP_REQUIRES_OK(c, TypeOf(indices, &index_type));
  OP_REQUIRES_OK(c, TypeOf(updates, &update_type));
  OP_REQUIRES_OK(c, OwnBuffer(c, variable.get()));
  OP_REQUIRES_OK(
      c, Run(c, Key(kind, static_cast<int64_t>(update)).Add(type).Add(index_type).Add(update_type),
             [&] { return build(update, type, index_type, update_type); }, {variable->tensor(), &indices, &updates}));
}

template <ops::Update update>
class Scatter : public OpKernel {
 public:
  explicit Scatter(OpKernelConstruction* c) : OpKernel(c) {}

  void Compute(OpKernelContext* c) override {
    ComputeScatter(c, update, KeyKind::kScatterRows, &Check, &ops::ScatterRows);
  }

 private:
  static absl::Status Check(const Tensor& params, const Tensor& indices, const Tensor& updates) {
    if (params.dims() < 1) return Invalid("A scatter needs a variable of rank 1 at least");
    TensorShape expected = indices.shape();
    for (int d = 1; d < params.dims(); ++d) expected.AddDim(params.dim_size(d));
    if (updates.dims() == 0 || updates.shape() == expected) return absl::OkStatus();
    return Invalid("Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got ",
                   "updates.shape ", updates.shape().DebugString(), ", indices.shape ", indices.shape().DebugString(),
                   ", params.shape ", params.shape().DebugString());
  }
};

template <ops::Update update>
class ScatterNd : public OpKernel {
 public:
  explicit ScatterNd(OpKernelConstruction* c) : OpKernel(c) {
    std::string policy;
    if (c->HasAttr("bad_indices_policy")) OP_REQUIRES_OK(c, c->GetAttr("bad_indices_policy", &policy));
    OP_REQUIRES(c, policy.empty() || policy == "DEFAULT" || policy == "ERROR",
                absl::UnimplementedError(absl::StrCat("MYCHIP: bad_indices_policy ", policy, " of ", c->def().op())));
  }

  void Compute(OpKernelContext* c) override {
    ComputeScatter(c, update, KeyKind::kScatterSlices, &Check, &ops::ScatterSlices);
  }

 private:
  static absl::Status Check(const Tensor& params, const Tensor& indices, const Tensor& updates) {
    if (params.dims() < 1) return Invalid("Output must be at least 1-D, got shape: ", params.shape().DebugString());
    if (indices.dims() < 1) return Invalid("Indices must be at least 1-D, got shape: ", indices.shape().DebugString());
    const int64_t depth = indices.dims() > 1 ? indices.dim_size(indices.dims() - 1) : 1;
    const int batch = indices.dims() > 1 ? indices.dims() - 1 : 1;
    if (depth > params.dims()) {
      return Invalid("Index depth ", depth, " exceeds the rank of the variable, shape ", params.shape().DebugString());
    }
    TensorShape expected;
    for (int d = 0; d < batch; ++d) expected.AddDim(indices.dim_size(d));
    for (int64_t d = depth; d < params.dims(); ++d) expected.AddDim(params.dim_size(d));
    if (updates.shape() == expected) return absl::OkStatus();
    return Invalid("Must have updates.shape = indices.shape[:batch_dim] + params_shape[slice_dim:], got ",
                   "updates.shape: ", updates.shape().DebugString(), ", indices.shape: ", indices.shape().DebugString(),
                   ", params_shape: ", params.shape().DebugString(), ", slice_dim: ", depth,
                   ", and batch_dim: ", batch);
  }
};

template <typename Kernel>
OpKernel* Create(OpKernelConstruction* c) {
  return new Kernel(c);
}

}  // namespace

std::vector<KernelRow> ScatterRows() {
  using ops::Update;
  static const std::vector<DataType> summed = [] {
    std::vector<DataType> types = kNumericTypes;
    types.push_back(DT_BOOL);  // add is "or", sub "different"
    return types;
  }();
  return {
      {"ResourceScatterUpdate", "dtype", &kAllTypes, true, {"resource"}, Create<Scatter<Update::kAssign>>},
      {"ResourceScatterAdd", "dtype", &kNumericTypes, true, {"resource"}, Create<Scatter<Update::kAdd>>},
      {"ResourceScatterSub", "dtype", &kNumericTypes, true, {"resource"}, Create<Scatter<Update::kSub>>},
      {"ResourceScatterMul", "dtype", &kNumericTypes, true, {"resource"}, Create<Scatter<Update::kMul>>},
      {"ResourceScatterDiv", "dtype", &kNumericTypes, true, {"resource"}, Create<Scatter<Update::kDiv>>},
      {"ResourceScatterMin", "dtype", &kRealTypes, true, {"resource"}, Create<Scatter<Update::kMin>>},
      {"ResourceScatterMax", "dtype", &kRealTypes, true, {"resource"}, Create<Scatter<Update::kMax>>},
      {"ResourceScatterNdUpdate", "T", &kAllTypes, true, {"ref"}, Create<ScatterNd<Update::kAssign>>},
      {"ResourceScatterNdAdd", "T", &summed, true, {"ref"}, Create<ScatterNd<Update::kAdd>>},
      {"ResourceScatterNdSub", "T", &summed, true, {"ref"}, Create<ScatterNd<Update::kSub>>},
      {"ResourceScatterNdMin", "T", &kRealTypes, true, {"ref"}, Create<ScatterNd<Update::kMin>>},
      {"ResourceScatterNdMax", "T", &kRealTypes, true, {"ref"}, Create<ScatterNd<Update::kMax>>},
  };
}

}  // namespace mychip::bridge
