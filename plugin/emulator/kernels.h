// The vector unit's inner loops: one function pointer per (operation, dtypes, which operands are scalars).
// Lanes: how a dtype is held in a tile. pred is a byte 0 or 1; f16 and bf16 are held as f32 values already rounded to
// them; everything else as in memory (complex interleaved).
#pragma once

#include <cstdint>

#include "mychip/runtime/body.h"
#include "mychip/runtime/dtype.h"

namespace mychip::emulator {

constexpr DType LaneOf(DType t) { return t == DType::kF16 || t == DType::kBF16 ? DType::kF32 : t; }
constexpr int64_t LaneBytes(DType t) { return ByteSize(LaneOf(t)); }

// dst[i] = op(a[i], b[i], c[i]) for i < n. dst may be an operand when the lanes have the same size.
using Kernel = void (*)(void* dst, const void* a, const void* b, const void* c, int64_t n, uint64_t imm);

// by_mask[m]: operand k is a single value when bit k of m is set. Null where the variant does not exist (the caller
// then fills a tile); by_mask[0] null: the operation does not exist for these dtypes.
struct KernelSet {
  Kernel by_mask[8] = {};
  explicit operator bool() const { return by_mask[0] != nullptr; }
};

// `operand` is the dtype of the first operand, of the second for kSelect. Sources, kConvert and kBitcast not included.
KernelSet FindKernel(VOp op, DType result, DType operand);
// For lanes of `from` and `to` (rounding to 16 bits apart). Never null.
Kernel FindConvert(DType to, DType from);
// Null when the sizes differ or the bits are the same in both lanes (then nothing is to be done).
Kernel FindBitcast(DType to, DType from);
// dst[i] = a[i] rounded to the 16-bit dtype, NaN kept; null for other dtypes.
Kernel FindRound(DType dtype);
// imm: exponent bits << 8 | mantissa bits.
Kernel FindReducePrecision(DType dtype);

// Memory <-> lanes for dtypes whose lanes differ from memory (pred, f16, bf16); null for the others.
Kernel FindLoad(DType dtype);
Kernel FindStore(DType dtype);
// Copies / fills n lanes of `bytes` bytes each (1, 2, 4, 8, 16).
void FillLanes(void* dst, const void* value, int64_t bytes, int64_t n);
// dst[i] = ((first + i) / inner) % size, as lanes of dtype (16-bit: rounded).
void FillIota(void* dst, DType dtype, int64_t first, int64_t inner, int64_t size, int64_t n);

// One file per group of dtypes; each returns an empty set for what it does not know.
KernelSet FindF32Kernel(VOp op, DType result);
KernelSet FindF32MathKernel(VOp op);  // the best of the next two
KernelSet FindF32MathAvx2(VOp op);
KernelSet FindF32MathAvx512(VOp op);
KernelSet FindF64Kernel(VOp op, DType result);
KernelSet FindIntKernel(VOp op, DType result, DType operand);
KernelSet FindComplexKernel(VOp op, DType result, DType operand);
KernelSet FindSelectKernel(DType dtype);

}  // namespace mychip::emulator
