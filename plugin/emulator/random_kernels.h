// Counter-based generators of the random-bits unit.
#pragma once

#include <cstdint>

namespace mychip::emulator {

// Philox4x32-10. out[4 i ... 4 i + 3] = block (counter + i), for i < blocks; the counter is 128 bits (low, high).
void Philox(uint64_t key, uint64_t counter_low, uint64_t counter_high, int64_t blocks, uint32_t* out);

// Threefry2x32-20. For i < n: the block of 64-bit counter counters[i]; out[i] = low word | high word << 32.
void Threefry(uint64_t key, const uint64_t* counters, int64_t n, uint64_t* out);

}  // namespace mychip::emulator
