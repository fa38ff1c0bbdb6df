// Between dtypes: convert, bitcast, rounding to 16 bits, loads and stores of what memory holds differently, fills.
#include <immintrin.h>

#include <complex>
#include <limits>
#include <type_traits>

#include "float_ops.h"
#include "kernel_loops.h"

namespace mychip::emulator {
namespace {

struct Pred {  // lane of pred: distinct from u8 so that converting to it tests for non-zero
  uint8_t v;
};

template <typename T>
struct IsComplexLane : std::false_type {};
template <typename T>
struct IsComplexLane<std::complex<T>> : std::true_type {};

// float -> integer: truncates, saturates, NaN gives 0.
template <typename To, typename From>
To Saturate(From x) {
  constexpr From kHigh = From(std::numeric_limits<To>::max());  // may round up to max + 1: then >= below saturates
  constexpr From kLow = From(std::numeric_limits<To>::min());
  using Wide = std::conditional_t<sizeof(To) < 4, int32_t, To>;
  const From inside = x > kLow && x < kHigh ? x : From(0);
  To r = To(Wide(inside));
  r = x >= kHigh ? std::numeric_limits<To>::max() : r;
  return x <= kLow ? std::numeric_limits<To>::min() : r;
}

template <typename To, typename From>
struct Convert {
  static To Do(From x) {
    if constexpr (std::is_same_v<From, Pred>) {
      return Convert<To, uint8_t>::Do(x.v);
    } else if constexpr (std::is_same_v<To, Pred>) {
      return Pred{uint8_t(x != From(0))};
    } else if constexpr (IsComplexLane<To>::value) {
      using T = typename To::value_type;
      if constexpr (IsComplexLane<From>::value)
        return To(T(x.real()), T(x.imag()));
      else
        return To(T(x), T(0));
    } else if constexpr (IsComplexLane<From>::value) {
      return Convert<To, typename From::value_type>::Do(x.real());
    } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
      return Saturate<To, From>(x);
    } else {
      return To(x);
    }
  }
};

template <typename From>
Kernel ConvertFrom(DType to) {
  switch (LaneOf(to)) {
    case DType::kPred:
      return UnaryLoop<Pred, From, Convert<Pred, From>>;
    case DType::kS8:
      return UnaryLoop<int8_t, From, Convert<int8_t, From>>;
    case DType::kS16:
      return UnaryLoop<int16_t, From, Convert<int16_t, From>>;
    case DType::kS32:
      return UnaryLoop<int32_t, From, Convert<int32_t, From>>;
    case DType::kS64:
      return UnaryLoop<int64_t, From, Convert<int64_t, From>>;
    case DType::kU8:
      return UnaryLoop<uint8_t, From, Convert<uint8_t, From>>;
    case DType::kU16:
      return UnaryLoop<uint16_t, From, Convert<uint16_t, From>>;
    case DType::kU32:
      return UnaryLoop<uint32_t, From, Convert<uint32_t, From>>;
    case DType::kU64:
      return UnaryLoop<uint64_t, From, Convert<uint64_t, From>>;
    case DType::kF32:
      return UnaryLoop<float, From, Convert<float, From>>;
    case DType::kF64:
      return UnaryLoop<double, From, Convert<double, From>>;
    case DType::kC64:
      return UnaryLoop<std::complex<float>, From, Convert<std::complex<float>, From>>;
    default:
      return UnaryLoop<std::complex<double>, From, Convert<std::complex<double>, From>>;
  }
}

uint16_t ToBF16(float x) {
  const uint32_t u = BitCast<uint32_t>(x);
  const uint32_t rounded = u + 0x7fff + ((u >> 16) & 1);
  const uint32_t nan = u | 0x00400000;
  return uint16_t((x != x ? nan : rounded) >> 16);
}
float FromBF16(uint16_t x) { return BitCast<float>(uint32_t(x) << 16); }

__m256 LoadF16(const uint16_t* p) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
__m128i ToF16(__m256 v) { return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

void RoundF16(void* dst, const void* a, const void*, const void*, int64_t n, uint64_t) {
  float* d = static_cast<float*>(dst);
  const float* x = static_cast<const float*>(a);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(d + i, _mm256_cvtph_ps(ToF16(_mm256_loadu_ps(x + i))));
  for (; i < n; ++i) d[i] = _cvtsh_ss(_cvtss_sh(x[i], _MM_FROUND_TO_NEAREST_INT));
}
void LoadHalf(void* dst, const void* a, const void*, const void*, int64_t n, uint64_t) {
  float* d = static_cast<float*>(dst);
  const uint16_t* x = static_cast<const uint16_t*>(a);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(d + i, LoadF16(x + i));
  for (; i < n; ++i) d[i] = _cvtsh_ss(x[i]);
}
void StoreHalf(void* dst, const void* a, const void*, const void*, int64_t n, uint64_t) {
  uint16_t* d = static_cast<uint16_t*>(dst);
  const float* x = static_cast<const float*>(a);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(d + i), ToF16(_mm256_loadu_ps(x + i)));
  }
  for (; i < n; ++i) d[i] = _cvtss_sh(x[i], _MM_FROUND_TO_NEAREST_INT);
}
uint16_t ToF16Scalar(float x) { return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT); }

struct RoundBF16 {
  static float Do(float x) { return FromBF16(ToBF16(x)); }
};
struct LoadBF16 {
  static float Do(uint16_t x) { return FromBF16(x); }
};
struct StoreBF16 {
  static uint16_t Do(float x) { return ToBF16(x); }
};
struct LoadPred {
  static uint8_t Do(uint8_t x) { return x != 0; }
};
struct F16ToBF16Bits {
  static float Do(float x) { return FromBF16(ToF16Scalar(x)); }
};
struct BF16ToF16Bits {
  static float Do(float x) { return _cvtsh_ss(ToBF16(x)); }
};

template <typename T>
void Fill(void* dst, const void* value, int64_t n) {
  T v;
  std::memcpy(&v, value, sizeof(v));
  T* d = static_cast<T*>(dst);
  for (int64_t i = 0; i < n; ++i) d[i] = v;
}

struct Bits128 {
  uint64_t low, high;
};

template <typename T>
void Iota(void* dst, int64_t first, int64_t inner, int64_t size, int64_t n) {
  T* d = static_cast<T*>(dst);
  int64_t index = first / inner % size, in = first % inner, i = 0;
  while (i < n) {
    if (inner == 1) {
      const int64_t run = n - i < size - index ? n - i : size - index;
      for (int64_t k = 0; k < run; ++k) d[i + k] = Convert<T, int64_t>::Do(index + k);
      i += run, index = 0;
      continue;
    }
    const int64_t run = n - i < inner - in ? n - i : inner - in;
    const T v = Convert<T, int64_t>::Do(index);
    for (int64_t k = 0; k < run; ++k) d[i + k] = v;
    i += run, in = 0;
    index = index + 1 == size ? 0 : index + 1;
  }
}

template <typename T>
void ReducePrecisionLoop(void* dst, const void* a, const void*, const void*, int64_t n, uint64_t imm) {
  using U = typename FloatBits<T>::U;
  constexpr int kMantissa = sizeof(T) == 4 ? 23 : 52, kBias = sizeof(T) == 4 ? 127 : 1023;
  const int exponent = static_cast<int>(imm >> 8), mantissa = static_cast<int>(imm & 255);
  const int drop = mantissa < kMantissa ? kMantissa - mantissa : 0;
  const bool narrow = exponent < (sizeof(T) == 4 ? 8 : 11);
  const int bias = (1 << (exponent - 1)) - 1;
  const U sign_bit = U(1) << (sizeof(T) * 8 - 1);
  const U max_exponent = narrow ? U(kBias + bias) << kMantissa : 0;  // above: infinity
  const U min_exponent = narrow ? U(kBias - bias) << kMantissa : 0;  // at or below: zero
  const U inf = (sizeof(T) == 4 ? U(0xff) : U(0x7ff)) << kMantissa;
  const U half_minus_one = drop > 0 ? (U(1) << (drop - 1)) - 1 : 0, keep = ~((U(1) << drop) - 1);
  T* d = static_cast<T*>(dst);
  const T* x = static_cast<const T*>(a);
  for (int64_t i = 0; i < n; ++i) {
    const U bits = BitCast<U>(x[i]), sign = bits & sign_bit;
    U magnitude = bits & ~sign_bit;
    if (drop > 0) magnitude = (magnitude + half_minus_one + ((magnitude >> drop) & 1)) & keep;
    const U exponent_bits = magnitude & inf;
    if (narrow) {
      magnitude = exponent_bits > max_exponent ? inf : magnitude;
      magnitude = exponent_bits <= min_exponent ? 0 : magnitude;
    }
    const T r = BitCast<T>(U(sign | magnitude));
    d[i] = x[i] != x[i] ? x[i] : r;
  }
}

}  // namespace

Kernel FindConvert(DType to, DType from) {
  switch (LaneOf(from)) {
    case DType::kPred:
      return ConvertFrom<Pred>(to);
    case DType::kS8:
      return ConvertFrom<int8_t>(to);
    case DType::kS16:
      return ConvertFrom<int16_t>(to);
    case DType::kS32:
      return ConvertFrom<int32_t>(to);
    case DType::kS64:
      return ConvertFrom<int64_t>(to);
    case DType::kU8:
      return ConvertFrom<uint8_t>(to);
    case DType::kU16:
      return ConvertFrom<uint16_t>(to);
    case DType::kU32:
      return ConvertFrom<uint32_t>(to);
    case DType::kU64:
      return ConvertFrom<uint64_t>(to);
    case DType::kF32:
      return ConvertFrom<float>(to);
    case DType::kF64:
      return ConvertFrom<double>(to);
    case DType::kC64:
      return ConvertFrom<std::complex<float>>(to);
    default:
      return ConvertFrom<std::complex<double>>(to);
  }
}

Kernel FindBitcast(DType to, DType from) {
  if (ByteSize(to) != ByteSize(from) || to == from) return nullptr;
  if (to == DType::kPred) return UnaryLoop<uint8_t, uint8_t, LoadPred>;
  if (to == DType::kBF16 && from == DType::kF16) return UnaryLoop<float, float, F16ToBF16Bits>;
  if (to == DType::kF16 && from == DType::kBF16) return UnaryLoop<float, float, BF16ToF16Bits>;
  if (LaneOf(to) != to) return FindLoad(to);
  if (from != DType::kPred && LaneOf(from) != from) return FindStore(from);
  return nullptr;
}

Kernel FindRound(DType dtype) {
  if (dtype == DType::kF16) return RoundF16;
  if (dtype == DType::kBF16) return UnaryLoop<float, float, RoundBF16>;
  return nullptr;
}

Kernel FindReducePrecision(DType dtype) {
  return LaneOf(dtype) == DType::kF32 ? ReducePrecisionLoop<float>
         : dtype == DType::kF64       ? ReducePrecisionLoop<double>
                                      : nullptr;
}

Kernel FindLoad(DType dtype) {
  if (dtype == DType::kF16) return LoadHalf;
  if (dtype == DType::kBF16) return UnaryLoop<float, uint16_t, LoadBF16>;
  if (dtype == DType::kPred) return UnaryLoop<uint8_t, uint8_t, LoadPred>;
  return nullptr;
}

Kernel FindStore(DType dtype) {
  if (dtype == DType::kF16) return StoreHalf;
  if (dtype == DType::kBF16) return UnaryLoop<uint16_t, float, StoreBF16>;
  return nullptr;
}

void FillLanes(void* dst, const void* value, int64_t bytes, int64_t n) {
  switch (bytes) {
    case 1:
      return Fill<uint8_t>(dst, value, n);
    case 2:
      return Fill<uint16_t>(dst, value, n);
    case 4:
      return Fill<uint32_t>(dst, value, n);
    case 8:
      return Fill<uint64_t>(dst, value, n);
    default:
      return Fill<Bits128>(dst, value, n);
  }
}

void FillIota(void* dst, DType dtype, int64_t first, int64_t inner, int64_t size, int64_t n) {
  switch (LaneOf(dtype)) {
    case DType::kPred:
      Iota<Pred>(dst, first, inner, size, n);
      break;
    case DType::kS8:
      Iota<int8_t>(dst, first, inner, size, n);
      break;
    case DType::kS16:
      Iota<int16_t>(dst, first, inner, size, n);
      break;
    case DType::kS32:
      Iota<int32_t>(dst, first, inner, size, n);
      break;
    case DType::kS64:
      Iota<int64_t>(dst, first, inner, size, n);
      break;
    case DType::kU8:
      Iota<uint8_t>(dst, first, inner, size, n);
      break;
    case DType::kU16:
      Iota<uint16_t>(dst, first, inner, size, n);
      break;
    case DType::kU32:
      Iota<uint32_t>(dst, first, inner, size, n);
      break;
    case DType::kU64:
      Iota<uint64_t>(dst, first, inner, size, n);
      break;
    case DType::kF32:
      Iota<float>(dst, first, inner, size, n);
      break;
    case DType::kF64:
      Iota<double>(dst, first, inner, size, n);
      break;
    case DType::kC64:
      Iota<std::complex<float>>(dst, first, inner, size, n);
      break;
    case DType::kC128:
      Iota<std::complex<double>>(dst, first, inner, size, n);
      break;
    default:
      break;
  }
  if (Kernel round = FindRound(dtype)) round(dst, dst, nullptr, nullptr, n, 0);
}

}  // namespace mychip::emulator
