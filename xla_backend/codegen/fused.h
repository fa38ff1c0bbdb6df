// Fused expressions: a graph of elementwise and movement instructions -> one Body and the views it reads.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "access.h"
#include "emitter.h"
#include "mychip/runtime/body.h"

namespace mychip::xla_backend {

// Evaluates instructions over one iteration space. What lies behind a leaf is read through a view.
class Expression {
 public:
  // `leaf` says where an instruction that is not evaluated here stands in memory: a fusion parameter, an operand.
  using LeafFn = std::function<View(const xla::HloInstruction*)>;
  using IsLeafFn = std::function<bool(const xla::HloInstruction*)>;
  Expression(Dims space, IsLeafFn is_leaf, LeafFn leaf)
      : space_(std::move(space)), is_leaf_(std::move(is_leaf)), leaf_(std::move(leaf)) {}

  // A value that exists already: param `number` of the body, counted before all inputs.
  void Predefine(const xla::HloInstruction* instruction, int value) {
    values_[{instruction, Chain()}] = value;
    if (IsSingle(instruction->shape())) values_[{instruction, Chain{nullptr}}] = value;
  }
  // The value of `instruction` read by `chain`.
  Result<int> Emit(const xla::HloInstruction* instruction, const Chain& chain = {});

  BodyBuilder& body() { return body_; }
  void set_first_param(int count) { first_param_ = count; }
  const std::vector<View>& inputs() const { return inputs_; }

 private:
  using Key = std::pair<const xla::HloInstruction*, Chain>;
  Result<int> EmitLeaf(const Key& key);
  Result<int> EmitIota(const Key& key);
  Result<int> EmitReady(const Key& key);
  bool NeedsNothing(const xla::HloInstruction* instruction) const;

  Dims space_;
  IsLeafFn is_leaf_;
  LeafFn leaf_;
  BodyBuilder body_;
  int first_param_ = 0;
  std::vector<View> inputs_;
  std::map<Key, int> values_;
};

// For an instruction or fusion standing in a computation: its inner root, and where inner leaves stand in memory.
struct Region {
  const xla::HloInstruction* outer;
  const xla::HloInstruction* root;  // of the fused computation, or `outer` itself
  Expression::IsLeafFn is_leaf;
  Expression::LeafFn leaf;
};
Region RegionOf(Emitter& emitter, const xla::HloInstruction* outer);

// The view of `operand` (of an instruction in `region`) with movement folded in. UNIMPLEMENTED-free: what a view cannot
// say was not fused.
Result<View> FoldedView(Emitter& emitter, const Region& region, const xla::HloInstruction* operand);

}  // namespace mychip::xla_backend
