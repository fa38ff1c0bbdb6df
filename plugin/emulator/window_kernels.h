// The fast path of WindowReduceCmd: f32 pooling along dense lanes (channels).
#pragma once

#include <cstdint>

namespace mychip::emulator {

enum class WindowOp : uint8_t { kAdd, kMax, kMin, kOther };

// out[i] = init, then op with in[taps[t] + i] for t < count, in order; i < n. NaN propagates; of equal ones the first.
void WindowRowF32(WindowOp op, const float* in, const int64_t* taps, int64_t count, float init, int64_t n, float* out);

}  // namespace mychip::emulator
