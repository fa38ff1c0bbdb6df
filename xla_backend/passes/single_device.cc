#include "single_device.h"

#include "xla/literal_util.h"
#include "xla_headers.h"

namespace mychip::xla_backend {
namespace {

using xla::HloComputation;
using xla::HloInstruction;
using xla::HloOpcode;

bool IsAnnotation(const HloInstruction* instruction) {
  static const auto* const kTargets = new absl::flat_hash_set<std::string>{
      "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "xla.sdy.FuncResultSharding", "LayoutConstraint"};
  return instruction->opcode() == HloOpcode::kCustomCall && instruction->operand_count() >= 1 &&
         kTargets->contains(instruction->custom_call_target());
}

bool IsCollective(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAllReduce:
    case HloOpcode::kAllReduceStart:
    case HloOpcode::kAllReduceDone:
    case HloOpcode::kAllGather:
    case HloOpcode::kReduceScatter:
    case HloOpcode::kAllToAll:
    case HloOpcode::kCollectiveBroadcast:
      return true;
    default:
      return false;
  }
}

// The value that replaces `instruction` on one device, or null.
HloInstruction* Replacement(HloComputation* computation, HloInstruction* instruction) {
  if (IsAnnotation(instruction) && xla::ShapeUtil::Compatible(instruction->shape(), instruction->operand(0)->shape())) {
    return instruction->mutable_operand(0);
  }
  if (instruction->opcode() == HloOpcode::kReplicaId || instruction->opcode() == HloOpcode::kPartitionId) {
    return computation->AddInstruction(HloInstruction::CreateConstant(xla::LiteralUtil::CreateR0<uint32_t>(0)));
  }
  if (!IsCollective(instruction->opcode()) || instruction->operand_count() == 0) return nullptr;
  if (instruction->operand_count() == 1 &&
      xla::ShapeUtil::Compatible(instruction->shape(), instruction->operand(0)->shape())) {
    return instruction->mutable_operand(0);
  }
  if (!instruction->shape().IsTuple()) return nullptr;
  HloInstruction* tuple = computation->AddInstruction(HloInstruction::CreateTuple(instruction->operands()));
  return xla::ShapeUtil::Compatible(instruction->shape(), tuple->shape()) ? tuple : nullptr;
}

}  // namespace

absl::StatusOr<bool> SingleDevice::RunImpl(xla::HloModule* module, const absl::flat_hash_set<absl::string_view>&) {
  if (module->config().replica_count() > 1 || module->config().num_partitions() > 1) return false;
  bool changed = false;
  for (HloComputation* computation : module->MakeNonfusionComputations()) {
    for (HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      HloInstruction* replacement = Replacement(computation, instruction);
      if (replacement == nullptr) continue;
      TF_RETURN_IF_ERROR(instruction->ReplaceAllUsesWith(replacement));
      // Sharding calls count as having side effects, so dead-code elimination would keep them.
      TF_RETURN_IF_ERROR(instruction->DropAllControlDeps());
      TF_RETURN_IF_ERROR(computation->RemoveInstruction(instruction));
      changed = true;
    }
  }
  return changed;
}

}  // namespace mychip::xla_backend
