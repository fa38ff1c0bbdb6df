// Pooling over windows of every dim of a tensor (size 1 where nothing is pooled), and its gradients.
#pragma once

#include <vector>

#include "mychip/ops/tensor_type.h"

namespace mychip::ops {

class CacheKey;

struct PoolDim {
  int64_t size = 1, stride = 1, pad_low = 0, pad_high = 0;
};
using PoolSpec = std::vector<PoolDim>;  // one per dim of the tensor

// Arguments: input, result.
Result<ProgramPtr> MaxPool(const PoolSpec& spec, const TensorType& input, const TensorType& output);
// The mean of the elements that are there: padding does not count.
Result<ProgramPtr> AvgPool(const PoolSpec& spec, const TensorType& input, const TensorType& output);
// Arguments: input, gradient, result. The gradient goes to the first largest element of each window.
Result<ProgramPtr> MaxPoolGrad(const PoolSpec& spec, const TensorType& input, const TensorType& grad);
// Arguments: gradient, result.
Result<ProgramPtr> AvgPoolGrad(const PoolSpec& spec, const TensorType& input, const TensorType& grad);

void AddToKey(const PoolSpec& spec, CacheKey* key);

}  // namespace mychip::ops
