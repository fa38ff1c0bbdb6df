// Programs that look at values to tell the host about them: what a result's shape or an error depends on.
#pragma once

#include "mychip/ops/tensor_type.h"

namespace mychip::ops {

// Where the elements of `input` are not zero. Arguments: the input, count (s64 scalar), coordinates (s64
// [elements, rank], row-major order; only the first `count` rows mean something). At least one element.
Result<ProgramPtr> Where(const TensorType& input);

// Which special values `input` (floats) holds. Arguments: the input, result (u8 scalar: sum of SpecialValue).
enum SpecialValue : uint8_t { kHasNan = 1, kHasPositiveInf = 2, kHasNegativeInf = 4 };
Result<ProgramPtr> SpecialValues(const TensorType& input);

}  // namespace mychip::ops
