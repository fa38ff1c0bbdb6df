// ResourceApply* and ResourceSparseApply*: optimizer steps on a variable and its slots, in place.
#include <algorithm>
#include <set>

#include "convert.h"
#include "mychip/ops/optimizer.h"
#include "variable.h"

namespace mychip::bridge {
namespace {

using namespace tensorflow;  // NOLINT: OP_REQUIRES needs it

constexpr std::string_view kDense = "ResourceApply", kSparse = "ResourceSparseApply";

const ops::Optimizer* Find(std::string_view op) {
  const std::string_view name = op.substr((op.compare(0, kDense.size(), kDense) == 0 ? kDense : kSparse).size());
  for (const ops::Optimizer& o : ops::Optimizers()) {
    if (name == o.name) return &o;
  }
  return nullptr;
}

class ApplyOptimizer : public OpKernel {
 public:
  explicit ApplyOptimizer(OpKernelConstruction* c) : OpKernel(c), optimizer_(Find(c->def().op())) {
    if (optimizer_->flag != nullptr) OP_REQUIRES_OK(c, c->GetAttr(optimizer_->flag, &flag_));
    int end;
    if (!InputRange("grad", &gradient_, &end).ok()) OP_REQUIRES_OK(c, InputRange("delta", &gradient_, &end));
    if (c->def().op().compare(0, kSparse.size(), kSparse) == 0) {
      OP_REQUIRES_OK(c, InputRange("indices", &indices_, &end));
    }
    for (int i = optimizer_->states; i < c->num_inputs(); ++i) {
      if (i != gradient_ && i != indices_) scalars_.push_back(i);
    }
  }

  void Compute(OpKernelContext* c) override {
    std::vector<VarPtr> variables(optimizer_->states);
    std::set<decltype(variables[0]->mu())> mutexes;  // in one order for all kernels
    for (int i = 0; i < optimizer_->states; ++i) {
      OP_REQUIRES_OK(c, LookupResource(c, HandleFromInput(c, i), &variables[i]));
      mutexes.insert(variables[i]->mu());
    }
    std::vector<std::unique_ptr<mutex_lock>> locks;
    for (auto* m : mutexes) locks.push_back(std::make_unique<mutex_lock>(*m));
    OP_REQUIRES_OK(c, CheckStates(c, variables));
    OP_REQUIRES_OK(c, CheckOperands(c, *variables[0]->tensor()));
    if (c->input(gradient_).NumElements() == 0) return;
    ops::OptimizerStep step{optimizer_, flag_, {}, {}};
    OP_REQUIRES_OK(c, TypeOf(*variables[0]->tensor(), &step.state));
    std::vector<const Tensor*> arguments;
    for (VarPtr& variable : variables) {
      OP_REQUIRES_OK(c, OwnBuffer(c, variable.get()));
      arguments.push_back(variable->tensor());
    }
    for (int i : scalars_) {
      ops::TensorType type;
      OP_REQUIRES_OK(c, TypeOf(c->input(i), &type));
      step.scalars.push_back(type.dtype);
      arguments.push_back(&c->input(i));
    }
    arguments.push_back(&c->input(gradient_));
    OP_REQUIRES_OK(c, indices_ < 0 ? RunDense(c, step, arguments) : RunSparse(c, step, std::move(arguments)));
  }

 private:
  static absl::Status CheckStates(OpKernelContext* c, const std::vector<VarPtr>& variables) {
    const Tensor& weights = *variables[0]->tensor();
    for (size_t i = 0; i < variables.size(); ++i) {
      const Tensor& state = *variables[i]->tensor();
      if (!variables[i]->is_initialized || !state.IsInitialized()) {
        return absl::FailedPreconditionError(absl::StrCat("Attempting to use uninitialized variables: ",
                                                          HandleFromInput(c, static_cast<int>(i)).name()));
      }
      if (state.shape() != weights.shape() || state.dtype() != weights.dtype()) {
        return Invalid("var and its slot ", i, " do not have the same shape and dtype: ", weights.shape().DebugString(),
                       " ", DataTypeString(weights.dtype()), " and ", state.shape().DebugString(), " ",
                       DataTypeString(state.dtype()));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckOperands(OpKernelContext* c, const Tensor& weights) const {
    for (int i : scalars_) {
      if (c->input(i).dims() != 0) {
        return Invalid("Input ", i, " of ", type_string(), " is not a scalar: ", c->input(i).shape().DebugString());
      }
    }
    const TensorShape& gradient = c->input(gradient_).shape();
    if (indices_ < 0) {
      if (gradient == weights.shape()) return absl::OkStatus();
      return Invalid("var and grad do not have the same shape ", weights.shape().DebugString(), " ",
                     gradient.DebugString());
    }
    const TensorShape& indices = c->input(indices_).shape();
    if (weights.dims() < 1) return Invalid("var must be at least 1 dimensional");
    if (indices.dims() != 1) return Invalid("indices must be one-dimensional");
    TensorShape expected = weights.shape();
    expected.set_dim(0, indices.dim_size(0));
    if (gradient == expected) return absl::OkStatus();
    return Invalid("grad must be the same size as indices in the first dimension and as var in the others: grad ",
                   gradient.DebugString(), ", indices ", indices.DebugString(), ", var ",
                   weights.shape().DebugString());
  }

  ops::CacheKey StepKey(KeyKind kind, const ops::OptimizerStep& step) const {
    ops::CacheKey key = Key(kind, optimizer_ - ops::Optimizers().data());
    key.Add(step.flag).Add(step.state);
    for (DType scalar : step.scalars) key.Add(static_cast<int64_t>(scalar));
    return key;
  }

  absl::Status RunDense(OpKernelContext* c, const ops::OptimizerStep& step,
                        const std::vector<const Tensor*>& arguments) const {
    return Run(
        c, StepKey(KeyKind::kDenseApply, step), [&] { return ops::DenseUpdate(step); }, arguments);
  }

  absl::Status RunSparse(OpKernelContext* c, const ops::OptimizerStep& step,
                         std::vector<const Tensor*> arguments) const {
    const Tensor& indices = c->input(indices_);
    ops::TensorType type;
    absl::Status known = TypeOf(indices, &type);
    if (!known.ok()) return known;
    arguments.push_back(&indices);
    const int64_t m = indices.NumElements();
    return Run(
        c, StepKey(KeyKind::kSparseApply, step).Add(m).Add(static_cast<int64_t>(type.dtype)),
        [&] { return ops::SparseUpdate(step, m, type.dtype); }, arguments);
  }

  const ops::Optimizer* const optimizer_;
  bool flag_ = false;
  int gradient_ = -1, indices_ = -1;
  std::vector<int> scalars_;
};

OpKernel* Create(OpKernelConstruction* c) { return new ApplyOptimizer(c); }

// The handles' names: input arguments of type resource.
std::vector<const char*> Handles(const std::string& op) {
  std::vector<const char*> names;
  const OpDef* def = nullptr;
  if (!OpRegistry::Global()->LookUpOpDef(op, &def).ok()) return names;
  for (const OpDef::ArgDef& argument : def->input_arg()) {
    if (argument.type() == DT_RESOURCE) names.push_back(argument.name().c_str());
  }
  return names;
}

}  // namespace

void RegisterOptimizerKernels() {
  static std::vector<std::string> names;  // rows hold pointers into it
  names.reserve(2 * ops::Optimizers().size());
  std::vector<KernelRow> rows;
  for (const ops::Optimizer& o : ops::Optimizers()) {
    for (const std::string_view prefix : {kDense, kSparse}) {
      if (!(prefix == kDense ? o.dense : o.sparse)) continue;
      names.push_back(std::string(prefix) + o.name);
      const auto* types = o.complex ? &kFloatComplexTypes : &kFloatTypes;
      rows.push_back({names.back().c_str(), "T", types, prefix == kSparse, Handles(names.back()), Create});
    }
  }
  Register(rows);
}

}  // namespace mychip::bridge
