// Elementwise HLO -> instructions of a Body, and whole scalar computations -> a Body.
#pragma once

#include <string>
#include <vector>

#include "mychip/runtime/body.h"
#include "mychip/runtime/status.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace mychip::xla_backend {

// UNIMPLEMENTED with the instruction's text and the TensorFlow op it came from.
Status Unsupported(const xla::HloInstruction* instruction, const std::string& why);

// Appends the one elementwise instruction; operands are values of `builder`. Returns the new value.
Result<int> EmitElementwise(BodyBuilder& builder, const xla::HloInstruction* instruction,
                            const std::vector<int>& operands);
int EmitConstant(BodyBuilder& builder, const xla::HloInstruction* constant);

// The body of a scalar computation (combiner, comparator, map): param i is parameter i, results are the root's leaves.
// `caller` is named when something in it cannot be expressed.
Result<Body> BodyOf(const xla::HloComputation* computation, const xla::HloInstruction* caller);
// The same, appended to `builder` with `params` as the computation's parameters. Returns the root's leaves.
Result<std::vector<int>> InlineComputation(BodyBuilder& builder, const xla::HloComputation* computation,
                                           const std::vector<int>& params, const xla::HloInstruction* caller);

}  // namespace mychip::xla_backend
