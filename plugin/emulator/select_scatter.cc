// Vector unit: SelectScatterCmd, the gradient of pooling. Dims whose window is one element (batch, channels) are
// independent: one of them is the vector, the others are split over the cores. Along the rest, source elements are
// taken in row-major order.
#include <algorithm>
#include <memory>

#include "combiner.h"
#include "cores.h"
#include "elements.h"
#include "scratch.h"
#include "select_scatter_kernels.h"
#include "units.h"

namespace mychip::emulator {
namespace {

constexpr int64_t kLanes = 256;

bool Trivial(const WindowDim& w) { return w.size == 1 && w.stride == 1 && w.pad_low == 0 && w.pad_high == 0; }

// ge, gt, or not(lt) of the two params: the selections pooling gradients use.
SelectRule RuleOf(const Body& body) {
  VOp op;
  if (MatchBinaryBody(body, &op)) {
    // MatchBinaryBody may swap operands of commutative operations only; these are not.
    return op == VOp::kGe ? SelectRule::kGe : op == VOp::kGt ? SelectRule::kGt : SelectRule::kOther;
  }
  if (body.results.size() != 1) return SelectRule::kOther;
  const Inst& last = body.insts[body.results[0]];
  if (last.op != VOp::kNot) return SelectRule::kOther;
  Body inner = body;
  inner.results = {last.a};
  inner.insts.resize(body.results[0]);
  return MatchBinaryBody(inner, &op) && op == VOp::kLt ? SelectRule::kNotLt : SelectRule::kOther;
}

class SelectScatter {
 public:
  explicit SelectScatter(const SelectScatterCmd& cmd)
      : cmd_(cmd),
        scatter_(cmd.scatter, {cmd.source.dtype}),
        select_(cmd.select),
        bytes_(ByteSize(cmd.operand.dtype)),
        rank_(cmd.operand.rank()) {
    status_ = scatter_.status().ok() ? select_.status() : scatter_.status();
    VOp op;
    const bool adds = MatchBinaryBody(cmd.scatter, &op) && op == VOp::kAdd;
    rule_ = cmd.operand.dtype == DType::kF32 && adds ? RuleOf(cmd.select) : SelectRule::kOther;
    for (int d = 0; d < rank_; ++d) {
      if (!Trivial(cmd.window[d])) {
        ordered_.push_back(d);
        continue;
      }
      const auto better = [&](int other) {
        const bool dense = cmd.operand.strides[d] == 1, other_dense = cmd.operand.strides[other] == 1;
        return dense != other_dense ? dense : cmd.operand.dims[d] > cmd.operand.dims[other];
      };
      if (lane_dim_ < 0 || better(lane_dim_)) {
        if (lane_dim_ >= 0) free_.push_back(lane_dim_);
        lane_dim_ = d;
      } else {
        free_.push_back(d);
      }
    }
    for (int d : free_) groups_ *= cmd.operand.dims[d];
    lanes_ = lane_dim_ < 0 ? 1 : cmd.operand.dims[lane_dim_];
    for (int d : ordered_) {
      positions_ *= cmd.source.dims[d];
      taps_ *= cmd.window[d].size;
      targets_ *= cmd.operand.dims[d];
    }
  }

  Status Run(const Buffers& buffers) const {
    if (!status_.ok() || groups_ * lanes_ == 0) return status_;
    // Chunks of lanes small enough that every core has one.
    int64_t chunk = std::min(lanes_, kLanes);
    while (chunk > 64 && groups_ * ((lanes_ + chunk - 1) / chunk) < 2 * NumCores()) chunk = (chunk + 1) / 2;
    const int64_t chunks = (lanes_ + chunk - 1) / chunk;
    const int64_t cost = std::max<int64_t>(1, chunk * (positions_ * taps_ + targets_));
    ParallelFor(groups_ * chunks, std::max<int64_t>(1, kParallelElements / cost), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t lane = i % chunks * chunk;
        RunGroup(buffers, i / chunks, lane, std::min(chunk, lanes_ - lane));
      }
    });
    return OkStatus();
  }

 private:
  int64_t Stride(const View& v) const { return lane_dim_ < 0 ? 1 : v.strides[lane_dim_]; }

  uint8_t* Base(const Buffers& buffers, const View& v, int64_t group, int64_t lane) const {
    int64_t offset = lane_dim_ < 0 ? 0 : lane * v.strides[lane_dim_];
    for (size_t i = free_.size(); i-- > 0;) {
      const int64_t size = cmd_.operand.dims[free_[i]];
      offset += group % size * v.strides[free_[i]];
      group /= size;
    }
    return buffers.Address(v) + offset * bytes_;
  }

  // Calls fn(index) over the ordered dims of `dims`, row-major.
  template <typename Fn>
  void ForOrdered(const Dims& dims, Fn fn) const {
    Dims index(ordered_.size(), 0);
    for (int d : ordered_) {
      if (dims[d] == 0) return;
    }
    for (;;) {
      fn(index);
      size_t i = ordered_.size();
      while (i > 0 && ++index[i - 1] == dims[ordered_[i - 1]]) index[--i] = 0;
      if (i == 0) return;
    }
  }
  int64_t Offset(const Dims& index, const View& v) const {
    int64_t offset = 0;
    for (size_t i = 0; i < ordered_.size(); ++i) offset += index[i] * v.strides[ordered_[i]];
    return offset * bytes_;
  }

  void RunGroup(const Buffers& buffers, int64_t group, int64_t lane, int64_t n) const {
    Scratch scratch;
    uint8_t* out = Base(buffers, cmd_.out, group, lane);
    uint8_t* fill = scratch.Array<uint8_t>(n * bytes_);
    FillLanes(fill, buffers.Address(cmd_.init), bytes_, n);
    ForOrdered(cmd_.out.dims, [&](const Dims& index) {
      ScatterElements(fill, n, bytes_, out + Offset(index, cmd_.out), Stride(cmd_.out));
    });
    const uint8_t* operand = Base(buffers, cmd_.operand, group, lane);
    const uint8_t* source = Base(buffers, cmd_.source, group, lane);
    int64_t* taps = scratch.Array<int64_t>(2 * std::max<int64_t>(1, taps_));
    const bool fast =
        rule_ != SelectRule::kOther && Stride(cmd_.operand) == 1 && Stride(cmd_.source) == 1 && Stride(cmd_.out) == 1;
    Lanes lanes(n, bytes_, &scratch);
    ForOrdered(cmd_.source.dims, [&](const Dims& index) {
      const int64_t count = WindowOf(index, taps);
      if (count == 0) return;
      const uint8_t* values = source + Offset(index, cmd_.source);
      if (fast) {
        return SelectScatterF32(rule_, reinterpret_cast<const float*>(operand), taps, count,
                                reinterpret_cast<const float*>(values), n, reinterpret_cast<float*>(out), taps_,
                                lanes.selected);
      }
      Select(operand, taps, count, &lanes);
      GatherElements(values, Stride(cmd_.source), n, bytes_, lanes.fresh);
      Add(out, taps, &lanes);
    });
  }

  // Element offsets of the window's taps inside the operand: in operand at taps[i], in out at taps[taps_ + i].
  int64_t WindowOf(const Dims& index, int64_t* taps) const {
    int64_t count = 0;
    Dims t(ordered_.size(), 0);
    for (int d : ordered_) {
      if (cmd_.window[d].size == 0) return 0;
    }
    for (;;) {
      int64_t in = 0, to = 0;
      bool inside = true;
      for (size_t i = 0; i < ordered_.size(); ++i) {
        const int d = ordered_[i];
        const WindowDim& w = cmd_.window[d];
        const int64_t at = index[i] * w.stride + (w.reversal ? w.size - 1 - t[i] : t[i]) - w.pad_low;
        inside &= at >= 0 && at < cmd_.operand.dims[d];
        in += at * cmd_.operand.strides[d], to += at * cmd_.out.strides[d];
      }
      if (inside) taps[count] = in, taps[taps_ + count++] = to;
      size_t i = ordered_.size();
      while (i > 0 && ++t[i - 1] == cmd_.window[ordered_[i - 1]].size) t[--i] = 0;
      if (i == 0) return count;
    }
  }

  struct Lanes {
    Lanes(int64_t n, int64_t bytes, Scratch* s)
        : n(n),
          best(s->Array<uint8_t>(n * bytes)),
          candidate(s->Array<uint8_t>(n * bytes)),
          fresh(s->Array<uint8_t>(n * bytes)),
          keep(s->Array<uint8_t>(n)),
          selected(s->Array<int32_t>(n + 8)) {}
    int64_t n;
    uint8_t *best, *candidate, *fresh, *keep;
    int32_t* selected;  // tap
  };

  void Select(const uint8_t* operand, const int64_t* taps, int64_t count, Lanes* l) const {
    const int64_t stride = Stride(cmd_.operand);
    GatherElements(operand + taps[0] * bytes_, stride, l->n, bytes_, l->best);
    std::fill(l->selected, l->selected + l->n, 0);
    for (int64_t t = 1; t < count; ++t) {
      GatherElements(operand + taps[t] * bytes_, stride, l->n, bytes_, l->candidate);
      const void* params[] = {l->best, l->candidate};
      void* results[] = {l->keep};
      select_.Run(l->n, params, results);
      for (int64_t i = 0; i < l->n; ++i) {
        if (l->keep[i] != 0) continue;
        std::copy(l->candidate + i * bytes_, l->candidate + (i + 1) * bytes_, l->best + i * bytes_);
        l->selected[i] = static_cast<int32_t>(t);
      }
    }
  }

  // Lanes are different elements of out: they can be combined together.
  void Add(uint8_t* out, const int64_t* taps, Lanes* l) const {
    const int64_t stride = Stride(cmd_.out);
    const auto at = [&](int64_t i) { return out + (taps[taps_ + l->selected[i]] + i * stride) * bytes_; };
    for (int64_t i = 0; i < l->n; ++i) std::copy(at(i), at(i) + bytes_, l->best + i * bytes_);
    void* current[] = {l->best};
    const void* fresh[] = {l->fresh};
    scatter_.Run(l->n, current, fresh);
    for (int64_t i = 0; i < l->n; ++i) std::copy(l->best + i * bytes_, l->best + (i + 1) * bytes_, at(i));
  }

  const SelectScatterCmd& cmd_;
  const Combiner scatter_;
  const BodyRunner select_;
  const int64_t bytes_;
  const int rank_;
  Status status_;
  SelectRule rule_ = SelectRule::kOther;
  int lane_dim_ = -1;
  std::vector<int> free_, ordered_;
  int64_t groups_ = 1, lanes_ = 1, positions_ = 1, taps_ = 1, targets_ = 1;
};

}  // namespace

Runner DecodeSelectScatter(const SelectScatterCmd& cmd) {
  auto unit = std::make_shared<const SelectScatter>(cmd);
  return [unit](const Buffers& buffers) { return unit->Run(buffers); };
}

}  // namespace mychip::emulator
