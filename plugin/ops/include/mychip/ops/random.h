// TensorFlow's counter-based random numbers: bit-equal to its CPU kernels for bits, integers and uniforms; normals go
// through the chip's log, sin and cos. All take key u64[1] and counter u64[2] (Philox) as device tensors.
#pragma once

#include <cstdint>

#include "mychip/ops/tensor_type.h"

namespace mychip::ops {

// seed [2] (s32 or s64) -> key [1], counter [2]: the scrambling of StatelessRandomGetKeyCounter, on the device.
Result<ProgramPtr> KeyCounter(DType seed);

enum class Distribution {
  kBits,             // every bit random: integer dtypes
  kUniform,          // [0, 1)
  kUniformInt,       // low + bits modulo range
  kNormal,           // Box-Muller, mean 0, deviation 1
  kTruncatedNormal,  // resampled until within two deviations
};
struct RandomSpec {
  Distribution distribution = Distribution::kUniform;
  uint64_t low = 0, range = 0;  // kUniformInt: two's complement in the result's width
};
// Arguments: key, counter, result (n elements).
Result<ProgramPtr> Random(const RandomSpec& spec, DType dtype, int64_t n);

}  // namespace mychip::ops
