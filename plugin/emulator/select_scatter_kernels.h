// The fast path of SelectScatterCmd: f32, one of three selections, add.
#pragma once

#include <cstdint>

namespace mychip::emulator {

// Keep the earlier tap when: a >= b, a > b, !(a < b).
enum class SelectRule : uint8_t { kOther, kGe, kGt, kNotLt };

// For each of n lanes: picks among operand[taps[t] + lane], t < count, and adds values[lane] to
// out[taps[out_taps + t] + lane]. `selected` is room for n + 8.
void SelectScatterF32(SelectRule rule, const float* operand, const int64_t* taps, int64_t count, const float* values,
                      int64_t n, float* out, int64_t out_taps, int32_t* selected);

}  // namespace mychip::emulator
