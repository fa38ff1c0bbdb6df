// f32 functions.
#include "float_ops.h"
#include "kernel_loops.h"
#include "special_math.h"

namespace mychip::emulator {
namespace {

#define FUNCTION(name, expression)           \
  struct name {                              \
    static float Do(float f) {               \
      const double x = f;                    \
      return static_cast<float>(expression); \
    }                                        \
  };
FUNCTION(Exp, std::exp(x))
FUNCTION(Expm1, std::expm1(x))
FUNCTION(Log, std::log(x))
FUNCTION(Log1p, std::log1p(x))
FUNCTION(Tanh, std::tanh(x))
FUNCTION(Logistic, LogisticF64(x))
FUNCTION(Sin, std::sin(x))
FUNCTION(Cos, std::cos(x))
FUNCTION(Tan, std::tan(x))
FUNCTION(Erf, std::erf(x))
FUNCTION(Erfc, std::erfc(x))
FUNCTION(ErfInv, ErfInvF64(x))
FUNCTION(Lgamma, LgammaF64(x))
FUNCTION(Digamma, DigammaF64(x))
FUNCTION(Cbrt, std::cbrt(x))
#undef FUNCTION

struct Rem {
  static float Do(float a, float b) { return std::fmod(a, b); }
};
struct FloorMod {
  static float Do(float a, float b) {
    const float m = std::fmod(a, b);
    return m != 0 && (b < 0) != (m < 0) ? m + b : m;
  }
};
struct Pow {
  static float Do(float a, float b) { return static_cast<float>(std::pow(double(a), double(b))); }
};
struct Atan2 {
  static float Do(float a, float b) { return static_cast<float>(std::atan2(double(a), double(b))); }
};

template <typename F>
KernelSet Un() {
  return Unary<float, float, F>();
}
template <typename F>
KernelSet Bin() {
  return Binary<float, float, F>();
}

}  // namespace

KernelSet FindF32MathKernel(VOp op) {
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
      return Un<Sin>();
    case VOp::kCos:
      return Un<Cos>();
    case VOp::kTan:
      return Un<Tan>();
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
      return Bin<Pow>();
    case VOp::kAtan2:
      return Bin<Atan2>();
    default:
      return {};
  }
}

}  // namespace mychip::emulator
