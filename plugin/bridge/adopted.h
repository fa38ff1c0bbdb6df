// Kernels that TensorFlow registers for GPUs, or for the CPU in more dtypes, and that work for every device.
#pragma once

namespace mychip::bridge {

void RegisterAdoptedKernels();

}  // namespace mychip::bridge
