#include "mychip/ops/conv.h"

#include "mychip/ops/program_cache.h"

namespace mychip::ops {
namespace {

// Views in the unit's order: data [n, spatial..., c], filter [spatial..., ci / groups, co].
struct Geometry {
  const ConvSpec& spec;
  const ConvTypes& types;
  int spatial() const { return static_cast<int>(spec.dims.size()); }
  int64_t channels() const { return types.input.dims[spec.channels_first ? 1 : spatial() + 1]; }
  int64_t groups() const { return spec.depthwise ? channels() : channels() / types.filter.dims[spatial()]; }
  int64_t size(const TensorType& t, int d) const { return t.dims[d + (spec.channels_first ? 2 : 1)]; }

  View Data(Assembler* a, const TensorType& t) const {
    const View v = a->Argument(t);
    if (!spec.channels_first) return v;
    Dims order = {0};
    for (int d = 0; d < spatial(); ++d) order.push_back(d + 2);
    order.push_back(1);
    return Transposed(v, order);
  }
  // Depthwise filters hold [spatial, c, multiplier]; output channels are numbered channel-major, so it is one dim.
  View Filter(Assembler* a) const {
    const View v = a->Argument(types.filter);
    if (!spec.depthwise) return v;
    Dims dims(v.dims.begin(), v.dims.end() - 2);
    dims.push_back(1);
    dims.push_back(v.dims[spatial()] * v.dims[spatial() + 1]);
    return DenseView(v.buffer, v.offset, v.dtype, dims);
  }
};

ConvCmd Command(const View& lhs, const View& rhs, const View& out, Precision precision) {
  ConvCmd cmd;
  cmd.lhs = lhs, cmd.rhs = rhs, cmd.out = out;
  cmd.precision = precision;
  cmd.accumulate = ByteSize(lhs.dtype) == 1 ? DType::kS32 : ComputeType(lhs.dtype);
  return cmd;
}

View SwapEnds(const View& v) {  // first and last dim
  Dims order;
  for (int d = 0; d < v.rank(); ++d) order.push_back(d);
  std::swap(order.front(), order.back());
  return Transposed(v, order);
}

// The filter as the input gradient reads it: [spatial..., co / groups, ci], ci group-major.
View GradFilter(Assembler* a, const View& filter, int64_t groups) {
  const int r = filter.rank();
  const int64_t ci = filter.dims[r - 2], co = filter.dims[r - 1] / groups;
  View v = filter;
  v.dims.resize(r - 2);
  v.strides.resize(r - 2);
  const int64_t si = filter.strides[r - 2], so = filter.strides[r - 1];
  Dims result = v.dims;
  result.insert(result.end(), {co, groups * ci});
  v.dims.insert(v.dims.end(), {co, groups, ci});
  v.strides.insert(v.strides.end(), {so, co * so, si});
  if (groups > 1 && ci > 1) {
    const View copy = a->Temp(v.dtype, v.dims);
    a->Copy(v, copy);
    return DenseView(copy.buffer, copy.offset, v.dtype, result);
  }
  const int64_t step = groups > 1 ? co * so : si;
  v.dims = result;
  v.strides.resize(r - 1);
  v.strides.push_back(step);
  return v;
}

}  // namespace

Result<ProgramPtr> Convolution(const ConvSpec& spec, const ConvTypes& types) {
  Assembler a("conv");
  const Geometry g{spec, types};
  const View x = g.Data(&a, types.input), f = g.Filter(&a), y = g.Data(&a, types.output);
  if (types.input.elements() == 0 || types.filter.elements() == 0) {
    a.Fill(y, 0);
    return a.Build();
  }
  ConvCmd cmd = Command(x, f, y, spec.precision);
  cmd.feature_groups = g.groups();
  for (int d = 0; d < g.spatial(); ++d) {
    const ConvDim& c = spec.dims[d];
    cmd.window.push_back({f.dims[d], c.stride, c.pad_low, c.pad_high, 1, c.dilation, false});
  }
  a.Add(std::move(cmd));
  return a.Build();
}

Result<ProgramPtr> ConvolutionInputGrad(const ConvSpec& spec, const ConvTypes& types) {
  Assembler a("conv_input_grad");
  const Geometry g{spec, types};
  const View f = g.Filter(&a), dy = g.Data(&a, types.output), dx = g.Data(&a, types.input);
  if (types.output.elements() == 0 || types.filter.elements() == 0) {
    a.Fill(dx, 0);
    return a.Build();
  }
  ConvCmd cmd = Command(dy, GradFilter(&a, f, g.groups()), dx, spec.precision);
  cmd.feature_groups = g.groups();
  for (int d = 0; d < g.spatial(); ++d) {
    const ConvDim& c = spec.dims[d];
    const int64_t reach = (f.dims[d] - 1) * c.dilation, low = reach - c.pad_low;
    const int64_t dilated = (g.size(types.output, d) - 1) * c.stride + 1;
    const int64_t high = g.size(types.input, d) - 1 - (dilated - 1) - low + reach;
    cmd.window.push_back({f.dims[d], 1, low, high, c.stride, c.dilation, true});
  }
  a.Add(std::move(cmd));
  return a.Build();
}

Result<ProgramPtr> ConvolutionFilterGrad(const ConvSpec& spec, const ConvTypes& types) {
  Assembler a("conv_filter_grad");
  const Geometry g{spec, types};
  const View x = g.Data(&a, types.input), dy = g.Data(&a, types.output), df = g.Filter(&a);
  if (types.output.elements() == 0 || types.input.elements() == 0) {
    a.Fill(df, 0);
    return a.Build();
  }
  // The batch is contracted: it is the feature dim here. dy [spatial..., n, co]; result [ci / groups, spatial..., co].
  const int r = df.rank();
  Dims to_rhs, to_out;
  for (int d = 1; d < r - 1; ++d) to_rhs.push_back(d);
  to_rhs.insert(to_rhs.end(), {0, r - 1});
  to_out.push_back(r - 2);
  for (int d = 0; d < r - 2; ++d) to_out.push_back(d);
  to_out.push_back(r - 1);
  ConvCmd cmd = Command(SwapEnds(x), Transposed(dy, to_rhs), Transposed(df, to_out), spec.precision);
  cmd.batch_groups = g.groups();
  for (int d = 0; d < g.spatial(); ++d) {
    const ConvDim& c = spec.dims[d];
    const int64_t n = g.size(types.output, d);
    const int64_t high = (df.dims[d] - 1) * c.dilation + (n - 1) * c.stride + 1 - g.size(types.input, d) - c.pad_low;
    cmd.window.push_back({n, c.dilation, c.pad_low, high, 1, c.stride, false});
  }
  a.Add(std::move(cmd));
  return a.Build();
}

void AddToKey(const ConvSpec& spec, CacheKey* key) {
  key->Add(spec.channels_first).Add(spec.depthwise).Add(static_cast<int64_t>(spec.precision));
  for (const ConvDim& d : spec.dims) key->Add(d.stride).Add(d.dilation).Add(d.pad_low).Add(d.pad_high);
}

}  // namespace mychip::ops
