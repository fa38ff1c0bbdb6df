#include "special_math.h"

#include <cmath>
#include <limits>

// Thread-safe lgamma; not declared in strict C++17 mode.
extern "C" double lgamma_r(double, int*) noexcept;

namespace mychip::emulator {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr long double kPiExtended = 3.14159265358979323846264338327950288L;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Central region of the inverse normal CDF, |p - 0.5| small: a start good to 1e-3 is enough, Halley does the rest.
double ErfInvStart(double x) {
  const double a = 0.147;  // Winitzki's constant
  const double l = std::log1p(-x * x);
  const double t = 2 / (kPi * a) + l / 2;
  return std::copysign(std::sqrt(std::sqrt(t * t - l / a) - t), x);
}

// Neither 0 nor a negative integer. In extended precision, because terms of the size of log(24) cancel at the roots.
long double Digamma(long double x) {
  if (x < 0) return Digamma(1 - x) - kPiExtended / std::tan(kPiExtended * (x - std::floor(x)));
  long double sum = 0;
  for (; x < 24; x += 1) sum -= 1 / x;
  const long double r = 1 / x, r2 = r * r;
  // Bernoulli numbers B_2k / 2k; the next term is below 24^-14 / 12 = 4e-21.
  constexpr long double kTerms[] = {-691.0L / 32760, 1.0L / 132, -1.0L / 240, 1.0L / 252, -1.0L / 120, 1.0L / 12};
  long double series = 0;
  for (const long double term : kTerms) series = (series + term) * r2;
  return sum + std::log(x) - r / 2 - series;
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
  if (x < 0 && x == std::floor(x)) return kNan;
  return static_cast<double>(Digamma(static_cast<long double>(x)));
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
