// Kernels of tf.experimental.Optional.
#pragma once

namespace mychip::bridge {

void RegisterOptionalKernels();

}  // namespace mychip::bridge
