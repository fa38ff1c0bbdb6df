// Scalar definitions of the simple float operations, for f32 and f64 kernel files. Written so that loops vectorise.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace mychip::emulator {
namespace {

template <typename To, typename From>
inline To BitCast(From x) {
  static_assert(sizeof(To) == sizeof(From), "");
  To r;
  std::memcpy(&r, &x, sizeof(r));
  return r;
}

template <typename T>
struct FloatBits;
template <>
struct FloatBits<float> {
  using S = int32_t;
  using U = uint32_t;
};
template <>
struct FloatBits<double> {
  using S = int64_t;
  using U = uint64_t;
};

template <typename T>
struct FloatOps {
  using S = typename FloatBits<T>::S;
  static constexpr S kSign = S(1) << (sizeof(T) * 8 - 1);

  struct Add {
    static T Do(T a, T b) { return a + b; }
  };
  struct Sub {
    static T Do(T a, T b) { return a - b; }
  };
  struct Mul {
    static T Do(T a, T b) { return a * b; }
  };
  struct Div {
    static T Do(T a, T b) { return a / b; }
  };
  struct DivNoNan {
    static T Do(T a, T b) {
      const T q = a / b;
      return b == 0 ? T(0) : q;
    }
  };
  struct FloorDiv {
    static T Do(T a, T b) { return std::floor(a / b); }
  };
  struct Max {  // NaN of either side; the first of equal ones
    static T Do(T a, T b) {
      const T m = a >= b ? a : b;
      return a != a ? a : m;
    }
  };
  struct Min {
    static T Do(T a, T b) {
      const T m = a <= b ? a : b;
      return a != a ? a : m;
    }
  };
  struct Fma {
    static T Do(T a, T b, T c) { return std::fma(a, b, c); }
  };
  struct Clamp {
    static T Do(T lo, T x, T hi) { return Min::Do(Max::Do(x, lo), hi); }
  };
  struct Abs {
    static T Do(T a) { return BitCast<T>(S(BitCast<S>(a) & ~kSign)); }
  };
  struct Neg {
    static T Do(T a) { return BitCast<T>(S(BitCast<S>(a) ^ kSign)); }
  };
  struct Sign {
    static T Do(T a) {
      const T s = BitCast<T>(S((BitCast<S>(a) & kSign) | BitCast<S>(T(1))));
      return a < 0 || a > 0 ? s : a;  // zeros and NaN stay
    }
  };
  struct Floor {
    static T Do(T a) { return std::floor(a); }
  };
  struct Ceil {
    static T Do(T a) { return std::ceil(a); }
  };
  struct Trunc {
    static T Do(T a) { return std::trunc(a); }
  };
  struct RoundEven {
    static T Do(T a) { return __builtin_rint(a); }  // the rounding mode is never changed
  };
  struct RoundAfz {
    static T Do(T a) {
      const T t = std::trunc(a);
      const T away = t + std::copysign(T(1), a);
      const T r = std::fabs(a - t) >= T(0.5) ? away : t;
      return std::copysign(r, a);
    }
  };
  struct Sqrt {
    static T Do(T a) { return std::sqrt(a); }
  };
  struct Rsqrt {
    static T Do(T a) { return T(1.0 / std::sqrt(double(a))); }
  };
  struct IsFinite {
    static uint8_t Do(T a) { return Abs::Do(a) < T(INFINITY); }
  };
  struct IsNan {
    static uint8_t Do(T a) { return a != a; }
  };
  struct IsInf {
    static uint8_t Do(T a) { return Abs::Do(a) == T(INFINITY); }
  };
  struct Eq {
    static uint8_t Do(T a, T b) { return a == b; }
  };
  struct Ne {
    static uint8_t Do(T a, T b) { return a != b; }
  };
  struct Lt {
    static uint8_t Do(T a, T b) { return a < b; }
  };
  struct Le {
    static uint8_t Do(T a, T b) { return a <= b; }
  };
  struct Gt {
    static uint8_t Do(T a, T b) { return a > b; }
  };
  struct Ge {
    static uint8_t Do(T a, T b) { return a >= b; }
  };
  // Order of the bits as sign and magnitude.
  static S TotalKey(T a) {
    const S bits = BitCast<S>(a);
    return bits ^ ((bits >> (sizeof(T) * 8 - 1)) & ~kSign);
  }
  struct LtTotal {
    static uint8_t Do(T a, T b) { return TotalKey(a) < TotalKey(b); }
  };
  struct NextAfter {
    static T Do(T a, T b) {
      const S bits = BitCast<S>(a);
      const bool up = (a < b) == (bits >= 0);  // the magnitude grows
      S next = bits + (up ? 1 : -1);
      next = a == 0 ? S((BitCast<S>(b) & kSign) | 1) : next;
      const T r = a == b ? b : BitCast<T>(next);
      return a != a || b != b ? a + b : r;
    }
  };
};

}  // namespace
}  // namespace mychip::emulator
