#include "mychip/runtime/view.h"

#include <algorithm>
#include <limits>

namespace mychip {
namespace {

std::string Join(const Dims& values) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) text += (i ? "," : "") + std::to_string(values[i]);
  return text;
}

// Products of dims can only overflow for views that no buffer can hold; Validate refuses those, so wrapping is
// harmless.
int64_t WrappingMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace

int64_t NumElements(const Dims& dims) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  int64_t count = 1;
  for (int64_t dim : dims) {
    if (__builtin_mul_overflow(count, dim, &count)) return std::numeric_limits<int64_t>::max();
  }
  return count;
}

Dims RowMajorStrides(const Dims& dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    strides[d] = stride;
    stride = WrappingMul(stride, std::max<int64_t>(dims[d], 1));
  }
  return strides;
}

View DenseView(int buffer, int64_t offset, DType dtype, Dims dims) {
  View view;
  view.buffer = buffer;
  view.offset = offset;
  view.dtype = dtype;
  view.strides = RowMajorStrides(dims);
  view.dims = std::move(dims);
  return view;
}

bool IsDense(const View& view) {
  int64_t stride = 1;
  for (size_t d = view.dims.size(); d-- > 0;) {
    if (view.dims[d] == 0) return true;
    if (view.dims[d] == 1) continue;
    if (view.strides[d] != stride) return false;
    stride = WrappingMul(stride, view.dims[d]);
  }
  return true;
}

View Transposed(const View& view, const Dims& permutation) {
  View result = view;
  for (size_t d = 0; d < permutation.size(); ++d) {
    result.dims[d] = view.dims[permutation[d]];
    result.strides[d] = view.strides[permutation[d]];
  }
  return result;
}

View Broadcast(const View& view, const Dims& dims, const Dims& map) {
  View result = view;
  result.dims = dims;
  result.strides.assign(dims.size(), 0);
  for (size_t d = 0; d < map.size(); ++d) {
    if (view.dims[d] == dims[map[d]]) result.strides[map[d]] = view.strides[d];
  }
  return result;
}

View Sliced(const View& view, const Dims& start, const Dims& limit, const Dims& step) {
  View result = view;
  for (size_t d = 0; d < start.size(); ++d) {
    const int64_t length = limit[d] - start[d];
    result.dims[d] = length <= 0 ? 0 : (length + step[d] - 1) / step[d];
    result.strides[d] = view.strides[d] * step[d];
    result.offset += start[d] * view.strides[d] * ByteSize(view.dtype);
  }
  // An empty slice may start one past the end; it touches nothing, so give it an address that surely exists.
  if (NumElements(result.dims) == 0) result.offset = view.offset;
  return result;
}

View Reversed(const View& view, const Dims& dims_to_reverse) {
  View result = view;
  const bool empty = NumElements(view.dims) == 0;
  for (int64_t d : dims_to_reverse) {
    if (!empty) result.offset += (view.dims[d] - 1) * view.strides[d] * ByteSize(view.dtype);
    result.strides[d] = -view.strides[d];
  }
  return result;
}

bool Reshaped(const View& view, const Dims& dims, View* result) {
  const int64_t count = NumElements(view.dims);
  if (NumElements(dims) != count) return false;
  View out = view;
  out.dims = dims;
  out.strides = RowMajorStrides(dims);
  if (count == 0) {
    *result = std::move(out);
    return true;
  }
  // Source dims of size 1 address nothing. Match groups of source and result dims with equal products; inside a group
  // the source must be one run of equal steps.
  Dims from, steps;
  for (int d = 0; d < view.rank(); ++d) {
    if (view.dims[d] != 1) from.push_back(view.dims[d]), steps.push_back(view.strides[d]);
  }
  size_t i = 0, j = 0;
  while (i < from.size()) {
    size_t i_end = i + 1, j_end = j;
    int64_t source = from[i], target = 1;
    while (target != source || target == 1) {
      if (target < source) {
        if (j_end == dims.size()) return false;
        target *= dims[j_end++];
      } else {
        if (i_end == from.size()) return false;
        source *= from[i_end++];
      }
    }
    for (size_t k = i + 1; k < i_end; ++k) {
      if (steps[k - 1] != steps[k] * from[k]) return false;
    }
    int64_t stride = steps[i_end - 1];
    for (size_t k = j_end; k-- > j;) {
      out.strides[k] = stride;
      stride *= dims[k];
    }
    i = i_end, j = j_end;
  }
  *result = std::move(out);
  return true;
}

std::string ToString(const View& view) {
  std::string text = "[b" + std::to_string(view.buffer) + "+" + std::to_string(view.offset) + " " + Name(view.dtype);
  if (!view.dims.empty()) text += "(" + Join(view.dims) + ")";
  if (view.dims.size() == view.strides.size() && !IsDense(view)) text += ":(" + Join(view.strides) + ")";
  return text + "]";
}

}  // namespace mychip
