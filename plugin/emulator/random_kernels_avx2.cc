#include "random_kernels.h"

#include <cstring>

namespace mychip::emulator {
namespace {

constexpr int kLanes = 16;  // blocks computed side by side; loops over lanes vectorise

inline uint32_t Low(uint64_t x) { return static_cast<uint32_t>(x); }
inline uint32_t High(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

void PhiloxLanes(uint64_t key, uint64_t low, uint64_t high, uint32_t* out) {
  uint32_t x0[kLanes], x1[kLanes], x2[kLanes], x3[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    const uint64_t l = low + i, h = high + (l < low);
    x0[i] = Low(l), x1[i] = High(l), x2[i] = Low(h), x3[i] = High(h);
  }
  uint32_t k0 = Low(key), k1 = High(key);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kLanes; ++i) {
      const uint64_t p0 = uint64_t{0xD2511F53} * x0[i], p1 = uint64_t{0xCD9E8D57} * x2[i];
      const uint32_t y0 = High(p1) ^ x1[i] ^ k0, y2 = High(p0) ^ x3[i] ^ k1;
      x0[i] = y0, x1[i] = Low(p1), x2[i] = y2, x3[i] = Low(p0);
    }
    k0 += 0x9E3779B9, k1 += 0xBB67AE85;
  }
  for (int i = 0; i < kLanes; ++i) {
    out[4 * i] = x0[i], out[4 * i + 1] = x1[i], out[4 * i + 2] = x2[i], out[4 * i + 3] = x3[i];
  }
}

template <int kRotation>
inline void Mix(uint32_t* a, uint32_t* b) {
  for (int i = 0; i < kLanes; ++i) {
    a[i] += b[i];
    b[i] = (b[i] << kRotation | b[i] >> (32 - kRotation)) ^ a[i];
  }
}

void ThreefryLanes(uint64_t key, const uint64_t* counters, uint64_t* out) {
  const uint32_t ks[3] = {Low(key), High(key), 0x1BD11BDA ^ Low(key) ^ High(key)};
  uint32_t a[kLanes], b[kLanes];
  for (int i = 0; i < kLanes; ++i) a[i] = Low(counters[i]) + ks[0], b[i] = High(counters[i]) + ks[1];
  for (uint32_t group = 0; group < 5; ++group) {
    if (group % 2 == 0) {
      Mix<13>(a, b), Mix<15>(a, b), Mix<26>(a, b), Mix<6>(a, b);
    } else {
      Mix<17>(a, b), Mix<29>(a, b), Mix<16>(a, b), Mix<24>(a, b);
    }
    const uint32_t add_a = ks[(group + 1) % 3], add_b = ks[(group + 2) % 3] + group + 1;
    for (int i = 0; i < kLanes; ++i) a[i] += add_a, b[i] += add_b;
  }
  for (int i = 0; i < kLanes; ++i) out[i] = a[i] | static_cast<uint64_t>(b[i]) << 32;
}

}  // namespace

void Philox(uint64_t key, uint64_t counter_low, uint64_t counter_high, int64_t blocks, uint32_t* out) {
  int64_t i = 0;
  auto run = [&](uint32_t* to) {
    const uint64_t low = counter_low + static_cast<uint64_t>(i);
    PhiloxLanes(key, low, counter_high + (low < counter_low), to);
  };
  for (; i + kLanes <= blocks; i += kLanes) run(out + 4 * i);
  if (i < blocks) {
    uint32_t rest[4 * kLanes];
    run(rest);
    std::memcpy(out + 4 * i, rest, static_cast<size_t>(blocks - i) * 16);
  }
}

void Threefry(uint64_t key, const uint64_t* counters, int64_t n, uint64_t* out) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) ThreefryLanes(key, counters + i, out + i);
  if (i < n) {
    uint64_t in[kLanes] = {}, rest[kLanes];
    std::memcpy(in, counters + i, static_cast<size_t>(n - i) * 8);
    ThreefryLanes(key, in, rest);
    std::memcpy(out + i, rest, static_cast<size_t>(n - i) * 8);
  }
}

}  // namespace mychip::emulator
