// Operands with random contents and random memory layouts for the emulator's tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "mychip/runtime/view.h"

namespace mychip::testing {

using Random = std::mt19937;
inline int64_t Uniform(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

inline float HalfToFloat(uint16_t h) {
  const uint32_t sign = (h & 0x8000u) << 16, exponent = (h >> 10) & 31, mantissa = h & 1023u;
  float value;
  if (exponent == 0) {
    value = std::ldexp(static_cast<float>(mantissa), -24);
  } else if (exponent == 31) {
    value = mantissa == 0 ? INFINITY : NAN;
  } else {
    value = std::ldexp(static_cast<float>(mantissa | 1024u), static_cast<int>(exponent) - 25);
  }
  return sign != 0 ? -value : value;
}

// Small numbers that every dtype holds exactly.
inline uint16_t SmallToHalf(double v) {
  if (v == 0) return 0;
  int exponent;
  const double fraction = std::frexp(std::fabs(v), &exponent);
  return static_cast<uint16_t>((v < 0 ? 0x8000 : 0) | ((exponent + 14) << 10) |
                               (static_cast<int>(fraction * 2048) & 1023));
}

// A tensor in a buffer of its own, addressed through a view with any strides.
struct Operand {
  View view;
  std::vector<uint8_t> bytes;

  uint8_t* At(const Dims& index) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * view.strides[d];
    return bytes.data() + view.offset + offset * ByteSize(view.dtype);
  }
  template <typename T>
  T Get(const Dims& index) {
    T value;
    std::memcpy(&value, At(index), sizeof(T));
    return value;
  }
  std::complex<double> Value(const Dims& index) {
    switch (view.dtype) {
      case DType::kPred:
      case DType::kU8:
        return Get<uint8_t>(index);
      case DType::kU16:
        return Get<uint16_t>(index);
      case DType::kU32:
        return Get<uint32_t>(index);
      case DType::kU64:
        return static_cast<double>(Get<uint64_t>(index));
      case DType::kS8:
        return Get<int8_t>(index);
      case DType::kS16:
        return Get<int16_t>(index);
      case DType::kS32:
        return Get<int32_t>(index);
      case DType::kS64:
        return static_cast<double>(Get<int64_t>(index));
      case DType::kF16:
        return HalfToFloat(Get<uint16_t>(index));
      case DType::kBF16: {
        const uint32_t bits = static_cast<uint32_t>(Get<uint16_t>(index)) << 16;
        float f;
        std::memcpy(&f, &bits, 4);
        return f;
      }
      case DType::kF32:
        return Get<float>(index);
      case DType::kF64:
        return Get<double>(index);
      case DType::kC64:
        return Get<std::complex<float>>(index);
      case DType::kC128:
        return Get<std::complex<double>>(index);
    }
    return 0;
  }
  void Set(const Dims& index, std::complex<double> v) {
    const auto put = [&](auto value) { std::memcpy(At(index), &value, sizeof(value)); };
    switch (view.dtype) {
      case DType::kF16:
        return put(SmallToHalf(v.real()));
      case DType::kBF16: {
        const auto f = static_cast<float>(v.real());
        uint32_t bits;
        std::memcpy(&bits, &f, 4);
        return put(static_cast<uint16_t>(bits >> 16));
      }
      case DType::kF32:
        return put(static_cast<float>(v.real()));
      case DType::kF64:
        return put(v.real());
      case DType::kC64:
        return put(std::complex<float>(v));
      case DType::kC128:
        return put(v);
      default:
        break;
    }
    const auto i = static_cast<int64_t>(v.real());
    std::memcpy(At(index), &i, ByteSize(view.dtype));  // little endian: the low bytes
  }
};

// Calls fn(index) for every index of dims in row-major order.
template <typename Fn>
void ForEachIndex(const Dims& dims, Fn fn) {
  if (NumElements(dims) == 0) return;
  Dims index(dims.size(), 0);
  for (;;) {
    fn(index);
    size_t d = dims.size();
    while (d > 0 && ++index[d - 1] == dims[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

enum class Layout { kDense, kAny, kBroadcast };  // kAny: permuted, reversed, with gaps; kBroadcast: also zero strides

inline Operand MakeOperand(Random& random, int buffer, DType dtype, const Dims& dims, Layout layout) {
  Operand operand;
  View& view = operand.view;
  view.buffer = buffer, view.dtype = dtype, view.dims = dims, view.strides.assign(dims.size(), 0);
  std::vector<int> order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  if (layout != Layout::kDense && Uniform(random, 0, 2) > 0) std::shuffle(order.begin(), order.end(), random);
  int64_t stride = layout != Layout::kDense && Uniform(random, 0, 4) == 0 ? 2 : 1, first = 0;
  for (size_t i = order.size(); i-- > 0;) {
    const int d = order[i];
    if (layout == Layout::kBroadcast && Uniform(random, 0, 5) == 0) continue;
    view.strides[d] = stride;
    if (layout != Layout::kDense && Uniform(random, 0, 5) == 0 && dims[d] > 0) {
      view.strides[d] = -stride;
      first += stride * (dims[d] - 1);
    }
    stride *= std::max<int64_t>(1, dims[d]);
    if (layout != Layout::kDense && Uniform(random, 0, 3) == 0) stride += Uniform(random, 1, 5);
  }
  view.offset = (first + (layout == Layout::kDense ? 0 : Uniform(random, 0, 3))) * ByteSize(dtype);
  operand.bytes.assign(view.offset + (stride + 1) * ByteSize(dtype), 0xA5);
  return operand;
}

// Integers in [-range, range] (or [0, range] where the dtype has no sign): sums of products stay exact in f32.
inline void FillSmall(Random& random, Operand* operand, int64_t range) {
  const bool sign = !IsUnsigned(operand->view.dtype) && operand->view.dtype != DType::kPred;
  ForEachIndex(operand->view.dims, [&](const Dims& index) {
    const auto part = [&] { return static_cast<double>(Uniform(random, sign ? -range : 0, range)); };
    const double re = part();
    operand->Set(index, IsComplex(operand->view.dtype) ? std::complex<double>(re, part()) : std::complex<double>(re));
  });
}

// Uniform in [-1, 1).
inline void FillUniform(Random& random, Operand* operand) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  ForEachIndex(operand->view.dims, [&](const Dims& index) { operand->Set(index, uniform(random)); });
}

}  // namespace mychip::testing
