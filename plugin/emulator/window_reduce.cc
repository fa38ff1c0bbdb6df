// Vector unit: WindowReduceCmd (pooling, cumulative sums as windows). Outputs are made in runs along one dim; for each
// tap of the window, in row-major order, the part of the run whose tap lies inside the operand is combined.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>

#include "combiner.h"
#include "cores.h"
#include "elements.h"
#include "scratch.h"
#include "units.h"
#include "window_kernels.h"

namespace mychip::emulator {
namespace {

constexpr int64_t kRun = 1024;
constexpr int64_t kMaxLaneTaps = 256;  // of a window on the fast path

int64_t CeilDiv(int64_t a, int64_t b) { return a > 0 ? (a + b - 1) / b : -(-a / b); }

// Input index of output o and tap t, or -1 when it is padding or lies between dilated elements.
int64_t InputIndex(const WindowDim& w, int64_t o, int64_t t, int64_t size) {
  const int64_t tap = w.reversal ? w.size - 1 - t : t;
  const int64_t at = o * w.stride + tap * w.window_dilation - w.pad_low;
  if (at < 0 || at % w.base_dilation != 0 || at / w.base_dilation >= size) return -1;
  return at / w.base_dilation;
}

class WindowReduce {
 public:
  explicit WindowReduce(const WindowReduceCmd& cmd)
      : cmd_(cmd), combine_(cmd.combine, DTypesOf(cmd.inputs)), dims_(cmd.outputs[0].dims) {
    status_ = combine_.status();
    if (status_.ok() && !cmd.post.empty()) {
      post_ = std::make_unique<BodyRunner>(cmd.post);
      status_ = post_->status();
      for (const Inst& inst : cmd.post.insts) post_iota_ |= inst.op == VOp::kIota;
    }
    run_dim_ = ChooseRunDim();
    for (size_t d = 0; d < dims_.size(); ++d) {
      if (static_cast<int>(d) != run_dim_) rows_ *= dims_[d];
      taps_ *= cmd.window[d].size;
    }
    length_ = run_dim_ < 0 ? 1 : dims_[run_dim_];
    chunk_ = post_iota_ && run_dim_ != static_cast<int>(dims_.size()) - 1 ? 1 : kRun;
    lane_op_ = LaneOp();
  }

  Status Run(const Buffers& buffers) const {
    if (!status_.ok() || rows_ * length_ == 0) return status_;
    const int64_t chunks = (length_ + chunk_ - 1) / chunk_;
    const int64_t cost = std::max<int64_t>(1, taps_) * std::min(length_, chunk_);
    ParallelFor(rows_ * chunks, std::max<int64_t>(1, kParallelElements / cost), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % chunks * chunk_;
        RunRow(buffers, i / chunks, first, std::min(chunk_, length_ - first));
      }
    });
    return OkStatus();
  }

 private:
  static std::vector<DType> DTypesOf(const std::vector<View>& views) {
    std::vector<DType> dtypes;
    for (const View& v : views) dtypes.push_back(v.dtype);
    return dtypes;
  }

  // The operation when outputs are dense f32 lanes over dense inputs, as in pooling with channels last.
  WindowOp LaneOp() const {
    VOp op;
    if (cmd_.inputs.size() != 1 || cmd_.inputs[0].dtype != DType::kF32 || !cmd_.post.empty() || run_dim_ < 0 ||
        taps_ > kMaxLaneTaps || !MatchBinaryBody(cmd_.combine, &op)) {
      return WindowOp::kOther;
    }
    const WindowDim& w = cmd_.window[run_dim_];
    const bool trivial = w.size == 1 && w.stride == 1 && w.base_dilation == 1 && w.pad_low == 0 && w.pad_high == 0;
    if (!trivial || cmd_.inputs[0].strides[run_dim_] != 1 || cmd_.outputs[0].strides[run_dim_] != 1) {
      return WindowOp::kOther;
    }
    return op == VOp::kAdd   ? WindowOp::kAdd
           : op == VOp::kMax ? WindowOp::kMax
           : op == VOp::kMin ? WindowOp::kMin
                             : WindowOp::kOther;
  }

  void RunLanes(const Buffers& buffers, int64_t row, int64_t first, int64_t n) const {
    const View &in = cmd_.inputs[0], &out = cmd_.outputs[0];
    const Dims index = RowIndex(row);
    int64_t taps[kMaxLaneTaps], more[kMaxLaneTaps], count = 1, to = first;
    taps[0] = first;
    for (size_t d = 0; d < dims_.size(); ++d) {
      if (static_cast<int>(d) == run_dim_) continue;
      to += index[d] * out.strides[d];
      int64_t next = 0;
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t t = 0; t < cmd_.window[d].size; ++t) {
          const int64_t at = InputIndex(cmd_.window[d], index[d], t, in.dims[d]);
          if (at >= 0) more[next++] = taps[i] + at * in.strides[d];
        }
      }
      count = next;
      std::copy(more, more + count, taps);
    }
    WindowRowF32(lane_op_, buffers.Ptr<float>(in), taps, count, *buffers.Ptr<float>(cmd_.inits[0]), n,
                 buffers.Ptr<float>(out) + to);
  }

  // Long runs, best where input elements lie side by side.
  int ChooseRunDim() const {
    int best = -1;
    int64_t best_score = -1;
    for (int d = 0; d < static_cast<int>(dims_.size()); ++d) {
      const WindowDim& w = cmd_.window[d];
      const bool dense = std::abs(cmd_.inputs[0].strides[d]) * w.stride == 1 && w.base_dilation == 1;
      const int64_t score = std::min<int64_t>(dims_[d], 256) * (dense ? 8 : w.base_dilation == 1 ? 2 : 1);
      if (score >= best_score) best = d, best_score = score;
    }
    return best;
  }

  Dims RowIndex(int64_t row) const {
    Dims index(dims_.size(), 0);
    for (int d = static_cast<int>(dims_.size()) - 1; d >= 0; --d) {
      if (d == run_dim_) continue;
      index[d] = row % dims_[d];
      row /= dims_[d];
    }
    return index;
  }

  // One run of outputs under construction.
  struct Row {
    const Buffers& buffers;
    Dims index;  // of its first output
    int64_t n;
    std::vector<void*> acc;
    // Outputs low, low + step, ... (count of them) meet the current tap of the run's dim at input, input + input_step
    // ...
    int64_t low = 0, step = 1, count = 1, input_step = 0;
    std::vector<int64_t> offsets;  // [dim][operand]: input position by the dims before, in elements
    std::vector<void*> current;
    std::vector<const void*> fresh;
  };

  void RunRow(const Buffers& buffers, int64_t row, int64_t first, int64_t n) const {
    if (lane_op_ != WindowOp::kOther) return RunLanes(buffers, row, first, n);
    Scratch scratch;
    const size_t count = cmd_.inputs.size();
    Row run{buffers, RowIndex(row), n, std::vector<void*>(count)};
    if (run_dim_ >= 0) run.index[run_dim_] = first;
    run.offsets.assign((dims_.size() + 1) * count, 0);
    run.current.resize(count), run.fresh.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const int64_t bytes = ByteSize(cmd_.inputs[i].dtype);
      run.acc[i] = scratch.Allocate(n * bytes);
      FillLanes(run.acc[i], buffers.Address(cmd_.inits[i]), bytes, n);
    }
    Taps(&run, 0);
    Store(buffers, run.index, n, run.acc, &scratch);
  }

  // Loops over the taps of dim d and, inside, of the dims after it.
  void Taps(Row* row, size_t d) const {
    if (d == dims_.size()) return Combine(row);
    const WindowDim& w = cmd_.window[d];
    const size_t count = cmd_.inputs.size();
    const int64_t *here = &row->offsets[d * count], size = cmd_.inputs[0].dims[d];
    int64_t* next = &row->offsets[(d + 1) * count];
    for (int64_t t = 0; t < w.size; ++t) {
      const int64_t at = static_cast<int>(d) == run_dim_ ? StartTap(row, w, t, size, row->index[d])
                                                         : InputIndex(w, row->index[d], t, size);
      if (at < 0) continue;
      for (size_t i = 0; i < count; ++i) next[i] = here[i] + at * cmd_.inputs[i].strides[d];
      Taps(row, d + 1);
    }
  }

  // Which outputs of the run tap t of its dim reaches. Returns the input index of the first, -1 when there is none.
  static int64_t StartTap(Row* row, const WindowDim& w, int64_t t, int64_t size, int64_t first) {
    const int64_t tap = w.reversal ? w.size - 1 - t : t;
    const int64_t shift = tap * w.window_dilation - w.pad_low;  // dilated coordinate = o * stride + shift
    const int64_t limit = size == 0 ? 0 : (size - 1) * w.base_dilation + 1;
    int64_t low = std::max(first, CeilDiv(-shift, w.stride));
    const int64_t high = std::min(first + row->n, CeilDiv(limit - shift, w.stride));
    row->step = w.base_dilation / std::gcd(w.base_dilation, w.stride);
    const auto on_element = [&] { return (low * w.stride + shift) % w.base_dilation == 0; };
    for (int64_t i = 1; i < row->step && low < high && !on_element(); ++i) ++low;
    if (low >= high || !on_element()) return -1;
    row->low = low - first;
    row->count = (high - low + row->step - 1) / row->step;
    row->input_step = row->step * w.stride / w.base_dilation;
    return (low * w.stride + shift) / w.base_dilation;
  }

  void Combine(Row* row) const {
    const size_t count = row->acc.size();
    const int64_t *offsets = &row->offsets[dims_.size() * count], n = row->count;
    Scratch scratch;
    for (size_t i = 0; i < count; ++i) {
      const View& input = cmd_.inputs[i];
      const int64_t bytes = ByteSize(input.dtype);
      const int64_t stride = run_dim_ < 0 ? 0 : row->input_step * input.strides[run_dim_];
      const uint8_t* source = row->buffers.Address(input) + offsets[i] * bytes;
      auto* acc = static_cast<uint8_t*>(row->acc[i]) + row->low * bytes;
      row->fresh[i] = source, row->current[i] = acc;
      if (stride != 1 && n > 1) {
        auto* dense = scratch.Array<uint8_t>(n * bytes);
        GatherElements(source, stride, n, bytes, dense);
        row->fresh[i] = dense;
      }
      if (row->step != 1 && n > 1) {
        auto* dense = scratch.Array<uint8_t>(n * bytes);
        GatherElements(acc, row->step, n, bytes, dense);
        row->current[i] = dense;
      }
    }
    combine_.Run(n, row->current.data(), row->fresh.data());
    for (size_t i = 0; row->step != 1 && n > 1 && i < count; ++i) {
      const int64_t bytes = ByteSize(cmd_.inputs[i].dtype);
      ScatterElements(static_cast<const uint8_t*>(row->current[i]), n, bytes,
                      static_cast<uint8_t*>(row->acc[i]) + row->low * bytes, row->step);
    }
  }

  void Store(const Buffers& buffers, const Dims& index, int64_t n, const std::vector<void*>& acc,
             Scratch* scratch) const {
    const auto address = [&](const View& v) {
      int64_t offset = 0;
      for (size_t d = 0; d < index.size(); ++d) offset += index[d] * v.strides[d];
      return buffers.Address(v) + offset * ByteSize(v.dtype);
    };
    const auto stride = [&](const View& v) { return run_dim_ < 0 ? 1 : v.strides[run_dim_]; };
    std::vector<void*> results(acc);
    if (post_ != nullptr) {
      std::vector<const void*> params(acc.begin(), acc.end());
      for (const View& v : cmd_.post_inputs) {
        void* dense = scratch->Allocate(n * ByteSize(v.dtype));
        GatherElements(address(v), stride(v), n, ByteSize(v.dtype), static_cast<uint8_t*>(dense));
        params.push_back(dense);
      }
      results.clear();
      for (const View& v : cmd_.outputs) results.push_back(scratch->Allocate(n * ByteSize(v.dtype)));
      int64_t first = 0;
      for (size_t d = 0; d < dims_.size(); ++d) first = first * dims_[d] + index[d];
      if (post_iota_) {
        post_->Run(n, params.data(), results.data(), dims_, first);
      } else {
        post_->Run(n, params.data(), results.data());
      }
    }
    for (size_t r = 0; r < cmd_.outputs.size(); ++r) {
      const View& v = cmd_.outputs[r];
      ScatterElements(static_cast<uint8_t*>(results[r]), n, ByteSize(v.dtype), address(v), stride(v));
    }
  }

  const WindowReduceCmd& cmd_;
  const Combiner combine_;
  const Dims dims_;
  std::unique_ptr<BodyRunner> post_;
  bool post_iota_ = false;
  Status status_;
  int run_dim_ = -1;
  WindowOp lane_op_ = WindowOp::kOther;
  int64_t rows_ = 1, length_ = 1, taps_ = 1, chunk_ = kRun;
};

}  // namespace

Runner DecodeWindowReduce(const WindowReduceCmd& cmd) {
  auto unit = std::make_shared<const WindowReduce>(cmd);
  return [unit](const Buffers& buffers) { return unit->Run(buffers); };
}

}  // namespace mychip::emulator
