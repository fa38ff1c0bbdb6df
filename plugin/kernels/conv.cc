// Convolutions: 2-D, 3-D and depthwise, with their gradients.
#include "mychip/ops/conv.h"
#include "mychip/runtime/matmul_precision.h"

#include "table.h"
#include "window.h"

namespace mychip::kernels {
namespace {

using ops::ConvSpec;
using ops::ConvTypes;

// What a node computes, and which of its inputs are host-memory sizes.
enum class Which { kForward, kInput, kFilter };

std::string Text(const Dims& dims) { return ops::ToString(dims); }

constexpr char kCacheName[] = "conv";

class ConvKernel : public Kernel {
 public:
  ConvKernel(Construction& c, Which which, bool depthwise) : attrs_(c), which_(which), depthwise_(depthwise) {
    if (c.status().ok() && (attrs_.batch_stride != 1 || attrs_.channel_stride != 1)) {
      c.Fail(Unimplemented("Current implementation does not yet support strides in the batch and depth dimensions."));
    }
  }

  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input a, ctx.In(which_ == Which::kInput ? 1 : 0));
    MYCHIP_ASSIGN_OR_RETURN(const Input b, ctx.In(which_ == Which::kForward ? 1 : 2));
    ConvTypes types;
    types.input = types.filter = types.output = {a.type.dtype, {}};
    MYCHIP_RETURN_IF_ERROR(Shapes(ctx, a, b, &types));
    ConvSpec spec;
    Dims expected;
    MYCHIP_RETURN_IF_ERROR(Fit(types, &spec, &expected));
    if (which_ == Which::kForward) types.output.dims = expected;
    if (types.output.dims != expected) {
      return InvalidArgument("Conv gradient: out_backprop has shape %s, expected %s for input %s and filter %s",
                             Text(types.output.dims).c_str(), Text(expected).c_str(), Text(types.input.dims).c_str(),
                             Text(types.filter.dims).c_str());
    }
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(kCacheName)).Add(static_cast<int64_t>(which_));
    key.Add(types.input).Add(types.filter.dims).Add(types.output.dims);
    ops::AddToKey(spec, &key);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program, ctx.Program(key, [&] { return Build(spec, types); }));
    const TensorType& result = which_ == Which::kForward ? types.output
                               : which_ == Which::kInput ? types.input
                                                         : types.filter;
    return ctx.Launch(program, {a.span(), b.span()}, {{result, {}}});
  }

 private:
  // Fills in the dims of the tensors the node has or is told about.
  Status Shapes(Context& ctx, const Input& a, const Input& b, ConvTypes* types) const {
    const int rank = attrs_.spatial + 2;
    for (const Input* in : {&a, &b}) {
      if (in->rank() != rank) {
        return InvalidArgument("Conv: inputs must be %d-dimensional: %s", rank, Text(in->type.dims).c_str());
      }
    }
    switch (which_) {
      case Which::kForward:
        types->input.dims = a.type.dims, types->filter.dims = b.type.dims;
        return OkStatus();
      case Which::kInput: {
        types->filter.dims = a.type.dims, types->output.dims = b.type.dims;
        MYCHIP_ASSIGN_OR_RETURN(Dims sizes, ctx.HostInts(0));
        return InputSizes(sizes, types);
      }
      default: {
        types->input.dims = a.type.dims, types->output.dims = b.type.dims;
        MYCHIP_ASSIGN_OR_RETURN(types->filter.dims, ctx.HostInts(1));
        if (static_cast<int>(types->filter.dims.size()) == rank) return OkStatus();
        return InvalidArgument("Conv filter gradient: filter_sizes must have %d values, not %zu", rank,
                               types->filter.dims.size());
      }
    }
  }

  // input_sizes holds every dim, or the spatial ones only.
  Status InputSizes(const Dims& sizes, ConvTypes* types) const {
    const int rank = attrs_.spatial + 2;
    if (static_cast<int>(sizes.size()) == rank) {
      types->input.dims = sizes;
      return OkStatus();
    }
    if (static_cast<int>(sizes.size()) != attrs_.spatial) {
      return InvalidArgument("Conv input gradient: input_sizes must have %d or %d values, not %zu", attrs_.spatial,
                             rank, sizes.size());
    }
    types->input.dims = types->output.dims;
    types->input.dims[attrs_.channel_dim()] = types->filter.dims[attrs_.spatial];
    for (int d = 0; d < attrs_.spatial; ++d) types->input.dims[attrs_.spatial_dim(d)] = sizes[d];
    return OkStatus();
  }

  // Checks the forward convolution of types->input and types->filter; its spec and result dims.
  Status Fit(const ConvTypes& types, ConvSpec* spec, Dims* output) const {
    const Dims &in = types.input.dims, &filter = types.filter.dims;
    const int64_t channels = in[attrs_.channel_dim()], per_group = filter[attrs_.spatial];
    const int64_t last = filter[attrs_.spatial + 1];
    const bool fits = depthwise_ ? per_group == channels : per_group > 0 && channels % per_group == 0;
    if (!fits) {
      return InvalidArgument("input depth must be evenly divisible by filter depth: %lld vs %lld",
                             static_cast<long long>(channels), static_cast<long long>(per_group));
    }
    if (!depthwise_ && last % (channels / per_group > 0 ? channels / per_group : 1) != 0) {
      return InvalidArgument("output depth must be evenly divisible by number of groups: %lld vs %lld",
                             static_cast<long long>(last), static_cast<long long>(channels / per_group));
    }
    spec->channels_first = attrs_.channels_first;
    spec->depthwise = depthwise_;
    spec->precision = MatmulPrecision(types.input.dtype);
    *output = in;
    (*output)[attrs_.channel_dim()] = depthwise_ ? channels * last : last;
    for (int d = 0; d < attrs_.spatial; ++d) {
      if (filter[d] <= 0) return InvalidArgument("filter must not have zero elements: %s", Text(filter).c_str());
      MYCHIP_ASSIGN_OR_RETURN(const WindowSize w, PlaceWindow(attrs_, d, in[attrs_.spatial_dim(d)], filter[d]));
      (*output)[attrs_.spatial_dim(d)] = w.output;
      spec->dims.push_back({attrs_.strides[d], attrs_.dilations[d], w.pad_low, w.pad_high});
    }
    return OkStatus();
  }

  Result<ProgramPtr> Build(const ConvSpec& spec, const ConvTypes& types) const {
    switch (which_) {
      case Which::kForward:
        return ops::Convolution(spec, types);
      case Which::kInput:
        return ops::ConvolutionInputGrad(spec, types);
      default:
        return ops::ConvolutionFilterGrad(spec, types);
    }
  }

  const WindowAttrs attrs_;
  const Which which_;
  const bool depthwise_;
};

template <Which which, bool depthwise>
class Conv : public ConvKernel {
 public:
  explicit Conv(Construction& c) : ConvKernel(c, which, depthwise) {}
};

std::vector<Constraint> T(TypeSet types) { return {{"T", types}}; }

}  // namespace

void RegisterConv() {
  constexpr TypeSet kConv = kFloat | kInt32;
  Register({
      {"Conv2D", T(kConv), {}, &New<Conv<Which::kForward, false>>},
      {"Conv2DBackpropInput", T(kConv), {"input_sizes"}, &New<Conv<Which::kInput, false>>},
      {"Conv2DBackpropFilter", T(kFloat), {"filter_sizes"}, &New<Conv<Which::kFilter, false>>},
      {"Conv3D", T(kFloat), {}, &New<Conv<Which::kForward, false>>},
      {"Conv3DBackpropInputV2", T(kFloat), {"input_sizes"}, &New<Conv<Which::kInput, false>>},
      {"Conv3DBackpropFilterV2", T(kFloat), {"filter_sizes"}, &New<Conv<Which::kFilter, false>>},
      {"DepthwiseConv2dNative", T(kFloat), {}, &New<Conv<Which::kForward, true>>},
      {"DepthwiseConv2dNativeBackpropInput", T(kFloat), {"input_sizes"}, &New<Conv<Which::kInput, true>>},
      {"DepthwiseConv2dNativeBackpropFilter", T(kFloat), {"filter_sizes"}, &New<Conv<Which::kFilter, true>>},
  });
}

}  // namespace mychip::kernels
