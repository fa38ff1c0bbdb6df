// Plans groups (scalars first, then arrays), then turns each into a fusion instruction.
#include "fusion.h"

#include "fusion_plan.h"

namespace mychip::xla_backend {
namespace {

using xla::HloComputation;
using xla::HloInstruction;
using xla::HloOpcode;

// Clones the members into a computation of their own; what they read from outside becomes its parameters.
class GroupBuilder {
 public:
  GroupBuilder(const FusionPlan& plan, const FusionGroup& group) : plan_(plan), group_(group) {}

  absl::Status Build() {
    std::vector<HloInstruction*> members = group_.members;
    const auto by_position = [&](const HloInstruction* a, const HloInstruction* b) {
      return plan_.IndexOf(a) < plan_.IndexOf(b);
    };
    std::sort(members.begin(), members.end(), by_position);
    std::vector<HloInstruction*> outputs = group_.outputs;
    std::sort(outputs.begin(), outputs.end(), by_position);
    HloInstruction* root = outputs.back();
    HloComputation::Builder builder(absl::StrCat("fused.", root->name()));
    for (HloInstruction* member : members) Clone(&builder, member);
    xla::Shape shape = root->shape();
    if (outputs.size() > 1) {
      std::vector<HloInstruction*> values;
      for (HloInstruction* output : outputs) values.push_back(clones_.at(output));
      shape = builder.AddInstruction(HloInstruction::CreateTuple(values))->shape();
    }
    HloComputation* computation = root->parent();
    HloComputation* fused =
        computation->parent()->AddEmbeddedComputation(builder.Build(outputs.size() > 1 ? nullptr : clones_.at(root)));
    HloInstruction* fusion = computation->AddInstruction(
        HloInstruction::CreateFusion(shape, group_.kind, operands_, fused), &root->metadata());
    for (size_t i = 0; i < outputs.size(); ++i) {
      HloInstruction* value = fusion;
      if (outputs.size() > 1) {
        value = computation->AddInstruction(
            HloInstruction::CreateGetTupleElement(outputs[i]->shape(), fusion, static_cast<int64_t>(i)));
      }
      TF_RETURN_IF_ERROR(outputs[i]->ReplaceAllUsesWithDifferentShape(value));
    }
    return absl::OkStatus();
  }

 private:
  void Clone(HloComputation::Builder* builder, HloInstruction* member) {
    std::vector<HloInstruction*> operands;
    for (HloInstruction* operand : member->operands()) {
      auto it = clones_.find(operand);
      if (it == clones_.end()) {
        HloInstruction* parameter = builder->AddInstruction(HloInstruction::CreateParameter(
            static_cast<int64_t>(operands_.size()), operand->shape(), absl::StrCat("p", operands_.size())));
        operands_.push_back(operand);
        it = clones_.emplace(operand, parameter).first;
      }
      operands.push_back(it->second);
    }
    clones_[member] = builder->AddInstruction(member->CloneWithNewOperands(member->shape(), operands));
  }

  const FusionPlan& plan_;
  const FusionGroup& group_;
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> clones_;
  std::vector<HloInstruction*> operands_;
};

// Computations that run as command lists; the others (combiners, comparators) become bodies.
std::vector<HloComputation*> CommandComputations(xla::HloModule* module) {
  std::vector<HloComputation*> found{module->entry_computation()};
  absl::flat_hash_set<const HloComputation*> seen{found[0]};
  for (size_t i = 0; i < found.size(); ++i) {
    for (const HloInstruction* instruction : found[i]->instructions()) {
      switch (instruction->opcode()) {
        case HloOpcode::kWhile:
        case HloOpcode::kConditional:
        case HloOpcode::kCall:
          for (HloComputation* callee : instruction->called_computations()) {
            if (seen.insert(callee).second) found.push_back(callee);
          }
          break;
        default:
          break;
      }
    }
  }
  return found;
}

}  // namespace

FusionPlan::FusionPlan(HloComputation* c) : computation(c), order(c->MakeInstructionPostOrder()) {
  for (size_t i = 0; i < order.size(); ++i) index[order[i]] = static_cast<int>(i);
}

void FusionPlan::AddGroup(FusionGroup group, const std::vector<const HloInstruction*>& owned) {
  const int self = static_cast<int>(groups.size());
  int first = static_cast<int>(order.size());
  for (const HloInstruction* output : group.outputs) first = std::min(first, IndexOf(output));
  first_output.push_back(first);
  for (const HloInstruction* i : owned) owner[i] = self;
  for (const HloInstruction* i : group.members) holders[i].push_back(self);
  groups.push_back(std::move(group));
}

bool FusionPlan::IsAcyclic() const {
  // Units: groups first, then every instruction that no group owns.
  const int n = static_cast<int>(groups.size());
  const auto unit = [&](const HloInstruction* i) {
    const auto it = owner.find(i);
    return it == owner.end() ? n + IndexOf(i) : it->second;
  };
  std::vector<std::vector<int>> readers(n + order.size());
  std::vector<int> waits(n + order.size(), 0);
  const auto add_edge = [&](int from, int to) {
    if (from == to) return;
    readers[from].push_back(to);
    ++waits[to];
  };
  for (const HloInstruction* i : order) {
    if (owner.contains(i)) continue;
    for (const HloInstruction* operand : i->operands()) add_edge(unit(operand), unit(i));
    for (const HloInstruction* before : i->control_predecessors()) add_edge(unit(before), unit(i));
  }
  for (int g = 0; g < n; ++g) {
    const absl::flat_hash_set<const HloInstruction*> members(groups[g].members.begin(), groups[g].members.end());
    for (const HloInstruction* member : groups[g].members) {
      for (const HloInstruction* operand : member->operands()) {
        if (!members.contains(operand)) add_edge(unit(operand), g);
      }
    }
  }
  std::vector<int> ready;
  for (size_t u = 0; u < waits.size(); ++u) {
    if (waits[u] == 0) ready.push_back(static_cast<int>(u));
  }
  size_t done = 0;
  for (; done < ready.size(); ++done) {
    for (const int reader : readers[ready[done]]) {
      if (--waits[reader] == 0) ready.push_back(reader);
    }
  }
  return done == waits.size();
}

bool IsFusible(const HloInstruction* instruction) {
  return !instruction->HasControlDependencies() && !instruction->HasSideEffectNoRecurse() &&
         instruction->shape().IsArray();
}

absl::StatusOr<bool> ChipFusion::RunImpl(xla::HloModule* module, const absl::flat_hash_set<absl::string_view>&) {
  bool changed = false;
  for (HloComputation* computation : CommandComputations(module)) {
    FusionPlan plan(computation);
    PlanScalarGroups(&plan);
    PlanArrayGroups(&plan);
    // The rules for further outputs exclude the cycles we know; should one get through, do without them.
    if (!plan.IsAcyclic()) {
      plan = FusionPlan(computation);
      plan.further_outputs = false;
      PlanArrayGroups(&plan);
    }
    // Consumers first: members of a group not yet built then still read the instructions they were planned with.
    const auto last = [&](const FusionGroup& group) {
      int position = 0;
      for (const HloInstruction* output : group.outputs) position = std::max(position, plan.IndexOf(output));
      return position;
    };
    std::sort(plan.groups.begin(), plan.groups.end(),
              [&](const FusionGroup& a, const FusionGroup& b) { return last(a) > last(b); });
    for (const FusionGroup& group : plan.groups) TF_RETURN_IF_ERROR(GroupBuilder(plan, group).Build());
    changed = changed || !plan.groups.empty();
  }
  return changed;
}

}  // namespace mychip::xla_backend
