// Segment reductions. Rows whose id is out of [0, segments) are dropped, as TensorFlow's GPU kernels do; f16 and bf16
// are combined in f32 and rounded once.
#pragma once

#include "mychip/ops/gather.h"

namespace mychip::ops {

// ids [m], data [m, inner] -> [segments, inner]; empty segments hold the identity (for min and max the largest and
// smallest finite value). Arguments: data, ids, result.
Result<ProgramPtr> UnsortedSegment(Combine combine, int64_t m, int64_t inner, int64_t segments, DType data, DType ids);

enum class Segment { kSum, kMean, kSqrtN, kProd, kMin, kMax };
// Rows data [rows, inner], picked by indices [m] when they have a dtype (picked true) or taken as they are (m == rows).
struct SegmentShape {
  int64_t rows = 0, m = 0, inner = 1, segments = 0;
  bool picked = false;
  DType data = DType::kF32, indices = DType::kS32, ids = DType::kS32;
};
// Empty segments hold 0 (kProd: 1), as TensorFlow's SegmentSum and its kin do. kSqrtN divides the sum by the square
// root of the number of rows. Arguments: data, [indices [m],] ids [m], result [segments, inner].
Result<ProgramPtr> SortedSegment(Segment kind, const SegmentShape& shape);
// The gradient of the picked kSum, kMean and kSqrtN with respect to data. Arguments: gradient [segments, inner],
// indices [m], ids [m], result [rows, inner].
Result<ProgramPtr> SortedSegmentGrad(Segment kind, const SegmentShape& shape);

// out [rows, width] = 0, then out[indices[k][i]] = data[k][i] for each k in turn. counts: rows of each data.
// Arguments: data[k] [counts[k], width] ..., all indices in one s64 vector, result.
Result<ProgramPtr> DynamicStitch(const Dims& counts, int64_t rows, int64_t width, DType dtype);

}  // namespace mychip::ops
