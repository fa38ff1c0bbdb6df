// The matrix unit's micro-kernels and operand loaders, as plain functions over raw pointers: their files are compiled
// for wider vectors than the rest and must share no inline code with it.
#pragma once

#include <cstdint>

#include "mychip/runtime/dtype.h"
#include "mychip/runtime/program.h"

namespace mychip::emulator {

struct Complex64 {
  float re, im;
};
struct Complex128 {
  double re, im;
};

// Types the matrix unit computes in: float, double, uint32_t (all integers up to 32 bits; wraparound makes the sign
// irrelevant), uint64_t, Complex64, Complex128.

// One tile: c[i][j] (+)= sum_k a[i][offset(k)] * b[k * b_stride + j] for the kernel's rows x nr, k in increasing order
// from a zero accumulator; one fused multiply-add a product for real floats.
// offset(k) = k_offsets ? k_offsets[k] : k * a_stride.
template <typename T>
struct TileArgs {
  int64_t k;
  const T* const* a;  // one pointer a row
  const int64_t* k_offsets;
  int64_t a_stride;
  const T* b;
  int64_t b_stride;
  T* c;
  int64_t c_stride;
  bool accumulate;  // add to c instead of overwriting it
};

constexpr int kMaxTileRows = 8;
constexpr int kMaxTileColumns = 128;

template <typename T>
struct TileKernels {
  int mr = 0, nr = 0, vector = 0;  // rows and columns of a full tile, elements of a vector
  // By rows in use, 1..mr. All give bit-equal elements.
  void (*tile[kMaxTileRows + 1])(const TileArgs<T>&) = {};
  // The first 1 or 2 vectors of columns only: narrow[vectors - 1][rows].
  void (*narrow[2][kMaxTileRows + 1])(const TileArgs<T>&) = {};
  // For few rows against an unpacked b: rows r <= wide_rows use wide[r] with wide_columns[r] columns.
  int wide_rows = 0;
  int wide_columns[kMaxTileRows + 1] = {};
  void (*wide[kMaxTileRows + 1])(const TileArgs<T>&) = {};
  // By rows in use: c[i][j] (+)= sum_k a[i][offset(k) + j] * b[k * b_stride + j] for j < n, a multiple of vector.
  void (*lanes[kMaxTileRows + 1])(int64_t n, const TileArgs<T>&) = {};
};

// The widest the processor has. Every set gives the same bits, tiles of another shape.
template <typename T>
const TileKernels<T>& Kernels();
template <typename T>
const TileKernels<T>& KernelsAvx2();
template <typename T>
const TileKernels<T>& KernelsAvx512();  // float and double
// For tests and comparisons: commands decoded from now on keep to AVX2. Not while a command runs.
void AllowAvx512(bool allowed);

// Loads n elements `stride` elements apart and converts them to T: exact, but for f32 under Precision kTF32 and kBF16,
// which round to nearest even first, and f64 to float. Null when the unit does not take `dtype` as T.
template <typename T>
using Loader = void (*)(const void* source, int64_t stride, int64_t n, T* out);
template <typename T>
Loader<T> LoaderOf(DType dtype, Precision precision);

// out[c * out_stride + r] = in[r * in_stride + c].
template <typename T>
void Transpose(const T* in, int64_t in_stride, int64_t rows, int64_t columns, T* out, int64_t out_stride);

// sum[i] += more[i].
template <typename T>
void AddInto(const T* more, int64_t n, T* sum);

// sum_k a[k] * b[k] in a fixed order of its own.
float DotF32(const float* a, const float* b, int64_t k);

// Narrowing stores, nearest even.
void StoreF16(const float* in, int64_t n, uint16_t* out);
void StoreBF16(const float* in, int64_t n, uint16_t* out);

}  // namespace mychip::emulator
