// Integer and pred operations. Arithmetic wraps; division follows vector_ops.def.
#include <limits>
#include <type_traits>

#include "kernel_loops.h"

namespace mychip::emulator {
namespace {

template <typename T>
struct IntOps {
  using U = std::make_unsigned_t<T>;
  using W = std::conditional_t<sizeof(T) < 4, uint32_t, U>;  // small types would promote to int, which may overflow
  static constexpr bool kSigned = std::is_signed_v<T>;
  static constexpr int kBits = sizeof(T) * 8;
  static constexpr T kMin = std::numeric_limits<T>::min();

  struct Add {
    static T Do(T a, T b) { return T(U(a) + U(b)); }
  };
  struct Sub {
    static T Do(T a, T b) { return T(U(a) - U(b)); }
  };
  struct Mul {
    static T Do(T a, T b) { return T(W(a) * W(b)); }
  };
  static T Quotient(T a, T b) {
    if constexpr (sizeof(T) < 4) {
      const float q = float(a) / float(b == 0 ? T(1) : b);  // exact enough: 16-bit operands, and truncation below
      return T(int32_t(q));
    } else if constexpr (sizeof(T) == 4) {
      const double q = double(a) / double(b == 0 ? T(1) : b);
      return T(int64_t(q));
    } else {
      if constexpr (kSigned) {
        if (b == -1) return T(U(0) - U(a));
      }
      return a / (b == 0 ? T(1) : b);
    }
  }
  struct Div {
    static T Do(T a, T b) {
      const T q = Quotient(a, b);
      return b == 0 ? T(-1) : q;
    }
  };
  struct DivNoNan {
    static T Do(T a, T b) {
      const T q = Quotient(a, b);
      return b == 0 ? T(0) : q;
    }
  };
  struct Rem {
    static T Do(T a, T b) {
      const T r = T(W(a) - W(Quotient(a, b)) * W(b));
      return b == 0 ? a : r;
    }
  };
  struct FloorDiv {
    static T Do(T a, T b) {
      const T q = Quotient(a, b);
      const T r = T(W(a) - W(q) * W(b));
      const T f = T(W(q) - W(r != 0 && (r < 0) != (b < 0)));
      return b == 0 ? T(-1) : f;
    }
  };
  struct FloorMod {
    static T Do(T a, T b) {
      const T r = T(W(a) - W(Quotient(a, b)) * W(b));
      const T m = r != 0 && (r < 0) != (b < 0) ? T(W(r) + W(b)) : r;
      return b == 0 ? a : m;
    }
  };
  struct Pow {
    static T Do(T base, T exponent) {
      if (kSigned && exponent < 0) {
        if (base == 1) return 1;
        if (kSigned && base == T(-1)) return exponent & 1 ? T(-1) : T(1);
        return 0;
      }
      T result = 1;
      for (U e = U(exponent); e != 0; e = U(e >> 1)) {
        if (e & 1) result = Mul::Do(result, base);
        base = Mul::Do(base, base);
      }
      return result;
    }
  };
  struct Max {
    static T Do(T a, T b) { return a > b ? a : b; }
  };
  struct Min {
    static T Do(T a, T b) { return a < b ? a : b; }
  };
  struct And {
    static T Do(T a, T b) { return a & b; }
  };
  struct Or {
    static T Do(T a, T b) { return a | b; }
  };
  struct Xor {
    static T Do(T a, T b) { return a ^ b; }
  };
  struct Shl {
    static T Do(T a, T b) {
      const T r = T(U(a) << (U(b) & (kBits - 1)));
      return U(b) < U(kBits) ? r : T(0);
    }
  };
  struct ShrL {
    static T Do(T a, T b) {
      const T r = T(U(a) >> (U(b) & (kBits - 1)));
      return U(b) < U(kBits) ? r : T(0);
    }
  };
  struct ShrA {
    static T Do(T a, T b) {
      using S = std::make_signed_t<T>;
      const U count = U(b) < U(kBits) ? U(b) : U(kBits - 1);
      return T(S(a) >> count);
    }
  };
  struct Abs {
    static T Do(T a) { return a < 0 ? T(U(0) - U(a)) : a; }
  };
  struct Neg {
    static T Do(T a) { return T(U(0) - U(a)); }
  };
  struct Not {
    static T Do(T a) { return T(~a); }
  };
  struct Sign {
    static T Do(T a) { return T((a > 0) - (a < 0)); }
  };
  struct Popcnt {
    static T Do(T a) { return T(__builtin_popcountll(U(a))); }
  };
  struct Clz {
    static T Do(T a) { return T(a == 0 ? kBits : __builtin_clzll(U(a)) - (64 - kBits)); }
  };
  struct Clamp {
    static T Do(T lo, T x, T hi) { return Min::Do(Max::Do(x, lo), hi); }
  };
  struct Fma {
    static T Do(T a, T b, T c) { return Add::Do(Mul::Do(a, b), c); }
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
};

template <typename T>
KernelSet FindCompare(VOp op) {
  using O = IntOps<T>;
  switch (op) {
    case VOp::kEq:
      return Binary<uint8_t, T, typename O::Eq>();
    case VOp::kNe:
      return Binary<uint8_t, T, typename O::Ne>();
    case VOp::kLt:
    case VOp::kLtTotal:
      return Binary<uint8_t, T, typename O::Lt>();
    case VOp::kLe:
      return Binary<uint8_t, T, typename O::Le>();
    case VOp::kGt:
      return Binary<uint8_t, T, typename O::Gt>();
    case VOp::kGe:
      return Binary<uint8_t, T, typename O::Ge>();
    default:
      return {};
  }
}

template <typename T>
KernelSet FindArithmetic(VOp op) {
  using O = IntOps<T>;
  switch (op) {
    case VOp::kAbs:
      return Unary<T, T, typename O::Abs>();
    case VOp::kNeg:
      return Unary<T, T, typename O::Neg>();
    case VOp::kNot:
      return Unary<T, T, typename O::Not>();
    case VOp::kSign:
      return Unary<T, T, typename O::Sign>();
    case VOp::kPopcnt:
      return Unary<T, T, typename O::Popcnt>();
    case VOp::kClz:
      return Unary<T, T, typename O::Clz>();
    case VOp::kAdd:
      return Binary<T, T, typename O::Add>();
    case VOp::kSub:
      return Binary<T, T, typename O::Sub>();
    case VOp::kMul:
      return Binary<T, T, typename O::Mul>();
    case VOp::kDiv:
      return Binary<T, T, typename O::Div>();
    case VOp::kDivNoNan:
      return Binary<T, T, typename O::DivNoNan>();
    case VOp::kRem:
      return Binary<T, T, typename O::Rem>();
    case VOp::kFloorDiv:
      return Binary<T, T, typename O::FloorDiv>();
    case VOp::kFloorMod:
      return Binary<T, T, typename O::FloorMod>();
    case VOp::kPow:
      return Binary<T, T, typename O::Pow>();
    case VOp::kMax:
      return Binary<T, T, typename O::Max>();
    case VOp::kMin:
      return Binary<T, T, typename O::Min>();
    case VOp::kAnd:
      return Binary<T, T, typename O::And>();
    case VOp::kOr:
      return Binary<T, T, typename O::Or>();
    case VOp::kXor:
      return Binary<T, T, typename O::Xor>();
    case VOp::kShl:
      return Binary<T, T, typename O::Shl>();
    case VOp::kShrA:
      return Binary<T, T, typename O::ShrA>();
    case VOp::kShrL:
      return Binary<T, T, typename O::ShrL>();
    case VOp::kClamp:
      return Ternary<T, T, typename O::Clamp>();
    case VOp::kFma:
      return Ternary<T, T, typename O::Fma>();
    default:
      return {};
  }
}

template <typename T>
KernelSet Find(VOp op, DType result) {
  return result == DType::kPred ? FindCompare<T>(op) : FindArithmetic<T>(op);
}

struct LogicalNot {
  static uint8_t Do(uint8_t a) { return a ^ 1; }
};

KernelSet FindPred(VOp op) {
  using O = IntOps<uint8_t>;
  switch (op) {
    case VOp::kAdd:
    case VOp::kMax:
    case VOp::kOr:
      return Binary<uint8_t, uint8_t, O::Or>();
    case VOp::kMul:
    case VOp::kMin:
    case VOp::kAnd:
      return Binary<uint8_t, uint8_t, O::And>();
    case VOp::kSub:  // as a difference modulo 2
    case VOp::kXor:
      return Binary<uint8_t, uint8_t, O::Xor>();
    case VOp::kNot:
      return Unary<uint8_t, uint8_t, LogicalNot>();
    case VOp::kClamp:
      return Ternary<uint8_t, uint8_t, O::Clamp>();
    default:
      return FindCompare<uint8_t>(op);
  }
}

}  // namespace

KernelSet FindIntKernel(VOp op, DType result, DType operand) {
  switch (operand) {
    case DType::kPred:
      return FindPred(op);
    case DType::kS8:
      return Find<int8_t>(op, result);
    case DType::kS16:
      return Find<int16_t>(op, result);
    case DType::kS32:
      return Find<int32_t>(op, result);
    case DType::kS64:
      return Find<int64_t>(op, result);
    case DType::kU8:
      return Find<uint8_t>(op, result);
    case DType::kU16:
      return Find<uint16_t>(op, result);
    case DType::kU32:
      return Find<uint32_t>(op, result);
    case DType::kU64:
      return Find<uint64_t>(op, result);
    default:
      return {};
  }
}

}  // namespace mychip::emulator
