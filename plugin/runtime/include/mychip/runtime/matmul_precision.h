// The process-wide setting of how f32 operands enter the matrix and convolution units.
#pragma once

#include "mychip/runtime/export.h"
#include "mychip/runtime/program.h"

namespace mychip {

// What is in force: what was last set (kF32 at start), but kF32 as long as the switch forbids less. Whoever builds or
// caches programs reads it at each launch and makes it part of the key. Thread-safe.
MYCHIP_API Precision MatmulPrecision();
// The same for operands of `dtype`: the setting says something of f32 alone.
MYCHIP_API Precision MatmulPrecision(DType dtype);
MYCHIP_API void SetMatmulPrecision(Precision precision);

// The framework's own switch (TensorFlow's enable_tensor_float_32_execution). It can only forbid: while it answers
// false f32 stays f32. Asked at each launch, so it must be cheap. Null: nothing forbids.
MYCHIP_API void SetReducedPrecisionSwitch(bool (*allowed)());

}  // namespace mychip
