// One block product of the matrix unit: the loops around the micro-kernel, shared by MatMul and Conv.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gemm_kernels.h"

namespace mychip::emulator {

// Accumulators are reset after this many products of one element; the partial sums are added in order. Part of the
// numerics (it fixes the order of additions), not a tuning knob alone.
constexpr int64_t kDepthBlock = 192;
constexpr int64_t kRowBlock = 192;

// Row i of the block starts at base + row_offsets[i]; product k lies at + (k_offsets ? k_offsets[k] : k * k_stride).
template <typename T>
struct BlockRows {
  const T* base;
  const int64_t* row_offsets;
  const int64_t* k_offsets;
  int64_t k_stride;
};

// Columns of a panel when a block has n of them: nr, unless that left most of the last tile empty.
template <typename T>
int64_t PanelWidth(int64_t n);

// Panels of `width` columns (see PanelWidth): panel p starts at data + p * panel_stride, its row k at + k * width.
template <typename T>
struct BlockColumns {
  const T* data;
  int64_t panel_stride, width;
};

// c[i * c_stride + j] (+)= sum_k rows(i, k) * columns(k, j) for i < m, j < n.
template <typename T>
void MultiplyBlock(int64_t m, int64_t n, int64_t k, const BlockRows<T>& rows, const BlockColumns<T>& columns, T* c,
                   int64_t c_stride, bool accumulate);

// As MultiplyBlock with m <= Kernels<T>().wide_rows and b in place: b[k * b_stride + j].
template <typename T>
void MultiplyWide(int64_t m, int64_t n, int64_t k, const BlockRows<T>& rows, const T* b, int64_t b_stride, T* c,
                  int64_t c_stride, bool accumulate);

// Packs columns [0, n) of depth k of a matrix whose element (k, j) lies `k_stride`, `n_stride` elements of
// `element_size` bytes apart, into panels of `width` columns as above, zero beyond n.
template <typename T>
void PackColumns(const uint8_t* source, int64_t element_size, int64_t k_stride, int64_t n_stride, Loader<T> load,
                 int64_t k, int64_t n, int64_t width, T* panels, int64_t panel_stride);

// c[i * c_stride + j] (+)= sum_k rows(i, k)[j] * b[k * n + j]: n independent products side by side.
template <typename T>
void MultiplyLanes(int64_t m, int64_t n, int64_t k, const BlockRows<T>& rows, const T* b, T* c, int64_t c_stride,
                   bool accumulate);

}  // namespace mychip::emulator
