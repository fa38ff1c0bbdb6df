#include "mychip/ops/pool.h"

#include <algorithm>

#include "mychip/ops/expression.h"
#include "mychip/ops/program_cache.h"

namespace mychip::ops {
namespace {

std::vector<WindowDim> Window(const PoolSpec& spec) {
  std::vector<WindowDim> window;
  for (const PoolDim& d : spec) window.push_back({d.size, d.stride, d.pad_low, d.pad_high, 1, 1, false});
  return window;
}

// `view` converted to `dtype` in scratch; itself when it has that dtype.
View Converted(Assembler* a, const View& view, DType dtype) {
  if (view.dtype == dtype) return view;
  const View copy = a->Temp(dtype, view.dims);
  BodyBuilder b;
  const int v = b.Convert(dtype, b.Param(0, view.dtype));
  a->Vector({view}, b.Build({v}), {copy});
  return copy;
}

// The number of elements that are there in each window, as a tensor that broadcasts over the dims not pooled.
View Counts(Assembler* a, const PoolSpec& spec, const Dims& input, const Dims& output, DType dtype) {
  Dims dims;
  for (size_t d = 0; d < spec.size(); ++d) dims.push_back(spec[d].size == 1 && spec[d].stride == 1 ? 1 : output[d]);
  std::vector<double> values(NumElements(dims), 1);
  const Dims strides = RowMajorStrides(dims);
  for (size_t d = 0; d < dims.size(); ++d) {
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t at = static_cast<int64_t>(i) / strides[d] % dims[d];
      const int64_t first = at * spec[d].stride - spec[d].pad_low;
      const int64_t last = std::min(first + spec[d].size, input[d]);
      if (dims[d] != 1 || output[d] == 1) values[i] *= static_cast<double>(last - std::max<int64_t>(first, 0));
    }
  }
  if (dtype == DType::kF64) return BroadcastTo(a->Constant(dtype, dims, values.data()), output);
  const std::vector<float> narrow(values.begin(), values.end());
  return BroadcastTo(a->Constant(DType::kF32, dims, narrow.data()), output);
}

}  // namespace

Result<ProgramPtr> MaxPool(const PoolSpec& spec, const TensorType& input, const TensorType& output) {
  Assembler a("max_pool");
  WindowReduceCmd cmd;
  cmd.inputs = {a.Argument(input)};
  cmd.outputs = {a.Argument(output)};
  cmd.window = Window(spec);
  cmd.combine = BinaryBody(VOp::kMax, input.dtype);
  cmd.inits = {Lowest(&a, input.dtype)};
  a.Add(std::move(cmd));
  return a.Build();
}

Result<ProgramPtr> AvgPool(const PoolSpec& spec, const TensorType& input, const TensorType& output) {
  Assembler a("avg_pool");
  const DType t = ComputeType(input.dtype);
  WindowReduceCmd cmd;
  cmd.inputs = {Converted(&a, a.Argument(input), t)};
  cmd.outputs = {a.Argument(output)};
  cmd.window = Window(spec);
  cmd.combine = BinaryBody(VOp::kAdd, t);
  cmd.inits = {a.Scalar(t, 0)};
  cmd.post_inputs = {Counts(&a, spec, input.dims, output.dims, t)};
  BodyBuilder b;
  const Ex sum{&b, b.Param(0, t)}, count{&b, b.Param(1, t)};
  cmd.post = b.Build({(sum / count).To(output.dtype).id});
  a.Add(std::move(cmd));
  return a.Build();
}

Result<ProgramPtr> MaxPoolGrad(const PoolSpec& spec, const TensorType& input, const TensorType& grad) {
  Assembler a("max_pool_grad");
  const DType t = ComputeType(input.dtype);
  const View x = a.Argument(input), dy = a.Argument(grad), dx = a.Argument(input);
  if (grad.elements() == 0) {
    a.Fill(dx, 0);
    return a.Build();
  }
  SelectScatterCmd cmd;
  cmd.operand = Converted(&a, x, t), cmd.source = Converted(&a, dy, t);
  cmd.out = t == input.dtype ? dx : a.Temp(t, input.dims);
  cmd.init = a.Scalar(t, 0);
  cmd.window = Window(spec);
  // The first stays unless the second is strictly larger: TensorFlow's rule, also where one is NaN.
  BodyBuilder b;
  const Ex first{&b, b.Param(0, t)}, second{&b, b.Param(1, t)};
  cmd.select = b.Build({Not(Lt(first, second)).id});
  cmd.scatter = BinaryBody(VOp::kAdd, t);
  const View sum = cmd.out;
  a.Add(std::move(cmd));
  if (t != input.dtype) {
    BodyBuilder c;
    const int v = c.Convert(input.dtype, c.Param(0, t));
    a.Vector({sum}, c.Build({v}), {dx});
  }
  return a.Build();
}

Result<ProgramPtr> AvgPoolGrad(const PoolSpec& spec, const TensorType& input, const TensorType& grad) {
  Assembler a("avg_pool_grad");
  const DType t = ComputeType(grad.dtype);
  const View dy = a.Argument(grad), dx = a.Argument(input);
  if (grad.elements() == 0) {
    a.Fill(dx, 0);
    return a.Build();
  }
  // Every window spreads its share over its elements: the sum over the windows that cover an element, which is a
  // window sum over the gradient stretched by the stride.
  const View share = a.Temp(t, grad.dims);
  BodyBuilder b;
  const Ex g = Ex{&b, b.Param(0, grad.dtype)}.To(t), n{&b, b.Param(1, t)};
  a.Vector({dy, Counts(&a, spec, input.dims, grad.dims, t)}, b.Build({(g / n).id}), {share});
  WindowReduceCmd cmd;
  cmd.inputs = {share};
  cmd.outputs = {dx};
  for (size_t d = 0; d < spec.size(); ++d) {
    const PoolDim& p = spec[d];
    const int64_t low = p.size - 1 - p.pad_low, dilated = (grad.dims[d] - 1) * p.stride + 1;
    cmd.window.push_back({p.size, 1, low, input.dims[d] + p.size - 1 - low - dilated, p.stride, 1, false});
  }
  cmd.combine = BinaryBody(VOp::kAdd, t);
  cmd.inits = {a.Scalar(t, 0)};
  if (t != input.dtype) {
    BodyBuilder c;
    const int v = c.Convert(input.dtype, c.Param(0, t));
    cmd.post = c.Build({v});
  }
  a.Add(std::move(cmd));
  return a.Build();
}

void AddToKey(const PoolSpec& spec, CacheKey* key) {
  for (const PoolDim& d : spec) key->Add(d.size).Add(d.stride).Add(d.pad_low).Add(d.pad_high);
}

}  // namespace mychip::ops
