// Matrix products. f16 and bf16 accumulate in f32, complex and integers in their own type.
#pragma once

#include <string>
#include <vector>

#include "mychip/ops/tensor_type.h"

namespace mychip::ops {

// How one operand enters: transposed in its last two dims, and conjugated.
struct MatrixSide {
  TensorType type;
  bool transpose = false, conjugate = false;
};

// Rank 2 or more; batch dims broadcast by NumPy's rule. Arguments: a, b, the result of dims `out`.
Result<ProgramPtr> MatMul(const MatrixSide& a, const MatrixSide& b, const TensorType& out,
                          Precision precision = Precision::kF32);

// The command over views whose batch dims agree; accumulates as the op library does.
MatMulCmd MatMulCommand(const View& a, const View& b, const View& out, Precision precision = Precision::kF32);

// Einstein summation over one or two operands; repeated labels and an ellipsis are allowed.
struct EinsumPlan {
  std::vector<std::vector<int>> inputs;  // a label per dim; labels of the ellipsis are negative
  std::vector<int> output;
};
// Parses `equation` for operands of these dims and computes the result's dims.
Result<EinsumPlan> ParseEinsum(const std::string& equation, const std::vector<TensorType>& inputs, Dims* out);
Result<ProgramPtr> Einsum(const EinsumPlan& plan, const std::vector<TensorType>& inputs, const TensorType& out,
                          Precision precision = Precision::kF32);

}  // namespace mychip::ops
