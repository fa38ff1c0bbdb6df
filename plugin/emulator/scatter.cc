// Vector unit: ScatterCmd. Updates are applied in row-major order of the indices; cores share the work by parts of the
// window, so that two updates of one element are always made by the same core, in order.
#include <algorithm>
#include <memory>

#include "combiner.h"
#include "cores.h"
#include "elements.h"
#include "index_space.h"
#include "scratch.h"

namespace mychip::emulator {
namespace {

bool Contains(const Dims& dims, int64_t d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); }

constexpr int64_t kMinPart = 16;  // elements of a run that are worth a core's own pass over the indices

class ScatterUnit {
 public:
  explicit ScatterUnit(const ScatterCmd& cmd)
      : cmd_(cmd),
        combine_(cmd.combine, DTypesOf(cmd.outs)),
        space_(cmd.indices, cmd.index_vector_dim, cmd.scatter_dims_to_operand, cmd.input_batching_dims,
               cmd.indices_batching_dims, cmd.outs[0].dims, OperandWindow()) {
    for (size_t i = 0; i < cmd.outs.size(); ++i) {
      windows_.push_back(MakeWindow(i));
      bytes_.push_back(ByteSize(cmd.outs[i].dtype));
      Dims& strides = position_strides_.emplace_back();
      for (int64_t d = 0; d < cmd.updates[0].rank(); ++d) {
        if (!Contains(cmd.update_window_dims, d)) strides.push_back(cmd.updates[i].strides[d]);
      }
    }
    // Operands may merge differently; then every window keeps all its loops.
    for (const WindowLoops& w : windows_) same_loops_ &= SameSizes(w, windows_[0]);
    if (!same_loops_) {
      windows_.clear();
      for (size_t i = 0; i < cmd.outs.size(); ++i) windows_.push_back(PlainWindow(i));
    }
  }

  Status Run(const Buffers& buffers) const {
    if (!combine_.status().ok()) return combine_.status();
    if (NumElements(cmd_.updates[0].dims) == 0) return OkStatus();
    if (cmd_.bounds == Bounds::kError) MYCHIP_RETURN_IF_ERROR(space_.Check(buffers));
    const int64_t run = windows_[0].loops.back().size, runs = windows_[0].runs();
    const int64_t work = space_.size() * (run * runs + 8);
    int64_t parts = std::min<int64_t>({NumCores(), run / kMinPart, work / kParallelElements});
    parts = std::max<int64_t>(1, parts);
    ParallelFor(parts, 1, [&](int64_t begin, int64_t end) {
      // Parts are whole vectors long, so that cores do not write to one cache line.
      const int64_t step = (run / parts + 15) / 16 * 16;
      const int64_t first = std::min(run, begin * step), last = end == parts ? run : std::min(run, end * step);
      if (first < last) RunPart(buffers, first, last - first, runs);
    });
    return OkStatus();
  }

 private:
  static std::vector<DType> DTypesOf(const std::vector<View>& views) {
    std::vector<DType> dtypes;
    for (const View& v : views) dtypes.push_back(v.dtype);
    return dtypes;
  }

  // Sizes of the update window in every operand dim; 1 where it has none.
  Dims OperandWindow() const {
    Dims window;
    size_t next = 0;
    for (int64_t d = 0; d < cmd_.outs[0].rank(); ++d) {
      window.push_back(Dropped(d) ? 1 : cmd_.updates[0].dims[cmd_.update_window_dims[next++]]);
    }
    return window;
  }
  bool Dropped(int64_t d) const { return Contains(cmd_.inserted_dims, d) || Contains(cmd_.input_batching_dims, d); }

  WindowLoops MakeWindow(size_t i) const {
    Dims sizes, operand, update;
    size_t next = 0;
    for (int64_t d = 0; d < cmd_.outs[i].rank(); ++d) {
      if (Dropped(d)) continue;
      const int64_t u = cmd_.update_window_dims[next++];
      sizes.push_back(cmd_.updates[i].dims[u]);
      operand.push_back(cmd_.outs[i].strides[d]);
      update.push_back(cmd_.updates[i].strides[u]);
    }
    return WindowLoops(sizes, operand, update);
  }
  WindowLoops PlainWindow(size_t i) const {
    WindowLoops window({}, {}, {});
    window.loops.clear();
    size_t next = 0;
    for (int64_t d = 0; d < cmd_.outs[i].rank(); ++d) {
      if (Dropped(d)) continue;
      const int64_t u = cmd_.update_window_dims[next++];
      window.loops.push_back({cmd_.updates[i].dims[u], cmd_.outs[i].strides[d], cmd_.updates[i].strides[u]});
    }
    if (window.loops.empty()) window.loops.push_back({1, 1, 1});
    return window;
  }
  static bool SameSizes(const WindowLoops& a, const WindowLoops& b) {
    if (a.loops.size() != b.loops.size()) return false;
    for (size_t i = 0; i < a.loops.size(); ++i) {
      if (a.loops[i].size != b.loops[i].size) return false;
    }
    return true;
  }

  // Elements [first, first + n) of every run of every update.
  void RunPart(const Buffers& buffers, int64_t first, int64_t n, int64_t runs) const {
    Scratch scratch;
    const size_t count = cmd_.outs.size();
    std::vector<int64_t> start(cmd_.outs[0].dims.size());
    std::vector<uint8_t*> dense_out(count), dense_update(count);
    std::vector<void*> current(count);
    std::vector<const void*> fresh(count);
    for (size_t i = 0; i < count; ++i) {
      dense_out[i] = scratch.Array<uint8_t>(n * bytes_[i]);
      dense_update[i] = scratch.Array<uint8_t>(n * bytes_[i]);
    }
    for (int64_t p = 0; p < space_.size(); ++p) {
      space_.Start(buffers, p, start.data());
      if (cmd_.bounds == Bounds::kClamp) space_.Clamp(start.data());
      if (!space_.InBounds(start.data())) continue;
      for (int64_t r = 0; r < runs; ++r) {
        for (size_t i = 0; i < count; ++i) {
          const WindowLoops::Loop& run = windows_[i].loops.back();
          uint8_t* out = OutRun(buffers, i, start, r, first);
          const uint8_t* update = UpdateRun(buffers, i, p, r, first);
          current[i] = out, fresh[i] = update;
          if (n > 1 && run.operand_stride != 1) {
            GatherElements(out, run.operand_stride, n, bytes_[i], dense_out[i]);
            current[i] = dense_out[i];
          }
          if (n > 1 && run.other_stride != 1) {
            GatherElements(update, run.other_stride, n, bytes_[i], dense_update[i]);
            fresh[i] = dense_update[i];
          }
        }
        combine_.Run(n, current.data(), fresh.data());
        for (size_t i = 0; i < count; ++i) {
          if (current[i] != dense_out[i]) continue;
          ScatterElements(dense_out[i], n, bytes_[i], OutRun(buffers, i, start, r, first),
                          windows_[i].loops.back().operand_stride);
        }
      }
    }
  }

  uint8_t* OutRun(const Buffers& buffers, size_t i, const std::vector<int64_t>& start, int64_t r, int64_t first) const {
    int64_t offset, unused;
    windows_[i].Offsets(r, &offset, &unused);
    for (size_t d = 0; d < start.size(); ++d) offset += start[d] * cmd_.outs[i].strides[d];
    offset += first * windows_[i].loops.back().operand_stride;
    return buffers.Address(cmd_.outs[i]) + offset * bytes_[i];
  }
  const uint8_t* UpdateRun(const Buffers& buffers, size_t i, int64_t position, int64_t r, int64_t first) const {
    int64_t offset, unused;
    windows_[i].Offsets(r, &unused, &offset);
    for (size_t d = position_strides_[i].size(); d-- > 0;) {
      offset += position % space_.dims()[d] * position_strides_[i][d];
      position /= space_.dims()[d];
    }
    offset += first * windows_[i].loops.back().other_stride;
    return buffers.Address(cmd_.updates[i]) + offset * bytes_[i];
  }

  const ScatterCmd& cmd_;
  const Combiner combine_;
  const IndexSpace space_;
  std::vector<WindowLoops> windows_;
  std::vector<int64_t> bytes_;
  std::vector<Dims> position_strides_;  // of updates
  bool same_loops_ = true;
};

}  // namespace

Runner DecodeScatter(const ScatterCmd& cmd) {
  auto unit = std::make_shared<const ScatterUnit>(cmd);
  return [unit](const Buffers& buffers) { return unit->Run(buffers); };
}

}  // namespace mychip::emulator
