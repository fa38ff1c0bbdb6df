// f32 functions as straight-line code that vectorises: exp, log, tanh, logistic and erf in f32 (8 lanes), the others in
// f64 inside (4 lanes). Polynomials are least-maximum fits made for this file. ULP bounds: README.md, "Vector unit".
#pragma once

#include <cmath>
#include <cstdint>

#include "float_ops.h"

namespace mychip::emulator {
namespace {

inline float Fma(float a, float b, float c) { return std::fma(a, b, c); }
inline double Fma(double a, double b, double c) { return std::fma(a, b, c); }

// c[0] + c[1] x + ... by Horner's rule. Recursive, because an inner loop would keep the outer one from vectorising.
template <int kFirst = 0, typename T, int kTerms>
inline __attribute__((always_inline)) T Polynomial(const T (&c)[kTerms], T x) {
  if constexpr (kFirst == kTerms - 1) {
    return c[kFirst];
  } else {
    return Fma(Polynomial<kFirst + 1>(c, x), x, c[kFirst]);
  }
}

constexpr float kExpTerms[] = {0.5f, 0.166665062f, 0.0416661687f, 0.00837032124f, 0.00139529724f};
constexpr float kLogTerms[] = {0.333333105f,  -0.249999866f, 0.200022265f,  -0.166692495f, 0.142186552f,
                               -0.123843707f, 0.118730158f,  -0.117896944f, 0.0691514686f};
constexpr float kTanhTerms[] = {-0.333332777f, 0.133313283f, -0.0537292287f, 0.0206020083f, -0.00566078909f};
constexpr float kErfTerms[] = {0.128379166f,   -0.376126379f,    0.112837829f,    -0.0268654451f,
                               0.00522107491f, -0.000848471187f, 0.000112705457f, -9.68014047e-06f};
constexpr float kErfTailTerms[] = {-0.000204357988f, 1.1296612f,       0.633039653f,    0.108638972f,   -0.0253735334f,
                                   0.00428237207f,   -0.000463784876f, 2.53142844e-05f, -2.5128935e-07f};

// exp for |x| within [-150, 128]: two scalings, so that subnormal results round once.
inline float ExpInRange(float x) {
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: the low mantissa bits hold the integer
  const float z = Fma(x, 1.44269504f, kMagic);
  const auto n = static_cast<int32_t>(BitCast<uint32_t>(z) - BitCast<uint32_t>(kMagic));
  const float k = z - kMagic;
  const float r = Fma(k, -1.42860677e-6f, Fma(k, -0.693145752f, x));
  const float e = 1.0f + Fma(r * r, Polynomial(kExpTerms, r), r);
  const int32_t half = n >> 1;
  const auto power = [](int32_t k) { return BitCast<float>(static_cast<uint32_t>(k + 127) << 23); };
  return e * power(half) * power(n - half);
}

inline float ExpF(float x) {
  const float low = x < -110.0f ? -110.0f : x;
  const float in = low > 90.0f ? 90.0f : low;  // overflows to infinity
  const float r = ExpInRange(in);
  return x != x ? x : r;
}

inline float LogF(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const float scaled = tiny ? x * 8388608.0f : x;
  // Mantissa in [sqrt(1/2), sqrt(2)).
  const auto shifted = static_cast<int32_t>(BitCast<uint32_t>(scaled) - 0x3f3504f3u);
  const int32_t n = shifted >> 23;
  const float m = BitCast<float>((shifted & 0x007fffff) + 0x3f3504f3);
  const float k = static_cast<float>(n) - (tiny ? 23.0f : 0.0f);
  const float f = m - 1.0f, f2 = f * f;
  const float tail = Fma(f2 * f, Polynomial(kLogTerms, f), k * 1.42860677e-6f);
  const float r = Fma(k, 0.693145752f, Fma(-0.5f, f2, tail) + f);
  const float finite = x == INFINITY ? x : r;
  const float positive = x > 0 ? finite : x == 0 ? -INFINITY : NAN;
  return x != x ? x : positive;
}

inline float TanhF(float x) {
  const float a = std::fabs(x), t = x * x;
  const float small = Fma(x * t, Polynomial(kTanhTerms, t), x);
  const float bounded = a > 10.0f ? 10.0f : a;
  const float large = 1.0f - 2.0f / (ExpInRange(2.0f * bounded) + 1.0f);
  const float r = std::copysign(a < 0.63f ? small : large, x);
  return x != x ? x : r;
}

inline float LogisticF(float x) {
  const float a = std::fabs(x);
  const float e = ExpInRange(a > 110.0f ? -110.0f : -a);
  const float r = (x >= 0 ? 1.0f : e) / (1.0f + e);
  return x != x ? x : r;
}

inline float ErfF(float x) {
  const float a = std::fabs(x), t = x * x;
  const float small = Fma(x, Polynomial(kErfTerms, t), x);
  const float b = a > 4.0f ? 4.0f : a;
  const float large = 1.0f - ExpInRange(-Polynomial(kErfTailTerms, b));
  const float r = a < 1.0f ? small : std::copysign(large, x);
  return x != x ? x : r;
}

// ---- in f64; results are rounded to f32 once ----

constexpr double kMagic64 = 6755399441055744.0;  // 1.5 * 2^52

struct Reduced {
  double r, k;     // x = k ln 2 + r
  uint64_t shift;  // k in the exponent's place
};
inline Reduced ReduceExp(double x) {
  const double z = x * 1.4426950408889634 + kMagic64, k = z - kMagic64;
  const double r = Fma(k, -1.9082149292705877e-10, Fma(k, -0.69314718036912382, x));
  return {r, k, BitCast<uint64_t>(z) << 52};
}
inline double PowerOfTwo(uint64_t shift) { return BitCast<double>(shift + (uint64_t{1023} << 52)); }
// exp(r) - 1 for |r| <= 0.35.
inline double Expm1Reduced(double r) {
  constexpr double kTerms[] = {0.5, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880};
  return Fma(r * r, Polynomial(kTerms, r), r);
}
// |x| < 700.
inline double ExpD(double x) {
  const Reduced e = ReduceExp(x);
  return (1.0 + Expm1Reduced(e.r)) * PowerOfTwo(e.shift);
}
inline double Bound(double x, double low, double high) {
  const double l = x < low ? low : x;
  return l > high ? high : l;
}

inline float Expm1F(float f) {
  const double x = Bound(f, -30.0, 90.0);
  const Reduced e = ReduceExp(x);
  const double scale = PowerOfTwo(e.shift);
  const float r = static_cast<float>(Fma(scale, Expm1Reduced(e.r), scale - 1.0));
  return f != f || f == 0 ? f : r;
}

// 2 atanh(s) for |s| <= 0.1716.
inline double TwoAtanh(double s) {
  constexpr double kTerms[] = {2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17};
  const double s2 = s * s;
  return Fma(s * s2, Polynomial(kTerms, s2), 2.0 * s);
}
// Positive normal doubles. *k receives the exponent: log(x) = k ln 2 + result.
inline double LogReduced(double x, double* k) {
  const uint64_t shifted = BitCast<uint64_t>(x) - 0x3fe6a09e667f3bcd;
  // The exponent as a double: its bits added to the magic number's.
  const uint64_t biased = (shifted + (uint64_t{1024} << 52)) >> 52;
  *k = BitCast<double>(biased + BitCast<uint64_t>(kMagic64)) - kMagic64 - 1024.0;
  const double m = BitCast<double>((shifted & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd);
  return TwoAtanh((m - 1.0) / (m + 1.0));
}
inline double LogD(double x) {
  double k;
  const double l = LogReduced(x, &k);
  return Fma(k, 0.69314718055994531, l);
}

inline float Log1pF(float f) {
  const double x = f;
  const double near = TwoAtanh(x / (2.0 + x));
  const double far = LogD(Bound(1.0 + x, 1e-300, 1e300));
  const float r = static_cast<float>(std::fabs(x) < 0.25 ? near : far);
  const float in = f > -1.0f ? (f == INFINITY ? f : r) : f == -1.0f ? -INFINITY : NAN;
  return f != f || f == 0 ? f : in;
}

inline double ErfInvD(double x) {
  constexpr double kCentral[] = {1.5014093511378614,      0.24664027676941103,    -0.0041773181300015392,
                                 -0.0012527080251249641,  0.00021825125983507217, -4.9959397821107296e-06,
                                 -3.4175400577892401e-06, 4.7866801750493073e-07, 1.3824803830939121e-08,
                                 -1.0858365423457543e-08, 8.1346025955156194e-10, 1.2327281239309559e-10,
                                 -2.0164113342055369e-11};
  constexpr double kTail[] = {3.033636570445736,      1.0046924345208517,      0.0059734494931531299,
                              -0.0042940210818835671, 0.0029475992624751184,   -0.0019935106341963486,
                              0.0010920506842079722,  -0.00035868387187004621, -3.8137572621354783e-05,
                              0.0001000568506006865,  -3.1424364416707676e-05};
  const double q = Bound((1.0 - x) * (1.0 + x), 1e-300, 1.0);
  const double w = std::fabs(x) < 0.3 ? -TwoAtanh(-x * x / (2.0 - x * x)) : -LogD(q);
  const double p = w < 5.0 ? Polynomial(kCentral, w - 2.5) : Polynomial(kTail, std::sqrt(w < 5.0 ? 5.0 : w) - 3.2);
  return p * x;
}
inline float ErfInvF(float f) {
  const float r = static_cast<float>(ErfInvD(f));
  const float a = std::fabs(f);
  const float in = a < 1.0f ? r : a == 1.0f ? std::copysign(INFINITY, f) : NAN;
  return f != f ? f : in;
}

// Sine and cosine of x for |x| < 2^45; `quarter`: multiples of pi / 2 taken off.
inline void SinCos(double x, double* sine, double* cosine) {
  constexpr double kSin[] = {-1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800};
  constexpr double kCos[] = {-0.5, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600};
  const double z = x * 0.63661977236758138 + kMagic64, k = z - kMagic64;
  const uint64_t quarter = BitCast<uint64_t>(z);
  const double r = Fma(k, -6.123233995736766e-17, Fma(k, -1.5707963267948966, x));
  const double r2 = r * r;
  const double s = Fma(r * r2, Polynomial(kSin, r2), r), c = Fma(r2, Polynomial(kCos, r2), 1.0);
  const uint64_t odd = ~(quarter & 1) + 1;
  const uint64_t a = (BitCast<uint64_t>(s) & ~odd) | (BitCast<uint64_t>(c) & odd);
  const uint64_t b = (BitCast<uint64_t>(c) & ~odd) | (BitCast<uint64_t>(s) & odd);
  *sine = BitCast<double>(a ^ ((quarter & 2) << 62));
  *cosine = BitCast<double>(b ^ (((quarter + 1) & 2) << 62));
}

// |x|^y and its sign for finite non-zero x and finite y.
inline float PowInRange(float fx, float fy) {
  const double x = std::fabs(static_cast<double>(fx)), y = fy;
  double k;
  const double l = LogReduced(x == 0 ? 1.0 : x, &k);
  const double log2 = Fma(l, 1.4426950408889634, k);
  const double e = Bound(y * log2, -400.0, 400.0);
  const double z = e + kMagic64, n = z - kMagic64;
  const double r = (1.0 + Expm1Reduced((e - n) * 0.69314718055994531)) * PowerOfTwo(BitCast<uint64_t>(z) << 52);
  const float magnitude = static_cast<float>(r);
  const bool whole = std::floor(fy) == fy, odd = whole && std::floor(fy * 0.5f) * 2.0f != fy;
  const float negative = whole ? (odd ? -magnitude : magnitude) : NAN;
  return fx < 0 ? negative : magnitude;
}

}  // namespace
}  // namespace mychip::emulator
