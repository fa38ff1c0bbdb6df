// What TensorFlow's opaque SP_Stream points to.
#pragma once

#include <memory>

#include "mychip/runtime/stream.h"

// The first stream TensorFlow creates on a device is a non-owning handle to the chip's compute stream; the others own a
// stream of their own. Kernels reach the runtime through TF_GetStream(ctx, status)->stream.
struct SP_Stream_st {
  mychip::Stream* stream = nullptr;
  std::unique_ptr<mychip::Stream> owned;  // null for the compute stream
};
