// View: how a command addresses elements of one of its program's buffers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mychip/runtime/dtype.h"
#include "mychip/runtime/export.h"

namespace mychip {

using Dims = std::vector<int64_t>;

inline constexpr int kMaxRank = 32;  // of views and iteration spaces in a valid program

// Element (i0, i1, ...) lies at byte `offset + ByteSize(dtype) * sum(i_d * strides[d])` of buffer `buffer`.
// A stride of 0 broadcasts, a negative one reverses (offset then names the element of index 0, which lies last).
// Dims may be 0 (no element is touched). Rank 0 is a scalar.
struct View {
  int buffer = -1;     // index into Program::buffers
  int64_t offset = 0;  // bytes, multiple of the element size
  DType dtype = DType::kF32;
  Dims dims;
  Dims strides;  // elements, one per dim

  int rank() const { return static_cast<int>(dims.size()); }
};

MYCHIP_API int64_t NumElements(const Dims& dims);
MYCHIP_API Dims RowMajorStrides(const Dims& dims);
// A dense row-major view.
MYCHIP_API View DenseView(int buffer, int64_t offset, DType dtype, Dims dims);
// True when the elements lie densely in row-major order (dims of size 1 may have any stride).
MYCHIP_API bool IsDense(const View& view);

// View algebra. Every function returns a view of the same elements, addressed otherwise; no data moves.
// Result dim d is source dim permutation[d].
MYCHIP_API View Transposed(const View& view, const Dims& permutation);
// Result has `dims`; source dim d becomes result dim `map[d]` (HLO broadcast_dimensions); others get stride 0.
// A source dim of size 1 may map to a larger one.
MYCHIP_API View Broadcast(const View& view, const Dims& dims, const Dims& map);
// start[d] <= index < limit[d] in steps of step[d] > 0 (HLO slice).
MYCHIP_API View Sliced(const View& view, const Dims& start, const Dims& limit, const Dims& step);
MYCHIP_API View Reversed(const View& view, const Dims& dims_to_reverse);
// False when the strides do not allow `dims` without a copy. NumElements must agree.
MYCHIP_API bool Reshaped(const View& view, const Dims& dims, View* result);
// [buffer+offset dtype dims strides] as assembly text.
MYCHIP_API std::string ToString(const View& view);

}  // namespace mychip
