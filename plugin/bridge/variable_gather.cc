// ResourceGather and ResourceGatherNd. The variable stays copy-on-write: the chip runs in order, so the buffer read
// here cannot be written before the read, and dense readers need no copies (TensorFlow's own kernels switch the mode).
#include <limits>

#include "convert.h"
#include "variable.h"

namespace mychip::bridge {
namespace {

using namespace tensorflow;  // NOLINT: OP_REQUIRES needs it

class Gather : public OpKernel {
 public:
  explicit Gather(OpKernelConstruction* c) : OpKernel(c) { OP_REQUIRES_OK(c, c->GetAttr("batch_dims", &batch_dims_)); }

  void Compute(OpKernelContext* c) override {
    VarPtr variable;
    OP_REQUIRES_OK(c, Lookup(c, &variable));
    tf_shared_lock lock(*variable->mu());
    OP_REQUIRES_OK(c, CheckInitialized(c, variable.get()));
    const Tensor& params = *variable->tensor();
    const Tensor& indices = c->input(1);
    OP_REQUIRES_OK(c, Check(params, indices));
    TensorShape shape;
    for (int d = 0; d < batch_dims_; ++d) shape.AddDim(params.dim_size(d));
    for (int d = batch_dims_; d < indices.dims(); ++d) shape.AddDim(indices.dim_size(d));
    for (int d = batch_dims_ + 1; d < params.dims(); ++d) shape.AddDim(params.dim_size(d));
    Tensor* out = nullptr;
    OP_REQUIRES_OK(c, c->allocate_output(0, shape, &out));
    if (out->NumElements() == 0) return;
    ops::TensorType params_type, index_type;
    OP_REQUIRES_OK(c, TypeOf(params, &params_type));
    OP_REQUIRES_OK(c, TypeOf(indices, &index_type));
    OP_REQUIRES_OK(
        c, Run(c, Key(KeyKind::kGatherRows, batch_dims_).Add(params_type).Add(index_type),
               [&] { return ops::GatherRows(params_type, index_type, batch_dims_); }, {&params, &indices, out}));
  }

 private:
  absl::Status Check(const Tensor& params, const Tensor& indices) const {
    if (params.dims() < 1) return Invalid("params must be at least 1 dimensional");
    if (params.dims() <= batch_dims_ || indices.dims() < batch_dims_) {
      return Invalid("params must have at least ", batch_dims_ + 1, " and indices at least ", batch_dims_,
                     " dimensions (batch_dims) but they have shapes ", params.shape().DebugString(), " and ",
                     indices.shape().DebugString());
    }
    for (int d = 0; d < batch_dims_; ++d) {
      if (params.dim_size(d) != indices.dim_size(d)) {
        return Invalid("params.shape[", d, "] and indices.shape[", d, "] (batch_dims) differ: ", params.dim_size(d),
                       " and ", indices.dim_size(d));
      }
    }
    if (indices.dtype() == DT_INT32 && params.dim_size(0) > std::numeric_limits<int32_t>::max()) {
      return Invalid("params.shape[0] too large for int32 indexing: ", params.dim_size(0), " > ",
                     std::numeric_limits<int32_t>::max());
    }
    return absl::OkStatus();
  }

  int batch_dims_ = 0;
};

class GatherNd : public OpKernel {
 public:
  explicit GatherNd(OpKernelConstruction* c) : OpKernel(c) {}

  void Compute(OpKernelContext* c) override {
    VarPtr variable;
    OP_REQUIRES_OK(c, Lookup(c, &variable));
    tf_shared_lock lock(*variable->mu());
    OP_REQUIRES_OK(c, CheckInitialized(c, variable.get()));
    const Tensor& params = *variable->tensor();
    const Tensor& indices = c->input(1);
    OP_REQUIRES(c, params.dims() >= 1, Invalid("params must be at least a vector"));
    OP_REQUIRES(c, indices.dims() >= 1, Invalid("indices must be at least a vector"));
    const int64_t depth = indices.dim_size(indices.dims() - 1);
    OP_REQUIRES(
        c, depth <= params.dims(),
        Invalid("index innermost dimension length must be <= params rank; saw: ", depth, " vs. ", params.dims()));
    TensorShape shape = indices.shape();
    shape.RemoveLastDims(1);
    for (int64_t d = depth; d < params.dims(); ++d) shape.AddDim(params.dim_size(d));
    OP_REQUIRES(
        c, shape.num_elements() == 0 || params.NumElements() > 0,
        Invalid("Requested more than 0 entries, but params is empty.  Params shape: ", params.shape().DebugString()));
    Tensor* out = nullptr;
    OP_REQUIRES_OK(c, c->allocate_output(0, shape, &out));
    if (out->NumElements() == 0) return;
    ops::TensorType params_type, index_type;
    OP_REQUIRES_OK(c, TypeOf(params, &params_type));
    OP_REQUIRES_OK(c, TypeOf(indices, &index_type));
    OP_REQUIRES_OK(c, Run(c, Key(KeyKind::kGatherSlices, 0).Add(params_type).Add(index_type),
                          [&] { return ops::GatherSlices(params_type, index_type); }, {&params, &indices, out}));
  }
};

template <typename Kernel>
OpKernel* Create(OpKernelConstruction* c) {
  return new Kernel(c);
}

}  // namespace

std::vector<KernelRow> GatherRows() {
  return {
      {"ResourceGather", "dtype", &kAllTypes, true, {"resource"}, Create<Gather>},
      {"ResourceGatherNd", "dtype", &kAllTypes, true, {"resource"}, Create<GatherNd>},
  };
}

}  // namespace mychip::bridge
