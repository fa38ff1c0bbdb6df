// All native kernels of the device type MYCHIP.
#pragma once

namespace mychip::kernels {

// Called once, from TF_InitKernel. A row that TensorFlow refuses is logged and skipped.
void RegisterKernels();

}  // namespace mychip::kernels
