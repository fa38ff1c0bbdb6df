// Simple f32 operations (also those of f16 and bf16, whose lanes are f32).
#include "float_ops.h"
#include "kernel_loops.h"

namespace mychip::emulator {

KernelSet FindF32Kernel(VOp op, DType result) {
  using O = FloatOps<float>;
  if (result == DType::kPred) {
    switch (op) {
      case VOp::kIsFinite:
        return Unary<uint8_t, float, O::IsFinite>();
      case VOp::kIsNan:
        return Unary<uint8_t, float, O::IsNan>();
      case VOp::kIsInf:
        return Unary<uint8_t, float, O::IsInf>();
      case VOp::kEq:
        return Binary<uint8_t, float, O::Eq>();
      case VOp::kNe:
        return Binary<uint8_t, float, O::Ne>();
      case VOp::kLt:
        return Binary<uint8_t, float, O::Lt>();
      case VOp::kLe:
        return Binary<uint8_t, float, O::Le>();
      case VOp::kGt:
        return Binary<uint8_t, float, O::Gt>();
      case VOp::kGe:
        return Binary<uint8_t, float, O::Ge>();
      case VOp::kLtTotal:
        return Binary<uint8_t, float, O::LtTotal>();
      default:
        return {};
    }
  }
  switch (op) {
    case VOp::kAbs:
      return Unary<float, float, O::Abs>();
    case VOp::kNeg:
      return Unary<float, float, O::Neg>();
    case VOp::kSign:
      return Unary<float, float, O::Sign>();
    case VOp::kFloor:
      return Unary<float, float, O::Floor>();
    case VOp::kCeil:
      return Unary<float, float, O::Ceil>();
    case VOp::kTrunc:
      return Unary<float, float, O::Trunc>();
    case VOp::kRoundEven:
      return Unary<float, float, O::RoundEven>();
    case VOp::kRoundAfz:
      return Unary<float, float, O::RoundAfz>();
    case VOp::kSqrt:
      return Unary<float, float, O::Sqrt>();
    case VOp::kRsqrt:
      return Unary<float, float, O::Rsqrt>();
    case VOp::kAdd:
      return Binary<float, float, O::Add>();
    case VOp::kSub:
      return Binary<float, float, O::Sub>();
    case VOp::kMul:
      return Binary<float, float, O::Mul>();
    case VOp::kDiv:
      return Binary<float, float, O::Div>();
    case VOp::kDivNoNan:
      return Binary<float, float, O::DivNoNan>();
    case VOp::kFloorDiv:
      return Binary<float, float, O::FloorDiv>();
    case VOp::kMax:
      return Binary<float, float, O::Max>();
    case VOp::kMin:
      return Binary<float, float, O::Min>();
    case VOp::kNextAfter:
      return Binary<float, float, O::NextAfter>();
    case VOp::kFma:
      return Ternary<float, float, O::Fma>();
    case VOp::kClamp:
      return Ternary<float, float, O::Clamp>();
    default:
      return FindF32MathKernel(op);
  }
}

}  // namespace mychip::emulator
