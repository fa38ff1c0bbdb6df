// Convolutions and their gradients on the convolution unit, any number of spatial dims. Layouts, grouping and the
// gradients' transpositions are strides; only the input gradient of a grouped convolution copies its filter.
#pragma once

#include <vector>

#include "mychip/ops/tensor_type.h"

namespace mychip::ops {

// One spatial dim of the forward convolution.
struct ConvDim {
  int64_t stride = 1, dilation = 1, pad_low = 0, pad_high = 0;
};

struct ConvSpec {
  bool channels_first = false;  // input and output: N C spatial; otherwise N spatial C
  bool depthwise = false;       // filter: spatial, C, multiplier; otherwise spatial, C / groups, outputs
  std::vector<ConvDim> dims;
  Precision precision = Precision::kF32;  // how f32 operands enter the unit
};

// Dims of the forward convolution's three tensors.
struct ConvTypes {
  TensorType input, filter, output;
};

// Arguments: input, filter, result.
Result<ProgramPtr> Convolution(const ConvSpec& spec, const ConvTypes& types);
// Arguments: filter, gradient of the output, result (gradient of the input).
Result<ProgramPtr> ConvolutionInputGrad(const ConvSpec& spec, const ConvTypes& types);
// Arguments: input, gradient of the output, result (gradient of the filter).
Result<ProgramPtr> ConvolutionFilterGrad(const ConvSpec& spec, const ConvTypes& types);

// How a program that caches by spec and types is keyed.
class CacheKey;
void AddToKey(const ConvSpec& spec, CacheKey* key);

}  // namespace mychip::ops
