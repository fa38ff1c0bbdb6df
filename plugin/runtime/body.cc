#include "mychip/runtime/body.h"

#include <tuple>

#include "body_rules.h"
#include "scalar.h"

namespace mychip {
namespace {

struct OpInfo {
  const char* name;
  int operands;
  RateClass rate;
};

constexpr OpInfo kOps[] = {
#define OP(enumerator, name, operands, rate) {name, operands, RateClass::rate},
#include "mychip/runtime/vector_ops.def"
#undef OP
};

bool IsCommutative(VOp op) {
  switch (op) {
    case VOp::kAdd:
    case VOp::kMul:
    case VOp::kMax:
    case VOp::kMin:
    case VOp::kAnd:
    case VOp::kOr:
    case VOp::kXor:
    case VOp::kEq:
    case VOp::kNe:
      return true;
    default:
      return false;
  }
}

}  // namespace

const char* Name(VOp op) { return kOps[static_cast<int>(op)].name; }
int NumOperands(VOp op) { return kOps[static_cast<int>(op)].operands; }
RateClass Rate(VOp op) { return kOps[static_cast<int>(op)].rate; }
bool IsVOp(VOp op) { return static_cast<size_t>(op) < sizeof(kOps) / sizeof(kOps[0]); }

int BodyBuilder::Append(const Inst& inst) {
  const int next = static_cast<int>(body_.insts.size());
  if (NumOperands(inst.op) == 0) {
    auto [it, fresh] = sources_.emplace(std::make_tuple(inst.op, inst.dtype, inst.imm, inst.imm2), next);
    if (!fresh) return it->second;
  }
  body_.insts.push_back(inst);
  return next;
}

int BodyBuilder::Param(int index, DType dtype) {
  return Append({VOp::kParam, dtype, -1, -1, -1, static_cast<uint64_t>(index), 0});
}

int BodyBuilder::Const(DType dtype, double value) {
  const ScalarBits bits = EncodeScalar(dtype, value);
  return ConstBits(dtype, bits.low, bits.high);
}

int BodyBuilder::ConstInt(DType dtype, int64_t value) {
  const ScalarBits bits = EncodeInteger(dtype, value);
  return ConstBits(dtype, bits.low, bits.high);
}

int BodyBuilder::ConstBits(DType dtype, uint64_t bits, uint64_t high_bits) {
  return Append({VOp::kConst, dtype, -1, -1, -1, bits, high_bits});
}

int BodyBuilder::Iota(DType dtype, int dim) {
  return Append({VOp::kIota, dtype, -1, -1, -1, static_cast<uint64_t>(dim), 0});
}

int BodyBuilder::Unary(VOp op, int a) { return Append({op, ResultDType(op, dtype(a)), a}); }
int BodyBuilder::Binary(VOp op, int a, int b) { return Append({op, ResultDType(op, dtype(a)), a, b}); }

int BodyBuilder::Ternary(VOp op, int a, int b, int c) {
  return Append({op, ResultDType(op, op == VOp::kSelect ? dtype(b) : dtype(a)), a, b, c});
}

int BodyBuilder::Convert(DType to, int a) { return dtype(a) == to ? a : Append({VOp::kConvert, to, a}); }
int BodyBuilder::Bitcast(DType to, int a) { return dtype(a) == to ? a : Append({VOp::kBitcast, to, a}); }

int BodyBuilder::ReducePrecision(int a, int exponent_bits, int mantissa_bits) {
  return Append({VOp::kReducePrecision, dtype(a), a, -1, -1, static_cast<uint64_t>(exponent_bits),
                 static_cast<uint64_t>(mantissa_bits)});
}

Body BodyBuilder::Build(std::vector<int32_t> results) {
  body_.results = std::move(results);
  sources_.clear();
  Body built = std::move(body_);
  body_ = Body();
  return built;
}

Body BinaryBody(VOp op, DType dtype) {
  BodyBuilder b;
  const int x = b.Param(0, dtype);
  const int y = b.Param(1, dtype);
  return b.Build({b.Binary(op, x, y)});
}

bool MatchBinaryBody(const Body& body, VOp* op) {
  if (body.insts.size() != 3 || body.results.size() != 1 || body.results[0] != 2) return false;
  const Inst &x = body.insts[0], &y = body.insts[1], &last = body.insts[2];
  if (!IsVOp(last.op) || NumOperands(last.op) != 2) return false;
  if (x.op != VOp::kParam || y.op != VOp::kParam || x.dtype != y.dtype || x.imm + y.imm != 1 || x.imm > 1) return false;
  if (last.a == last.b || (last.a | last.b) != 1) return false;
  const bool in_order = body.insts[last.a].imm == 0;
  if (!in_order && !IsCommutative(last.op)) return false;
  *op = last.op;
  return true;
}

std::string ToString(const Body& body) {
  const auto value = [](int64_t i) { return "%" + std::to_string(i); };
  std::string text = "{";
  for (size_t i = 0; i < body.insts.size(); ++i) {
    const Inst& inst = body.insts[i];
    text += " " + value(i) + " = " + Name(inst.op) + "." + Name(inst.dtype);
    if (inst.op == VOp::kConst) {
      text += " " + ScalarToString(inst.dtype, {inst.imm, inst.imm2});
    } else if (NumOperands(inst.op) == 0) {
      text += " " + std::to_string(inst.imm);
    }
    const int32_t operands[] = {inst.a, inst.b, inst.c};
    for (int k = 0; k < NumOperands(inst.op); ++k) text += (k ? ", " : " ") + value(operands[k]);
    if (inst.op == VOp::kReducePrecision) text += ", e" + std::to_string(inst.imm) + "m" + std::to_string(inst.imm2);
    text += ";";
  }
  text += " return";
  for (size_t r = 0; r < body.results.size(); ++r) text += (r ? ", " : " ") + value(body.results[r]);
  return text + " }";
}

}  // namespace mychip
