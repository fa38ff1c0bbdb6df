// Formulas of TensorFlow's elementwise ops that are more than one vector instruction. Operand order is the TF op's.
// What a formula does at NaN, infinity and zero is what TensorFlow's CPU kernel does.
#pragma once

#include "mychip/ops/elementwise.h"

namespace mychip::ops {

// Conversions and copies, arithmetic, functions, activations, gradients, ternary. clang-format 14 never settles on it.
// clang-format off
#define MYCHIP_FORMULAS(X) \
  X(Same) X(Zeros) X(Ones) X(Square) X(Reciprocal) X(SquaredDifference) X(MulNoNan) X(Xlogy) X(Xlog1py) \
  X(Xdivy) X(Conj) X(Angle) X(RealSign) X(ComplexSign) X(PopulationCount) X(ApproximateEqual) X(ShiftLeft) X(ShiftRight) \
  X(FloorDiv) X(TruncateDiv) X(Sinh) X(Cosh) X(Asin) X(Acos) X(Atan) X(Asinh) X(Acosh) X(Atanh) X(Relu) X(Relu6) X(LeakyRelu) \
  X(Elu) X(Selu) X(Softplus) X(Softsign) X(ReluGrad) X(Relu6Grad) X(LeakyReluGrad) X(EluGrad) X(SeluGrad) \
  X(SoftplusGrad) X(SoftsignGrad) X(TanhGrad) X(SigmoidGrad) X(SqrtGrad) X(RsqrtGrad) X(ReciprocalGrad) \
  X(ClipByValue)
// clang-format on

#define X(name) Ex name(const Ex* x, double attr);
MYCHIP_FORMULAS(X)
#undef X

// x[0] + x[1] + ... + x[count - 1], left to right.
Ex Sum(const Ex* x, double count);

}  // namespace mychip::ops
