// Strided copies of single elements.
#pragma once

#include <cstdint>

namespace mychip::emulator {

// dst[i] = src[i * stride], elements of `size` bytes (1, 2, 4, 8, 16).
void GatherElements(const uint8_t* src, int64_t stride, int64_t n, int64_t size, uint8_t* dst);
// dst[i * stride] = src[i].
void ScatterElements(const uint8_t* src, int64_t n, int64_t size, uint8_t* dst, int64_t stride);

}  // namespace mychip::emulator
