// Fourier transforms over the innermost dims.
#pragma once

#include "mychip/ops/tensor_type.h"

namespace mychip::ops {

// Of the last lengths.size() (1 to 3) dims of `input` the kind and lengths may need less than is there, not more;
// `output` has the dims that follow. Arguments: input, result.
Result<ProgramPtr> Fft(FftKind kind, const Dims& lengths, const TensorType& input, const TensorType& output);

}  // namespace mychip::ops
