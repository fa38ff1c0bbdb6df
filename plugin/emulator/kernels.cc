#include "kernels.h"

namespace mychip::emulator {

KernelSet FindF32MathKernel(VOp op) {
  static const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  return avx512 ? FindF32MathAvx512(op) : FindF32MathAvx2(op);
}

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
