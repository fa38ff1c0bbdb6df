#include "kernels.h"

namespace mychip::emulator {

KernelSet FindKernel(VOp op, DType result, DType operand) {
  if (op == VOp::kSelect) return FindSelectKernel(result);
  if (op == VOp::kComplex) return FindComplexKernel(op, result, operand);
  switch (LaneOf(operand)) {
    case DType::kF32:
      return FindF32Kernel(op, result);
    case DType::kF64:
      return FindF64Kernel(op, result);
    case DType::kC64:
    case DType::kC128:
      return FindComplexKernel(op, result, operand);
    default:
      return FindIntKernel(op, result, operand);
  }
}

}  // namespace mychip::emulator
