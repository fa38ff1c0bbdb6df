// The lhs side of a convolution block: where the micro-kernel finds rows and products. Either lhs itself, or a slab: a
// dense copy, in the type computed in, of the box of coordinates a block needs, zero where the box leaves lhs.
#pragma once

#include <cstdint>
#include <vector>

#include "conv_plan.h"
#include "gemm_block.h"

namespace mychip::emulator {

// A range on every axis of a phase: of rows (positions) or of taps.
struct ConvBox {
  std::vector<int64_t> first, count;
  int64_t size() const {
    int64_t n = 1;
    for (int64_t c : count) n *= c;
    return n;
  }
};

// Maps coordinates to element offsets: sum over axes of (coordinate - base) / step * stride, base = row_base +
// tap_base.
struct ConvAddress {
  struct Axis {
    int64_t row_base, tap_base, step, stride, extent;
    int64_t base() const { return row_base + tap_base; }
  };
  std::vector<Axis> axes;
  bool inside = true;    // every coordinate lies in lhs
  int64_t elements = 1;  // of the slab
  int64_t lanes = 1;     // innermost: groups side by side
  int64_t pad = 0;       // unused elements after each run of the innermost axis

  // Row offsets of a box of rows / offsets of a box of taps, last axis fastest.
  void Rows(const ConvPhase& phase, const ConvBox& rows, int64_t* offsets) const;
  void Taps(const ConvPhase& phase, const ConvBox& taps, int64_t* offsets) const;
};

// The slab that holds what `rows` and `taps` meet, `lanes` groups innermost.
ConvAddress SlabFor(const ConvPhase& phase, const ConvBox& rows, const ConvBox& taps, int64_t lanes);
// lhs itself.
ConvAddress InPlace(const ConvPhase& phase);

// Fills a slab from lhs (address of the first group's element 0; elements of `size` bytes). `groups` <= lanes groups
// `group_stride` elements apart are present; further lanes are zero.
template <typename T>
void FillSlab(const ConvPhase& phase, const ConvAddress& slab, const uint8_t* lhs, int64_t size, int64_t groups,
              int64_t group_stride, Loader<T> load, T* out);

// rhs offsets of a box of taps, last axis fastest.
void RhsOffsets(const ConvPhase& phase, const ConvBox& taps, int64_t* offsets);

}  // namespace mychip::emulator
