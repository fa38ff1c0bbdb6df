#include "elementwise.h"

#include <cstring>

#include "access.h"
#include "xla/comparison_util.h"
#include "xla_headers.h"

namespace mychip::xla_backend {
namespace {

using xla::HloComputation;
using xla::HloInstruction;
using xla::HloOpcode;

const std::unordered_map<int, VOp>& PlainOps() {
  static const auto* const table = new std::unordered_map<int, VOp>{
#define ROW(hlo, chip) {static_cast<int>(HloOpcode::hlo), VOp::chip}
      ROW(kAbs, kAbs),
      ROW(kAdd, kAdd),
      ROW(kAnd, kAnd),
      ROW(kAtan2, kAtan2),
      ROW(kCbrt, kCbrt),
      ROW(kCeil, kCeil),
      ROW(kClamp, kClamp),
      ROW(kClz, kClz),
      ROW(kComplex, kComplex),
      ROW(kCos, kCos),
      ROW(kDivide, kDiv),
      ROW(kErf, kErf),
      ROW(kExp, kExp),
      ROW(kExpm1, kExpm1),
      ROW(kFloor, kFloor),
      ROW(kIsFinite, kIsFinite),
      ROW(kLog, kLog),
      ROW(kLog1p, kLog1p),
      ROW(kLogistic, kLogistic),
      ROW(kMaximum, kMax),
      ROW(kMinimum, kMin),
      ROW(kMultiply, kMul),
      ROW(kNegate, kNeg),
      ROW(kNot, kNot),
      ROW(kOr, kOr),
      ROW(kPopulationCount, kPopcnt),
      ROW(kPower, kPow),
      ROW(kRemainder, kRem),
      ROW(kRoundNearestAfz, kRoundAfz),
      ROW(kRoundNearestEven, kRoundEven),
      ROW(kRsqrt, kRsqrt),
      ROW(kSelect, kSelect),
      ROW(kShiftLeft, kShl),
      ROW(kShiftRightArithmetic, kShrA),
      ROW(kShiftRightLogical, kShrL),
      ROW(kSign, kSign),
      ROW(kSin, kSin),
      ROW(kSqrt, kSqrt),
      ROW(kSubtract, kSub),
      ROW(kTan, kTan),
      ROW(kTanh, kTanh),
      ROW(kXor, kXor),
#undef ROW
  };
  return *table;
}

// The unsigned type of the same width, in which total order's equality is equality of bits.
DType BitsType(DType dtype) {
  switch (ByteSize(dtype)) {
    case 2:
      return DType::kU16;
    case 4:
      return DType::kU32;
    default:
      return DType::kU64;
  }
}

int EmitTotalOrder(BodyBuilder& b, xla::ComparisonDirection direction, int lhs, int rhs) {
  const DType bits = BitsType(b.dtype(lhs));
  switch (direction) {
    case xla::ComparisonDirection::kEq:
      return b.Binary(VOp::kEq, b.Bitcast(bits, lhs), b.Bitcast(bits, rhs));
    case xla::ComparisonDirection::kNe:
      return b.Binary(VOp::kNe, b.Bitcast(bits, lhs), b.Bitcast(bits, rhs));
    case xla::ComparisonDirection::kLt:
      return b.Binary(VOp::kLtTotal, lhs, rhs);
    case xla::ComparisonDirection::kGt:
      return b.Binary(VOp::kLtTotal, rhs, lhs);
    case xla::ComparisonDirection::kGe:
      return b.Unary(VOp::kNot, b.Binary(VOp::kLtTotal, lhs, rhs));
    case xla::ComparisonDirection::kLe:
      return b.Unary(VOp::kNot, b.Binary(VOp::kLtTotal, rhs, lhs));
  }
  return -1;
}

int EmitCompare(BodyBuilder& b, const HloInstruction* instruction, int lhs, int rhs) {
  const auto* compare = xla::Cast<xla::HloCompareInstruction>(instruction);
  if (compare->order() == xla::ComparisonOrder::kTotal && IsFloat(b.dtype(lhs))) {
    return EmitTotalOrder(b, compare->direction(), lhs, rhs);
  }
  static const VOp kOps[] = {VOp::kEq, VOp::kNe, VOp::kGe, VOp::kGt, VOp::kLe, VOp::kLt};
  static const xla::ComparisonDirection kDirections[] = {xla::ComparisonDirection::kEq, xla::ComparisonDirection::kNe,
                                                         xla::ComparisonDirection::kGe, xla::ComparisonDirection::kGt,
                                                         xla::ComparisonDirection::kLe, xla::ComparisonDirection::kLt};
  for (int i = 0; i < 6; ++i) {
    if (kDirections[i] == compare->direction()) return b.Binary(kOps[i], lhs, rhs);
  }
  return -1;
}

// On pred, max is or and min is and; the vector unit's table has only the latter.
VOp PredOp(VOp op) {
  return op == VOp::kMax || op == VOp::kAdd ? VOp::kOr : op == VOp::kMin || op == VOp::kMul ? VOp::kAnd : op;
}

}  // namespace

Status Unsupported(const HloInstruction* instruction, const std::string& why) {
  std::string text = instruction->ToString(xla::HloPrintOptions::ShortParsable().set_print_large_constants(false));
  if (text.size() > 400) text = text.substr(0, 400) + " ...";
  const auto& metadata = instruction->metadata();
  std::string from;
  if (!metadata.op_type().empty()) from += " of type " + metadata.op_type();
  if (!metadata.op_name().empty()) from += " named " + metadata.op_name();
  if (!from.empty()) from = " (from the TensorFlow op" + from + ")";
  return Unimplemented("MYCHIP cannot run HLO %s: %s: %s%s",
                       std::string(xla::HloOpcodeString(instruction->opcode())).c_str(), why.c_str(), text.c_str(),
                       from.c_str());
}

Result<int> EmitElementwise(BodyBuilder& b, const HloInstruction* instruction, const std::vector<int>& operands) {
  DType dtype;
  if (!ToDType(instruction->shape().element_type(), &dtype)) return Unsupported(instruction, "element type");
  switch (instruction->opcode()) {
    case HloOpcode::kCopy:
      return operands[0];
    case HloOpcode::kConvert:
      return b.Convert(dtype, operands[0]);
    case HloOpcode::kBitcastConvert:
      return b.Bitcast(dtype, operands[0]);
    case HloOpcode::kReducePrecision:
      return b.ReducePrecision(operands[0], instruction->exponent_bits(), instruction->mantissa_bits());
    case HloOpcode::kCompare:
      return EmitCompare(b, instruction, operands[0], operands[1]);
    case HloOpcode::kReal:
      return IsComplex(b.dtype(operands[0])) ? b.Unary(VOp::kReal, operands[0]) : operands[0];
    case HloOpcode::kImag:
      return IsComplex(b.dtype(operands[0])) ? b.Unary(VOp::kImag, operands[0]) : b.Const(dtype, 0.0);
    case HloOpcode::kMap: {
      MYCHIP_ASSIGN_OR_RETURN(std::vector<int> results,
                              InlineComputation(b, instruction->to_apply(), operands, instruction));
      return results[0];
    }
    default:
      break;
  }
  const auto it = PlainOps().find(static_cast<int>(instruction->opcode()));
  if (it == PlainOps().end()) return Unsupported(instruction, "not an operation of the vector unit");
  const VOp op = b.dtype(operands[0]) == DType::kPred ? PredOp(it->second) : it->second;
  switch (operands.size()) {
    case 1:
      return b.Unary(op, operands[0]);
    case 2:
      return b.Binary(op, operands[0], operands[1]);
    default:
      return b.Ternary(op, operands[0], operands[1], operands[2]);
  }
}

int EmitConstant(BodyBuilder& b, const HloInstruction* constant) {
  DType dtype = DType::kF32;
  ToDType(constant->shape().element_type(), &dtype);  // checked for the whole module before
  uint64_t bits[2] = {0, 0};
  std::memcpy(bits, constant->literal().untyped_data(), ByteSize(dtype));
  return b.ConstBits(dtype, bits[0], bits[1]);
}

Result<std::vector<int>> InlineComputation(BodyBuilder& b, const HloComputation* computation,
                                           const std::vector<int>& params, const HloInstruction* caller) {
  absl::flat_hash_map<const HloInstruction*, std::vector<int>> values;
  for (const HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
    std::vector<int>& out = values[instruction];
    std::vector<int> operands;
    for (const HloInstruction* operand : instruction->operands()) {
      const std::vector<int>& leaves = values[operand];
      operands.insert(operands.end(), leaves.begin(), leaves.end());
    }
    const bool aggregate = instruction->shape().IsTuple();
    if (!aggregate && !IsSingle(instruction->shape())) {
      return Unsupported(caller, absl::StrCat("its computation ", computation->name(), " works on arrays"));
    }
    switch (instruction->opcode()) {
      case HloOpcode::kParameter:
        if (aggregate) return Unsupported(caller, "its computation takes a tuple");
        out = {params[instruction->parameter_number()]};
        break;
      case HloOpcode::kConstant:
        out = {EmitConstant(b, instruction)};
        break;
      case HloOpcode::kTuple:
        out = operands;
        break;
      case HloOpcode::kGetTupleElement:
        out = {operands[instruction->tuple_index()]};
        break;
      case HloOpcode::kIota:
        DType dtype;
        ToDType(instruction->shape().element_type(), &dtype);
        out = {b.ConstInt(dtype, 0)};
        break;
      case HloOpcode::kCall:
      case HloOpcode::kFusion: {
        const HloComputation* callee = instruction->called_computations()[0];
        MYCHIP_ASSIGN_OR_RETURN(out, InlineComputation(b, callee, operands, caller));
        break;
      }
      default:
        if (IsMovement(instruction)) {
          out = {operands[0]};
        } else if (IsElementwise(instruction)) {
          MYCHIP_ASSIGN_OR_RETURN(const int value, EmitElementwise(b, instruction, operands));
          out = {value};
        } else {
          return Unsupported(caller, absl::StrCat("its computation ", computation->name(), " contains ",
                                                  xla::HloOpcodeString(instruction->opcode())));
        }
    }
  }
  return values[computation->root_instruction()];
}

Result<Body> BodyOf(const HloComputation* computation, const HloInstruction* caller) {
  BodyBuilder builder;
  std::vector<int> params;
  for (const HloInstruction* parameter : computation->parameter_instructions()) {
    DType dtype;
    if (!ToDType(parameter->shape().element_type(), &dtype)) return Unsupported(caller, "element type of a parameter");
    params.push_back(builder.Param(static_cast<int>(params.size()), dtype));
  }
  MYCHIP_ASSIGN_OR_RETURN(std::vector<int> results, InlineComputation(builder, computation, params, caller));
  return builder.Build(std::vector<int32_t>(results.begin(), results.end()));
}

}  // namespace mychip::xla_backend
