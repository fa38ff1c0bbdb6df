#include "complex_functions.h"

#include "mychip/ops/formulas.h"

namespace mychip::ops {
namespace {

Ex Re(Ex z) { return z.Unary(VOp::kReal); }
Ex Im(Ex z) { return z.Unary(VOp::kImag); }
Ex Make(Ex re, Ex im) { return re.Binary(VOp::kComplex, im); }
Ex Angle(Ex y, Ex x) { return y.Binary(VOp::kAtan2, x); }
Ex Asinh(Ex v) { return ops::Asinh(&v, 0); }
// Square roots of 1 - z and 1 + z whose imaginary parts keep the sign of z's zero: 1 - z by parts.
Ex RootBelow(Ex z) { return Sqrt(Make(1 - Re(z), -Im(z))); }
Ex RootAbove(Ex z) { return Sqrt(Make(1 + Re(z), Im(z))); }

// i z and -i z.
Ex Turned(Ex z) { return Make(-Im(z), Re(z)); }
Ex TurnedBack(Ex z) { return Make(Im(z), -Re(z)); }

// Parts of conj(a) * b.
Ex RealProduct(Ex a, Ex b) { return Re(a) * Re(b) + Im(a) * Im(b); }
Ex ImaginaryProduct(Ex a, Ex b) { return Re(a) * Im(b) - Im(a) * Re(b); }

}  // namespace

Ex ComplexAsin(Ex z) {
  const Ex below = RootBelow(z), above = RootAbove(z);
  const Ex product = Re(below) * Re(above) - Im(below) * Im(above);
  return Make(Angle(Re(z), product), Asinh(ImaginaryProduct(below, above)));
}

Ex ComplexAcos(Ex z) {
  const Ex below = RootBelow(z), above = RootAbove(z);
  return Make(2 * Angle(Re(below), Re(above)), Asinh(ImaginaryProduct(above, below)));
}

Ex ComplexAcosh(Ex z) {
  const Ex minus = Sqrt(Make(Re(z) - 1, Im(z))), plus = RootAbove(z);
  return Make(Asinh(RealProduct(minus, plus)), 2 * Angle(Im(minus), Re(plus)));
}

Ex ComplexAtanh(Ex z) {
  // The real part is odd in x; for positive ones nothing cancels.
  const Ex x = Re(z), y = Im(z), m = Abs(x), away = 1 - m;
  const Ex half = 0.25 * Log1p(4 * m / (away * away + y * y));
  return Make(Select(Lt(x, 0), -half, half), 0.5 * Angle(2 * y, away * (1 + m) - y * y));
}

Ex ComplexAsinh(Ex z) { return TurnedBack(ComplexAsin(Turned(z))); }
Ex ComplexAtan(Ex z) { return TurnedBack(ComplexAtanh(Turned(z))); }

}  // namespace mychip::ops
