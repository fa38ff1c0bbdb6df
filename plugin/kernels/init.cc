// The entry point TensorFlow looks up in a pluggable device library; the loader forwards to it.
#include "mychip/kernels/register.h"
#include "mychip/runtime/export.h"
#include "tensorflow/c/kernels.h"

extern "C" MYCHIP_API void TF_InitKernel() { mychip::kernels::RegisterKernels(); }
