// Array groups. From each root, consumers before producers, a group takes in what feeds it:
//
//   elementwise   when all its readers are in the group and recomputing it under a broadcast costs less than a launch;
//                 with other readers, as a further output, when it covers the same elements and makes no cycle
//   movement      always: other addresses cost nothing (when a View can say them)
//   constants, iota   always, repeated
//   reduce, dot, convolution   one per group, read as it is: then the members before it are its post or epilogue, and
//                 the operands' side is taken in as well (elementwise for reduce, movement for dot and convolution)
//
// Expensive work is never done twice: not under a broadcast, not for two differently addressed readers.
#include <map>

#include "fusion_plan.h"
#include "mychip/runtime/device.h"

namespace mychip::xla_backend {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

constexpr int kMaxMembers = 160;
constexpr int kMaxInputs = 24;   // tiles of all inputs must fit the scratchpad together
constexpr size_t kMaxChain = 6;  // movements in a row; longer ones are rare and slow to replay

int WorkPerElement(const HloInstruction* i) {
  switch (i->opcode()) {
    case HloOpcode::kDivide:
    case HloOpcode::kRemainder:
    case HloOpcode::kRsqrt:
    case HloOpcode::kSqrt:
      return 2;
    case HloOpcode::kAtan2:
    case HloOpcode::kCbrt:
    case HloOpcode::kCos:
    case HloOpcode::kErf:
    case HloOpcode::kExp:
    case HloOpcode::kExpm1:
    case HloOpcode::kLog:
    case HloOpcode::kLog1p:
    case HloOpcode::kLogistic:
    case HloOpcode::kMap:
    case HloOpcode::kPower:
    case HloOpcode::kSin:
    case HloOpcode::kTan:
    case HloOpcode::kTanh:
      return 4;
    default:
      return 1;
  }
}

bool IsHero(const HloInstruction* i) {
  return i->opcode() == HloOpcode::kReduce || i->opcode() == HloOpcode::kDot || i->opcode() == HloOpcode::kConvolution;
}

bool IsFree(const HloInstruction* i) { return IsScalarConstant(i) || i->opcode() == HloOpcode::kIota; }

View DenseOf(const HloInstruction* i) { return DenseView(0, 0, DType::kU8, DimsOf(i->shape())); }

// One iteration space with the members evaluated over it.
class Space {
 public:
  Space(FusionPlan* plan, FusionGroup* group, absl::flat_hash_map<const HloInstruction*, bool>* members, Dims dims)
      : plan_(plan), group_(group), members_(members), dims_(std::move(dims)), elements_(NumElements(dims_)) {}

  // `outputs`: others than the root may leave the group. `hero`: one may be found and is returned.
  void set_allow_outputs(bool allow) { allow_outputs_ = allow; }
  void set_allow_hero(bool allow) { allow_hero_ = allow; }
  void set_allow_elementwise(bool allow) { allow_elementwise_ = allow; }
  HloInstruction* hero() const { return hero_; }

  void AddRoot(HloInstruction* root) {
    Add(root, true);
    PushOperands(root, {Chain()});
  }
  void Push(HloInstruction* operand, const Chain& chain) {
    std::vector<Chain>& chains = pending_[-plan_->IndexOf(operand)];
    if (std::find(chains.begin(), chains.end(), chain) == chains.end()) chains.push_back(chain);
  }
  void Expand() {
    while (!pending_.empty()) {
      const auto it = pending_.begin();
      HloInstruction* i = plan_->order[-it->first];
      const std::vector<Chain> chains = std::move(it->second);
      pending_.erase(it);
      if (!Take(i, chains)) ++inputs_;
    }
  }
  bool has_iota() const { return has_iota_; }
  // What was read from outside, or through which views: for the epilogue's own check.
  const std::vector<std::pair<HloInstruction*, Chain>>& leaves() const { return leaves_; }

 private:
  void Add(HloInstruction* i, bool exclusive) {
    if (members_->emplace(i, exclusive).second) group_->members.push_back(i);
  }
  void PushOperands(HloInstruction* i, const std::vector<Chain>& chains) {
    for (int64_t n = 0; n < i->operand_count(); ++n) {
      for (const Chain& chain : chains) Push(i->mutable_operand(n), OperandChain(i, n, chain));
    }
  }
  bool AllReadersInside(const HloInstruction* i) const {
    if (i->IsRoot()) return false;
    for (const HloInstruction* user : i->users()) {
      const auto it = members_->find(user);
      if (it == members_->end() || !it->second) return false;
    }
    return true;
  }
  bool Full() const {
    return static_cast<int>(members_->size()) >= kMaxMembers ||
           inputs_ + static_cast<int>(pending_.size()) >= kMaxInputs;
  }
  bool Leaf(HloInstruction* i, const std::vector<Chain>& chains) {
    for (const Chain& chain : chains) leaves_.emplace_back(i, chain);
    return false;
  }
  // False: `i` stays outside and is read through views.
  bool Take(HloInstruction* i, const std::vector<Chain>& chains) {
    if (!allow_elementwise_ && !IsMovement(i)) return Leaf(i, chains);
    if (IsScalarConstant(i)) {
      Add(i, false);
      return true;
    }
    if (plan_->owner.contains(i) || !IsFusible(i) || Full()) return Leaf(i, chains);
    if (i->opcode() == HloOpcode::kIota) return TakeIota(i, chains);
    if (IsMovement(i)) return TakeMovement(i, chains);
    if (IsElementwise(i)) return TakeElementwise(i, chains);
    if (IsHero(i) && allow_hero_ && hero_ == nullptr && group_->outputs.size() == 1 && chains.size() == 1 &&
        chains[0].empty() && AllReadersInside(i) && DimsOf(i->shape()) == dims_) {
      hero_ = i;
      Add(i, true);
      return true;
    }
    return Leaf(i, chains);
  }
  bool TakeIota(HloInstruction* i, const std::vector<Chain>& chains) {
    for (const Chain& chain : chains) {
      View view;
      if (!Replay(IotaView(i), chain, dims_, &view)) return Leaf(i, chains);
    }
    has_iota_ = true;
    Add(i, false);
    return true;
  }
  bool TakeMovement(HloInstruction* i, const std::vector<Chain>& chains) {
    if (!allow_elementwise_ && IsSingle(i->shape())) return Leaf(i, chains);
    for (const Chain& chain : chains) {
      View view;
      const Chain inner = OperandChain(i, 0, chain);
      if (inner.size() > kMaxChain || !Replay(DenseOf(i->operand(0)), inner, dims_, &view)) return Leaf(i, chains);
    }
    Add(i, AllReadersInside(i));
    PushOperands(i, chains);
    return true;
  }
  bool TakeElementwise(HloInstruction* i, const std::vector<Chain>& chains) {
    const int work = WorkPerElement(i);
    const int64_t repeats = static_cast<int64_t>(chains.size()) * elements_ - xla::ShapeUtil::ElementsIn(i->shape());
    const int64_t extra = std::max<int64_t>(0, repeats) * work / (chip::kCores * chip::kLanes32);
    if (extra > budget_ || (extra > 0 && work > 1)) return Leaf(i, chains);
    if (!AllReadersInside(i)) {
      // Its other readers keep it alive: as an output of this group when that cannot make a cycle.
      const int root = plan_->IndexOf(group_->outputs[0]);
      const int self = static_cast<int>(plan_->groups.size());
      if (!allow_outputs_ || !plan_->further_outputs || hero_ != nullptr || chains.size() != 1 || !chains[0].empty() ||
          DimsOf(i->shape()) != dims_ || !OutsideUsersAreLater(i, self, root)) {
        return Leaf(i, chains);
      }
      group_->outputs.push_back(i);
    }
    budget_ -= extra;
    Add(i, true);
    PushOperands(i, chains);
    return true;
  }
  // No path leads from i's outside readers back into the group: they all run after its root, and so does everything
  // they feed. A scalar group is the exception: it may read something late and yield something early.
  bool OutsideUsersAreLater(const HloInstruction* i, int self, int root) const {
    for (const auto& scalars : plan_->scalar_groups) {
      if (scalars.level >= plan_->level[plan_->IndexOf(i)] && scalars.first_output < root &&
          scalars.last_member > root) {
        return false;
      }
    }
    for (const HloInstruction* user : i->users()) {
      const auto it = members_->find(user);
      if (it != members_->end() && it->second) continue;
      const auto owned = plan_->owner.find(user);
      if (owned == plan_->owner.end() ? plan_->IndexOf(user) <= root
                                      : owned->second != self && plan_->first_output[owned->second] <= root) {
        return false;
      }
    }
    return true;
  }

  FusionPlan* plan_;
  FusionGroup* group_;
  absl::flat_hash_map<const HloInstruction*, bool>* members_;  // true: computed here only
  const Dims dims_;
  const int64_t elements_;
  bool allow_outputs_ = false, allow_hero_ = false, allow_elementwise_ = true, has_iota_ = false;
  int64_t budget_ = chip::kLaunchCycles;
  int inputs_ = 0;
  HloInstruction* hero_ = nullptr;
  std::map<int, std::vector<Chain>> pending_;  // by falling position: readers before what they read
  std::vector<std::pair<HloInstruction*, Chain>> leaves_;
};

// Batch dims, then all free dims of the left as one, all of the right as one: MatMulCmd's result.
Dims MatMulDims(const HloInstruction* dot) {
  const auto& numbers = dot->dot_dimension_numbers();
  const Dims out = DimsOf(dot->shape());
  const int64_t batch = numbers.lhs_batch_dimensions_size();
  const int64_t left = dot->operand(0)->shape().dimensions().size() - batch - numbers.lhs_contracting_dimensions_size();
  Dims dims(out.begin(), out.begin() + batch);
  dims.push_back(NumElements(Dims(out.begin() + batch, out.begin() + batch + left)));
  dims.push_back(NumElements(Dims(out.begin() + batch + left, out.end())));
  return dims;
}

// The epilogue reads its inputs over the matrix unit's dims, and counts no indices there.
bool EpilogueFits(const Space& space, const HloInstruction* hero) {
  if (space.has_iota()) return false;
  if (hero->opcode() != HloOpcode::kDot) return true;
  const Dims dims = MatMulDims(hero);
  for (const auto& [leaf, chain] : space.leaves()) {
    View view, merged;
    if (!Replay(DenseOf(leaf), chain, DimsOf(hero->shape()), &view) || !Reshaped(view, dims, &merged)) return false;
  }
  return true;
}

bool IsRootCandidate(const HloInstruction* i) {
  if (!IsFusible(i) && !(i->opcode() == HloOpcode::kReduce && !i->HasControlDependencies())) return false;
  switch (i->opcode()) {
    case HloOpcode::kBroadcast:
    case HloOpcode::kReverse:
    case HloOpcode::kSlice:
    case HloOpcode::kTranspose:
      return true;
    default:
      return IsElementwise(i) || IsHero(i);
  }
}

// Takes in the operands' side of a hero.
void ExpandBehind(FusionPlan* plan, FusionGroup* group, absl::flat_hash_map<const HloInstruction*, bool>* members,
                  HloInstruction* hero) {
  if (hero->opcode() == HloOpcode::kReduce) {
    group->kind = HloInstruction::FusionKind::kInput;
    Space map(plan, group, members, DimsOf(hero->operand(0)->shape()));
    for (int64_t i = 0; i < hero->operand_count() / 2; ++i) map.Push(hero->mutable_operand(i), {});
    map.Expand();
    for (int64_t i = hero->operand_count() / 2; i < hero->operand_count(); ++i) {
      HloInstruction* init = hero->mutable_operand(i);
      if (IsScalarConstant(init) && members->emplace(init, false).second) group->members.push_back(init);
    }
    return;
  }
  group->kind = HloInstruction::FusionKind::kOutput;
  for (HloInstruction* operand : hero->operands()) {
    if (IsSingle(operand->shape())) continue;
    Space side(plan, group, members, DimsOf(operand->shape()));
    side.set_allow_elementwise(false);
    side.Push(operand, {});
    side.Expand();
  }
}

// Plans the group of `root`; false when nothing is gained by a fusion.
bool PlanGroup(FusionPlan* plan, HloInstruction* root, bool allow_hero) {
  FusionGroup group;
  group.outputs = {root};
  absl::flat_hash_map<const HloInstruction*, bool> members;
  HloInstruction* hero = IsHero(root) ? root : nullptr;
  if (hero != nullptr) {
    members.emplace(root, true);
    group.members.push_back(root);
  } else {
    Space space(plan, &group, &members, DimsOf(root->shape()));
    space.set_allow_outputs(IsElementwise(root));
    space.set_allow_hero(allow_hero && IsElementwise(root));
    space.AddRoot(root);
    space.Expand();
    hero = space.hero();
    if (hero != nullptr &&
        (group.outputs.size() > 1 || (hero->opcode() != HloOpcode::kReduce && !EpilogueFits(space, hero)))) {
      return PlanGroup(plan, root, /*allow_hero=*/false);
    }
  }
  if (hero != nullptr) ExpandBehind(plan, &group, &members, hero);
  const auto work =
      std::count_if(group.members.begin(), group.members.end(), [](const HloInstruction* i) { return !IsFree(i); });
  const bool only_movement = std::all_of(group.members.begin(), group.members.end(),
                                         [](const HloInstruction* i) { return IsFree(i) || IsMovement(i); });
  if (group.members.size() < 2 || (work < 2 && !IsElementwise(root)) || (only_movement && work < 2)) return false;
  std::vector<const HloInstruction*> owned;
  for (const auto& [member, exclusive] : members) {
    if (exclusive) owned.push_back(member);
  }
  plan->AddGroup(std::move(group), owned);
  return true;
}

// Whether anything still reads the instruction itself once the groups so far stand: readers in a group that repeats it
// do not.
bool IsNeeded(const FusionPlan& plan, const HloInstruction* i, const absl::flat_hash_set<const HloInstruction*>& dead) {
  if (i->IsRoot()) return true;
  const auto holders = plan.holders.find(i);
  for (const HloInstruction* user : i->users()) {
    if (dead.contains(user)) continue;
    const auto owner = plan.owner.find(user);
    if (owner == plan.owner.end() || holders == plan.holders.end() ||
        std::count(holders->second.begin(), holders->second.end(), owner->second) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

void PlanArrayGroups(FusionPlan* plan) {
  absl::flat_hash_set<const HloInstruction*> dead;
  for (auto it = plan->order.rbegin(); it != plan->order.rend(); ++it) {
    HloInstruction* root = *it;
    if (plan->owner.contains(root) || root->HasSideEffect()) continue;
    if (!IsNeeded(*plan, root, dead)) {
      dead.insert(root);
      continue;
    }
    if (!IsRootCandidate(root)) continue;
    PlanGroup(plan, root, /*allow_hero=*/true);
  }
}

}  // namespace mychip::xla_backend
