// Rows of lanes to one lane, for the combiners that are a single operation.
#include <cstring>
#include <type_traits>

#include "lane_combiner.h"

namespace mychip::emulator {
namespace {

// Works on lanes and on vectors of lanes alike.
struct Add {
  template <typename V>
  static V Do(V a, V b) {
    return a + b;
  }
};
struct Mul {
  template <typename V>
  static V Do(V a, V b) {
    if constexpr (std::is_integral_v<V> && sizeof(V) < 4)
      return static_cast<V>(1u * a * b);
    else
      return a * b;
  }
};
struct Max {  // as the vector unit's: NaN of either side
  template <typename V>
  static V Do(V a, V b) {
    const V m = a >= b ? a : b;
    return a != a ? a : m;
  }
};
struct Min {
  template <typename V>
  static V Do(V a, V b) {
    const V m = a <= b ? a : b;
    return a != a ? a : m;
  }
};
struct And {
  template <typename V>
  static V Do(V a, V b) {
    return a & b;
  }
};
struct Or {
  template <typename V>
  static V Do(V a, V b) {
    return a | b;
  }
};

// 128 bytes of accumulators, then a tree. The shape is part of the result and must never follow the host's vectors.
template <typename T, typename Op>
void Row(void* dst, const void* src, int64_t n) {
  typedef T V __attribute__((vector_size(32)));
  constexpr int kLanes = 128 / sizeof(T), kPerVector = 32 / sizeof(T);
  const T* x = static_cast<const T*>(src);
  T acc[kLanes];
  int64_t width = kLanes;
  if (n < kLanes) {
    T r = x[0];
    for (int64_t i = 1; i < n; ++i) r = Op::Do(r, x[i]);
    *static_cast<T*>(dst) = r;
    return;
  }
  auto load = [](const T* p) {
    V v;
    std::memcpy(&v, p, sizeof(v));
    return v;
  };
  V a0 = load(x), a1 = load(x + kPerVector), a2 = load(x + 2 * kPerVector), a3 = load(x + 3 * kPerVector);
  int64_t i = kLanes;
  for (; i + kLanes <= n; i += kLanes) {
    a0 = Op::Do(a0, load(x + i));
    a1 = Op::Do(a1, load(x + i + kPerVector));
    a2 = Op::Do(a2, load(x + i + 2 * kPerVector));
    a3 = Op::Do(a3, load(x + i + 3 * kPerVector));
  }
  std::memcpy(acc, &a0, 32), std::memcpy(acc + kPerVector, &a1, 32);
  std::memcpy(acc + 2 * kPerVector, &a2, 32), std::memcpy(acc + 3 * kPerVector, &a3, 32);
  for (int64_t k = 0; i < n; ++i, ++k) acc[k] = Op::Do(acc[k], x[i]);
  while (width > 1) {
    width /= 2;
    for (int64_t k = 0; k < width; ++k) acc[k] = Op::Do(acc[k], acc[k + width]);
  }
  *static_cast<T*>(dst) = acc[0];
}

template <typename T, typename Op>
void Rows(void* acc, const void* const* x, int64_t n) {
  T* a = static_cast<T*>(acc);
  const T *x0 = static_cast<const T*>(x[0]), *x1 = static_cast<const T*>(x[1]);
  const T *x2 = static_cast<const T*>(x[2]), *x3 = static_cast<const T*>(x[3]);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) a[i] = Op::Do(Op::Do(Op::Do(Op::Do(a[i], x0[i]), x1[i]), x2[i]), x3[i]);
}

template <typename T, bool kArithmetic>
RowKernel Find(VOp op) {
  if constexpr (kArithmetic) {
    if (op == VOp::kAdd) return Row<T, Add>;
    if (op == VOp::kMul) return Row<T, Mul>;
  }
  if (op == VOp::kMax) return Row<T, Max>;
  if (op == VOp::kMin) return Row<T, Min>;
  if constexpr (std::is_integral_v<T>) {
    if (op == VOp::kAnd) return Row<T, And>;
    if (op == VOp::kOr) return Row<T, Or>;
  }
  return nullptr;
}

}  // namespace

// Integers use the unsigned type where only the bits count: their arithmetic wraps.
RowKernel FindRowKernel(VOp op, DType dtype) {
  const bool ordered = op == VOp::kMax || op == VOp::kMin;
  switch (LaneOf(dtype)) {
    case DType::kPred:
      if (op == VOp::kAdd || op == VOp::kMax) return Row<uint8_t, Or>;
      if (op == VOp::kMul || op == VOp::kMin) return Row<uint8_t, And>;
      return Find<uint8_t, false>(op);
    case DType::kS8:
      return ordered ? Find<int8_t, false>(op) : Find<uint8_t, true>(op);
    case DType::kS16:
      return ordered ? Find<int16_t, false>(op) : Find<uint16_t, true>(op);
    case DType::kS32:
      return ordered ? Find<int32_t, false>(op) : Find<uint32_t, true>(op);
    case DType::kS64:
      return ordered ? Find<int64_t, false>(op) : Find<uint64_t, true>(op);
    case DType::kU8:
      return Find<uint8_t, true>(op);
    case DType::kU16:
      return Find<uint16_t, true>(op);
    case DType::kU32:
      return Find<uint32_t, true>(op);
    case DType::kU64:
      return Find<uint64_t, true>(op);
    case DType::kF32:
      return Find<float, true>(op);
    case DType::kF64:
      return Find<double, true>(op);
    default:
      return nullptr;
  }
}

RowsKernel FindRowsKernel(VOp op, DType dtype) {
  if (dtype == DType::kF32 && op == VOp::kAdd) return Rows<float, Add>;
  if (dtype == DType::kF32 && op == VOp::kMax) return Rows<float, Max>;
  if (dtype == DType::kF32 && op == VOp::kMin) return Rows<float, Min>;
  if (dtype == DType::kF64 && op == VOp::kAdd) return Rows<double, Add>;
  return nullptr;
}

}  // namespace mychip::emulator
