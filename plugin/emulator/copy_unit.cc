// CopyCmd, the DMA unit: contiguous runs, fills, blocked transposes, anything else element by element.
#include <algorithm>
#include <cstring>
#include <memory>

#include "copy_kernels.h"
#include "cores.h"
#include "units.h"
#include "view_walk.h"

namespace mychip::emulator {
namespace {

constexpr int64_t kSegmentBytes = 64 << 10;    // of a run, per unit of work
constexpr int64_t kParallelBytes = 256 << 10;  // worth a second core
constexpr int64_t kTransposeBlock = 64;
constexpr int64_t kGroup = 8;

struct CopyPlan {
  const CopyCmd* cmd = nullptr;
  int64_t total = 0, bytes = 4;
  Dims dims;                      // outer dims, then (rows,) inner
  Dims src_strides, dst_strides;  // bytes
  bool transpose = false;         // the last two dims: rows (contiguous in src), inner (contiguous in dst)

  int64_t inner() const { return dims.empty() ? 1 : dims.back(); }
};

// Small contiguous groups (3 channels no, 4 bytes x 4 yes) move as one element.
void WidenElement(CopyPlan* plan) {
  while (!plan->dims.empty() && plan->src_strides.back() == plan->bytes && plan->dst_strides.back() == plan->bytes &&
         plan->dims.size() > 1) {
    const int64_t wide = plan->bytes * plan->dims.back();
    if (wide > 16 || (wide & (wide - 1)) != 0) return;
    plan->bytes = wide;
    plan->dims.pop_back(), plan->src_strides.pop_back(), plan->dst_strides.pop_back();
  }
}

// Brings the dim that is contiguous in src next to the inner one when reading along it pays.
void FindTranspose(CopyPlan* plan) {
  const size_t rank = plan->dims.size();
  if (rank < 2 || plan->dst_strides.back() != plan->bytes || plan->src_strides.back() == plan->bytes ||
      plan->src_strides.back() == 0 || plan->inner() < 4) {
    return;
  }
  for (size_t d = 0; d + 1 < rank; ++d) {
    if (plan->src_strides[d] != plan->bytes || plan->dims[d] < 4) continue;
    for (Dims* v : {&plan->dims, &plan->src_strides, &plan->dst_strides}) {
      std::rotate(v->begin() + d, v->begin() + d + 1, v->end() - 1);
    }
    plan->transpose = true;
    return;
  }
}

std::shared_ptr<const CopyPlan> MakePlan(const CopyCmd& cmd) {
  auto plan = std::make_shared<CopyPlan>();
  plan->cmd = &cmd;
  plan->bytes = ByteSize(cmd.src.dtype);
  Space space{cmd.dst.dims, {cmd.dst.strides, cmd.src.strides}};
  Simplify(&space, 0);
  MergeDims(&space);
  plan->total = NumElements(space.dims);
  plan->dims = space.dims;
  for (int64_t s : space.strides[0]) plan->dst_strides.push_back(s * plan->bytes);
  for (int64_t s : space.strides[1]) plan->src_strides.push_back(s * plan->bytes);
  if (plan->dims.empty()) {
    plan->dims = {1}, plan->src_strides = {plan->bytes}, plan->dst_strides = {plan->bytes};
  }
  WidenElement(plan.get());
  FindTranspose(plan.get());
  return plan;
}

int64_t ReadIndex(const View& view, const Buffers& buffers) {
  switch (view.dtype) {
    case DType::kS32:
      return *buffers.Ptr<int32_t>(view);
    case DType::kU32:
      return *buffers.Ptr<uint32_t>(view);
    case DType::kU64:
      return static_cast<int64_t>(std::min<uint64_t>(*buffers.Ptr<uint64_t>(view), INT64_MAX));
    default:
      return *buffers.Ptr<int64_t>(view);
  }
}

// Bytes by which the dynamic start moves a side.
int64_t DynamicBytes(const DynamicOffset& offset, const Buffers& buffers, int64_t bytes) {
  int64_t moved = 0;
  for (size_t d = 0; d < offset.starts.size(); ++d) {
    const int64_t start = ReadIndex(offset.starts[d], buffers);
    moved += std::max<int64_t>(0, std::min(start, offset.limits[d])) * offset.strides[d] * bytes;
  }
  return moved;
}

// Odometer over the outer dims of a plan.
class Rows {
 public:
  Rows(const CopyPlan& plan, int outer, int64_t row) : plan_(plan), outer_(outer) {
    for (int d = outer - 1; d >= 0; --d) {
      index_[d] = row % plan.dims[d];
      row /= plan.dims[d];
      src_ += index_[d] * plan.src_strides[d];
      dst_ += index_[d] * plan.dst_strides[d];
    }
  }
  void Next() {
    for (int d = outer_ - 1; d >= 0; --d) {
      src_ += plan_.src_strides[d];
      dst_ += plan_.dst_strides[d];
      if (++index_[d] < plan_.dims[d]) return;
      src_ -= plan_.dims[d] * plan_.src_strides[d];
      dst_ -= plan_.dims[d] * plan_.dst_strides[d];
      index_[d] = 0;
    }
  }
  int64_t src() const { return src_; }
  int64_t dst() const { return dst_; }

 private:
  const CopyPlan& plan_;
  int outer_;
  int64_t index_[kMaxRank] = {}, src_ = 0, dst_ = 0;
};

int64_t RowsOf(const CopyPlan& plan, int outer) {
  int64_t rows = 1;
  for (int d = 0; d < outer; ++d) rows *= plan.dims[d];
  return rows;
}

void CopyRuns(const CopyPlan& plan, const uint8_t* src, uint8_t* dst) {
  const int outer = static_cast<int>(plan.dims.size()) - 1;
  const int64_t inner = plan.inner(), bytes = plan.bytes;
  const int64_t segment = std::max<int64_t>(1, kSegmentBytes / bytes), segments = (inner + segment - 1) / segment;
  const int64_t src_stride = plan.src_strides.back(), dst_stride = plan.dst_strides.back();
  const RunKernel run = FindRunKernel(bytes, src_stride, dst_stride);
  const int64_t grain = std::max<int64_t>(1, kParallelBytes / (std::min(inner, segment) * bytes));
  ParallelFor(RowsOf(plan, outer) * segments, grain, [&](int64_t begin, int64_t end) {
    Rows rows(plan, outer, begin / segments);
    int64_t part = begin % segments;
    for (int64_t u = begin; u < end; ++u) {
      const int64_t at = part * segment, n = std::min(segment, inner - at);
      run(dst + rows.dst() + at * dst_stride, dst_stride, src + rows.src() + at * src_stride, src_stride, n);
      if (++part == segments) part = 0, rows.Next();
    }
  });
}

void CopyTransposed(const CopyPlan& plan, const uint8_t* src, uint8_t* dst) {
  const int outer = static_cast<int>(plan.dims.size()) - 2;
  const int64_t m = plan.dims[outer], n = plan.dims[outer + 1], bytes = plan.bytes;
  const int64_t src_stride = plan.src_strides[outer + 1], dst_stride = plan.dst_strides[outer];
  const int64_t mb = (m + kTransposeBlock - 1) / kTransposeBlock, nb = (n + kTransposeBlock - 1) / kTransposeBlock;
  // Blocks go in groups of up to kGroup x kGroup: the pages of a group fit the host's TLB.
  const int64_t gm = std::min(mb, kGroup), gn = std::min(nb, kGroup);
  const int64_t mg = (mb + gm - 1) / gm, ng = (nb + gn - 1) / gn, per_row = mg * ng * gm * gn;
  const TransposeKernel kernel = FindTransposeKernel(bytes);
  const int64_t block_bytes = std::min(m, kTransposeBlock) * std::min(n, kTransposeBlock) * bytes;
  const int64_t grain = std::max<int64_t>(1, kParallelBytes / 2 / block_bytes);
  ParallelFor(RowsOf(plan, outer) * per_row, grain, [&](int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; ++u) {
      const int64_t in_row = u % per_row, group = in_row / (gm * gn), in_group = in_row % (gm * gn);
      const int64_t i = (group / ng * gm + in_group / gn) * kTransposeBlock;
      const int64_t j = (group % ng * gn + in_group % gn) * kTransposeBlock;
      if (i >= m || j >= n) continue;
      const Rows rows(plan, outer, u / per_row);
      kernel(dst + rows.dst() + i * dst_stride + j * bytes, dst_stride, src + rows.src() + j * src_stride + i * bytes,
             src_stride, std::min(kTransposeBlock, m - i), std::min(kTransposeBlock, n - j));
    }
  });
}

Status RunCopy(const CopyPlan& plan, const Buffers& buffers) {
  if (plan.total == 0) return OkStatus();
  const CopyCmd& cmd = *plan.cmd;
  const int64_t bytes = ByteSize(cmd.src.dtype);
  const uint8_t* src = buffers.Address(cmd.src) + DynamicBytes(cmd.src_offset, buffers, bytes);
  uint8_t* dst = buffers.Address(cmd.dst) + DynamicBytes(cmd.dst_offset, buffers, bytes);
  if (src == dst && plan.src_strides == plan.dst_strides) return OkStatus();
  if (plan.transpose) {
    CopyTransposed(plan, src, dst);
  } else {
    CopyRuns(plan, src, dst);
  }
  return OkStatus();
}

}  // namespace

Runner DecodeCopy(const CopyCmd& cmd) {
  return [plan = MakePlan(cmd)](const Buffers& buffers) { return RunCopy(*plan, buffers); };
}

}  // namespace mychip::emulator
