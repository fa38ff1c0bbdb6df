#include "copy_kernels.h"

#include <immintrin.h>

#include <cstring>

namespace mychip::emulator {
namespace {

struct Bits128 {
  uint64_t low, high;
};

template <typename T>
inline T Load(const uint8_t* p) {
  T v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}
template <typename T>
inline void Store(uint8_t* p, T v) {
  std::memcpy(p, &v, sizeof(v));
}

template <typename T>
void CopyDense(uint8_t* dst, int64_t, const uint8_t* src, int64_t, int64_t n) {
  if (n * sizeof(T) > 64) {
    std::memcpy(dst, src, static_cast<size_t>(n) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < n; ++i) Store<T>(dst + i * sizeof(T), Load<T>(src + i * sizeof(T)));
}

template <typename T>
void Fill(uint8_t* dst, int64_t, const uint8_t* src, int64_t, int64_t n) {
  const T v = Load<T>(src);
  for (int64_t i = 0; i < n; ++i) Store<T>(dst + i * sizeof(T), v);
}

template <typename T>
void Gather(uint8_t* dst, int64_t, const uint8_t* src, int64_t src_stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) Store<T>(dst + i * sizeof(T), Load<T>(src + i * src_stride));
}

template <typename T>
void Reverse(uint8_t* dst, int64_t, const uint8_t* src, int64_t, int64_t n) {
  const uint8_t* first = src - (n - 1) * static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < n; ++i) Store<T>(dst + i * sizeof(T), Load<T>(first + (n - 1 - i) * sizeof(T)));
}

template <typename T>
void Strided(uint8_t* dst, int64_t dst_stride, const uint8_t* src, int64_t src_stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) Store<T>(dst + i * dst_stride, Load<T>(src + i * src_stride));
}

template <typename T>
RunKernel Find(int64_t src_stride, int64_t dst_stride) {
  constexpr int64_t kBytes = sizeof(T);
  if (dst_stride != kBytes) return Strided<T>;
  if (src_stride == kBytes) return CopyDense<T>;
  if (src_stride == 0) return Fill<T>;
  return src_stride == -kBytes ? Reverse<T> : Gather<T>;
}

// 8x8 blocks in registers.
void Transpose8x8(const uint8_t* src, int64_t src_stride, float* dst, int64_t ld) {
  __m256 r[8], t[8];
  for (int i = 0; i < 8; ++i) r[i] = _mm256_loadu_ps(reinterpret_cast<const float*>(src + i * src_stride));
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  for (int i = 0; i < 2; ++i) {
    r[4 * i] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
    r[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
    r[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
    r[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(dst + i * ld, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(dst + (i + 4) * ld, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}

// A 64x64 block goes through scratch, so that source and destination are each touched a whole run at a time.
void Transpose32(uint8_t* dst, int64_t dst_stride, const uint8_t* src, int64_t src_stride, int64_t m, int64_t n) {
  constexpr int64_t kLd = 72;
  alignas(64) float block[64 * kLd];
  const int64_t m8 = m & ~int64_t{7}, n8 = n & ~int64_t{7};
  for (int64_t j = 0; j < n8; j += 8) {
    for (int64_t i = 0; i < m8; i += 8)
      Transpose8x8(src + j * src_stride + i * 4, src_stride, block + i * kLd + j, kLd);
    for (int64_t i = m8; i < m; ++i) {
      for (int64_t k = j; k < j + 8; ++k) block[i * kLd + k] = Load<float>(src + k * src_stride + i * 4);
    }
  }
  for (int64_t j = n8; j < n; ++j) {
    for (int64_t i = 0; i < m; ++i) block[i * kLd + j] = Load<float>(src + j * src_stride + i * 4);
  }
  for (int64_t i = 0; i < m; ++i) std::memcpy(dst + i * dst_stride, block + i * kLd, static_cast<size_t>(n) * 4);
}

template <typename T>
void TransposeAny(uint8_t* dst, int64_t dst_stride, const uint8_t* src, int64_t src_stride, int64_t m, int64_t n) {
  constexpr int64_t kLd = 64 + 64 / sizeof(T);
  alignas(64) T block[64 * kLd];
  for (int64_t j = 0; j < n; ++j) {
    const uint8_t* row = src + j * src_stride;
    for (int64_t i = 0; i < m; ++i) block[i * kLd + j] = Load<T>(row + i * sizeof(T));
  }
  for (int64_t i = 0; i < m; ++i) {
    std::memcpy(dst + i * dst_stride, block + i * kLd, static_cast<size_t>(n) * sizeof(T));
  }
}

}  // namespace

RunKernel FindRunKernel(int64_t bytes, int64_t src_stride, int64_t dst_stride) {
  switch (bytes) {
    case 1:
      return Find<uint8_t>(src_stride, dst_stride);
    case 2:
      return Find<uint16_t>(src_stride, dst_stride);
    case 4:
      return Find<uint32_t>(src_stride, dst_stride);
    case 8:
      return Find<uint64_t>(src_stride, dst_stride);
    default:
      return Find<Bits128>(src_stride, dst_stride);
  }
}

TransposeKernel FindTransposeKernel(int64_t bytes) {
  switch (bytes) {
    case 1:
      return TransposeAny<uint8_t>;
    case 2:
      return TransposeAny<uint16_t>;
    case 4:
      return Transpose32;
    case 8:
      return TransposeAny<uint64_t>;
    default:
      return TransposeAny<Bits128>;
  }
}

}  // namespace mychip::emulator
