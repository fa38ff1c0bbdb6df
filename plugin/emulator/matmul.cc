// Matrix unit: MatMulCmd. The product is oriented so that the cheaper operand is packed into panels (columns) and the
// other is read row by row, in place where its type allows; then it is cut into independent tasks.
#include <algorithm>
#include <memory>
#include <numeric>

#include "accumulator_output.h"
#include "cores.h"
#include "gemm_block.h"
#include "matrix_types.h"
#include "unit_scratch.h"
#include "units.h"

namespace mychip::emulator {
namespace {

constexpr int64_t kColumnBlock = 512;
constexpr int64_t kPackedDepth = 16 * kDepthBlock;  // panels kept for all rows of a task
constexpr int64_t kProductsPerTask = 128 * 1024;    // below this a task is not worth a core

// One side of the product: `free` runs over its rows (or columns), k over the contraction.
template <typename T>
struct Operand {
  const View* view;
  int64_t free_stride, k_stride, size;
  Loader<T> load;
  bool in_place;  // elements are T's already

  Operand(const View& v, int free_dim, int k_dim, Precision precision)
      : view(&v),
        free_stride(v.strides[free_dim]),
        k_stride(v.strides[k_dim]),
        size(ByteSize(v.dtype)),
        load(LoaderOf<T>(v.dtype, precision)),
        in_place(IsComputeType<T>(v.dtype, precision)) {}

  const uint8_t* Address(const Buffers& buffers, const int64_t* batch, int64_t free, int64_t k) const {
    int64_t offset = free * free_stride + k * k_stride;
    for (int d = 0; d < view->rank() - 2; ++d) offset += batch[d] * view->strides[d];
    return buffers.Address(*view) + offset * size;
  }
};

template <typename T>
class MatMul {
 public:
  explicit MatMul(const MatMulCmd& cmd)
      : cmd_(cmd),
        output_(cmd.epilogue, cmd.epilogue_inputs, cmd.out, cmd.accumulate),
        rank_(cmd.out.rank()),
        a_(cmd.a, rank_ - 2, rank_ - 1, cmd.precision),
        b_(cmd.b, rank_ - 1, rank_ - 2, cmd.precision) {
    if (!output_.status().ok()) {
      status_ = output_.status();
      return;
    }
    for (const View* v : {&cmd.a, &cmd.b}) {
      if (LoaderOf<T>(v->dtype, cmd.precision) != nullptr) continue;
      status_ = Unimplemented("the matrix unit does not take %s operands with %s accumulators", Name(v->dtype),
                              Name(cmd.accumulate));
      return;
    }
    m_ = cmd.out.dims[rank_ - 2], n_ = cmd.out.dims[rank_ - 1], k_ = cmd.a.dims[rank_ - 1];
    for (int d = 0; d < rank_ - 2; ++d) batch_ *= cmd.out.dims[d];
    dots_ = std::is_same_v<T, float> && std::min(m_, n_) <= 2 && k_ >= 16 && a_.in_place && b_.in_place &&
            a_.k_stride == 1 && b_.k_stride == 1;
    swapped_ = OrientationCost(b_, a_, n_, m_) < OrientationCost(a_, b_, m_, n_);
  }

  Status Run(const Buffers& buffers) const {
    if (!status_.ok() || batch_ * m_ * n_ == 0) return status_;
    const int64_t wanted = std::clamp<int64_t>(Products(batch_) / kProductsPerTask, 1, 4 * NumCores());
    const int64_t pieces = (wanted + batch_ - 1) / batch_;
    // Splitting columns repeats only the work on rows, which is little when they are read in place.
    const Split columns(Columns(), std::min(pieces, Columns() / 128), Kernels<T>().nr);
    const Split rows(Rows(), std::min((pieces + columns.count - 1) / columns.count, Rows() / 32), Kernels<T>().mr);
    const int64_t tasks = batch_ * rows.count * columns.count;
    const int64_t grain = wanted == 1 ? tasks : std::max<int64_t>(1, kProductsPerTask / Products(1));
    ParallelFor(tasks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        const int64_t c = t % columns.count, r = t / columns.count % rows.count;
        Task task{buffers,          BatchIndex(t / columns.count / rows.count),
                  rows.begin(r),    rows.begin(r + 1),
                  columns.begin(c), columns.begin(c + 1)};
        RunTask(task);
      }
    });
    return OkStatus();
  }

 private:
  struct Split {
    Split(int64_t n, int64_t parts, int64_t multiple) : n(n) {
      parts = std::max<int64_t>(1, parts);
      step = std::max<int64_t>(1, ((n + parts - 1) / parts + multiple - 1) / multiple * multiple);
      count = std::max<int64_t>(1, (n + step - 1) / step);
    }
    int64_t begin(int64_t i) const { return std::min(n, i * step); }
    int64_t n, step, count;
  };
  struct Task {
    const Buffers& buffers;
    Dims batch;
    int64_t r0, r1, c0, c1;
  };

  const Operand<T>& RowSide() const { return swapped_ ? b_ : a_; }
  const Operand<T>& ColumnSide() const { return swapped_ ? a_ : b_; }
  int64_t Rows() const { return swapped_ ? n_ : m_; }
  int64_t Columns() const { return swapped_ ? m_ : n_; }
  int64_t Products(int64_t batches) const { return batches * m_ * n_ * std::max<int64_t>(1, k_); }

  static bool Wide(const Operand<T>& columns, int64_t num_rows) {
    return num_rows <= Kernels<T>().wide_rows && columns.in_place && columns.free_stride == 1;
  }
  static bool RowsInPlace(const Operand<T>& rows, int64_t num_columns) {
    // What lies a multiple of a page apart falls on the same cache sets: a compact copy is faster then.
    const auto collides = [](int64_t stride) { return stride * static_cast<int64_t>(sizeof(T)) % 4096 == 0; };
    if (!rows.in_place || (rows.k_stride != 0 && collides(rows.k_stride))) return false;
    if (num_columns <= 2 * Kernels<T>().nr) return true;
    return rows.k_stride == 1 && !collides(rows.free_stride);
  }

  // Rough cycles: multiply-adds with the lanes and rows a partial tile wastes, and packing.
  double OrientationCost(const Operand<T>& rows, const Operand<T>& columns, int64_t num_rows,
                         int64_t num_columns) const {
    const double k = static_cast<double>(std::max<int64_t>(1, k_));
    const int64_t nr = Kernels<T>().nr;
    double cost = RowsInPlace(rows, num_columns) ? 0 : 0.5 * k * num_rows;
    if (Wide(columns, num_rows)) return cost + k * num_columns * std::max<double>(num_rows, 2) / 16;
    cost += k * num_columns * (columns.free_stride == 1 ? 0.25 : 0.5);
    const int64_t padded_columns = (num_columns + nr - 1) / nr * nr;
    return cost + k * padded_columns * std::max<double>(num_rows, 4) / nr;
  }

  Dims BatchIndex(int64_t linear) const {
    Dims index(rank_ - 2);
    for (int d = rank_ - 3; d >= 0; --d) {
      index[d] = linear % cmd_.out.dims[d];
      linear /= cmd_.out.dims[d];
    }
    return index;
  }

  // Accumulators of a task's rows r0.. and columns c0..: in `out` itself where that is possible.
  struct Accumulators {
    T* data;
    int64_t stride;
    bool direct;
  };
  Accumulators Place(const Task& t, int64_t r, int64_t c, int64_t rows, int64_t columns) const {
    const View& out = cmd_.out;
    const int row_dim = swapped_ ? rank_ - 1 : rank_ - 2, column_dim = swapped_ ? rank_ - 2 : rank_ - 1;
    if (!output_.Direct() || (out.strides[column_dim] != 1 && out.dims[column_dim] != 1)) {
      return {UnitScratch<T>(ScratchSlot::kAccumulators, rows * columns), columns, false};
    }
    int64_t offset = r * out.strides[row_dim] + c * out.strides[column_dim];
    for (int d = 0; d < rank_ - 2; ++d) offset += t.batch[d] * out.strides[d];
    return {t.buffers.template Ptr<T>(out) + offset, out.strides[row_dim], true};
  }

  void Finish(const Task& t, const Accumulators& acc, int64_t r, int64_t c, int64_t rows, int64_t columns) const {
    if (acc.direct) return;
    const T* data = acc.data;
    int64_t stride = acc.stride;
    if (swapped_) {
      T* turned = UnitScratch<T>(ScratchSlot::kStage, rows * columns);
      Transpose(data, stride, rows, columns, turned, rows);
      data = turned, stride = rows;
      std::swap(r, c), std::swap(rows, columns);
    }
    const int64_t dims = rank_ - 1;
    int64_t* coords = UnitScratch<int64_t>(ScratchSlot::kOffsets, rows * dims);
    for (int64_t i = 0; i < rows; ++i) {
      std::copy(t.batch.begin(), t.batch.end(), coords + i * dims);
      coords[i * dims + dims - 1] = r + i;
    }
    output_.Write(t.buffers, data, stride, rows, columns, coords, c);
  }

  void RunTask(const Task& t) const {
    if (dots_) return RunDots(t);
    const int64_t column_block = Wide(ColumnSide(), Rows()) ? 4 * kColumnBlock : kColumnBlock;
    for (int64_t c = t.c0; c < t.c1; c += column_block) RunColumns(t, c, std::min(column_block, t.c1 - c));
  }

  // All rows of the task against `columns` columns from c on. The columns' panels are packed while the first rows pass
  // and serve the others; a block of accumulators stays in the second-level cache for the whole depth.
  void RunColumns(const Task& t, int64_t c, int64_t columns) const {
    const bool one_pass = k_ <= kPackedDepth;
    const int64_t held = std::min(t.r1 - t.r0, one_pass ? kRowBlock : t.r1 - t.r0);
    const bool wide = Wide(ColumnSide(), Rows());
    const int64_t width = PanelWidth<T>(columns), padded = (columns + width - 1) / width * width;
    const int64_t kept = t.r1 - t.r0 > kRowBlock ? std::min(k_, kPackedDepth) : std::min(k_, kDepthBlock);
    T* const panels = wide ? nullptr : UnitScratch<T>(ScratchSlot::kPackedB, padded * kept);
    Accumulators acc = Place(t, t.r0, c, held, columns);
    for (int64_t k0 = 0; k0 == 0 || k0 < k_; k0 += kPackedDepth) {
      const int64_t k1 = std::min(k_, k0 + kPackedDepth);
      for (int64_t r = t.r0; r < t.r1; r += kRowBlock) {
        const int64_t rows = std::min(kRowBlock, t.r1 - r);
        if (one_pass && r > t.r0) acc = Place(t, r, c, rows, columns);
        T* const out = acc.data + (one_pass ? 0 : (r - t.r0) * acc.stride);
        for (int64_t k = k0; k == 0 || k < k1; k += kDepthBlock) {
          const int64_t depth = std::min(kDepthBlock, k1 - k);
          int64_t row_offsets[kRowBlock];
          const BlockRows<T> block = LoadRows(t, r, rows, k, depth, columns, row_offsets);
          if (wide) {
            const auto* b = reinterpret_cast<const T*>(ColumnSide().Address(t.buffers, t.batch.data(), c, k));
            MultiplyWide<T>(rows, columns, depth, block, b, ColumnSide().k_stride, out, acc.stride, k > 0);
            continue;
          }
          T* const packed = panels + (kept > kDepthBlock ? (k - k0) * padded : 0);
          if (r == t.r0) PackPanels(t, c, columns, k, depth, width, packed);
          MultiplyBlock<T>(rows, columns, depth, block, {packed, depth * width, width}, out, acc.stride, k > 0);
        }
        if (k1 == k_) Finish(t, {out, acc.stride, acc.direct}, r, c, rows, columns);
      }
    }
  }

  void PackPanels(const Task& t, int64_t c, int64_t columns, int64_t k, int64_t depth, int64_t width, T* panels) const {
    const Operand<T>& side = ColumnSide();
    PackColumns<T>(side.Address(t.buffers, t.batch.data(), c, k), side.size, side.k_stride, side.free_stride, side.load,
                   depth, columns, width, panels, depth * width);
  }

  BlockRows<T> LoadRows(const Task& t, int64_t r, int64_t rows, int64_t k, int64_t depth, int64_t columns,
                        int64_t* row_offsets) const {
    const Operand<T>& side = RowSide();
    const uint8_t* source = side.Address(t.buffers, t.batch.data(), r, k);
    if (RowsInPlace(side, columns)) {
      for (int64_t i = 0; i < rows; ++i) row_offsets[i] = i * side.free_stride;
      return {reinterpret_cast<const T*>(source), row_offsets, nullptr, side.k_stride};
    }
    T* packed = UnitScratch<T>(ScratchSlot::kPackedA, rows * depth);
    if (std::abs(side.k_stride) <= std::abs(side.free_stride)) {
      for (int64_t i = 0; i < rows; ++i) {
        side.load(source + i * side.free_stride * side.size, side.k_stride, depth, packed + i * depth);
        row_offsets[i] = i * depth;
      }
      return {packed, row_offsets, nullptr, 1};
    }
    for (int64_t p = 0; p < depth; ++p) {
      side.load(source + p * side.k_stride * side.size, side.free_stride, rows, packed + p * rows);
    }
    std::iota(row_offsets, row_offsets + rows, 0);
    return {packed, row_offsets, nullptr, rows};
  }

  // Vector times rows: both operands run along k, and there are too few of them to fill a tile.
  void RunDots(const Task& t) const {
    if constexpr (std::is_same_v<T, float>) {
      for (int64_t r = t.r0; r < t.r1; r += kRowBlock) {
        const int64_t rows = std::min(kRowBlock, t.r1 - r);
        for (int64_t c = t.c0; c < t.c1; c += kColumnBlock) {
          const int64_t columns = std::min(kColumnBlock, t.c1 - c);
          const Accumulators acc = Place(t, r, c, rows, columns);
          const auto* a = reinterpret_cast<const float*>(RowSide().Address(t.buffers, t.batch.data(), r, 0));
          const auto* b = reinterpret_cast<const float*>(ColumnSide().Address(t.buffers, t.batch.data(), c, 0));
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < columns; ++j) {
              acc.data[i * acc.stride + j] =
                  DotF32(a + i * RowSide().free_stride, b + j * ColumnSide().free_stride, k_);
            }
          }
          Finish(t, acc, r, c, rows, columns);
        }
      }
    }
  }

  const MatMulCmd& cmd_;
  const AccumulatorOutput output_;
  const int rank_;
  const Operand<T> a_, b_;
  Status status_;
  int64_t m_ = 0, n_ = 0, k_ = 0, batch_ = 1;
  bool swapped_ = false, dots_ = false;
};

struct MakeMatMul {
  template <typename T>
  static Runner For(const MatMulCmd& cmd) {
    auto unit = std::make_shared<const MatMul<T>>(cmd);
    return [unit](const Buffers& buffers) { return unit->Run(buffers); };
  }
};

}  // namespace

Runner DecodeMatMul(const MatMulCmd& cmd) { return ForComputeType<MakeMatMul>(cmd.accumulate, cmd); }

}  // namespace mychip::emulator
