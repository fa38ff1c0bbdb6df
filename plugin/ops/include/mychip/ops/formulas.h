// Formulas of TensorFlow's elementwise ops that are more than one vector instruction. Operand order is the TF op's.
// What a formula does at NaN, infinity and zero is what TensorFlow's CPU kernel does.
#pragma once

#include "mychip/ops/elementwise.h"

namespace mychip::ops {

#define MYCHIP_FORMULAS(X)                                                                                         \
  /* conversions and copies */                                                                                     \
  X(Same)                                                                                                          \
  X(Zeros)                                                                                                         \
  X(Ones) /* arithmetic */                                                                                         \
  X(Square)                                                                                                        \
  X(Reciprocal)                                                                                                    \
  X(SquaredDifference)                                                                                             \
  X(MulNoNan)                                                                                                      \
  X(Xlogy)                                                                                                         \
  X(Xlog1py)                                                                                                       \
  X(Xdivy)                                                                                                         \
  X(Conj)                                                                                                          \
  X(Angle) X(ComplexSign) X(PopulationCount) X(ApproximateEqual) X(ShiftLeft) X(ShiftRight)                        \
      X(FloorDiv)                                                          /* functions */                         \
      X(Sinh) X(Cosh) X(Asin) X(Acos) X(Atan) X(Asinh) X(Acosh) X(Atanh)   /* activations */                       \
      X(Relu) X(Relu6) X(LeakyRelu) X(Elu) X(Selu) X(Softplus) X(Softsign) /* gradients */                         \
      X(ReluGrad) X(Relu6Grad) X(LeakyReluGrad) X(EluGrad) X(SeluGrad) X(SoftplusGrad) X(SoftsignGrad) X(TanhGrad) \
          X(SigmoidGrad) X(SqrtGrad) X(RsqrtGrad) X(ReciprocalGrad) /* ternary */                                  \
      X(ClipByValue)

#define X(name) Ex name(const Ex* x, double attr);
MYCHIP_FORMULAS(X)
#undef X

// x[0] + x[1] + ... + x[count - 1], left to right.
Ex Sum(const Ex* x, double count);

}  // namespace mychip::ops
