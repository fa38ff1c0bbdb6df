// What the stateless and the stateful random kernels share.
#pragma once

#include "context.h"
#include "mychip/ops/random.h"

namespace mychip::kernels {

// Output 0 = random numbers of `out`'s dtype and dims from Philox with this key (8 bytes) and counter (16 bytes).
Status LaunchRandom(Context& ctx, const ops::RandomSpec& spec, const TensorType& out, DeviceSpan key,
                    DeviceSpan counter);

// [minval, maxval) from two host scalars, inputs `low` and `high`, of the result's dtype.
Result<ops::RandomSpec> UniformIntSpec(Context& ctx, int low, int high);

}  // namespace mychip::kernels
