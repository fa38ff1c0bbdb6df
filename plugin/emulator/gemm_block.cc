#include "gemm_block.h"

#include <cstdlib>
#include <cstring>

#include "unit_scratch.h"

namespace mychip::emulator {
namespace {

// Runs a tile whose kernel writes `columns` columns of which only n are wanted.
template <typename T>
void PartialTile(void (*kernel)(const TileArgs<T>&), TileArgs<T> args, int64_t rows, int64_t columns, int64_t n) {
  T tile[kMaxTileRows * kMaxTileColumns];
  T* const c = args.c;
  const int64_t c_stride = args.c_stride;
  const bool accumulate = args.accumulate;
  args.c = tile, args.c_stride = columns, args.accumulate = false;
  kernel(args);
  for (int64_t i = 0; i < rows; ++i) {
    T* out = c + i * c_stride;
    const T* in = tile + i * columns;
    for (int64_t j = 0; j < n; ++j) {
      if constexpr (std::is_class_v<T>) {
        out[j] = accumulate ? T{out[j].re + in[j].re, out[j].im + in[j].im} : in[j];
      } else {
        out[j] = accumulate ? out[j] + in[j] : in[j];
      }
    }
  }
}

// n <= nr columns, in as few vectors as hold them.
template <typename T>
void RunColumns(const TileKernels<T>& kernels, const TileArgs<T>& args, int64_t rows, int64_t n) {
  const int64_t vectors = (n + kernels.vector - 1) / kernels.vector, columns = vectors * kernels.vector;
  const auto kernel = columns == kernels.nr ? kernels.tile[rows] : kernels.narrow[vectors - 1][rows];
  if (columns == n) return kernel(args);
  PartialTile<T>(kernel, args, rows, columns, n);
}

}  // namespace

template <typename T>
int64_t PanelWidth(int64_t n) {
  const TileKernels<T>& kernels = Kernels<T>();
  const bool one_left = n > kernels.nr && n <= kernels.nr + kernels.vector;
  return one_left && kernels.nr > 2 * kernels.vector ? 2 * kernels.vector : kernels.nr;
}

template <typename T>
void MultiplyBlock(int64_t m, int64_t n, int64_t k, const BlockRows<T>& rows, const BlockColumns<T>& columns, T* c,
                   int64_t c_stride, bool accumulate) {
  const TileKernels<T>& kernels = Kernels<T>();
  const int64_t width = columns.width;
  const T* a[kMaxTileRows];
  for (int64_t j = 0; j < n; j += width) {
    const T* panel = columns.data + j / width * columns.panel_stride;
    for (int64_t i = 0; i < m; i += kernels.mr) {
      const int64_t mr = std::min<int64_t>(kernels.mr, m - i);
      for (int64_t r = 0; r < mr; ++r) a[r] = rows.base + rows.row_offsets[i + r];
      const TileArgs<T> args{k,        a,         rows.k_offsets, rows.k_stride, panel, width, c + i * c_stride + j,
                             c_stride, accumulate};
      RunColumns<T>(kernels, args, mr, std::min(width, n - j));
    }
  }
}

template <typename T>
void MultiplyWide(int64_t m, int64_t n, int64_t k, const BlockRows<T>& rows, const T* b, int64_t b_stride, T* c,
                  int64_t c_stride, bool accumulate) {
  const TileKernels<T>& kernels = Kernels<T>();
  const T* a[kMaxTileRows];
  for (int64_t r = 0; r < m; ++r) a[r] = rows.base + rows.row_offsets[r];
  TileArgs<T> args{k, a, rows.k_offsets, rows.k_stride, b, b_stride, c, c_stride, accumulate};
  int64_t j = 0;
  for (const int64_t wide = kernels.wide_columns[m]; j + wide <= n; j += wide, args.b += wide, args.c += wide) {
    kernels.wide[m](args);
  }
  for (; j + kernels.nr <= n; j += kernels.nr, args.b += kernels.nr, args.c += kernels.nr) kernels.tile[m](args);
  if (j == n) return;
  // The last columns do not fill a vector: reading past them could leave the buffer.
  T* panel = UnitScratch<T>(ScratchSlot::kTransposed, std::max<int64_t>(1, k) * kernels.nr);
  for (int64_t p = 0; p < k; ++p) {
    T* row = panel + p * kernels.nr;
    std::memcpy(row, args.b + p * b_stride, (n - j) * sizeof(T));
    std::memset(static_cast<void*>(row + (n - j)), 0, (kernels.nr - (n - j)) * sizeof(T));
  }
  args.b = panel, args.b_stride = kernels.nr;
  RunColumns<T>(kernels, args, m, n - j);
}

template <typename T>
void PackColumns(const uint8_t* source, int64_t element_size, int64_t k_stride, int64_t n_stride, Loader<T> load,
                 int64_t k, int64_t n, int64_t width, T* panels, int64_t panel_stride) {
  const bool by_column = k > 1 && std::abs(k_stride) < std::abs(n_stride);
  T* columns = by_column ? UnitScratch<T>(ScratchSlot::kTransposed, std::max<int64_t>(1, k) * width) : nullptr;
  for (int64_t j = 0; j < n; j += width, panels += panel_stride) {
    const int64_t used = std::min(width, n - j);
    const uint8_t* first = source + j * n_stride * element_size;
    if (by_column) {
      for (int64_t c = 0; c < used; ++c) load(first + c * n_stride * element_size, k_stride, k, columns + c * k);
      Transpose(columns, k, used, k, panels, width);
    } else {
      for (int64_t p = 0; p < k; ++p) load(first + p * k_stride * element_size, n_stride, used, panels + p * width);
    }
    if (used == width) continue;
    for (int64_t p = 0; p < k; ++p) {
      std::memset(static_cast<void*>(panels + p * width + used), 0, (width - used) * sizeof(T));
    }
  }
}

template <typename T>
void MultiplyLanes(int64_t m, int64_t n, int64_t k, const BlockRows<T>& rows, const T* b, T* c, int64_t c_stride,
                   bool accumulate) {
  const T* a[kMaxTileRows];
  const TileKernels<T>& kernels = Kernels<T>();
  for (int64_t i = 0; i < m; i += kMaxTileRows) {
    const int64_t mr = std::min<int64_t>(kMaxTileRows, m - i);
    for (int64_t r = 0; r < mr; ++r) a[r] = rows.base + rows.row_offsets[i + r];
    kernels.lanes[mr](n, {k, a, rows.k_offsets, rows.k_stride, b, n, c + i * c_stride, c_stride, accumulate});
  }
}

#define INSTANTIATE(T)                                                                                                 \
  template int64_t PanelWidth<T>(int64_t);                                                                             \
  template void MultiplyBlock<T>(int64_t, int64_t, int64_t, const BlockRows<T>&, const BlockColumns<T>&, T*, int64_t,  \
                                 bool);                                                                                \
  template void MultiplyWide<T>(int64_t, int64_t, int64_t, const BlockRows<T>&, const T*, int64_t, T*, int64_t, bool); \
  template void PackColumns<T>(const uint8_t*, int64_t, int64_t, int64_t, Loader<T>, int64_t, int64_t, int64_t, T*,    \
                               int64_t);                                                                               \
  template void MultiplyLanes<T>(int64_t, int64_t, int64_t, const BlockRows<T>&, const T*, T*, int64_t, bool);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(uint32_t)
INSTANTIATE(uint64_t)
INSTANTIATE(Complex64)
INSTANTIATE(Complex128)
#undef INSTANTIATE

}  // namespace mychip::emulator
