// f32 functions (and those of f16 and bf16, whose lanes are f32): compiled once for AVX2 and once for AVX-512. The
// vector width does not show in a result, because every lane is computed by itself and fused only where written.
#pragma once

#include "kernel_loops.h"
#include "math_f32.h"
#include "special_math.h"

namespace mychip::emulator {
namespace {

#define FUNCTION(name, expression)                  \
  struct name {                                     \
    static float Do(float x) { return expression; } \
  };
FUNCTION(Exp, ExpF(x))
FUNCTION(Expm1, Expm1F(x))
FUNCTION(Log, LogF(x))
FUNCTION(Log1p, Log1pF(x))
FUNCTION(Tanh, TanhF(x))
FUNCTION(Logistic, LogisticF(x))
FUNCTION(Erf, ErfF(x))
FUNCTION(ErfInv, ErfInvF(x))
FUNCTION(Erfc, static_cast<float>(std::erfc(static_cast<double>(x))))
FUNCTION(Lgamma, static_cast<float>(LgammaF64(x)))
FUNCTION(Digamma, static_cast<float>(DigammaF64(x)))
FUNCTION(Cbrt, static_cast<float>(std::cbrt(static_cast<double>(x))))
#undef FUNCTION

// Trigonometry: vectorised, then the rare arguments that need a longer reduction again by the C library.
struct Sin {
  static float Fast(float x) {
    double s, c;
    SinCos(x, &s, &c);
    return x == 0 ? x : static_cast<float>(s);
  }
  static float Slow(float x) { return static_cast<float>(std::sin(static_cast<double>(x))); }
};
struct Cos {
  static float Fast(float x) {
    double s, c;
    SinCos(x, &s, &c);
    return static_cast<float>(c);
  }
  static float Slow(float x) { return static_cast<float>(std::cos(static_cast<double>(x))); }
};
struct Tan {
  static float Fast(float x) {
    double s, c;
    SinCos(x, &s, &c);
    return x == 0 ? x : static_cast<float>(s / c);
  }
  static float Slow(float x) { return static_cast<float>(std::tan(static_cast<double>(x))); }
};

template <typename F>
void TrigLoop(void* dst, const void* a, const void*, const void*, int64_t n, uint64_t) {
  constexpr float kLimit = 1e9f;
  float* d = static_cast<float*>(dst);
  const float* x = static_cast<const float*>(a);
  int slow = 0;
  for (int64_t i = 0; i < n; ++i) slow |= !(std::fabs(x[i]) < kLimit);
  if (slow == 0) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) d[i] = F::Fast(x[i]);
    return;
  }
  for (int64_t i = 0; i < n; ++i) d[i] = std::fabs(x[i]) < kLimit ? F::Fast(x[i]) : F::Slow(x[i]);
}
template <typename F>
KernelSet Trig() {
  return {{TrigLoop<F>}};
}

struct Rem {
  static float Do(float a, float b) { return std::fmod(a, b); }
};
struct FloorMod {
  static float Do(float a, float b) {
    const float m = std::fmod(a, b);
    return m != 0 && (b < 0) != (m < 0) ? m + b : m;
  }
};
struct Atan2 {
  static float Do(float a, float b) { return static_cast<float>(std::atan2(double(a), double(b))); }
};

// Blocks whose operands are all ordinary are vectorised; zeros, infinities and NaNs go to the C library.
template <int kMask>
void PowLoop(void* dst, const void* a, const void* b, const void*, int64_t n, uint64_t) {
  float* d = static_cast<float*>(dst);
  const float* x = static_cast<const float*>(a);
  const float* y = static_cast<const float*>(b);
  const float x0 = x[0], y0 = y[0];
  auto base = [&](int64_t i) { return kMask & 1 ? x0 : x[i]; };
  auto exponent = [&](int64_t i) { return kMask & 2 ? y0 : y[i]; };
  constexpr int64_t kBlock = 64;
  for (int64_t start = 0; start < n; start += kBlock) {
    const int64_t end = start + kBlock < n ? start + kBlock : n;
    int special = 0;
    for (int64_t i = start; i < end; ++i) {
      const float m = std::fabs(base(i));
      special |= !(m > 0) | !(m < INFINITY) | !(std::fabs(exponent(i)) < INFINITY);
    }
    if (special == 0) {
#pragma GCC ivdep
      for (int64_t i = start; i < end; ++i) d[i] = PowInRange(base(i), exponent(i));
    } else {
      for (int64_t i = start; i < end; ++i) d[i] = static_cast<float>(std::pow(double(base(i)), double(exponent(i))));
    }
  }
}

template <typename F>
KernelSet Un() {
  return Unary<float, float, F>();
}
template <typename F>
KernelSet Bin() {
  return Binary<float, float, F>();
}

KernelSet FindMath(VOp op) {
  switch (op) {
    case VOp::kCbrt:
      return Un<Cbrt>();
    case VOp::kExp:
      return Un<Exp>();
    case VOp::kExpm1:
      return Un<Expm1>();
    case VOp::kLog:
      return Un<Log>();
    case VOp::kLog1p:
      return Un<Log1p>();
    case VOp::kTanh:
      return Un<Tanh>();
    case VOp::kLogistic:
      return Un<Logistic>();
    case VOp::kSin:
      return Trig<Sin>();
    case VOp::kCos:
      return Trig<Cos>();
    case VOp::kTan:
      return Trig<Tan>();
    case VOp::kErf:
      return Un<Erf>();
    case VOp::kErfc:
      return Un<Erfc>();
    case VOp::kErfInv:
      return Un<ErfInv>();
    case VOp::kLgamma:
      return Un<Lgamma>();
    case VOp::kDigamma:
      return Un<Digamma>();
    case VOp::kRem:
      return Bin<Rem>();
    case VOp::kFloorMod:
      return Bin<FloorMod>();
    case VOp::kPow:
      return {{PowLoop<0>, PowLoop<1>, PowLoop<2>}};
    case VOp::kAtan2:
      return Bin<Atan2>();
    default:
      return {};
  }
}

}  // namespace
}  // namespace mychip::emulator
