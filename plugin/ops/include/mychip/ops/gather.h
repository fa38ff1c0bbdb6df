// Gathers and scatters. An index out of range fails the command, as TensorFlow's CPU kernels do.
#pragma once

#include "mychip/ops/tensor_type.h"

namespace mychip::ops {

// params [batch, outer, n, inner], indices [batch, m] -> [batch, outer, m, inner]: every TensorFlow gather along one
// axis, with its dims grouped.
struct GatherShape {
  int64_t batch = 1, outer = 1, n = 1, inner = 1, m = 1;
};
// Arguments: params, indices, result.
Result<ProgramPtr> Gather(const GatherShape& shape, DType params, DType indices);
// indices [..., depth] address the leading dims of params. Arguments: params, indices, result.
Result<ProgramPtr> GatherNd(const TensorType& params, const TensorType& indices, const TensorType& out);

enum class Combine { kUpdate, kAdd, kSub, kMin, kMax, kMul };
// The result starts as zeros (from_tensor false) or as a copy of a tensor; then updates are combined into the slices
// that indices [..., depth] name. Arguments: [tensor,] indices, updates, result.
Result<ProgramPtr> ScatterNd(Combine combine, bool from_tensor, const TensorType& indices, const TensorType& updates,
                             const TensorType& out);

// The input with `update` over it at clamp(start[d], 0, input.dims[d] - update.dims[d]). Arguments: input, update,
// start [rank], result, which may be the input.
Result<ProgramPtr> DynamicUpdateSlice(const TensorType& input, const TensorType& update, DType start);

// indices [prefix, suffix] -> [prefix, depth, suffix]: on where the index equals the position, else off.
// Arguments: indices, on, off, result.
Result<ProgramPtr> OneHot(int64_t prefix, int64_t depth, int64_t suffix, DType indices, DType value);

// The k largest along the last dim of [rows, n], the lower index first among equals. Arguments: input, values, indices.
Result<ProgramPtr> TopK(int64_t rows, int64_t n, int64_t k, DType value, DType index);

// Zero outside the band of the last two dims; a negative bound keeps the whole triangle.
Result<ProgramPtr> MatrixBandPart(const TensorType& input, int64_t lower, int64_t upper);

}  // namespace mychip::ops
