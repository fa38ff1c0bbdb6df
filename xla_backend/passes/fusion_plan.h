// What ChipFusion decides before it changes anything.
#pragma once

#include <vector>

#include "access.h"
#include "xla_headers.h"

namespace mychip::xla_backend {

struct FusionGroup {
  xla::HloInstruction::FusionKind kind = xla::HloInstruction::FusionKind::kLoop;
  std::vector<xla::HloInstruction*> members;  // any order; may include instructions that other groups duplicate
  std::vector<xla::HloInstruction*> outputs;  // members whose values leave the group; the last one in order is the root
};

// A computation's instructions in order (operands first) with their positions, and who belongs to which group.
struct FusionPlan {
  explicit FusionPlan(xla::HloComputation* computation);
  int IndexOf(const xla::HloInstruction* instruction) const { return index.at(instruction); }
  void AddGroup(FusionGroup group, const std::vector<const xla::HloInstruction*>& owned);
  // Whether the groups, each taken as one instruction, can still be ordered.
  bool IsAcyclic() const;

  xla::HloComputation* computation;
  std::vector<xla::HloInstruction*> order;
  absl::flat_hash_map<const xla::HloInstruction*, int> index;
  absl::flat_hash_map<const xla::HloInstruction*, int> owner;  // group that computes it, exclusively
  std::vector<FusionGroup> groups;
  std::vector<int> first_output;  // by group: the smallest position among its outputs
  std::vector<int> level;         // by position, of the instruction's value (see fusion_scalars.cc)
  // Groups that hold an instruction, owned or repeated.
  absl::flat_hash_map<const xla::HloInstruction*, std::vector<int>> holders;
  struct ScalarGroup {
    int level, first_output, last_member;
  };
  std::vector<ScalarGroup> scalar_groups;
  bool further_outputs = true;  // array groups may have more outputs than their root
};

// May be part of a fusion at all: no side effects, control dependencies or sharding to keep.
bool IsFusible(const xla::HloInstruction* instruction);

// One group for all scalar arithmetic that can run at the same time (see fusion_scalars.cc).
void PlanScalarGroups(FusionPlan* plan);
// Loop, reduce, dot and convolution groups, consumers first (see fusion_groups.cc).
void PlanArrayGroups(FusionPlan* plan);

}  // namespace mychip::xla_backend
