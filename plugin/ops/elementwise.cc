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

Result<ProgramPtr> Elementwise(const char* name, Formula formula, double attr, const std::vector<TensorType>& inputs,
                               const TensorType& output, Rounding rounding) {
  Assembler a(name);
  std::vector<View> views;
  std::vector<DType> dtypes;
  for (const TensorType& t : inputs) {
    views.push_back(BroadcastTo(a.Argument(t), output.dims));
    dtypes.push_back(t.dtype);
  }
  a.Vector(views, FormulaBody(formula, attr, rounding, dtypes, output.dtype), {a.Argument(output)});
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
