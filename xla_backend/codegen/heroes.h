// Fusions around one instruction that is not elementwise: reduce, dot, convolution.
#pragma once

#include "fused.h"

namespace mychip::xla_backend {

// The hero of a fusion, or null when it is elementwise throughout.
const xla::HloInstruction* HeroOf(const xla::HloInstruction* fusion);

Status EmitDot(Emitter& emitter, const Region& region, const xla::HloInstruction* dot);
Status EmitConvolution(Emitter& emitter, const Region& region, const xla::HloInstruction* convolution);

// A scalar operand of an instruction of `region` as a rank-0 view: a fusion may hold it as a constant.
Result<View> ScalarView(Emitter& emitter, const Region& region, const xla::HloInstruction* scalar);

}  // namespace mychip::xla_backend
