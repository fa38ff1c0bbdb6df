// SpaceToBatchND, BatchToSpaceND: one copy per place in a block. Position p of a spatial dim, counted with its padding,
// is step p / block of the batch group p % block.
#include <algorithm>

#include "mychip/ops/movement.h"

namespace mychip::ops {
namespace {

// What both directions share: the large tensor has the spatial dims, the small one the blocks in its batch.
struct Blocks {
  DType dtype;
  Dims block, before;  // per blocked dim: size, and what the large dim leaves out at its beginning
  Dims large, small;   // dims of both tensors
  Dims large_strides, small_strides;
  int64_t batch;  // of the large tensor

  // The elements of group `place` (one index per blocked dim) in both tensors.
  void Views(const Dims& place, View* space, View* group) const {
    int64_t flat = 0;
    *space = View{0, 0, dtype, large, large_strides};
    *group = View{0, 0, dtype, small, small_strides};
    group->dims[0] = batch;
    for (size_t i = 0; i < block.size(); ++i) {
      const size_t d = i + 1;
      flat = flat * block[i] + place[i];
      // large position = step * block + place - before, within [0, large)
      const int64_t shift = before[i] - place[i];
      const int64_t first = shift > 0 ? (shift + block[i] - 1) / block[i] : 0;
      const int64_t limit = std::min(small[d], (large[d] + shift + block[i] - 1) / block[i]);
      const int64_t n = std::max<int64_t>(0, limit - first);
      space->dims[d] = group->dims[d] = n;
      if (n > 0) space->offset += (first * block[i] - shift) * large_strides[d] * ByteSize(dtype);
      space->strides[d] *= block[i];
      group->offset += first * small_strides[d] * ByteSize(dtype);
    }
    group->offset += flat * batch * small_strides[0] * ByteSize(dtype);
  }

  template <typename F>
  void ForEach(F visit) const {
    Dims place(block.size(), 0);
    int64_t groups = 1;
    for (int64_t b : block) groups *= b;
    for (int64_t g = 0; g < groups; ++g) {
      View space, group;
      Views(place, &space, &group);
      if (NumElements(space.dims) > 0) visit(space, group);
      for (size_t i = block.size(); i-- > 0;) {
        if (++place[i] < block[i]) break;
        place[i] = 0;
      }
    }
  }
};

Status Check(const TensorType& input, const Dims& block, const Dims& edges, const char* name) {
  if (input.dims.size() < 1 + block.size()) {
    return InvalidArgument("input rank should be >= %zu instead of %zu", 1 + block.size(), input.dims.size());
  }
  if (edges.size() != 2 * block.size()) {
    return InvalidArgument("%s should have shape [%zu, 2] instead of %zu elements", name, block.size(), edges.size());
  }
  for (int64_t b : block) {
    if (b < 1)
      return InvalidArgument("All values in block_shape must be positive, got value %lld", static_cast<long long>(b));
  }
  for (int64_t e : edges) {
    if (e < 0) return InvalidArgument("%s must be non-negative, got %lld", name, static_cast<long long>(e));
  }
  return OkStatus();
}

}  // namespace

Result<Movement> SpaceToBatch(const TensorType& input, const Dims& block, const Dims& paddings) {
  MYCHIP_RETURN_IF_ERROR(Check(input, block, paddings, "paddings"));
  TensorType out = input;
  bool padded = false;
  Blocks blocks{input.dtype, block, {}, input.dims, {}, RowMajorStrides(input.dims), {}, input.dims[0]};
  for (size_t i = 0; i < block.size(); ++i) {
    const int64_t size = input.dims[i + 1] + paddings[2 * i] + paddings[2 * i + 1];
    if (size % block[i] != 0) {
      return InvalidArgument("padded_shape[%zu]=%lld is not divisible by block_shape[%zu]=%lld", i,
                             static_cast<long long>(size), i, static_cast<long long>(block[i]));
    }
    padded |= paddings[2 * i] + paddings[2 * i + 1] > 0;
    out.dims[0] *= block[i], out.dims[i + 1] = size / block[i];
    blocks.before.push_back(paddings[2 * i]);
  }
  blocks.small = out.dims, blocks.small_strides = RowMajorStrides(out.dims);
  Movement m{{input}, {out}, {}};
  if (padded) {
    m.moves.push_back(
        {BroadcastTo(View{kZeroSource, 0, out.dtype, {}, {}}, out.dims), DenseView(0, 0, out.dtype, out.dims)});
  }
  blocks.ForEach([&](const View& space, const View& group) { m.moves.push_back({space, group}); });
  return m;
}

Result<Movement> BatchToSpace(const TensorType& input, const Dims& block, const Dims& crops) {
  MYCHIP_RETURN_IF_ERROR(Check(input, block, crops, "crops"));
  TensorType out = input;
  int64_t groups = 1;
  for (int64_t b : block) groups *= b;
  if (input.dims[0] % groups != 0) {
    return InvalidArgument("Input batch dimension (%lld) is not divisible by product of block sizes (%lld)",
                           static_cast<long long>(input.dims[0]), static_cast<long long>(groups));
  }
  out.dims[0] /= groups;
  Blocks blocks{input.dtype, block, {}, {}, input.dims, {}, RowMajorStrides(input.dims), out.dims[0]};
  for (size_t i = 0; i < block.size(); ++i) {
    out.dims[i + 1] = input.dims[i + 1] * block[i] - crops[2 * i] - crops[2 * i + 1];
    if (out.dims[i + 1] < 0) {
      return InvalidArgument("cropped_shape[%zu]=%lld must be non-negative", i,
                             static_cast<long long>(out.dims[i + 1]));
    }
    blocks.before.push_back(crops[2 * i]);
  }
  blocks.large = out.dims, blocks.large_strides = RowMajorStrides(out.dims);
  Movement m{{input}, {out}, {}};
  blocks.ForEach([&](const View& space, const View& group) { m.moves.push_back({group, space}); });
  return m;
}

}  // namespace mychip::ops
