// FftCmd: each innermost block of 1 to 3 dims is transformed in double, one dim after the other; inverse transforms are
// scaled by 1 / elements, as HLO's.
#include <algorithm>
#include <complex>
#include <cstring>
#include <memory>

#include "cores.h"
#include "fft_kernels.h"
#include "kernels.h"
#include "scratch.h"
#include "units.h"
#include "view_walk.h"

namespace mychip::emulator {
namespace {

using Complex = std::complex<double>;

struct FftCmdPlan {
  explicit FftCmdPlan(const FftCmd& c) : cmd(c) {
    const size_t rank = c.input.dims.size(), count = c.lengths.size(), outer = rank - count;
    auto head = [&](const Dims& d) { return Dims(d.begin(), d.begin() + outer); };
    auto tail = [&](const Dims& d) { return Dims(d.begin() + outer, d.end()); };
    batches = NumElements(head(c.input.dims));
    in_outer = Walk(head(c.input.dims), head(c.input.strides));
    out_outer = Walk(head(c.output.dims), head(c.output.strides));
    in_dims = tail(c.input.dims), out_dims = tail(c.output.dims);
    in_inner = Walk(in_dims, tail(c.input.strides)), out_inner = Walk(out_dims, tail(c.output.strides));
    full = NumElements(c.lengths);
    for (int64_t n : c.lengths) plans.push_back(std::make_shared<const FftPlan>(n));
  }
  const FftCmd& cmd;
  int64_t batches = 0, full = 0;
  Walk in_outer, out_outer, in_inner, out_inner;
  Dims in_dims, out_dims;
  std::vector<std::shared_ptr<const FftPlan>> plans;
};

class BlockTransformer {
 public:
  BlockTransformer(const FftCmdPlan& plan, const Buffers& buffers) : plan_(plan), buffers_(buffers) {
    const int64_t room = std::max(NumElements(plan.in_dims), NumElements(plan.out_dims));
    memory_ = scratch_.Array<uint8_t>(room * 16);
    lanes_ = scratch_.Array<Complex>(room);
    data_ = scratch_.Array<Complex>(plan.full);
    line_ = scratch_.Array<Complex>(*std::max_element(plan.cmd.lengths.begin(), plan.cmd.lengths.end()));
  }

  void Run(int64_t batch) {
    const FftCmd& cmd = plan_.cmd;
    Load(batch);
    const bool inverse = cmd.kind == FftKind::kIfft || cmd.kind == FftKind::kIrfft;
    for (size_t d = 0; d < plan_.plans.size(); ++d) TransformDim(d, inverse);
    if (inverse) {
      const double scale = 1.0 / static_cast<double>(plan_.full);
      for (int64_t i = 0; i < plan_.full; ++i) data_[i] *= scale;
    }
    Store(batch);
  }

 private:
  void Load(int64_t batch) {
    const View& in = plan_.cmd.input;
    const int64_t bytes = ByteSize(in.dtype), n = NumElements(plan_.in_dims);
    plan_.in_inner.Gather(buffers_.Address(in) + plan_.in_outer.At(batch) * bytes, bytes, 0, n, memory_);
    FindConvert(DType::kC128, in.dtype)(lanes_, memory_, nullptr, nullptr, n, 0);
    if (plan_.cmd.kind != FftKind::kIrfft) {
      std::memcpy(data_, lanes_, static_cast<size_t>(n) * sizeof(Complex));
      return;
    }
    // Half a spectrum: element (a, .., k) of the missing half is the conjugate of (-a, .., n - k).
    const Dims& lengths = plan_.cmd.lengths;
    const size_t rank = lengths.size();
    Dims index(rank, 0);
    for (int64_t i = 0; i < plan_.full; ++i) {
      const bool mirror = index[rank - 1] >= plan_.in_dims[rank - 1];
      int64_t at = 0;
      for (size_t d = 0; d < rank; ++d) {
        at = at * plan_.in_dims[d] + (mirror && index[d] > 0 ? lengths[d] - index[d] : index[d]);
      }
      data_[i] = mirror ? std::conj(lanes_[at]) : lanes_[at];
      for (size_t d = rank; d-- > 0;) {
        if (++index[d] < lengths[d]) break;
        index[d] = 0;
      }
    }
  }

  void Store(int64_t batch) {
    const View& out = plan_.cmd.output;
    const int64_t bytes = ByteSize(out.dtype), n = NumElements(plan_.out_dims);
    const int64_t full = plan_.cmd.lengths.back(), kept = plan_.out_dims.back();
    for (int64_t row = 0; row < n / kept; ++row) {
      std::memcpy(lanes_ + row * kept, data_ + row * full, static_cast<size_t>(kept) * sizeof(Complex));
    }
    FindConvert(out.dtype, DType::kC128)(memory_, lanes_, nullptr, nullptr, n, 0);
    plan_.out_inner.Scatter(buffers_.Address(out) + plan_.out_outer.At(batch) * bytes, bytes, 0, n, memory_);
  }

  void TransformDim(size_t dim, bool inverse) {
    const Dims& lengths = plan_.cmd.lengths;
    const int64_t n = lengths[dim];
    int64_t inner = 1;
    for (size_t d = dim + 1; d < lengths.size(); ++d) inner *= lengths[d];
    for (int64_t line = 0; line < plan_.full / n; ++line) {
      Complex* first = data_ + line / inner * n * inner + line % inner;
      if (inner == 1) {
        plan_.plans[dim]->Run(first, inverse);
        continue;
      }
      for (int64_t i = 0; i < n; ++i) line_[i] = first[i * inner];
      plan_.plans[dim]->Run(line_, inverse);
      for (int64_t i = 0; i < n; ++i) first[i * inner] = line_[i];
    }
  }

  Scratch scratch_;
  const FftCmdPlan& plan_;
  const Buffers& buffers_;
  uint8_t* memory_;
  Complex *lanes_, *data_, *line_;
};

}  // namespace

Runner DecodeFft(const FftCmd& cmd) {
  return [plan = std::make_shared<const FftCmdPlan>(cmd)](const Buffers& buffers) {
    if (plan->batches == 0 || NumElements(plan->out_dims) == 0) return OkStatus();
    const int64_t grain = std::max<int64_t>(1, kParallelElements / 16 / plan->full);
    ParallelFor(plan->batches, grain, [&](int64_t begin, int64_t end) {
      BlockTransformer block(*plan, buffers);
      for (int64_t b = begin; b < end; ++b) block.Run(b);
    });
    return OkStatus();
  };
}

}  // namespace mychip::emulator
