#include "fused.h"

#include "elementwise.h"
#include "xla_headers.h"

namespace mychip::xla_backend {

using xla::HloInstruction;
using xla::HloOpcode;

bool Expression::NeedsNothing(const HloInstruction* instruction) const {
  return is_leaf_(instruction) || IsScalarConstant(instruction) || instruction->opcode() == HloOpcode::kIota;
}

Result<int> Expression::EmitLeaf(const Key& key) {
  View view;
  if (!Replay(leaf_(key.first), key.second, space_, &view)) {
    return Internal("no view reads %s inside its fusion", std::string(key.first->name()).c_str());
  }
  inputs_.push_back(view);
  return body_.Param(first_param_ + static_cast<int>(inputs_.size()) - 1, view.dtype);
}

// index = offset + sum of stride * iteration index: see IotaView.
Result<int> Expression::EmitIota(const Key& key) {
  View view;
  if (!Replay(IotaView(key.first), key.second, space_, &view)) {
    return Internal("no view gives the indices of %s", std::string(key.first->name()).c_str());
  }
  DType dtype = DType::kS32;
  ToDType(key.first->shape().element_type(), &dtype);
  // Indices are exact in s64; one conversion gives what HLO's iota of that type holds.
  const bool plain = view.offset == 0 &&
                     std::count_if(view.strides.begin(), view.strides.end(), [](int64_t s) { return s != 0; }) <= 1;
  int sum = -1;
  for (size_t d = 0; d < view.strides.size(); ++d) {
    if (view.strides[d] == 0) continue;
    if (plain && view.strides[d] == 1) return body_.Iota(dtype, static_cast<int>(d));
    const int index = body_.Iota(DType::kS64, static_cast<int>(d));
    const int term = body_.Binary(VOp::kMul, index, body_.ConstInt(DType::kS64, view.strides[d]));
    sum = sum < 0 ? term : body_.Binary(VOp::kAdd, sum, term);
  }
  if (sum < 0) return body_.Convert(dtype, body_.ConstInt(DType::kS64, view.offset));
  if (view.offset != 0) sum = body_.Binary(VOp::kAdd, sum, body_.ConstInt(DType::kS64, view.offset));
  return body_.Convert(dtype, sum);
}

// All operands have values.
Result<int> Expression::EmitReady(const Key& key) {
  const auto& [instruction, chain] = key;
  if (is_leaf_(instruction)) {
    return IsScalarConstant(instruction) ? Result<int>(EmitConstant(body_, instruction)) : EmitLeaf(key);
  }
  if (IsScalarConstant(instruction)) return EmitConstant(body_, instruction);
  if (instruction->opcode() == HloOpcode::kIota) return EmitIota(key);
  std::vector<int> operands;
  for (int64_t i = 0; i < instruction->operand_count(); ++i) {
    operands.push_back(values_.at({instruction->operand(i), OperandChain(instruction, i, chain)}));
  }
  if (IsMovement(instruction)) return operands[0];
  return EmitElementwise(body_, instruction, operands);
}

// Depth first with a stack of our own: scalar chains are hundreds of instructions deep.
Result<int> Expression::Emit(const HloInstruction* root, const Chain& root_chain) {
  const Key wanted{root, IsSingle(root->shape()) && !root_chain.empty() ? Chain{nullptr} : root_chain};
  std::vector<Key> stack{wanted};
  while (!stack.empty()) {
    const Key key = stack.back();
    if (values_.count(key) != 0) {
      stack.pop_back();
      continue;
    }
    const size_t before = stack.size();
    if (!NeedsNothing(key.first)) {
      for (int64_t i = key.first->operand_count() - 1; i >= 0; --i) {
        Key operand{key.first->operand(i), OperandChain(key.first, i, key.second)};
        if (values_.count(operand) == 0) stack.push_back(std::move(operand));
      }
    }
    if (stack.size() > before) continue;
    MYCHIP_ASSIGN_OR_RETURN(const int value, EmitReady(key));
    values_[key] = value;
    stack.pop_back();
  }
  return values_.at(wanted);
}

Region RegionOf(Emitter& emitter, const HloInstruction* outer) {
  if (outer->opcode() != HloOpcode::kFusion) {
    return {outer, outer, [outer](const HloInstruction* i) { return i != outer; },
            [&emitter](const HloInstruction* i) { return emitter.ViewOf(i); }};
  }
  return {outer, outer->fused_expression_root(),
          [](const HloInstruction* i) { return i->opcode() == HloOpcode::kParameter; },
          [&emitter, outer](const HloInstruction* i) { return emitter.ViewOf(outer->operand(i->parameter_number())); }};
}

Result<View> FoldedView(Emitter&, const Region& region, const HloInstruction* operand) {
  Chain chain;
  const Dims space = DimsOf(operand->shape());
  while (!region.is_leaf(operand)) {
    if (!IsMovement(operand)) {
      return Internal("%s is no movement of a fusion's parameter", std::string(operand->name()).c_str());
    }
    chain = OperandChain(operand, 0, chain);
    operand = operand->operand(0);
  }
  View view;
  if (!Replay(region.leaf(operand), chain, space, &view)) {
    return Internal("no view reads %s inside its fusion", std::string(operand->name()).c_str());
  }
  return view;
}

}  // namespace mychip::xla_backend
