#include "mychip/ops/formulas.h"

#include <cmath>

#include "complex_functions.h"

namespace mychip::ops {
namespace {

constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;

// 1 where p, else 0, in x's dtype: TensorFlow's gradients multiply by the mask, so that inf * 0 is NaN there too.
Ex Mask(Ex p, Ex x) { return p.To(x.dtype()); }

// x where |x| is so large that 1 + x*x rounds to x*x, for the inverse hyperbolic functions.
double HugeArgument(DType t) { return t == DType::kF64 ? 1e8 : 1e4; }

}  // namespace

Ex Same(const Ex* x, double) { return x[0]; }
Ex Zeros(const Ex* x, double) { return x[0].Num(0); }
Ex Ones(const Ex* x, double) { return x[0].Num(1); }

Ex Square(const Ex* x, double) { return x[0] * x[0]; }
Ex Reciprocal(const Ex* x, double) { return 1.0 / x[0]; }
Ex SquaredDifference(const Ex* x, double) {
  const Ex d = x[0] - x[1];
  return IsComplex(d.dtype()) ? d * Conj(&d, 0) : d * d;
}
Ex MulNoNan(const Ex* x, double) {
  const Ex u = x[0], v = x[1];
  return Select(Eq(v, 0), v.Num(0), u * v);
}
// 0 of its own sign where x is 0, whatever y is: what TensorFlow's vectorised kernels give.
Ex Xlogy(const Ex* x, double) {
  const Ex u = x[0], v = x[1];
  return Select(Eq(u, 0), u, u * Log(v));
}
Ex Xlog1py(const Ex* x, double) {
  const Ex u = x[0], v = x[1];
  return Select(Eq(u, 0), u, u * Log1p(v));
}
Ex Xdivy(const Ex* x, double) {
  const Ex u = x[0], v = x[1];
  return Select(Eq(u, 0), u, u / v);
}
Ex FloorDiv(const Ex* x, double) {
  return IsFloat(x[0].dtype()) ? (x[0] / x[1]).Unary(VOp::kFloor) : x[0].Binary(VOp::kFloorDiv, x[1]);
}
Ex TruncateDiv(const Ex* x, double) { return (x[0] / x[1]).Unary(VOp::kTrunc); }
Ex Conj(const Ex* x, double) {
  const Ex z = x[0];
  return z.Unary(VOp::kReal).Binary(VOp::kComplex, -z.Unary(VOp::kImag));
}
Ex Angle(const Ex* x, double) {
  const Ex z = x[0];
  return z.Unary(VOp::kImag).Binary(VOp::kAtan2, z.Unary(VOp::kReal));
}
// TensorFlow's sign of -0 is 0.
Ex RealSign(const Ex* x, double) { return Select(Eq(x[0], 0), x[0].Num(0), x[0].Unary(VOp::kSign)); }
Ex ComplexSign(const Ex* x, double) {
  const Ex z = x[0];
  const Ex r = Abs(z);
  return Select(Eq(r, 0), z.Num(0), z / r.To(z.dtype()));
}
Ex PopulationCount(const Ex* x, double) { return x[0].Unary(VOp::kPopcnt).To(DType::kU8); }
Ex ApproximateEqual(const Ex* x, double tolerance) { return Lt(Abs(x[0] - x[1]), tolerance); }
// TensorFlow's shifts clamp the amount to [0, bits - 1].
static Ex Shift(const Ex* x, VOp op) {
  const Ex u = x[0], v = x[1];
  const Ex last = v.Num(static_cast<double>(8 * ByteSize(u.dtype()) - 1));
  const Ex amount = IsUnsigned(u.dtype()) ? Min(v, last) : Min(Max(v, v.Num(0)), last);
  return u.Binary(op, amount);
}
Ex ShiftLeft(const Ex* x, double) { return Shift(x, VOp::kShl); }
Ex ShiftRight(const Ex* x, double) { return Shift(x, IsUnsigned(x[0].dtype()) ? VOp::kShrL : VOp::kShrA); }

namespace {

// (e + e / (e + 1)) / 2 with e = expm1|x|; by halves where e would overflow.
Ex RealSinh(Ex v) {
  const Ex m = Abs(v), e = Expm1(m), half = Exp(m * 0.5);
  const Ex r = Select(Lt(m, 30), (e + e / (e + 1)) * 0.5, (half * 0.5) * half);
  return Select(Lt(v, 0), -r, Select(Eq(v, 0), v, r));
}
Ex RealCosh(Ex v) {
  const Ex half = Exp(Abs(v) * 0.5);
  return (half * 0.5) * half + 0.5 / (half * half);
}

}  // namespace

Ex Sinh(const Ex* x, double) {
  const Ex v = x[0];
  if (!IsComplex(v.dtype())) return RealSinh(v);
  const Ex re = v.Unary(VOp::kReal), im = v.Unary(VOp::kImag);
  return (RealSinh(re) * im.Unary(VOp::kCos)).Binary(VOp::kComplex, RealCosh(re) * im.Unary(VOp::kSin));
}
Ex Cosh(const Ex* x, double) {
  const Ex v = x[0];
  if (!IsComplex(v.dtype())) return RealCosh(v);
  const Ex re = v.Unary(VOp::kReal), im = v.Unary(VOp::kImag);
  return (RealCosh(re) * im.Unary(VOp::kCos)).Binary(VOp::kComplex, RealSinh(re) * im.Unary(VOp::kSin));
}
Ex Asin(const Ex* x, double) {
  if (IsComplex(x[0].dtype())) return ComplexAsin(x[0]);
  const Ex v = x[0];
  return v.Binary(VOp::kAtan2, Sqrt((1 - v) * (1 + v)));
}
Ex Acos(const Ex* x, double) {
  if (IsComplex(x[0].dtype())) return ComplexAcos(x[0]);
  const Ex v = x[0];
  return Sqrt((1 - v) * (1 + v)).Binary(VOp::kAtan2, v);
}
Ex Atan(const Ex* x, double) {
  if (IsComplex(x[0].dtype())) return ComplexAtan(x[0]);
  const Ex v = x[0];
  return v.Binary(VOp::kAtan2, v.Num(1));
}
// sign(x) * log1p(m + m*m / (1 + sqrt(1 + m*m))); log m + log 2 where m*m would overflow.
Ex Asinh(const Ex* x, double) {
  if (IsComplex(x[0].dtype())) return ComplexAsinh(x[0]);
  const Ex v = x[0], m = Abs(v);
  const Ex small = Log1p(m + m * m / (1 + Sqrt(1 + m * m)));
  const Ex r = Select(Lt(m, HugeArgument(v.dtype())), small, Log(m) + std::log(2.0));
  return Select(Lt(v, 0), -r, Select(Eq(v, 0), v, r));
}
Ex Acosh(const Ex* x, double) {
  if (IsComplex(x[0].dtype())) return ComplexAcosh(x[0]);
  const Ex v = x[0], t = v - 1;
  const Ex small = Log1p(t + Sqrt(t * t + 2 * t));
  const Ex r = Select(Gt(v, HugeArgument(v.dtype())), Log(v) + std::log(2.0), small);
  return Select(Lt(v, 1), v.Num(std::nan("")), r);
}
Ex Atanh(const Ex* x, double) {
  if (IsComplex(x[0].dtype())) return ComplexAtanh(x[0]);
  const Ex v = x[0], m = Abs(v);
  const Ex r = 0.5 * Log1p(2 * m / (1 - m));
  return Select(Lt(v, 0), -r, Select(Eq(v, 0), v, r));
}
Ex Relu(const Ex* x, double) {
  const Ex v = x[0];
  return Max(v, v.Num(0));
}
Ex Relu6(const Ex* x, double) {
  const Ex v = x[0];
  return Min(Max(v, v.Num(0)), v.Num(6));
}
Ex LeakyRelu(const Ex* x, double alpha) {
  const Ex v = x[0];
  return Select(Gt(v, 0), v, v * alpha);
}
Ex Elu(const Ex* x, double) {
  const Ex v = x[0];
  return Select(Lt(v, 0), Expm1(v), v);
}
Ex Selu(const Ex* x, double) {
  const Ex v = x[0];
  return Select(Lt(v, 0), Expm1(v) * kSeluScaleAlpha, v * kSeluScale);
}
// log(1 + e^x), by its two asymptotes where the middle form would round to them.
Ex Softplus(const Ex* x, double) {
  const Ex v = x[0];
  const double threshold = (v.dtype() == DType::kF64 ? std::log(0x1p-52) : std::log(0x1p-23)) + 2;
  const Ex e = Exp(v);
  return Select(Gt(v, -threshold), v, Select(Lt(v, threshold), e, Log1p(e)));
}
Ex Softsign(const Ex* x, double) {
  const Ex v = x[0];
  return v / (Abs(v) + 1);
}

Ex ReluGrad(const Ex* x, double) {
  const Ex g = x[0], v = x[1];
  return g * Mask(Gt(v, 0), g);
}
Ex Relu6Grad(const Ex* x, double) {
  const Ex g = x[0], v = x[1];
  return g * Mask(And(Gt(v, 0), Lt(v, 6)), g);
}
Ex LeakyReluGrad(const Ex* x, double alpha) {
  const Ex g = x[0], v = x[1];
  return Select(Gt(v, 0), g, g * alpha);
}
Ex EluGrad(const Ex* x, double) {
  const Ex g = x[0], y = x[1];
  return Select(Lt(y, 0), (y + 1) * g, g);
}
Ex SeluGrad(const Ex* x, double) {
  const Ex g = x[0], y = x[1];
  return Select(Lt(y, 0), g * (y + kSeluScaleAlpha), g * kSeluScale);
}
Ex SoftplusGrad(const Ex* x, double) {
  const Ex g = x[0], v = x[1];
  return g / (Exp(-v) + 1);
}
Ex SoftsignGrad(const Ex* x, double) {
  const Ex g = x[0], v = x[1];
  const Ex d = 1 + Abs(v);
  return g / (d * d);
}

// The functor gradients take (y, dy); complex ones use conj(y).
static Ex ConjIfComplex(Ex y) { return IsComplex(y.dtype()) ? Conj(&y, 0) : y; }
Ex TanhGrad(const Ex* x, double) {
  const Ex y = ConjIfComplex(x[0]), g = x[1];
  return g * (1 - y * y);
}
Ex SigmoidGrad(const Ex* x, double) {
  const Ex y = ConjIfComplex(x[0]), g = x[1];
  return g * y * (1 - y);
}
Ex SqrtGrad(const Ex* x, double) {
  const Ex y = ConjIfComplex(x[0]), g = x[1];
  return 0.5 * g / y;
}
Ex RsqrtGrad(const Ex* x, double) {
  const Ex y = ConjIfComplex(x[0]), g = x[1];
  return -0.5 * (g * y) * (y * y);
}
Ex ReciprocalGrad(const Ex* x, double) {
  const Ex y = ConjIfComplex(x[0]), g = x[1];
  return (-y) * g * y;
}

Ex ClipByValue(const Ex* x, double) { return Max(Min(x[0], x[2]), x[1]); }

Ex Sum(const Ex* x, double count) {
  Ex acc = x[0];
  for (int i = 1; i < static_cast<int>(count); ++i) acc = acc + x[i];
  return acc;
}

}  // namespace mychip::ops
