// Max and average pooling, 2-D and 3-D, with their gradients.
#include "mychip/ops/pool.h"

#include "table.h"
#include "window.h"

namespace mychip::kernels {
namespace {

using ops::PoolSpec;

class PoolKernel : public Kernel {
 public:
  explicit PoolKernel(Construction& c) : attrs_(c), ksize_(c.Ints("ksize")) {
    if (!c.status().ok()) return;
    if (ksize_.size() != static_cast<size_t>(attrs_.spatial + 2)) {
      c.Fail(InvalidArgument("Sliding window ksize field must specify %d dimensions", attrs_.spatial + 2));
      return;
    }
    for (int64_t k : ksize_) {
      if (k <= 0) c.Fail(InvalidArgument("Sliding window ksize must be positive, got %lld", static_cast<long long>(k)));
    }
    if (ksize_[0] != 1 || attrs_.batch_stride != 1) {
      c.Fail(Unimplemented("Pooling is not yet supported on the batch dimension."));
    }
    if (c.status().ok() && (ksize_[attrs_.channel_dim()] != 1 || attrs_.channel_stride != 1)) {
      c.Fail(Unimplemented("Pooling over the depth dimension"));
    }
  }

 protected:
  // The windows over a tensor of these dims, and the result's dims.
  Result<PoolSpec> Windows(const Dims& input, Dims* output) const {
    if (static_cast<int>(input.size()) != attrs_.spatial + 2) {
      return InvalidArgument("tensor_in must be %d-dimensional: %s", attrs_.spatial + 2, ops::ToString(input).c_str());
    }
    PoolSpec spec(input.size());
    *output = input;
    for (int d = 0; d < attrs_.spatial; ++d) {
      const int at = attrs_.spatial_dim(d);
      MYCHIP_ASSIGN_OR_RETURN(const WindowSize w, PlaceWindow(attrs_, d, input[at], ksize_[at]));
      (*output)[at] = w.output;
      spec[at] = {ksize_[at], attrs_.strides[d], w.pad_low, w.pad_high};
    }
    return spec;
  }

  Status CheckGrad(const Input& grad, const Dims& expected) const {
    if (grad.type.dims == expected) return OkStatus();
    return InvalidArgument("Expected grad shape to be %s, but got %s", ops::ToString(expected).c_str(),
                           ops::ToString(grad.type.dims).c_str());
  }

  const WindowAttrs attrs_;
  const std::vector<int64_t> ksize_;
};

using Forward = Result<ProgramPtr> (*)(const PoolSpec&, const TensorType&, const TensorType&);

template <Forward build>
class Pool : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    TensorType out{in.type.dtype, {}};
    MYCHIP_ASSIGN_OR_RETURN(const PoolSpec spec, Windows(in.type.dims, &out.dims));
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(build)).Add(in.type);
    ops::AddToKey(spec, &key);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program, ctx.Program(key, [&] { return build(spec, in.type, out); }));
    return ctx.Launch(program, {in.span()}, {{out, {}}});
  }
};

// orig_input, orig_output, grad
class MaxPoolGrad : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const Input out, ctx.In(1));
    MYCHIP_ASSIGN_OR_RETURN(const Input grad, ctx.In(2));
    Dims expected;
    MYCHIP_ASSIGN_OR_RETURN(const PoolSpec spec, Windows(in.type.dims, &expected));
    MYCHIP_RETURN_IF_ERROR(CheckGrad(grad, expected));
    if (out.type.dims != expected) {
      return InvalidArgument("Expected orig_output shape to be %s, but got %s", ops::ToString(expected).c_str(),
                             ops::ToString(out.type.dims).c_str());
    }
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<MaxPoolGrad>)).Add(in.type);
    ops::AddToKey(spec, &key);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program,
                            ctx.Program(key, [&] { return ops::MaxPoolGrad(spec, in.type, grad.type); }));
    return ctx.Launch(program, {in.span(), grad.span()}, {{in.type, {}}});
  }
};

// orig_input_shape (host), grad
class AvgPoolGrad : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Dims dims, ctx.HostInts(0));
    MYCHIP_ASSIGN_OR_RETURN(const Input grad, ctx.In(1));
    const TensorType in{grad.type.dtype, dims};
    Dims expected;
    MYCHIP_ASSIGN_OR_RETURN(const PoolSpec spec, Windows(dims, &expected));
    MYCHIP_RETURN_IF_ERROR(CheckGrad(grad, expected));
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<AvgPoolGrad>)).Add(in);
    ops::AddToKey(spec, &key);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program,
                            ctx.Program(key, [&] { return ops::AvgPoolGrad(spec, in, grad.type); }));
    return ctx.Launch(program, {grad.span()}, {{in, {}}});
  }
};

std::vector<Constraint> T(TypeSet types) { return {{"T", types}}; }

}  // namespace

void RegisterPool() {
  Register({
      {"MaxPool", T(kReal), {}, &New<Pool<&ops::MaxPool>>},
      {"MaxPoolGrad", T(kReal), {}, &New<MaxPoolGrad>},
      {"MaxPool3D", T(kFloat), {}, &New<Pool<&ops::MaxPool>>},
      {"MaxPool3DGrad", {{"T", kFloat}, {"TInput", kFloat}}, {}, &New<MaxPoolGrad>},
      {"AvgPool", T(kFloat), {}, &New<Pool<&ops::AvgPool>>},
      {"AvgPoolGrad", T(kFloat), {"orig_input_shape"}, &New<AvgPoolGrad>},
      {"AvgPool3D", T(kFloat), {}, &New<Pool<&ops::AvgPool>>},
      {"AvgPool3DGrad", T(kFloat), {"orig_input_shape"}, &New<AvgPoolGrad>},
  });
}

}  // namespace mychip::kernels
