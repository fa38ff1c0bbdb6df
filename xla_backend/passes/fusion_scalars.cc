// Scalar arithmetic: hundreds of u32/u64 instructions derive the keys of each dropout, an optimizer adds its own. They
// cost a launch each when they stand alone, so all that can run at the same time becomes one group of many outputs.
//
//   level(i) = the largest number of non-scalar instructions on a path to i
//
// Two scalar instructions of one level are never separated by a non-scalar one, so fusing a whole level makes no cycle.
#include <map>

#include "fusion_plan.h"

namespace mychip::xla_backend {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

bool IsScalarWork(const HloInstruction* i) { return IsFusible(i) && IsSingle(i->shape()) && IsElementwise(i); }

// Renaming of one element: repeated in each group that reads through it.
bool IsScalarMovement(const HloInstruction* i) { return IsFusible(i) && IsMovement(i) && IsSingle(i->shape()); }

// Also fills the plan's levels.
std::map<int, std::vector<HloInstruction*>> WorkByLevel(FusionPlan* plan_out) {
  FusionPlan& plan = *plan_out;
  std::map<int, std::vector<HloInstruction*>> work;
  std::vector<int>& level = plan.level;
  level.assign(plan.order.size(), 0);
  for (size_t n = 0; n < plan.order.size(); ++n) {
    HloInstruction* i = plan.order[n];
    for (const HloInstruction* operand : i->operands()) level[n] = std::max(level[n], level[plan.IndexOf(operand)]);
    for (const HloInstruction* before : i->control_predecessors()) {
      level[n] = std::max(level[n], level[plan.IndexOf(before)] + 1);
    }
    if (IsScalarWork(i)) {
      work[level[n]].push_back(i);
    } else if (i->operand_count() > 0 && !IsScalarMovement(i)) {
      ++level[n];
    }
  }
  return work;
}

// Whether anything but the group reads `i`, looking through renaming.
bool Escapes(const HloInstruction* i, const absl::flat_hash_set<const HloInstruction*>& members) {
  if (i->IsRoot()) return true;
  for (const HloInstruction* user : i->users()) {
    if (members.contains(user)) continue;
    if (!IsScalarMovement(user) || Escapes(user, members)) return true;
  }
  return false;
}

// Adds what a member reads and the group can repeat for nothing.
void AddFreeOperands(HloInstruction* member, absl::flat_hash_set<const HloInstruction*>* members,
                     std::vector<HloInstruction*>* all) {
  for (HloInstruction* operand : member->operands()) {
    if (members->contains(operand)) continue;
    if (!IsScalarMovement(operand) && !IsScalarConstant(operand)) continue;
    members->insert(operand);
    all->push_back(operand);
    AddFreeOperands(operand, members, all);
  }
}

}  // namespace

void PlanScalarGroups(FusionPlan* plan) {
  for (auto& [level, work] : WorkByLevel(plan)) {
    if (work.size() < 2) continue;
    FusionGroup group;
    const absl::flat_hash_set<const HloInstruction*> core(work.begin(), work.end());
    for (HloInstruction* i : work) {
      if (Escapes(i, core)) group.outputs.push_back(i);
    }
    if (group.outputs.empty()) continue;  // dead code
    group.members = work;
    absl::flat_hash_set<const HloInstruction*> members = core;
    for (HloInstruction* i : work) AddFreeOperands(i, &members, &group.members);
    FusionPlan::ScalarGroup record{level, static_cast<int>(plan->order.size()), 0};
    for (const HloInstruction* i : group.outputs) record.first_output = std::min(record.first_output, plan->IndexOf(i));
    for (const HloInstruction* i : work) record.last_member = std::max(record.last_member, plan->IndexOf(i));
    plan->scalar_groups.push_back(record);
    plan->AddGroup(std::move(group), std::vector<const HloInstruction*>(work.begin(), work.end()));
  }
}

}  // namespace mychip::xla_backend
