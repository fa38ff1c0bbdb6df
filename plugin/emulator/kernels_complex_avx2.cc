// c64 and c128. Products are the plain formula (as XLA's); functions by the C library in double.
#include <complex>

#include "float_ops.h"
#include "kernel_loops.h"

namespace mychip::emulator {
namespace {

template <typename T>
struct ComplexOps {
  using C = std::complex<T>;
  using Z = std::complex<double>;
  static Z Wide(C a) { return Z(a.real(), a.imag()); }
  static C Narrow(Z a) { return C(T(a.real()), T(a.imag())); }

  struct Add {
    static C Do(C a, C b) { return {a.real() + b.real(), a.imag() + b.imag()}; }
  };
  struct Sub {
    static C Do(C a, C b) { return {a.real() - b.real(), a.imag() - b.imag()}; }
  };
  struct Mul {
    static C Do(C a, C b) {
      return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
    }
  };
  struct Div {
    static C Do(C a, C b) { return Narrow(Wide(a) / Wide(b)); }
  };
  struct DivNoNan {
    static C Do(C a, C b) { return b == C(0) ? C(0) : Div::Do(a, b); }
  };
  struct Pow {
    static C Do(C a, C b) {
      if (b == C(0)) return C(1);
      if (a == C(0)) return C(0);
      return Narrow(std::pow(Wide(a), Wide(b)));
    }
  };
  struct Neg {
    static C Do(C a) { return {-a.real(), -a.imag()}; }
  };
  struct Sign {
    static C Do(C a) {
      const double m = std::abs(Wide(a));
      return m == 0 ? C(0) : Narrow(Wide(a) / m);
    }
  };
  struct Exp {
    static C Do(C a) { return Narrow(std::exp(Wide(a))); }
  };
  struct Expm1 {
    static C Do(C a) {  // e^x cos y - 1 = expm1(x) cos y - 2 sin^2(y/2)
      const double x = a.real(), y = a.imag(), s = std::sin(y / 2);
      return Narrow(Z(std::expm1(x) * std::cos(y) - 2 * s * s, y == 0 ? y : std::exp(x) * std::sin(y)));
    }
  };
  struct Log {
    static C Do(C a) { return Narrow(std::log(Wide(a))); }
  };
  struct Log1p {
    static C Do(C a) {
      const double x = a.real(), y = a.imag();
      const bool small = std::fabs(x) < 0.5 && std::fabs(y) < 0.5;
      const double re = small ? 0.5 * std::log1p(x * (2 + x) + y * y) : std::log(std::hypot(1 + x, y));
      return Narrow(Z(re, std::atan2(y, 1 + x)));
    }
  };
  struct Sqrt {
    static C Do(C a) { return Narrow(std::sqrt(Wide(a))); }
  };
  struct Rsqrt {
    static C Do(C a) { return Narrow(1.0 / std::sqrt(Wide(a))); }
  };
  struct Cbrt {
    static C Do(C a) { return Narrow(std::pow(Wide(a), 1.0 / 3)); }
  };
  struct Tanh {
    static C Do(C a) { return Narrow(std::tanh(Wide(a))); }
  };
  struct Logistic {
    static C Do(C a) { return Narrow(1.0 / (1.0 + std::exp(-Wide(a)))); }
  };
  struct Sin {
    static C Do(C a) { return Narrow(std::sin(Wide(a))); }
  };
  struct Cos {
    static C Do(C a) { return Narrow(std::cos(Wide(a))); }
  };
  struct Tan {
    static C Do(C a) { return Narrow(std::tan(Wide(a))); }
  };
  struct Abs {
    static T Do(C a) { return T(std::hypot(double(a.real()), double(a.imag()))); }
  };
  struct Real {
    static T Do(C a) { return a.real(); }
  };
  struct Imag {
    static T Do(C a) { return a.imag(); }
  };
  struct Eq {
    static uint8_t Do(C a, C b) { return a.real() == b.real() && a.imag() == b.imag(); }
  };
  struct Ne {
    static uint8_t Do(C a, C b) { return a.real() != b.real() || a.imag() != b.imag(); }
  };
  struct Make {
    static C Do(T re, T im) { return {re, im}; }
  };
};

template <typename T>
KernelSet Find(VOp op, DType result) {
  using O = ComplexOps<T>;
  using C = std::complex<T>;
  if (result == DType::kPred) {
    if (op == VOp::kEq) return Binary<uint8_t, C, typename O::Eq>();
    if (op == VOp::kNe) return Binary<uint8_t, C, typename O::Ne>();
    return {};
  }
  switch (op) {
    case VOp::kAbs:
      return Unary<T, C, typename O::Abs>();
    case VOp::kReal:
      return Unary<T, C, typename O::Real>();
    case VOp::kImag:
      return Unary<T, C, typename O::Imag>();
    case VOp::kNeg:
      return Unary<C, C, typename O::Neg>();
    case VOp::kSign:
      return Unary<C, C, typename O::Sign>();
    case VOp::kExp:
      return Unary<C, C, typename O::Exp>();
    case VOp::kExpm1:
      return Unary<C, C, typename O::Expm1>();
    case VOp::kLog:
      return Unary<C, C, typename O::Log>();
    case VOp::kLog1p:
      return Unary<C, C, typename O::Log1p>();
    case VOp::kSqrt:
      return Unary<C, C, typename O::Sqrt>();
    case VOp::kRsqrt:
      return Unary<C, C, typename O::Rsqrt>();
    case VOp::kCbrt:
      return Unary<C, C, typename O::Cbrt>();
    case VOp::kTanh:
      return Unary<C, C, typename O::Tanh>();
    case VOp::kLogistic:
      return Unary<C, C, typename O::Logistic>();
    case VOp::kSin:
      return Unary<C, C, typename O::Sin>();
    case VOp::kCos:
      return Unary<C, C, typename O::Cos>();
    case VOp::kTan:
      return Unary<C, C, typename O::Tan>();
    case VOp::kAdd:
      return Binary<C, C, typename O::Add>();
    case VOp::kSub:
      return Binary<C, C, typename O::Sub>();
    case VOp::kMul:
      return Binary<C, C, typename O::Mul>();
    case VOp::kDiv:
      return Binary<C, C, typename O::Div>();
    case VOp::kDivNoNan:
      return Binary<C, C, typename O::DivNoNan>();
    case VOp::kPow:
      return Binary<C, C, typename O::Pow>();
    default:
      return {};
  }
}

}  // namespace

KernelSet FindComplexKernel(VOp op, DType result, DType operand) {
  if (op == VOp::kComplex) {
    if (result == DType::kC64) return Binary<std::complex<float>, float, ComplexOps<float>::Make>();
    return Binary<std::complex<double>, double, ComplexOps<double>::Make>();
  }
  return operand == DType::kC64 ? Find<float>(op, result) : Find<double>(op, result);
}

}  // namespace mychip::emulator
