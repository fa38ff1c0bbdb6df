// What scatters and segment reductions share.
#pragma once

#include "mychip/ops/gather.h"

namespace mychip::ops {

// Params: the current value, the update.
Body CombineBody(Combine combine, DType t);
// Copies with a change of dtype.
void Convert(Assembler* a, const View& from, const View& to);
// `v` itself, or a converted copy of it.
View Wide(Assembler* a, const View& v, DType t);

}  // namespace mychip::ops
