// Inner loops of the DMA unit. Strides in bytes; elements of 1, 2, 4, 8 or 16 bytes, aligned or not.
#pragma once

#include <cstdint>

namespace mychip::emulator {

// dst[i * dst_stride] = src[i * src_stride] for i < n elements.
using RunKernel = void (*)(uint8_t* dst, int64_t dst_stride, const uint8_t* src, int64_t src_stride, int64_t n);
RunKernel FindRunKernel(int64_t bytes, int64_t src_stride, int64_t dst_stride);

// dst row i (stride dst_stride), element j = src row j (stride src_stride), element i; i < m <= 64, j < n <= 64.
using TransposeKernel = void (*)(uint8_t* dst, int64_t dst_stride, const uint8_t* src, int64_t src_stride, int64_t m,
                                 int64_t n);
TransposeKernel FindTransposeKernel(int64_t bytes);

}  // namespace mychip::emulator
