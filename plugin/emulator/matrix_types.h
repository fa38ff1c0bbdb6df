// Which C++ type the matrix and convolution units compute in, by the accumulator's dtype.
#pragma once

#include <type_traits>
#include <utility>

#include "gemm_kernels.h"
#include "units.h"

namespace mychip::emulator {

// Maker::For<T>(args...) with T by `accumulate`.
template <typename Maker, typename... Args>
Runner ForComputeType(DType accumulate, Args&&... args) {
  switch (accumulate) {
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
      return Maker::template For<float>(std::forward<Args>(args)...);
    case DType::kF64:
      return Maker::template For<double>(std::forward<Args>(args)...);
    case DType::kS8:
    case DType::kU8:
    case DType::kS16:
    case DType::kU16:
    case DType::kS32:
    case DType::kU32:
      return Maker::template For<uint32_t>(std::forward<Args>(args)...);
    case DType::kS64:
    case DType::kU64:
      return Maker::template For<uint64_t>(std::forward<Args>(args)...);
    case DType::kC64:
      return Maker::template For<Complex64>(std::forward<Args>(args)...);
    case DType::kC128:
      return Maker::template For<Complex128>(std::forward<Args>(args)...);
    case DType::kPred:
      break;
  }
  return [accumulate](const Buffers&) {
    return Unimplemented("the matrix unit has no %s accumulators", Name(accumulate));
  };
}

// True when elements of `dtype` are T's in memory and enter the unit unrounded.
template <typename T>
bool IsComputeType(DType dtype, Precision precision) {
  if constexpr (std::is_same_v<T, float>) return dtype == DType::kF32 && precision == Precision::kF32;
  if constexpr (std::is_same_v<T, double>) return dtype == DType::kF64;
  if constexpr (std::is_same_v<T, uint32_t>) return dtype == DType::kS32 || dtype == DType::kU32;
  if constexpr (std::is_same_v<T, uint64_t>) return dtype == DType::kS64 || dtype == DType::kU64;
  if constexpr (std::is_same_v<T, Complex64>) return dtype == DType::kC64;
  if constexpr (std::is_same_v<T, Complex128>) return dtype == DType::kC128;
  return false;
}

}  // namespace mychip::emulator
