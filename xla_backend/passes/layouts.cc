#include "layouts.h"

#include "xla/layout_util.h"
#include "xla_headers.h"

namespace mychip::xla_backend {
namespace {

using xla::HloComputation;
using xla::HloInstruction;
using xla::HloOpcode;

bool ResetShape(xla::Shape* shape) {
  bool changed = false;
  xla::ShapeUtil::ForEachMutableSubshape(shape, [&](xla::Shape* part, const xla::ShapeIndex&) {
    if (!part->IsArray()) return;
    const xla::Layout plain = xla::LayoutUtil::GetDefaultLayoutForShape(*part);
    if (part->has_layout() && part->layout() == plain) return;
    *part->mutable_layout() = plain;
    changed = true;
  });
  return changed;
}

// Transposing moves no data when the dims larger than 1 keep their order.
bool KeepsOrder(const HloInstruction* transpose) {
  int64_t last = -1;
  for (int64_t d : transpose->dimensions()) {
    if (transpose->operand(0)->shape().dimensions(d) == 1) continue;
    if (d < last) return false;
    last = d;
  }
  return true;
}

}  // namespace

absl::StatusOr<bool> ResetLayouts::RunImpl(xla::HloModule* module, const absl::flat_hash_set<absl::string_view>&) {
  bool changed = false;
  for (HloComputation* computation : module->computations()) {
    for (HloInstruction* instruction : computation->instructions()) {
      changed |= ResetShape(instruction->mutable_shape());
      if (instruction->opcode() == HloOpcode::kConstant && instruction->shape().IsArray() &&
          xla::Cast<xla::HloConstantInstruction>(instruction)->HasLiteral() &&
          !xla::LayoutUtil::Equal(instruction->literal().shape().layout(), instruction->shape().layout())) {
        xla::Cast<xla::HloConstantInstruction>(instruction)->RelayoutConstant(instruction->shape().layout());
      }
    }
  }
  auto* entry = module->mutable_entry_computation_layout();
  for (int i = 0; i < entry->parameter_count(); ++i) {
    xla::Shape shape = entry->parameter_shape(i);
    ResetShape(&shape);
    *entry->mutable_parameter_layout(i) = xla::ShapeLayout(shape);
  }
  xla::Shape result = entry->result_shape();
  ResetShape(&result);
  *entry->mutable_result_layout() = xla::ShapeLayout(result);
  return changed;
}

absl::StatusOr<bool> ReshapeToBitcast::RunImpl(xla::HloModule* module, const absl::flat_hash_set<absl::string_view>&) {
  bool changed = false;
  for (HloComputation* computation : module->MakeNonfusionComputations()) {
    for (HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      const bool reshape = instruction->opcode() == HloOpcode::kReshape;
      const bool transpose = instruction->opcode() == HloOpcode::kTranspose && KeepsOrder(instruction);
      if (!reshape && !transpose) continue;
      HloInstruction* bitcast = computation->AddInstruction(
          HloInstruction::CreateBitcast(instruction->shape(), instruction->mutable_operand(0)));
      bitcast->set_metadata(instruction->metadata());
      TF_RETURN_IF_ERROR(computation->ReplaceInstruction(instruction, bitcast));
      changed = true;
    }
  }
  return changed;
}

}  // namespace mychip::xla_backend
