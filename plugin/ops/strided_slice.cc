// TensorFlow's strided slice: masks, ellipsis, new and dropped axes.
#include <algorithm>

#include "mychip/ops/movement.h"

namespace mychip::ops {
namespace {

// What one position of the result's shape comes from: an input dim, or nothing (a new axis of size 1).
struct Entry {
  int dim = -1;  // -1: new axis
  int64_t begin = 0, end = 0, stride = 1;
  bool begin_masked = true, end_masked = true, shrink = false;
};

bool Bit(int64_t mask, size_t i) { return mask >> i & 1; }

// One entry per input dim and per new axis, in order: the ellipsis is expanded, missing dims are taken whole.
Result<std::vector<Entry>> Expand(int rank, const StridedSpec& spec) {
  const size_t n = spec.begin.size();
  size_t named = 0;  // entries that consume an input dim
  bool ellipsis = false;
  for (size_t i = 0; i < n; ++i) {
    if (Bit(spec.ellipsis_mask, i)) {
      if (ellipsis) return InvalidArgument("Multiple ellipses in slice spec not allowed");
      ellipsis = true;
    } else if (!Bit(spec.new_axis_mask, i)) {
      ++named;
    }
  }
  if (named > static_cast<size_t>(rank)) {
    return InvalidArgument("Index out of range using input dim %d; input has only %d dims", rank, rank);
  }
  std::vector<Entry> entries;
  int dim = 0;
  const auto whole = [&](size_t count) {
    for (size_t k = 0; k < count; ++k) entries.push_back({dim++});
  };
  for (size_t i = 0; i < n; ++i) {
    if (Bit(spec.ellipsis_mask, i)) {
      whole(rank - named);
    } else if (Bit(spec.new_axis_mask, i)) {
      entries.push_back({-1});
    } else {
      entries.push_back({dim++, spec.begin[i], spec.end[i], spec.strides[i], Bit(spec.begin_mask, i),
                         Bit(spec.end_mask, i), Bit(spec.shrink_axis_mask, i)});
    }
  }
  whole(rank - dim);
  return entries;
}

int64_t Clamp(int64_t x, int64_t dim, int64_t low, int64_t high) {
  return std::min(std::max(x < 0 ? x + dim : x, low), high);
}

}  // namespace

Result<View> StridedView(DType dtype, const Dims& dims, const StridedSpec& spec) {
  if (spec.begin.size() != spec.end.size() || spec.begin.size() != spec.strides.size()) {
    return InvalidArgument("Expected begin, end, and strides to be 1D equal size tensors, but got sizes %zu, %zu, %zu",
                           spec.begin.size(), spec.end.size(), spec.strides.size());
  }
  MYCHIP_ASSIGN_OR_RETURN(const std::vector<Entry> entries, Expand(static_cast<int>(dims.size()), spec));
  const Dims strides = RowMajorStrides(dims);
  View v{0, 0, dtype, {}, {}};
  for (const Entry& e : entries) {
    if (e.dim < 0) {
      v.dims.push_back(1), v.strides.push_back(0);
      continue;
    }
    const int64_t n = dims[e.dim], step = e.stride;
    if (step == 0) return InvalidArgument("strides[%d] must be non-zero", e.dim);
    if (e.shrink) {
      if (step < 0) return InvalidArgument("only stride 1 allowed on non-range indexing.");
      const int64_t i = e.begin < 0 ? e.begin + n : e.begin;
      if (i < 0 || i >= n) {
        return InvalidArgument("slice index %lld of dimension %d out of bounds.", static_cast<long long>(e.begin),
                               e.dim);
      }
      v.offset += i * strides[e.dim] * ByteSize(dtype);
      continue;
    }
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
    const int64_t first = e.begin_masked ? (step > 0 ? low : high) : Clamp(e.begin, n, low, high);
    const int64_t last = e.end_masked ? (step > 0 ? high : low) : Clamp(e.end, n, low, high);
    const int64_t span = step > 0 ? last - first : first - last, pace = step > 0 ? step : -step;
    const int64_t size = span <= 0 ? 0 : (span + pace - 1) / pace;
    if (size > 0) v.offset += first * strides[e.dim] * ByteSize(dtype);
    v.dims.push_back(size), v.strides.push_back(strides[e.dim] * step);
  }
  if (NumElements(v.dims) == 0) v.offset = 0;
  return v;
}

Result<Movement> StridedSlice(const TensorType& input, const StridedSpec& spec) {
  MYCHIP_ASSIGN_OR_RETURN(const View src, StridedView(input.dtype, input.dims, spec));
  const TensorType out{input.dtype, src.dims};
  return Movement{{input}, {out}, {{src, DenseView(0, 0, out.dtype, out.dims)}}};
}

Result<Movement> StridedSliceGrad(const TensorType& dy, const Dims& dims, const StridedSpec& spec) {
  MYCHIP_ASSIGN_OR_RETURN(const View dst, StridedView(dy.dtype, dims, spec));
  if (dst.dims != dy.dims) {
    return InvalidArgument("shape of dy was %s instead of %s", ToString(dy.dims).c_str(), ToString(dst.dims).c_str());
  }
  const TensorType out{dy.dtype, dims};
  Movement m{{dy}, {out}, {}};
  const View zero{kZeroSource, 0, dy.dtype, {}, {}};
  if (dy.elements() < out.elements()) m.moves.push_back({BroadcastTo(zero, dims), DenseView(0, 0, out.dtype, dims)});
  if (dy.elements() > 0) m.moves.push_back({DenseView(0, 0, dy.dtype, dy.dims), dst});
  return m;
}

}  // namespace mychip::ops
