#include "random_kernels.h"

#include <immintrin.h>

#include <cstring>

namespace mychip::emulator {
namespace {

constexpr int kLanes = 16;  // blocks computed side by side; loops over lanes vectorise

inline uint32_t Low(uint64_t x) { return static_cast<uint32_t>(x); }
inline uint32_t High(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

// The 64-bit products of 8 words with m, as high and low halves.
inline void MultiplyWide(__m256i x, __m256i m, __m256i* high, __m256i* low) {
  const __m256i even = _mm256_mul_epu32(x, m), odd = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), m);
  *low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
  *high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
}

// Word k of 8 blocks in x[k] -> the blocks one after the other.
inline void StoreBlocks(const __m256i* x, uint32_t* out) {
  const __m256i a = _mm256_unpacklo_epi32(x[0], x[1]), b = _mm256_unpacklo_epi32(x[2], x[3]);
  const __m256i c = _mm256_unpackhi_epi32(x[0], x[1]), d = _mm256_unpackhi_epi32(x[2], x[3]);
  const __m256i r0 = _mm256_unpacklo_epi64(a, b), r1 = _mm256_unpackhi_epi64(a, b);
  const __m256i r2 = _mm256_unpacklo_epi64(c, d), r3 = _mm256_unpackhi_epi64(c, d);
  __m256i* to = reinterpret_cast<__m256i*>(out);
  _mm256_storeu_si256(to, _mm256_permute2x128_si256(r0, r1, 0x20));
  _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(r2, r3, 0x20));
  _mm256_storeu_si256(to + 2, _mm256_permute2x128_si256(r0, r1, 0x31));
  _mm256_storeu_si256(to + 3, _mm256_permute2x128_si256(r2, r3, 0x31));
}

void PhiloxLanes(uint64_t key, uint64_t low, uint64_t high, uint32_t* out) {
  alignas(32) uint32_t words[4][kLanes];
  for (int i = 0; i < kLanes; ++i) {
    const uint64_t l = low + i, h = high + (l < low);
    words[0][i] = Low(l), words[1][i] = High(l), words[2][i] = Low(h), words[3][i] = High(h);
  }
  constexpr int kGroups = kLanes / 8;  // independent chains
  __m256i x[kGroups][4];
  for (int g = 0; g < kGroups; ++g) {
    for (int k = 0; k < 4; ++k) x[g][k] = _mm256_load_si256(reinterpret_cast<const __m256i*>(words[k] + 8 * g));
  }
  const __m256i m0 = _mm256_set1_epi64x(0xD2511F53), m1 = _mm256_set1_epi64x(0xCD9E8D57);
  uint32_t k0 = Low(key), k1 = High(key);
  for (int round = 0; round < 10; ++round) {
    const __m256i key0 = _mm256_set1_epi32(static_cast<int>(k0)), key1 = _mm256_set1_epi32(static_cast<int>(k1));
    for (int g = 0; g < kGroups; ++g) {
      __m256i high0, low0, high1, low1;
      MultiplyWide(x[g][0], m0, &high0, &low0);
      MultiplyWide(x[g][2], m1, &high1, &low1);
      x[g][0] = _mm256_xor_si256(_mm256_xor_si256(high1, x[g][1]), key0);
      x[g][2] = _mm256_xor_si256(_mm256_xor_si256(high0, x[g][3]), key1);
      x[g][1] = low1, x[g][3] = low0;
    }
    k0 += 0x9E3779B9, k1 += 0xBB67AE85;
  }
  for (int g = 0; g < kGroups; ++g) StoreBlocks(x[g], out + 32 * g);
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
