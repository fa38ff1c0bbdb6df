#include "kernels_math.h"

namespace mychip::emulator {

KernelSet FindF32MathAvx512(VOp op) { return FindMath(op); }

}  // namespace mychip::emulator
