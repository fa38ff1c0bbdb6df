// Operand loaders, transposition and narrowing stores of the matrix unit.
#include <immintrin.h>

#include "gemm_kernels.h"

namespace mychip::emulator {
namespace {

inline float FromBits(uint32_t bits) {
  float f;
  __builtin_memcpy(&f, &bits, 4);
  return f;
}
inline uint32_t Bits(float f) {
  uint32_t bits;
  __builtin_memcpy(&bits, &f, 4);
  return bits;
}
// Nearest even to the bits above `drop`; inf stays, NaN stays NaN.
inline uint32_t RoundBits(uint32_t bits, int drop) {
  const uint32_t rounded = (bits + ((1u << (drop - 1)) - 1) + ((bits >> drop) & 1)) & ~((1u << drop) - 1);
  const uint32_t nan = (bits | 0x00400000u) & ~((1u << drop) - 1);
  return (bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded;
}

// One struct per source format: memory type and conversion to T.
template <typename T, typename M>
struct Plain {
  using Memory = M;
  static T Get(M m) { return static_cast<T>(m); }
};
// Signed integers widen with their sign before they become unsigned.
struct Half {
  using Memory = uint16_t;
  static float Get(uint16_t m) { return _cvtsh_ss(m); }
};
struct BFloat {
  using Memory = uint16_t;
  static float Get(uint16_t m) { return FromBits(static_cast<uint32_t>(m) << 16); }
};
struct Tf32 {
  using Memory = float;
  static float Get(float m) { return FromBits(RoundBits(Bits(m), 13)); }
};
struct AsBF16 {
  using Memory = float;
  static float Get(float m) { return FromBits(RoundBits(Bits(m), 16)); }
};
template <typename T, typename Source>
struct Widened {
  using Memory = typename Source::Memory;
  static T Get(Memory m) { return static_cast<T>(Source::Get(m)); }
};
struct C64 {
  using Memory = Complex64;
  static Complex64 Get(Complex64 m) { return m; }
};
struct C64To128 {
  using Memory = Complex64;
  static Complex128 Get(Complex64 m) { return {m.re, m.im}; }
};
struct C128 {
  using Memory = Complex128;
  static Complex128 Get(Complex128 m) { return m; }
};

template <typename T, typename Source>
void Load(const void* source, int64_t stride, int64_t n, T* out) {
  const auto* in = static_cast<const typename Source::Memory*>(source);
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i) out[i] = Source::Get(in[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = Source::Get(in[i * stride]);
  }
}

void LoadHalf(const void* source, int64_t stride, int64_t n, float* out) {
  const auto* in = static_cast<const uint16_t*>(source);
  int64_t i = 0;
  if (stride == 1) {
    for (; i + 8 <= n; i += 8) {
      _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
    }
  }
  for (; i < n; ++i) out[i] = Half::Get(in[i * stride]);
}

template <typename T>
Loader<T> IntegerLoader(DType dtype) {
  switch (dtype) {
    case DType::kPred:
      return Load<T, Plain<T, uint8_t>>;
    case DType::kU8:
      return Load<T, Plain<T, uint8_t>>;
    case DType::kU16:
      return Load<T, Plain<T, uint16_t>>;
    case DType::kU32:
      return Load<T, Plain<T, uint32_t>>;
    case DType::kU64:
      return Load<T, Plain<T, uint64_t>>;
    case DType::kS8:
      return Load<T, Plain<T, int8_t>>;
    case DType::kS16:
      return Load<T, Plain<T, int16_t>>;
    case DType::kS32:
      return Load<T, Plain<T, int32_t>>;
    case DType::kS64:
      return Load<T, Plain<T, int64_t>>;
    default:
      return nullptr;
  }
}

template <typename T>
void TransposeElements(const T* in, int64_t in_stride, int64_t rows, int64_t columns, T* out, int64_t out_stride) {
  constexpr int64_t kBlock = 8;
  for (int64_t c0 = 0; c0 < columns; c0 += kBlock) {
    const int64_t c1 = c0 + kBlock < columns ? c0 + kBlock : columns;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = c0; c < c1; ++c) out[c * out_stride + r] = in[r * in_stride + c];
    }
  }
}

void Transpose8x8(const float* in, int64_t in_stride, float* out, int64_t out_stride) {
  __m256 r[8], t[8];
  for (int i = 0; i < 8; ++i) r[i] = _mm256_loadu_ps(in + i * in_stride);
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xEE);
    r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xEE);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(out + i * out_stride, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(out + (i + 4) * out_stride, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}

void TransposeFloats(const float* in, int64_t in_stride, int64_t rows, int64_t columns, float* out,
                     int64_t out_stride) {
  const int64_t r8 = rows & ~int64_t{7}, c8 = columns & ~int64_t{7};
  for (int64_t r = 0; r < r8; r += 8) {
    for (int64_t c = 0; c < c8; c += 8)
      Transpose8x8(in + r * in_stride + c, in_stride, out + c * out_stride + r, out_stride);
  }
  TransposeElements(in + c8, in_stride, r8, columns - c8, out + c8 * out_stride, out_stride);
  TransposeElements(in + r8 * in_stride, in_stride, rows - r8, columns, out + r8, out_stride);
}

}  // namespace

template <>
Loader<float> LoaderOf<float>(DType dtype, Precision precision) {
  switch (dtype) {
    case DType::kF16:
      return LoadHalf;
    case DType::kBF16:
      return Load<float, BFloat>;
    case DType::kF64:
      return Load<float, Plain<float, double>>;
    case DType::kF32:
      if (precision == Precision::kTF32) return Load<float, Tf32>;
      if (precision == Precision::kBF16) return Load<float, AsBF16>;
      return Load<float, Plain<float, float>>;
    default:
      return IntegerLoader<float>(dtype);
  }
}

template <>
Loader<double> LoaderOf<double>(DType dtype, Precision) {
  switch (dtype) {
    case DType::kF16:
      return Load<double, Widened<double, Half>>;
    case DType::kBF16:
      return Load<double, Widened<double, BFloat>>;
    case DType::kF32:
      return Load<double, Plain<double, float>>;
    case DType::kF64:
      return Load<double, Plain<double, double>>;
    default:
      return IntegerLoader<double>(dtype);
  }
}

template <>
Loader<uint32_t> LoaderOf<uint32_t>(DType dtype, Precision) {
  return IntegerLoader<uint32_t>(dtype);
}
template <>
Loader<uint64_t> LoaderOf<uint64_t>(DType dtype, Precision) {
  return IntegerLoader<uint64_t>(dtype);
}
template <>
Loader<Complex64> LoaderOf<Complex64>(DType dtype, Precision) {
  return dtype == DType::kC64 ? Load<Complex64, C64> : nullptr;
}
template <>
Loader<Complex128> LoaderOf<Complex128>(DType dtype, Precision) {
  if (dtype == DType::kC64) return Load<Complex128, C64To128>;
  return dtype == DType::kC128 ? Load<Complex128, C128> : nullptr;
}

template <>
void Transpose(const float* in, int64_t in_stride, int64_t rows, int64_t columns, float* out, int64_t out_stride) {
  TransposeFloats(in, in_stride, rows, columns, out, out_stride);
}
template <>
void Transpose(const uint32_t* in, int64_t in_stride, int64_t rows, int64_t columns, uint32_t* out,
               int64_t out_stride) {
  TransposeElements(in, in_stride, rows, columns, out, out_stride);
}
template <>
void Transpose(const double* in, int64_t in_stride, int64_t rows, int64_t columns, double* out, int64_t out_stride) {
  TransposeElements(in, in_stride, rows, columns, out, out_stride);
}
template <>
void Transpose(const uint64_t* in, int64_t in_stride, int64_t rows, int64_t columns, uint64_t* out,
               int64_t out_stride) {
  TransposeElements(in, in_stride, rows, columns, out, out_stride);
}
template <>
void Transpose(const Complex64* in, int64_t in_stride, int64_t rows, int64_t columns, Complex64* out,
               int64_t out_stride) {
  TransposeElements(in, in_stride, rows, columns, out, out_stride);
}
template <>
void Transpose(const Complex128* in, int64_t in_stride, int64_t rows, int64_t columns, Complex128* out,
               int64_t out_stride) {
  TransposeElements(in, in_stride, rows, columns, out, out_stride);
}

void StoreF16(const float* in, int64_t n, uint16_t* out) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(in + i), 0));
  }
  for (; i < n; ++i) out[i] = _cvtss_sh(in[i], 0);
}

void StoreBF16(const float* in, int64_t n, uint16_t* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<uint16_t>(RoundBits(Bits(in[i]), 16) >> 16);
}

}  // namespace mychip::emulator
