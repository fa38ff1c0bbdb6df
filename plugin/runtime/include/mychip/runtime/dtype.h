// Element types of the chip. One list, read by the emulator, the printer, the TensorFlow and the HLO conversions.
#pragma once

#include <cstdint>

#include "mychip/runtime/export.h"

namespace mychip {

// name in assembly, enumerator, bytes per element
#define MYCHIP_DTYPES(X) \
  X(pred, kPred, 1)      \
  X(s8, kS8, 1)          \
  X(s16, kS16, 2)        \
  X(s32, kS32, 4)        \
  X(s64, kS64, 8)        \
  X(u8, kU8, 1)          \
  X(u16, kU16, 2)        \
  X(u32, kU32, 4)        \
  X(u64, kU64, 8)        \
  X(f16, kF16, 2)        \
  X(bf16, kBF16, 2)      \
  X(f32, kF32, 4)        \
  X(f64, kF64, 8)        \
  X(c64, kC64, 8)        \
  X(c128, kC128, 16)

enum class DType : uint8_t {
#define X(name, enumerator, bytes) enumerator,
  MYCHIP_DTYPES(X)
#undef X
};

inline constexpr int kNumDTypes = 15;

constexpr int64_t ByteSize(DType dtype) {
  constexpr int64_t kBytes[] = {
#define X(name, enumerator, bytes) bytes,
      MYCHIP_DTYPES(X)
#undef X
  };
  return kBytes[static_cast<int>(dtype)];
}

constexpr const char* Name(DType dtype) {
  constexpr const char* kNames[] = {
#define X(name, enumerator, bytes) #name,
      MYCHIP_DTYPES(X)
#undef X
  };
  return kNames[static_cast<int>(dtype)];
}

constexpr bool IsFloat(DType t) {
  return t == DType::kF16 || t == DType::kBF16 || t == DType::kF32 || t == DType::kF64;
}
constexpr bool IsComplex(DType t) { return t == DType::kC64 || t == DType::kC128; }
constexpr bool IsSigned(DType t) { return t == DType::kS8 || t == DType::kS16 || t == DType::kS32 || t == DType::kS64; }
constexpr bool IsUnsigned(DType t) {
  return t == DType::kU8 || t == DType::kU16 || t == DType::kU32 || t == DType::kU64;
}
constexpr bool IsInteger(DType t) { return IsSigned(t) || IsUnsigned(t); }

}  // namespace mychip
