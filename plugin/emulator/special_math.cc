#include "special_math.h"

#include <cmath>
#include <limits>

// Thread-safe lgamma; not declared in strict C++17 mode.
extern "C" double lgamma_r(double, int*) noexcept;

namespace mychip::emulator {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Central region of the inverse normal CDF, |p - 0.5| small: a start good to 1e-3 is enough, Halley does the rest.
double ErfInvStart(double x) {
  const double a = 0.147;  // Winitzki's constant
  const double l = std::log1p(-x * x);
  const double t = 2 / (kPi * a) + l / 2;
  return std::copysign(std::sqrt(std::sqrt(t * t - l / a) - t), x);
}

}  // namespace

double LogisticF64(double x) {
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1 + e);
}

double LgammaF64(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

double DigammaF64(double x) {
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  if (x < 0) {
    if (x == std::floor(x)) return kNan;
    const double fraction = x - std::floor(x);
    return DigammaF64(1 - x) - kPi / std::tan(kPi * fraction);
  }
  double sum = 0;
  for (; x < 12; x += 1) sum -= 1 / x;
  const double r = 1 / x, r2 = r * r;
  // Bernoulli numbers B_2k / 2k.
  const double series =
      r2 *
      (1.0 / 12 - r2 * (1.0 / 120 - r2 * (1.0 / 252 - r2 * (1.0 / 240 - r2 * (1.0 / 132 - r2 * (691.0 / 32760))))));
  return sum + std::log(x) - 0.5 * r - series;
}

double ErfInvF64(double x) {
  const double a = std::fabs(x);
  if (!(a <= 1)) return kNan;
  if (a == 1) return std::copysign(std::numeric_limits<double>::infinity(), x);
  if (a < 1e-8) return x * (std::sqrt(kPi) / 2);
  double y = ErfInvStart(a);
  const double two_over_sqrt_pi = 2 / std::sqrt(kPi);
  for (int i = 0; i < 3; ++i) {
    // f = erf(y) - a, through erfc near 1 where 1 - a is exact and erf saturates.
    const double f = a > 0.5 ? (1 - a) - std::erfc(y) : std::erf(y) - a;
    const double u = f / (two_over_sqrt_pi * std::exp(-y * y));
    y -= u / (1 + y * u);
  }
  return std::copysign(y, x);
}

}  // namespace mychip::emulator
