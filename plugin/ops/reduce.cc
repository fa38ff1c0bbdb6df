#include "mychip/ops/reduce.h"

#include <algorithm>
#include <cmath>

#include "mychip/ops/formulas.h"

namespace mychip::ops {
namespace {

VOp Combiner(Reduction kind) {
  switch (kind) {
    case Reduction::kProd:
      return VOp::kMul;
    case Reduction::kMax:
      return VOp::kMax;
    case Reduction::kMin:
      return VOp::kMin;
    case Reduction::kAll:
      return VOp::kAnd;
    case Reduction::kAny:
      return VOp::kOr;
    default:
      return VOp::kAdd;
  }
}

View Identity(Assembler* a, Reduction kind, DType dtype) {
  switch (kind) {
    case Reduction::kMax:
      return Lowest(a, dtype);
    case Reduction::kMin:
      return Highest(a, dtype);
    case Reduction::kProd:
    case Reduction::kAll:
      return a->Scalar(dtype, 1);
    default:
      return a->Scalar(dtype, 0);
  }
}

Body Map(Reduction kind, DType from, DType to) {
  if (from == to && kind != Reduction::kEuclideanNorm) return {};
  BodyBuilder b;
  const Ex x = Ex{&b, b.Param(0, from)}.To(to);
  const Ex square = IsComplex(to) ? x * Conj(&x, 0) : x * x;
  return b.Build({kind == Reduction::kEuclideanNorm ? square.id : x.id});
}

Body Post(Reduction kind, DType accumulator, DType result, int64_t count) {
  if (kind != Reduction::kMean && kind != Reduction::kEuclideanNorm && accumulator == result) return {};
  BodyBuilder b;
  Ex x{&b, b.Param(0, accumulator)};
  // 0 / 0 is NaN for floats; integers have none, and TensorFlow gives 0.
  if (kind == Reduction::kMean) x = x / static_cast<double>(IsInteger(accumulator) && count == 0 ? 1 : count);
  if (kind == Reduction::kEuclideanNorm) {
    x = IsInteger(accumulator) ? Sqrt(x.To(DType::kF64)).To(accumulator) : Sqrt(x);
  }
  return b.Build({x.To(result).id});
}

// Neighbouring dims with the same fate become one; dims of size 1 vanish.
void Simplify(View* input, std::vector<bool>* reduced) {
  const auto erase = [&](size_t d) {
    input->dims.erase(input->dims.begin() + d);
    input->strides.erase(input->strides.begin() + d);
    reduced->erase(reduced->begin() + d);
  };
  for (size_t d = reduced->size(); d-- > 0;) {
    if (input->dims[d] == 1) erase(d);
  }
  for (size_t d = reduced->size(); d-- > 1;) {
    if ((*reduced)[d] != (*reduced)[d - 1] || input->strides[d - 1] != input->strides[d] * input->dims[d]) continue;
    input->dims[d] *= input->dims[d - 1];
    erase(d - 1);
  }
}

}  // namespace

ReduceCmd ReduceCommand(Assembler* a, Reduction kind, const View& input, const std::vector<bool>& reduced,
                        const View& output) {
  const DType accumulator = ComputeType(input.dtype);
  int64_t count = 1;
  for (size_t d = 0; d < reduced.size(); ++d) count *= reduced[d] ? input.dims[d] : 1;
  ReduceCmd cmd;
  cmd.dims = input.dims;
  cmd.reduced = reduced;
  cmd.inputs = {input};
  cmd.map = Map(kind, input.dtype, accumulator);
  cmd.combine = BinaryBody(Combiner(kind), accumulator);
  cmd.inits = {Identity(a, kind, accumulator)};
  cmd.post = Post(kind, accumulator, output.dtype, count);
  cmd.outputs = {output};
  return cmd;
}

Result<ProgramPtr> Reduce(const char* name, Reduction kind, const TensorType& input, const std::vector<bool>& reduced) {
  Assembler a(name);
  View in = a.Argument(input);
  TensorType out{input.dtype, {}};
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d]) out.dims.push_back(input.dims[d]);
  }
  const View result = a.Argument(out);
  std::vector<bool> flags = reduced;
  Simplify(&in, &flags);
  Dims kept;
  for (size_t d = 0; d < flags.size(); ++d) {
    if (!flags[d]) kept.push_back(in.dims[d]);
  }
  a.Add(ReduceCommand(&a, kind, in, flags, DenseView(result.buffer, 0, out.dtype, kept)));
  return a.Build();
}

Result<ProgramPtr> ArgMinMax(bool max, const TensorType& input, int axis, DType result) {
  Assembler a(max ? "argmax" : "argmin");
  const View in = a.Argument(input);
  TensorType out{result, input.dims};
  out.dims.erase(out.dims.begin() + axis);
  const View to = a.Argument(out);
  // The dims before and after the axis each become one.
  const int64_t inner = in.strides[axis], n = input.dims[axis],
                outer = input.elements() / std::max<int64_t>(1, inner * n);
  const DType value = ComputeType(input.dtype), index = DType::kS64;
  ReduceCmd cmd;
  cmd.dims = {outer, n, inner};
  cmd.reduced = {false, true, false};
  cmd.inputs = {View{in.buffer, 0, in.dtype, cmd.dims, {n * inner, inner, 1}}};
  BodyBuilder m;
  const Ex x = Ex{&m, m.Param(0, input.dtype)}.To(value);
  // NaN takes part as the value that loses to every other: a comparison with it would keep it where it comes first.
  const Ex v = IsFloat(value) ? Select(x.Unary(VOp::kIsNan), x.Num(max ? -INFINITY : INFINITY), x) : x;
  cmd.map = m.Build({v.id, m.Iota(index, 1)});
  BodyBuilder c;
  const Ex v0{&c, c.Param(0, value)}, i0{&c, c.Param(1, index)}, v1{&c, c.Param(2, value)}, i1{&c, c.Param(3, index)};
  const Ex better = v1.Binary(max ? VOp::kGt : VOp::kLt, v0);
  const Ex tie = And(Eq(v0, v1), Lt(i1, i0));
  const Ex take = better.Binary(VOp::kOr, tie);
  cmd.combine = c.Build({Select(take, v1, v0).id, Select(take, i1, i0).id});
  cmd.inits = {max ? Lowest(&a, value) : Highest(&a, value), a.Scalar(index, 0)};
  BodyBuilder p;
  const int chosen = p.Convert(result, p.Param(1, index));
  cmd.post = p.Build({chosen});
  cmd.outputs = {DenseView(to.buffer, 0, result, {outer, inner})};
  a.Add(std::move(cmd));
  return a.Build();
}

Result<ProgramPtr> L2Loss(const TensorType& input) {
  Assembler a("l2_loss");
  const int64_t n = input.elements();
  View in = a.Argument(input);
  in = DenseView(in.buffer, 0, in.dtype, {n});
  const View out = a.Argument({input.dtype, {}});
  const DType t = ComputeType(input.dtype);
  ReduceCmd cmd = ReduceCommand(&a, Reduction::kSum, in, {true}, out);
  BodyBuilder m, p;
  const Ex x = Ex{&m, m.Param(0, input.dtype)}.To(t);
  cmd.map = m.Build({(x * x).id});
  cmd.post = p.Build({(Ex{&p, p.Param(0, t)} * 0.5).To(input.dtype).id});
  a.Add(std::move(cmd));
  return a.Build();
}

Result<ProgramPtr> Scan(bool product, const TensorType& input, int axis, bool exclusive, bool reverse) {
  Assembler a(product ? "cumprod" : "cumsum");
  const View in = a.Argument(input), out = a.Argument(input);
  const DType t = ComputeType(input.dtype);
  const bool wide = t != input.dtype;
  const View from = wide ? a.Temp(t, input.dims) : in, to = wide ? a.Temp(t, input.dims) : out;
  const auto convert = [&](const View& x, const View& y) {
    BodyBuilder b;
    const int v = b.Convert(y.dtype, b.Param(0, x.dtype));
    a.Vector({x}, b.Build({v}), {y});
  };
  if (wide) convert(in, from);
  ScanCmd cmd;
  cmd.input = from, cmd.output = to;
  cmd.axis = axis, cmd.exclusive = exclusive, cmd.reverse = reverse;
  cmd.combine = BinaryBody(product ? VOp::kMul : VOp::kAdd, t);
  cmd.init = a.Scalar(t, product ? 1 : 0);
  a.Add(std::move(cmd));
  if (wide) convert(to, out);
  return a.Build();
}

}  // namespace mychip::ops
