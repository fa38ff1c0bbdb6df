// Softmax and its cross entropies over the last dim of [rows, classes]. f32 inside for 16-bit floats.
//
// Three commands: the row's maximum; the sum of exp(x - max); exp(x - max) / sum. exp is computed twice rather than
// stored: a pass over memory costs the chip more than a transcendental at a quarter of the lane rate.
#pragma once

#include "mychip/ops/tensor_type.h"

namespace mychip::ops {

// Arguments: logits, result.
Result<ProgramPtr> Softmax(bool log, int64_t rows, int64_t classes, DType dtype);

// Arguments: logits, labels [rows], loss [rows], gradient [rows, classes]. A label out of range fails the command.
Result<ProgramPtr> SparseSoftmaxCrossEntropy(int64_t rows, int64_t classes, DType dtype, DType label);

// logits and labels broadcast to [rows, classes]. Arguments: logits, labels, loss [rows], gradient [rows, classes].
Result<ProgramPtr> SoftmaxCrossEntropy(const TensorType& logits, const TensorType& labels, int64_t rows,
                                       int64_t classes);

}  // namespace mychip::ops
