#include <algorithm>

#include "body_rules.h"

namespace mychip {
namespace {

enum : unsigned { kF = 1, kI = 2, kC = 4, kP = 8, kAny = 15 };

unsigned ClassOf(DType dtype) { return IsFloat(dtype) ? kF : IsInteger(dtype) ? kI : IsComplex(dtype) ? kC : kP; }

bool IsPredicate(VOp op) {
  switch (op) {
    case VOp::kIsFinite:
    case VOp::kIsNan:
    case VOp::kIsInf:
    case VOp::kEq:
    case VOp::kNe:
    case VOp::kLt:
    case VOp::kLe:
    case VOp::kGt:
    case VOp::kGe:
    case VOp::kLtTotal:
      return true;
    default:
      return false;
  }
}

// Classes of operand dtypes an operation accepts.
unsigned Accepts(VOp op) {
  switch (op) {
    case VOp::kParam:
    case VOp::kConst:
    case VOp::kConvert:
    case VOp::kBitcast:
    case VOp::kEq:
    case VOp::kNe:
    case VOp::kSelect:
      return kAny;
    case VOp::kAdd:
    case VOp::kMul:
      return kAny;
    case VOp::kAbs:
    case VOp::kNeg:
    case VOp::kSign:
    case VOp::kSub:
    case VOp::kDiv:
    case VOp::kPow:
      return kF | kI | kC;
    case VOp::kSqrt:
    case VOp::kRsqrt:
    case VOp::kExp:
    case VOp::kExpm1:
    case VOp::kLog:
    case VOp::kLog1p:
    case VOp::kTanh:
    case VOp::kLogistic:
    case VOp::kSin:
    case VOp::kCos:
    case VOp::kTan:
    case VOp::kDivNoNan:
      return kF | kC;
    case VOp::kFloor:
    case VOp::kCeil:
    case VOp::kRoundAfz:
    case VOp::kRoundEven:
    case VOp::kTrunc:
    case VOp::kIsFinite:
    case VOp::kIsNan:
    case VOp::kIsInf:
    case VOp::kCbrt:
    case VOp::kErf:
    case VOp::kErfc:
    case VOp::kErfInv:
    case VOp::kLgamma:
    case VOp::kDigamma:
    case VOp::kReducePrecision:
    case VOp::kAtan2:
    case VOp::kNextAfter:
    case VOp::kComplex:
    case VOp::kLtTotal:
    case VOp::kFma:
      return kF;
    case VOp::kReal:
    case VOp::kImag:
      return kC;
    case VOp::kPopcnt:
    case VOp::kClz:
    case VOp::kShl:
    case VOp::kShrA:
    case VOp::kShrL:
      return kI;
    case VOp::kRem:
    case VOp::kFloorDiv:
    case VOp::kFloorMod:
    case VOp::kClamp:
      return kF | kI;
    case VOp::kMax:
    case VOp::kMin:
    case VOp::kLt:
    case VOp::kLe:
    case VOp::kGt:
    case VOp::kGe:
      return kF | kI | kP;
    case VOp::kNot:
    case VOp::kAnd:
    case VOp::kOr:
    case VOp::kXor:
      return kI | kP;
    case VOp::kIota:
      return kF | kI | kC;
  }
  return 0;
}

bool IsDType(DType dtype) { return static_cast<int>(dtype) < kNumDTypes; }

Status CheckSource(const Inst& inst, const std::vector<DType>& params) {
  if (inst.op == VOp::kParam) {
    if (inst.imm >= params.size()) {
      return InvalidArgument("param %llu of a body that gets %zu", static_cast<unsigned long long>(inst.imm),
                             params.size());
    }
    if (inst.dtype != params[inst.imm]) {
      return InvalidArgument("param %llu is read as %s but is %s", static_cast<unsigned long long>(inst.imm),
                             Name(inst.dtype), Name(params[inst.imm]));
    }
  }
  if (inst.op == VOp::kIota && (Accepts(VOp::kIota) & ClassOf(inst.dtype)) == 0) {
    return InvalidArgument("iota cannot have dtype %s", Name(inst.dtype));
  }
  return OkStatus();
}

Status CheckReducePrecision(const Inst& inst) {
  if (inst.imm < 1 || inst.imm > 11 || inst.imm2 > 52) {
    return InvalidArgument("exponent bits %llu or mantissa bits %llu out of range",
                           static_cast<unsigned long long>(inst.imm), static_cast<unsigned long long>(inst.imm2));
  }
  return OkStatus();
}

Status CheckInst(const Body& body, int index, const std::vector<DType>& params) {
  const Inst& inst = body.insts[index];
  if (!IsVOp(inst.op)) return InvalidArgument("unknown operation %d", static_cast<int>(inst.op));
  if (!IsDType(inst.dtype)) return InvalidArgument("unknown dtype %d", static_cast<int>(inst.dtype));
  const int count = NumOperands(inst.op);
  if (count == 0) return CheckSource(inst, params);

  const int32_t operands[] = {inst.a, inst.b, inst.c};
  for (int k = 0; k < count; ++k) {
    if (operands[k] < 0 || operands[k] >= index) {
      return InvalidArgument("operand %d is %%%d, not an earlier value", k, operands[k]);
    }
  }
  if (inst.op == VOp::kSelect && body.insts[inst.a].dtype != DType::kPred) {
    return InvalidArgument("selector is %s, not pred", Name(body.insts[inst.a].dtype));
  }
  const int first = inst.op == VOp::kSelect ? 1 : 0;
  const DType operand = body.insts[operands[first]].dtype;
  for (int k = first + 1; k < count; ++k) {
    const DType other = body.insts[operands[k]].dtype;
    if (other != operand) return InvalidArgument("operands differ: %s and %s", Name(operand), Name(other));
  }
  if ((Accepts(inst.op) & ClassOf(operand)) == 0) return InvalidArgument("not defined for %s", Name(operand));
  if (inst.op == VOp::kConvert) return OkStatus();
  if (inst.op == VOp::kBitcast) {
    if (ByteSize(operand) == ByteSize(inst.dtype)) return OkStatus();
    return InvalidArgument("%s and %s have different sizes", Name(operand), Name(inst.dtype));
  }
  if (inst.op == VOp::kComplex && operand != DType::kF32 && operand != DType::kF64) {
    return InvalidArgument("not defined for %s", Name(operand));
  }
  if (inst.op == VOp::kReducePrecision) MYCHIP_RETURN_IF_ERROR(CheckReducePrecision(inst));
  const DType expected = ResultDType(inst.op, operand);
  if (inst.dtype != expected) return InvalidArgument("result is %s, must be %s", Name(inst.dtype), Name(expected));
  return OkStatus();
}

}  // namespace

DType ResultDType(VOp op, DType operand) {
  if (IsPredicate(op)) return DType::kPred;
  if (op == VOp::kAbs || op == VOp::kReal || op == VOp::kImag) {
    if (operand == DType::kC64) return DType::kF32;
    if (operand == DType::kC128) return DType::kF64;
  }
  if (op == VOp::kComplex) return operand == DType::kF64 ? DType::kC128 : DType::kC64;
  return operand;
}

int64_t PeakLiveBytes(const Body& body) {
  const int count = static_cast<int>(body.insts.size());
  std::vector<int> last_use(count, -1);
  for (int i = 0; i < count; ++i) {
    const int32_t operands[] = {body.insts[i].a, body.insts[i].b, body.insts[i].c};
    for (int k = 0; k < NumOperands(body.insts[i].op); ++k) last_use[operands[k]] = i;
  }
  for (int32_t result : body.results) last_use[result] = count;
  std::vector<int64_t> freed(count + 1, 0);
  int64_t live = 0, peak = 0;
  for (int i = 0; i < count; ++i) {
    if (body.insts[i].op != VOp::kConst && last_use[i] >= 0) {
      live += ByteSize(body.insts[i].dtype);
      freed[last_use[i]] += ByteSize(body.insts[i].dtype);
    }
    peak = std::max(peak, live);
    live -= freed[i];
  }
  return peak;
}

Status Validate(const Body& body, const std::vector<DType>& param_dtypes, int num_results) {
  for (int i = 0; i < static_cast<int>(body.insts.size()); ++i) {
    if (Status s = CheckInst(body, i, param_dtypes); !s.ok()) {
      const VOp op = body.insts[i].op;
      return s.WithContext("%" + std::to_string(i) + (IsVOp(op) ? std::string(" = ") + Name(op) : std::string()));
    }
  }
  if (static_cast<int>(body.results.size()) != num_results) {
    return InvalidArgument("body has %zu results, must have %d", body.results.size(), num_results);
  }
  for (int32_t result : body.results) {
    if (result < 0 || result >= static_cast<int>(body.insts.size())) {
      return InvalidArgument("result %%%d does not exist", result);
    }
  }
  return OkStatus();
}

}  // namespace mychip
