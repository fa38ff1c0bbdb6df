// Reductions over axes. f16 and bf16 accumulate in f32 and round once.
#pragma once

#include <vector>

#include "mychip/ops/tensor_type.h"

namespace mychip::ops {

enum class Reduction { kSum, kMean, kProd, kMax, kMin, kAll, kAny, kEuclideanNorm };

// reduced: one flag per dim of `input`. Arguments: the input, the result (row-major over the kept dims).
Result<ProgramPtr> Reduce(const char* name, Reduction kind, const TensorType& input, const std::vector<bool>& reduced);

// Index of the largest (smallest) element along `axis`, the first of equals; NaN is never chosen, as TensorFlow's CPU
// kernel does. Result dtype: s16, u16, s32 or s64.
Result<ProgramPtr> ArgMinMax(bool max, const TensorType& input, int axis, DType result);

// sum(x^2) / 2 over everything.
Result<ProgramPtr> L2Loss(const TensorType& input);

// Inclusive or exclusive scan with add or multiply along `axis`, in f32 for 16-bit floats.
Result<ProgramPtr> Scan(bool product, const TensorType& input, int axis, bool exclusive, bool reverse);

// The command over views: outputs[kept dims] = post(reduce(map(input))). Exposed for softmax and pooling gradients.
ReduceCmd ReduceCommand(Assembler* a, Reduction kind, const View& input, const std::vector<bool>& reduced,
                        const View& output);

}  // namespace mychip::ops
