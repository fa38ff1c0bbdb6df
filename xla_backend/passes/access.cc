#include "access.h"

#include "xla_headers.h"

namespace mychip::xla_backend {

using xla::HloInstruction;
using xla::HloOpcode;

bool ToDType(xla::PrimitiveType type, DType* dtype) {
  static const auto* const table = new std::map<xla::PrimitiveType, DType>{
      {xla::PRED, DType::kPred}, {xla::S8, DType::kS8},   {xla::S16, DType::kS16},   {xla::S32, DType::kS32},
      {xla::S64, DType::kS64},   {xla::U8, DType::kU8},   {xla::U16, DType::kU16},   {xla::U32, DType::kU32},
      {xla::U64, DType::kU64},   {xla::F16, DType::kF16}, {xla::BF16, DType::kBF16}, {xla::F32, DType::kF32},
      {xla::F64, DType::kF64},   {xla::C64, DType::kC64}, {xla::C128, DType::kC128},
  };
  const auto it = table->find(type);
  if (it == table->end()) return false;
  *dtype = it->second;
  return true;
}

Dims DimsOf(const xla::Shape& shape) { return Dims(shape.dimensions().begin(), shape.dimensions().end()); }

bool IsElementwiseOpcode(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAbs:
    case HloOpcode::kAdd:
    case HloOpcode::kAnd:
    case HloOpcode::kAtan2:
    case HloOpcode::kCbrt:
    case HloOpcode::kCeil:
    case HloOpcode::kClamp:
    case HloOpcode::kClz:
    case HloOpcode::kCompare:
    case HloOpcode::kComplex:
    case HloOpcode::kConvert:
    case HloOpcode::kCopy:
    case HloOpcode::kCos:
    case HloOpcode::kDivide:
    case HloOpcode::kErf:
    case HloOpcode::kExp:
    case HloOpcode::kExpm1:
    case HloOpcode::kFloor:
    case HloOpcode::kImag:
    case HloOpcode::kIsFinite:
    case HloOpcode::kLog:
    case HloOpcode::kLog1p:
    case HloOpcode::kLogistic:
    case HloOpcode::kMap:
    case HloOpcode::kMaximum:
    case HloOpcode::kMinimum:
    case HloOpcode::kMultiply:
    case HloOpcode::kNegate:
    case HloOpcode::kNot:
    case HloOpcode::kOr:
    case HloOpcode::kPopulationCount:
    case HloOpcode::kPower:
    case HloOpcode::kReal:
    case HloOpcode::kReducePrecision:
    case HloOpcode::kRemainder:
    case HloOpcode::kRoundNearestAfz:
    case HloOpcode::kRoundNearestEven:
    case HloOpcode::kRsqrt:
    case HloOpcode::kSelect:
    case HloOpcode::kShiftLeft:
    case HloOpcode::kShiftRightArithmetic:
    case HloOpcode::kShiftRightLogical:
    case HloOpcode::kSign:
    case HloOpcode::kSin:
    case HloOpcode::kSqrt:
    case HloOpcode::kSubtract:
    case HloOpcode::kTan:
    case HloOpcode::kTanh:
    case HloOpcode::kXor:
      return true;
    default:
      return false;
  }
}

bool IsElementwise(const HloInstruction* instruction) {
  if (instruction->opcode() == HloOpcode::kBitcastConvert) {
    return DimsOf(instruction->shape()) == DimsOf(instruction->operand(0)->shape());
  }
  return IsElementwiseOpcode(instruction->opcode()) && instruction->shape().IsArray();
}

bool IsMovement(const HloInstruction* instruction) {
  switch (instruction->opcode()) {
    case HloOpcode::kBroadcast:
    case HloOpcode::kReshape:
    case HloOpcode::kReverse:
    case HloOpcode::kSlice:
    case HloOpcode::kTranspose:
      return true;
    case HloOpcode::kBitcast:
      return instruction->shape().element_type() == instruction->operand(0)->shape().element_type();
    default:
      return false;
  }
}

bool IsScalarConstant(const HloInstruction* instruction) {
  return instruction->opcode() == HloOpcode::kConstant && IsSingle(instruction->shape());
}

bool ApplyMovement(const HloInstruction* movement, const View& operand, View* result) {
  const Dims dims = DimsOf(movement->shape());
  switch (movement->opcode()) {
    case HloOpcode::kBroadcast:
      *result = Broadcast(operand, dims, Dims(movement->dimensions().begin(), movement->dimensions().end()));
      return true;
    case HloOpcode::kReverse:
      *result = Reversed(operand, Dims(movement->dimensions().begin(), movement->dimensions().end()));
      return true;
    case HloOpcode::kSlice: {
      const auto copy = [](const auto& values) { return Dims(values.begin(), values.end()); };
      *result = Sliced(operand, copy(movement->slice_starts()), copy(movement->slice_limits()),
                       copy(movement->slice_strides()));
      return true;
    }
    case HloOpcode::kTranspose:
      *result = Transposed(operand, Dims(movement->dimensions().begin(), movement->dimensions().end()));
      return true;
    default:
      return Reshaped(operand, dims, result);
  }
}

bool Replay(const View& leaf, const Chain& chain, const Dims& space, View* result) {
  View view = leaf;
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
    if (*it == nullptr) {
      view.dims = space;
      view.strides.assign(space.size(), 0);
      continue;
    }
    View next;
    if (!ApplyMovement(*it, view, &next)) return false;
    view = next;
  }
  *result = view;
  return true;
}

Chain OperandChain(const HloInstruction* consumer, int64_t index, const Chain& chain) {
  if (IsSingle(consumer->operand(index)->shape())) return {nullptr};
  Chain result = chain;
  if (IsMovement(consumer)) result.push_back(consumer);
  return result;
}

View IotaView(const HloInstruction* iota) {
  View view;
  view.dtype = DType::kU8;
  view.dims = DimsOf(iota->shape());
  view.strides.assign(view.dims.size(), 0);
  view.strides[xla::Cast<xla::HloIotaInstruction>(iota)->iota_dimension()] = 1;
  return view;
}

}  // namespace mychip::xla_backend
