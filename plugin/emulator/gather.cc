// DMA unit: GatherCmd. Each index vector names a window of the operand; windows are copied one by one.
#include <algorithm>
#include <cstring>
#include <memory>

#include "cores.h"
#include "elements.h"
#include "index_space.h"
#include "scratch.h"

namespace mychip::emulator {
namespace {

bool Contains(const Dims& dims, int64_t d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); }

class Gather {
 public:
  explicit Gather(const GatherCmd& cmd)
      : cmd_(cmd),
        space_(cmd.indices, cmd.index_vector_dim, cmd.start_index_map, cmd.operand_batching_dims,
               cmd.indices_batching_dims, cmd.operand.dims, cmd.slice_sizes),
        bytes_(ByteSize(cmd.operand.dtype)),
        window_(MakeWindow()) {
    for (int64_t d = 0; d < cmd.out.rank(); ++d) {
      if (!Contains(cmd.offset_dims, d)) position_strides_.push_back(cmd.out.strides[d]);
    }
  }

  Status Run(const Buffers& buffers) const {
    if (NumElements(cmd_.out.dims) == 0) return OkStatus();
    if (cmd_.bounds == Bounds::kError) MYCHIP_RETURN_IF_ERROR(space_.Check(buffers));
    const int64_t runs = window_.runs(), elements = runs * window_.loops.back().size;
    const int64_t grain = std::max<int64_t>(1, kParallelElements / (elements + 8));
    ParallelFor(space_.size(), grain, [&](int64_t begin, int64_t end) {
      std::vector<int64_t> start(cmd_.operand.dims.size());
      for (int64_t p = begin; p < end; ++p) RunPosition(buffers, p, start.data(), runs);
    });
    return OkStatus();
  }

 private:
  WindowLoops MakeWindow() const {
    Dims sizes, operand, out;
    size_t next = 0;
    for (int64_t d = 0; d < cmd_.operand.rank(); ++d) {
      if (Contains(cmd_.collapsed_dims, d) || Contains(cmd_.operand_batching_dims, d)) continue;
      sizes.push_back(cmd_.slice_sizes[d]);
      operand.push_back(cmd_.operand.strides[d]);
      out.push_back(cmd_.out.strides[cmd_.offset_dims[next++]]);
    }
    return WindowLoops(sizes, operand, out);
  }

  void RunPosition(const Buffers& buffers, int64_t position, int64_t* start, int64_t runs) const {
    space_.Start(buffers, position, start);
    const bool present = cmd_.bounds == Bounds::kClamp ? (space_.Clamp(start), true) : space_.InBounds(start);
    int64_t from = 0, to = 0;
    for (size_t d = 0; d < cmd_.operand.dims.size(); ++d) from += start[d] * cmd_.operand.strides[d];
    for (size_t d = position_strides_.size(); d-- > 0;) {
      to += position % space_.dims()[d] * position_strides_[d];
      position /= space_.dims()[d];
    }
    const uint8_t* operand = buffers.Address(cmd_.operand) + (present ? from : 0) * bytes_;
    uint8_t* out = buffers.Address(cmd_.out) + to * bytes_;
    for (int64_t r = 0; r < runs; ++r) {
      int64_t a, b;
      window_.Offsets(r, &a, &b);
      CopyRun(present ? operand + a * bytes_ : nullptr, out + b * bytes_);
    }
  }

  // One run of the window; zeros without a source.
  void CopyRun(const uint8_t* from, uint8_t* to) const {
    const WindowLoops::Loop& run = window_.loops.back();
    if (run.other_stride == 1 && from != nullptr) {
      return GatherElements(from, run.operand_stride, run.size, bytes_, to);
    }
    if (run.other_stride == 1) {
      std::memset(to, 0, run.size * bytes_);
      return;
    }
    if (run.operand_stride == 1 && from != nullptr) {
      return ScatterElements(from, run.size, bytes_, to, run.other_stride);
    }
    for (int64_t i = 0; i < run.size; ++i, to += run.other_stride * bytes_) {
      if (from == nullptr) {
        std::memset(to, 0, bytes_);
      } else {
        std::memcpy(to, from + i * run.operand_stride * bytes_, bytes_);
      }
    }
  }

  const GatherCmd& cmd_;
  const IndexSpace space_;
  const int64_t bytes_;
  const WindowLoops window_;
  Dims position_strides_;  // of out
};

}  // namespace

Runner DecodeGather(const GatherCmd& cmd) {
  auto unit = std::make_shared<const Gather>(cmd);
  return [unit](const Buffers& buffers) { return unit->Run(buffers); };
}

}  // namespace mychip::emulator
