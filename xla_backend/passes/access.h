// How an instruction inside a fused expression is read, seen from the iteration space of the command that runs it:
// fusion asks whether a View can say it, code generation builds that View. One set of rules for both.
#pragma once

#include <vector>

#include "mychip/runtime/view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape_util.h"

namespace mychip::xla_backend {

// Data movement between the iteration space and an instruction, outermost first. nullptr stands for "a single element,
// broadcast": whatever lies outside of a one-element value has no effect on which element is read.
using Chain = std::vector<const xla::HloInstruction*>;

// The element type on the chip; false for types it has not (f8, 4-bit, tokens, tuples).
bool ToDType(xla::PrimitiveType type, DType* dtype);
Dims DimsOf(const xla::Shape& shape);
inline bool IsSingle(const xla::Shape& shape) { return shape.IsArray() && xla::ShapeUtil::ElementsIn(shape) == 1; }

// Elementwise operations that a Body expresses (copy included, for which the Body is the identity).
bool IsElementwise(const xla::HloInstruction* instruction);
// By opcode alone: without bitcast-convert, which is elementwise only between types of one size.
bool IsElementwiseOpcode(xla::HloOpcode opcode);
// broadcast, transpose, slice, reverse, reshape, and bitcast to the same element type: other addresses, same elements.
bool IsMovement(const xla::HloInstruction* instruction);
// A constant whose elements are all in one immediate.
bool IsScalarConstant(const xla::HloInstruction* instruction);

// The view of `movement`'s result, given one of its operand. False when strides cannot say it (some reshapes).
bool ApplyMovement(const xla::HloInstruction* movement, const View& operand, View* result);
// The view over `space` of a leaf whose own view is `leaf`. False as ApplyMovement.
bool Replay(const View& leaf, const Chain& chain, const Dims& space, View* result);
// The chain by which operand `index` of `consumer` is read when `consumer` itself is read by `chain`.
Chain OperandChain(const xla::HloInstruction* consumer, int64_t index, const Chain& chain);

// View whose offset and strides are the index along iota's dimension (1-byte elements): Replay turns them into the
// coefficients of that index over the iteration space.
View IotaView(const xla::HloInstruction* iota);

}  // namespace mychip::xla_backend
