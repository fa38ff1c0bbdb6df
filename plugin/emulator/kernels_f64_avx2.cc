// f64 operations: simple ones vectorised, functions by the C library.
#include "float_ops.h"
#include "kernel_loops.h"
#include "special_math.h"

namespace mychip::emulator {
namespace {

using O = FloatOps<double>;

#define FUNCTION(name, expression)                    \
  struct name {                                       \
    static double Do(double x) { return expression; } \
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
  static double Do(double a, double b) { return std::fmod(a, b); }
};
struct FloorMod {
  static double Do(double a, double b) {
    const double m = std::fmod(a, b);
    return m != 0 && (b < 0) != (m < 0) ? m + b : m;
  }
};
struct Pow {
  static double Do(double a, double b) { return std::pow(a, b); }
};
struct Atan2 {
  static double Do(double a, double b) { return std::atan2(a, b); }
};

template <typename F>
KernelSet Un() {
  return Unary<double, double, F>();
}
template <typename F>
KernelSet Bin() {
  return Binary<double, double, F>();
}
template <typename F>
KernelSet Cmp() {
  return Binary<uint8_t, double, F>();
}

KernelSet FindPred(VOp op) {
  switch (op) {
    case VOp::kIsFinite:
      return Unary<uint8_t, double, O::IsFinite>();
    case VOp::kIsNan:
      return Unary<uint8_t, double, O::IsNan>();
    case VOp::kIsInf:
      return Unary<uint8_t, double, O::IsInf>();
    case VOp::kEq:
      return Cmp<O::Eq>();
    case VOp::kNe:
      return Cmp<O::Ne>();
    case VOp::kLt:
      return Cmp<O::Lt>();
    case VOp::kLe:
      return Cmp<O::Le>();
    case VOp::kGt:
      return Cmp<O::Gt>();
    case VOp::kGe:
      return Cmp<O::Ge>();
    case VOp::kLtTotal:
      return Cmp<O::LtTotal>();
    default:
      return {};
  }
}

}  // namespace

KernelSet FindF64Kernel(VOp op, DType result) {
  if (result == DType::kPred) return FindPred(op);
  switch (op) {
    case VOp::kAbs:
      return Un<O::Abs>();
    case VOp::kNeg:
      return Un<O::Neg>();
    case VOp::kSign:
      return Un<O::Sign>();
    case VOp::kFloor:
      return Un<O::Floor>();
    case VOp::kCeil:
      return Un<O::Ceil>();
    case VOp::kTrunc:
      return Un<O::Trunc>();
    case VOp::kRoundEven:
      return Un<O::RoundEven>();
    case VOp::kRoundAfz:
      return Un<O::RoundAfz>();
    case VOp::kSqrt:
      return Un<O::Sqrt>();
    case VOp::kRsqrt:
      return Un<O::Rsqrt>();
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
    case VOp::kAdd:
      return Bin<O::Add>();
    case VOp::kSub:
      return Bin<O::Sub>();
    case VOp::kMul:
      return Bin<O::Mul>();
    case VOp::kDiv:
      return Bin<O::Div>();
    case VOp::kDivNoNan:
      return Bin<O::DivNoNan>();
    case VOp::kFloorDiv:
      return Bin<O::FloorDiv>();
    case VOp::kRem:
      return Bin<Rem>();
    case VOp::kFloorMod:
      return Bin<FloorMod>();
    case VOp::kPow:
      return Bin<Pow>();
    case VOp::kAtan2:
      return Bin<Atan2>();
    case VOp::kNextAfter:
      return Bin<O::NextAfter>();
    case VOp::kMax:
      return Bin<O::Max>();
    case VOp::kMin:
      return Bin<O::Min>();
    case VOp::kFma:
      return Ternary<double, double, O::Fma>();
    case VOp::kClamp:
      return Ternary<double, double, O::Clamp>();
    default:
      return {};
  }
}

}  // namespace mychip::emulator
