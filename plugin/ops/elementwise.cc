#include "mychip/ops/elementwise.h"

#include <algorithm>
#include <cmath>

namespace mychip::ops {

double Rounded(double value, DType t) {
  if (t != DType::kF16 && t != DType::kBF16) return value;
  int exponent;
  const double mantissa = std::frexp(value, &exponent);
  const int bits = t == DType::kF16 ? 11 : 8;
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, bits)), exponent - bits);
}

Body FormulaBody(Formula formula, double attr, Rounding rounding, const std::vector<DType>& operands, DType result) {
  BodyBuilder b;
  std::vector<Ex> x;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Ex param{&b, b.Param(static_cast<int>(i), operands[i])};
    x.push_back(rounding == Rounding::kOnce ? param.To(ComputeType(operands[i])) : param);
  }
  return b.Build({formula(x.data(), attr).To(result).id});
}

namespace {

// The arguments of an elementwise program.
struct Operands {
  std::vector<View> inputs;
  View output;
};

Operands Declare(Assembler* a, const std::vector<TensorType>& inputs, const TensorType& output) {
  Operands o;
  for (const TensorType& t : inputs) o.inputs.push_back(a->Argument(t));
  o.output = a->Argument(output);
  return o;
}

void Apply(Assembler* a, const Operands& o, Formula formula, double attr, Rounding rounding) {
  std::vector<View> views;
  std::vector<DType> dtypes;
  for (const View& v : o.inputs) {
    views.push_back(BroadcastTo(v, o.output.dims));
    dtypes.push_back(v.dtype);
  }
  a->Vector(views, FormulaBody(formula, attr, rounding, dtypes, o.output.dtype), {o.output});
}

}  // namespace

Result<ProgramPtr> Elementwise(const char* name, Formula formula, double attr, const std::vector<TensorType>& inputs,
                               const TensorType& output, Rounding rounding) {
  Assembler a(name);
  Apply(&a, Declare(&a, inputs, output), formula, attr, rounding);
  return a.Build();
}

Result<ProgramPtr> CheckedElementwise(const char* name, Formula formula, VOp op, const std::vector<TensorType>& inputs,
                                      const TensorType& output) {
  Assembler a(name);
  const Operands o = Declare(&a, inputs, output);
  // First the check: the output may be the checked operand's memory.
  const DType t = inputs[1].dtype;
  const int64_t n = inputs[1].elements();
  ReduceCmd any;
  any.dims = {n};
  any.reduced = {true};
  any.inputs = {DenseView(o.inputs[1].buffer, 0, t, {n})};
  BodyBuilder b;
  const int bad = b.Binary(op, b.Param(0, t), b.ConstInt(t, 0));
  any.map = b.Build({bad});
  any.combine = BinaryBody(VOp::kOr, DType::kPred);
  any.inits = {a.Scalar(DType::kPred, 0)};
  any.outputs = {a.Argument({DType::kPred, {}})};
  a.Add(std::move(any));
  Apply(&a, o, formula, 0, Rounding::kOnce);
  return a.Build();
}

bool BroadcastDims(const std::vector<const Dims*>& shapes, Dims* result) {
  size_t rank = 0;
  for (const Dims* s : shapes) rank = std::max(rank, s->size());
  result->assign(rank, 1);
  for (const Dims* s : shapes) {
    const size_t shift = rank - s->size();
    for (size_t d = 0; d < s->size(); ++d) {
      int64_t& r = (*result)[d + shift];
      const int64_t n = (*s)[d];
      if (n == 1 || n == r) continue;
      if (r != 1) return false;
      r = n;
    }
  }
  return true;
}

}  // namespace mychip::ops
