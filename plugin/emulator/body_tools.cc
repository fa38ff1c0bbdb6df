#include "body_tools.h"

namespace mychip::emulator {

std::vector<int32_t> AppendBody(const Body& body, const std::vector<int32_t>& params, std::vector<Inst>* insts) {
  if (body.empty()) return params;
  std::vector<int32_t> value(body.insts.size());
  for (size_t i = 0; i < body.insts.size(); ++i) {
    Inst inst = body.insts[i];
    if (inst.op == VOp::kParam) {
      value[i] = params[inst.imm];
      continue;
    }
    for (int32_t* operand : {&inst.a, &inst.b, &inst.c}) {
      if (*operand >= 0) *operand = value[*operand];
    }
    value[i] = static_cast<int32_t>(insts->size());
    insts->push_back(inst);
  }
  std::vector<int32_t> results;
  for (int32_t r : body.results) results.push_back(value[r]);
  return results;
}

std::vector<int32_t> AppendParams(int first, const std::vector<DType>& dtypes, std::vector<Inst>* insts) {
  std::vector<int32_t> values;
  for (DType dtype : dtypes) {
    Inst inst{};
    inst.op = VOp::kParam, inst.dtype = dtype, inst.a = inst.b = inst.c = -1;
    inst.imm = static_cast<uint64_t>(first++);
    values.push_back(static_cast<int32_t>(insts->size()));
    insts->push_back(inst);
  }
  return values;
}

Body IdentityBody(const std::vector<DType>& dtypes) {
  Body body;
  body.results = AppendParams(0, dtypes, &body.insts);
  return body;
}

}  // namespace mychip::emulator
