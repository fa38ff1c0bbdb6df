// Fused batch normalisation over every dim but the channels, and its gradient. x may be f16 or bf16; the channel
// tensors, the statistics and all arithmetic are f32.
#pragma once

#include "mychip/ops/tensor_type.h"

namespace mychip::ops {

// x as [outer, channels, inner]: NHWC has inner 1, NCHW outer N.
struct BatchNormShape {
  DType dtype = DType::kF32;
  int64_t outer = 0, channels = 0, inner = 1;
  Dims dims() const { return {outer, channels, inner}; }
};

// Training: y = (x - mean) / sqrt(variance + epsilon) * scale + offset with the batch's own statistics (two passes, so
// that the variance does not cancel); running = (1 - factor) * running + factor * batch, the variance there being the
// unbiased one. Arguments: x, scale, offset, running mean, running variance; y, new running mean, new running variance,
// mean, variance.
Result<ProgramPtr> BatchNormTraining(const BatchNormShape& shape, double epsilon, double factor);
// Arguments: x, scale, offset, mean, variance; y.
Result<ProgramPtr> BatchNormInference(const BatchNormShape& shape, double epsilon);
// frozen: mean and variance are constants (inference), not the batch's. Arguments: gradient of y, x, scale, mean,
// variance; gradients of x, scale, offset.
Result<ProgramPtr> BatchNormGrad(const BatchNormShape& shape, double epsilon, bool frozen);

}  // namespace mychip::ops
