// Kernels that TensorFlow registers for GPUs and that work for every device.
#pragma once

namespace mychip::bridge {

void RegisterAdoptedKernels();

}  // namespace mychip::bridge
