// Inverse functions of complex numbers. Kahan's formulas: products of square roots instead of logarithms of
// differences, so that nothing cancels and the branch cuts lie where C and NumPy have them.
#pragma once

#include "mychip/ops/expression.h"

namespace mychip::ops {

Ex ComplexAsin(Ex z);
Ex ComplexAcos(Ex z);
Ex ComplexAtan(Ex z);
Ex ComplexAsinh(Ex z);
Ex ComplexAcosh(Ex z);
Ex ComplexAtanh(Ex z);

}  // namespace mychip::ops
