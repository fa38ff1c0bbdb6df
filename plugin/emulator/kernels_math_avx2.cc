#include "kernels_math.h"

namespace mychip::emulator {

KernelSet FindF32MathAvx2(VOp op) { return FindMath(op); }

}  // namespace mychip::emulator
