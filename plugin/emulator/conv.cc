// Convolution unit: ConvCmd as an implicit matrix product. Rows are output positions, products are (tap, input channel)
// pairs, columns are output features; no im2col matrix exists, the micro-kernel walks lhs through offset tables.
#include <algorithm>
#include <memory>

#include "accumulator_output.h"
#include "conv_rows.h"
#include "cores.h"
#include "matrix_types.h"
#include "unit_scratch.h"

namespace mychip::emulator {
namespace {

constexpr int64_t kColumnBlock = 288;  // a multiple of every panel's width
constexpr int64_t kRowLimit = 1024;    // rows of a task at most
constexpr int64_t kAccumulatorBytes = 256 << 10;
constexpr int64_t kSlabBytes = 512 << 10;
constexpr int64_t kSharedBytes = 64 << 20;  // rhs packed once for all tasks up to this size
constexpr int64_t kProductsPerTask = 128 * 1024;
constexpr int64_t kSplitDepth = 4096, kMaxSplits = 8;
constexpr int64_t kMinLanes = 4;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t RoundUp(int64_t a, int64_t b) { return CeilDiv(a, b) * b; }

// Cuts [0, count) of every axis into equal chunks of `extent`; boxes are numbered with the last axis fastest.
struct Tiling {
  std::vector<int64_t> count, extent;
  int64_t boxes() const {
    int64_t n = 1;
    for (size_t d = 0; d < count.size(); ++d) n *= CeilDiv(count[d], extent[d]);
    return n;
  }
  ConvBox Box(int64_t index) const {
    ConvBox box{std::vector<int64_t>(count.size()), std::vector<int64_t>(count.size())};
    for (size_t d = count.size(); d-- > 0;) {
      const int64_t chunks = CeilDiv(count[d], extent[d]);
      box.first[d] = index % chunks * extent[d];
      box.count[d] = std::min(extent[d], count[d] - box.first[d]);
      index /= chunks;
    }
    return box;
  }
  ConvBox Whole() const { return {std::vector<int64_t>(count.size(), 0), count}; }
  // The first (largest) box.
  ConvBox First() const { return Box(0); }
};

// Products are taken in boxes of about kDepthBlock: inner axes whole, one axis in chunks, the outer ones one by one.
Tiling TileTaps(const ConvPhase& phase) {
  Tiling tiling;
  int64_t room = kDepthBlock;
  for (const ConvAxis& axis : phase.axes) tiling.count.push_back(axis.taps);
  tiling.extent.assign(phase.axes.size(), 1);
  for (size_t d = phase.axes.size(); d-- > 0 && room > 1;) {
    const int64_t chunks = CeilDiv(tiling.count[d], room);
    tiling.extent[d] = std::max<int64_t>(1, CeilDiv(tiling.count[d], std::max<int64_t>(1, chunks)));
    if (chunks > 1) break;
    room /= std::max<int64_t>(1, tiling.count[d]);
  }
  return tiling;
}

template <typename T>
class Conv {
 public:
  explicit Conv(const ConvCmd& cmd)
      : cmd_(cmd),
        output_(cmd.epilogue, cmd.epilogue_inputs, cmd.out, cmd.accumulate),
        plan_(MakeConvPlan(cmd)),
        load_lhs_(LoaderOf<T>(cmd.lhs.dtype, cmd.precision)),
        load_rhs_(LoaderOf<T>(cmd.rhs.dtype, cmd.precision)),
        lhs_in_place_(IsComputeType<T>(cmd.lhs.dtype, cmd.precision)) {
    status_ = output_.status();
    if (status_.ok() && (load_lhs_ == nullptr || load_rhs_ == nullptr)) {
      status_ = Unimplemented("the convolution unit does not take %s and %s operands with %s accumulators",
                              Name(cmd.lhs.dtype), Name(cmd.rhs.dtype), Name(cmd.accumulate));
    }
    // Few columns a group leave the tile empty: put groups side by side in the vector instead.
    lanes_ = plan_.groups >= kMinLanes && plan_.columns < Kernels<T>().vector;
  }

  Status Run(const Buffers& buffers) const {
    if (!status_.ok() || plan_.columns == 0) return status_;
    for (const ConvPhase& phase : plan_.phases) RunPhase(buffers, phase);
    return OkStatus();
  }

 private:
  // Everything the tasks of one phase share.
  struct Launch {
    const Buffers& buffers;
    const ConvPhase& phase;
    Tiling rows, taps;
    int64_t groups;        // tasks along groups: 1 with lanes
    int64_t lanes, width;  // groups side by side, padded to the vector; accumulators of a row
    int64_t splits = 1, blocks_a_split = 1;
    bool whole_slab = false;
    std::vector<int64_t> depth_before;  // products before each block of taps
    const T* shared_rhs = nullptr;      // packed, by group, then block of taps
    T* partial = nullptr;               // [split][group][row][width]
  };
  struct Task {
    int64_t group, split;
    ConvBox rows;
    int64_t first_row;  // in partial sums
  };

  void RunPhase(const Buffers& buffers, const ConvPhase& phase) const {
    Launch l{buffers, phase};
    l.taps = TileTaps(phase);
    l.groups = lanes_ ? 1 : plan_.groups;
    l.lanes = lanes_ ? RoundUp(plan_.groups, Kernels<T>().vector) : 1;
    l.width = lanes_ ? plan_.columns * l.lanes : plan_.columns;
    const int64_t blocks = l.taps.boxes();
    // Part of the numerics: from the shape alone.
    if (phase.depth >= 2 * kSplitDepth && phase.rows * plan_.columns * plan_.groups * kMaxSplits <= 8 << 20) {
      l.splits = std::min(kMaxSplits, phase.depth / kSplitDepth);
    }
    l.blocks_a_split = std::max<int64_t>(1, CeilDiv(blocks, l.splits));
    TileRows(&l);
    PackRhs(&l);
    const int64_t row_tasks = l.rows.boxes(), tasks = row_tasks * l.splits * l.groups;
    const int64_t total = l.groups * phase.rows * l.width;
    if (l.splits > 1) l.partial = UnitScratch<T>(ScratchSlot::kPartial, l.splits * total);
    const int64_t products = phase.rows * l.width * std::max<int64_t>(1, phase.depth) * l.groups;
    const int64_t grain = std::max<int64_t>(1, tasks / std::max<int64_t>(1, products / kProductsPerTask));
    ParallelFor(tasks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) RunTask(l, MakeTask(l, t));
    });
    if (l.splits == 1) return;
    ParallelFor(row_tasks * l.groups, 1, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) AddSplits(l, MakeTask(l, t));
    });
  }

  // Box t of rows, fastest; then split, then group.
  static Task MakeTask(const Launch& l, int64_t t) {
    const int64_t row_tasks = l.rows.boxes();
    Task task{t / row_tasks % l.groups, t / row_tasks / l.groups, l.rows.Box(t % row_tasks), 0};
    // All boxes before this one hold the rows before it in partial sums.
    for (int64_t i = 0; l.splits > 1 && i < t % row_tasks; ++i) task.first_row += l.rows.Box(i).size();
    return task;
  }

  // Halves the box of rows until its accumulators and its slab fit the scratchpad and every core has tasks.
  void TileRows(Launch* l) const {
    const ConvPhase& phase = l->phase;
    for (const ConvAxis& axis : phase.axes) l->rows.count.push_back(axis.rows);
    l->rows.extent = l->rows.count;
    const int64_t width = std::min(l->width, std::max(kColumnBlock, l->lanes));
    const int64_t limit =
        std::clamp<int64_t>(kAccumulatorBytes / (width * static_cast<int64_t>(sizeof(T))), Kernels<T>().mr, kRowLimit);
    const int64_t products = phase.rows * l->width * std::max<int64_t>(1, phase.depth) * l->groups;
    const int64_t wanted = std::clamp<int64_t>(products / kProductsPerTask, 1, 4 * NumCores()) /
                           std::max<int64_t>(1, l->groups * l->splits);
    const auto slab_bytes = [&](const ConvBox& taps) -> int64_t {
      if (phase.depth == 0) return 0;
      return SlabFor(phase, l->rows.First(), taps, l->lanes).elements * static_cast<int64_t>(sizeof(T));
    };
    const ConvBox some_taps = phase.depth == 0 ? ConvBox() : l->taps.First();
    for (;;) {
      const ConvBox box = l->rows.First();
      const bool few_tasks = l->rows.boxes() < wanted && box.size() > 8 * Kernels<T>().mr;
      const int64_t slab = slab_bytes(some_taps);
      const bool too_large = (box.size() > limit || slab > kSlabBytes) && box.size() > Kernels<T>().mr;
      if (!few_tasks && !too_large) break;
      // Prefer axes without taps (their slabs do not overlap), then the outermost.
      size_t cut = box.count.size();
      for (size_t d = 0; d < box.count.size(); ++d) {
        if (box.count[d] > 1 && (cut == box.count.size() || (phase.axes[cut].taps > 1 && phase.axes[d].taps == 1)))
          cut = d;
      }
      l->rows.extent[cut] = CeilDiv(l->rows.extent[cut], 2);
    }
    l->whole_slab = l->splits == 1 && phase.depth > 0 && slab_bytes(l->taps.Whole()) <= kSlabBytes;
  }

  int64_t PaddedWidth(const Launch& l) const { return lanes_ ? l.width : RoundUp(l.width, PanelWidth<T>(l.width)); }

  // Packs rhs once when several tasks use the same part of it.
  void PackRhs(Launch* l) const {
    const int64_t padded = PaddedWidth(*l), elements = l->groups * padded * l->phase.depth;
    if (elements == 0 || l->rows.boxes() < 2 || elements * static_cast<int64_t>(sizeof(T)) > kSharedBytes) return;
    T* shared = UnitScratch<T>(ScratchSlot::kShared, elements);
    const int64_t blocks = l->taps.boxes();
    for (int64_t i = 0, depth = 0; i < blocks; depth += l->taps.Box(i++).size()) l->depth_before.push_back(depth);
    ParallelFor(blocks * l->groups, std::max<int64_t>(1, blocks * l->groups * 32768 / std::max<int64_t>(1, elements)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const ConvBox box = l->taps.Box(i % blocks);
                    PackBlock(*l, i / blocks, box, 0, l->width, shared + SharedOffset(*l, i / blocks, i % blocks));
                  }
                });
    l->shared_rhs = shared;
  }
  int64_t SharedOffset(const Launch& l, int64_t group, int64_t block) const {
    return (group * l.phase.depth + l.depth_before[block]) * PaddedWidth(l);
  }

  // Columns [column, column + n) of a box of taps: panels, or with lanes [column][tap][lane].
  void PackBlock(const Launch& l, int64_t group, const ConvBox& box, int64_t column, int64_t n, T* out) const {
    const int64_t depth = box.size(), size = ByteSize(cmd_.rhs.dtype);
    int64_t* offsets = UnitScratch<int64_t>(ScratchSlot::kRhsOffsets, std::max<int64_t>(1, depth));
    RhsOffsets(l.phase, box, offsets);
    const uint8_t* rhs = l.buffers.Address(cmd_.rhs) + group * plan_.rhs_group_stride * size;
    if (lanes_) {
      for (int64_t c = 0; c < plan_.columns; ++c) {
        for (int64_t k = 0; k < depth; ++k, out += l.lanes) {
          const uint8_t* source = rhs + (offsets[k] + c * plan_.rhs_column_stride) * size;
          load_rhs_(source, plan_.rhs_group_stride, plan_.groups, out);
          std::fill(out + plan_.groups, out + l.lanes, T{});
        }
      }
      return;
    }
    // Runs along the innermost axis that has several taps have one stride.
    size_t axis = box.count.size() - 1;
    while (axis > 0 && box.count[axis] == 1) --axis;
    const int64_t run = box.count[axis], stride = l.phase.axes[axis].rhs_stride, width = PanelWidth<T>(l.width);
    for (int64_t k = 0; k < depth; k += run) {
      const uint8_t* source = rhs + (offsets[k] + column * plan_.rhs_column_stride) * size;
      PackColumns<T>(source, size, stride, plan_.rhs_column_stride, load_rhs_, run, n, width, out + k * width,
                     depth * width);
    }
  }

  void RunTask(const Launch& l, const Task& t) const {
    const int64_t rows = t.rows.size(), blocks = l.taps.boxes();
    const int64_t first = t.split * l.blocks_a_split, last = std::min(blocks, first + l.blocks_a_split);
    Lhs lhs;
    if (l.whole_slab) lhs = LoadLhs(l, t, l.taps.Whole());
    const int64_t column_block = lanes_ ? l.width : kColumnBlock;
    for (int64_t c = 0; c < l.width; c += column_block) {
      const int64_t n = std::min(column_block, l.width - c);
      const Accumulators acc = Place(l, t, c, n);
      if (first >= last || l.phase.depth == 0) Clear(acc, rows, n);
      for (int64_t b = first; b < last && l.phase.depth > 0; ++b) {
        const ConvBox taps = l.taps.Box(b);
        if (!l.whole_slab) lhs = LoadLhs(l, t, taps);
        Multiply(l, t, lhs, b, taps, c, n, acc, b > first);
      }
      if (l.splits == 1 && !acc.direct) Finish(l, t, acc.data, acc.stride, c, n);
    }
  }

  struct Lhs {
    const T* base = nullptr;
    ConvAddress address;
    std::vector<int64_t> row_offsets;
  };
  // lhs itself where the block needs neither zeros nor conversion, else a slab.
  Lhs LoadLhs(const Launch& l, const Task& t, const ConvBox& taps) const {
    Lhs lhs;
    lhs.address = SlabFor(l.phase, t.rows, taps, l.lanes);
    const uint8_t* source = l.buffers.Address(cmd_.lhs) + t.group * plan_.lhs_group_stride * ByteSize(cmd_.lhs.dtype);
    const bool lanes_fit = !lanes_ || (plan_.lhs_group_stride == 1 && l.lanes == plan_.groups);
    // Along rows, lhs would be read in short pieces far apart.
    const bool along_products = lanes_ || l.phase.axes.back().rows == 1;
    if (lhs.address.inside && lhs_in_place_ && lanes_fit && along_products) {
      lhs.address = InPlace(l.phase);
      lhs.base = reinterpret_cast<const T*>(source);
    } else {
      T* slab = UnitScratch<T>(ScratchSlot::kPackedA, lhs.address.elements);
      FillSlab<T>(l.phase, lhs.address, source, ByteSize(cmd_.lhs.dtype), lanes_ ? plan_.groups : 1,
                  plan_.lhs_group_stride, load_lhs_, slab);
      lhs.base = slab;
    }
    lhs.row_offsets.resize(t.rows.size());
    lhs.address.Rows(l.phase, t.rows, lhs.row_offsets.data());
    return lhs;
  }

  struct Accumulators {
    T* data;
    int64_t stride;
    bool direct;
  };

  void Multiply(const Launch& l, const Task& t, const Lhs& lhs, int64_t block, const ConvBox& taps, int64_t column,
                int64_t n, const Accumulators& acc, bool accumulate) const {
    const int64_t depth = taps.size(), width = PanelWidth<T>(l.width), rows = t.rows.size();
    int64_t* offsets = UnitScratch<int64_t>(ScratchSlot::kOffsets, depth);
    lhs.address.Taps(l.phase, taps, offsets);
    const T* rhs;
    if (l.shared_rhs != nullptr) {
      rhs = l.shared_rhs + SharedOffset(l, t.group, block) + (lanes_ ? 0 : column * depth);
    } else {
      T* packed = UnitScratch<T>(ScratchSlot::kPackedB, (lanes_ ? n : RoundUp(n, width)) * depth);
      PackBlock(l, t.group, taps, column, n, packed);
      rhs = packed;
    }
    const BlockRows<T> block_rows{lhs.base, lhs.row_offsets.data(), offsets, 0};
    if (!lanes_) {
      MultiplyBlock<T>(rows, n, depth, block_rows, {rhs, depth * width, width}, acc.data, acc.stride, accumulate);
      return;
    }
    for (int64_t c = 0; c < plan_.columns; ++c) {
      MultiplyLanes<T>(rows, l.lanes, depth, block_rows, rhs + c * depth * l.lanes, acc.data + c * l.lanes, acc.stride,
                       accumulate);
    }
  }

  static void Clear(const Accumulators& acc, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; ++r) std::fill(acc.data + r * acc.stride, acc.data + r * acc.stride + n, T{});
  }

  // Element offset in `out` and index in all its dims but the last, row by row.
  std::vector<int64_t> OutIndex(const Launch& l, const Task& t) const {
    const int64_t dims = cmd_.out.rank() - 1, rows = t.rows.size();
    std::vector<int64_t> coords(rows * dims), index(t.rows.count.size(), 0);
    for (int64_t r = 0; r < rows; ++r) {
      for (size_t d = 0; d < index.size(); ++d) {
        const ConvAxis& axis = l.phase.axes[d];
        if (axis.out_dim < 0) continue;
        coords[r * dims + axis.out_dim] = axis.out_first + (t.rows.first[d] + index[d]) * axis.out_step;
      }
      for (size_t d = index.size(); d-- > 0 && ++index[d] == t.rows.count[d];) index[d] = 0;
    }
    return coords;
  }

  // Partial sums, `out` itself when rows lie there at one stride, or scratch.
  Accumulators Place(const Launch& l, const Task& t, int64_t column, int64_t n) const {
    if (l.splits > 1) return {Partial(l, t, t.split) + column, l.width, false};
    const int64_t rows = t.rows.size(), stride = DirectStride(l, t);
    if (stride == 0) return {UnitScratch<T>(ScratchSlot::kAccumulators, rows * n), n, false};
    int64_t offset = t.group * plan_.columns + column;
    for (size_t d = 0; d < l.phase.axes.size(); ++d) {
      const ConvAxis& axis = l.phase.axes[d];
      if (axis.out_dim < 0) continue;
      offset += (axis.out_first + t.rows.first[d] * axis.out_step) * cmd_.out.strides[axis.out_dim];
    }
    return {l.buffers.template Ptr<T>(cmd_.out) + offset, stride, true};
  }
  T* Partial(const Launch& l, const Task& t, int64_t split) const {
    return l.partial + ((split * l.groups + t.group) * l.phase.rows + t.first_row) * l.width;
  }
  // The distance of successive rows of the box in `out`, 0 when there is none or accumulators cannot go there.
  int64_t DirectStride(const Launch& l, const Task& t) const {
    if (!output_.Direct() || cmd_.out.strides.back() != 1) return 0;
    if (lanes_ && (plan_.columns != 1 || l.lanes != plan_.groups)) return 0;
    int64_t stride = 0, run = 1;
    for (size_t d = t.rows.count.size(); d-- > 0;) {
      const ConvAxis& axis = l.phase.axes[d];
      if (t.rows.count[d] == 1 || axis.out_dim < 0) continue;
      const int64_t step = cmd_.out.strides[axis.out_dim] * axis.out_step;
      if (stride == 0) stride = step;
      if (step != stride * run) return 0;
      run *= t.rows.count[d];
    }
    return stride == 0 ? l.width : stride;
  }

  void Finish(const Launch& l, const Task& t, const T* data, int64_t stride, int64_t column, int64_t n) const {
    const int64_t rows = t.rows.size();
    const std::vector<int64_t> coords = OutIndex(l, t);
    if (!lanes_) {
      output_.Write(l.buffers, data, stride, rows, n, coords.data(), t.group * plan_.columns + column);
      return;
    }
    // [row][column][lane] -> [row][group * columns + column]
    const int64_t features = plan_.groups * plan_.columns;
    T* turned = UnitScratch<T>(ScratchSlot::kStage, rows * features);
    for (int64_t r = 0; r < rows; ++r) {
      Transpose(data + r * stride, l.lanes, plan_.columns, plan_.groups, turned + r * features, plan_.columns);
    }
    output_.Write(l.buffers, turned, features, rows, features, coords.data(), 0);
  }

  void AddSplits(const Launch& l, const Task& t) const {
    const int64_t n = t.rows.size() * l.width;
    T* sum = Partial(l, t, 0);
    for (int64_t s = 1; s < l.splits; ++s) AddInto(Partial(l, t, s), n, sum);
    Finish(l, t, sum, l.width, 0, l.width);
  }

  const ConvCmd& cmd_;
  const AccumulatorOutput output_;
  const ConvPlan plan_;
  const Loader<T> load_lhs_, load_rhs_;
  const bool lhs_in_place_;
  Status status_;
  bool lanes_ = false;
};

struct MakeConv {
  template <typename T>
  static Runner For(const ConvCmd& cmd) {
    auto unit = std::make_shared<const Conv<T>>(cmd);
    return [unit](const Buffers& buffers) { return unit->Run(buffers); };
  }
};

}  // namespace

Runner DecodeConv(const ConvCmd& cmd) { return ForComputeType<MakeConv>(cmd.accumulate, cmd); }

}  // namespace mychip::emulator
