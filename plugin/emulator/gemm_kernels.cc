#include "gemm_kernels.h"

#include <atomic>

namespace mychip::emulator {
namespace {

std::atomic<bool> g_avx512{__builtin_cpu_supports("avx512f") != 0};

}  // namespace

void AllowAvx512(bool allowed) { g_avx512 = allowed && __builtin_cpu_supports("avx512f"); }

template <>
const TileKernels<float>& Kernels<float>() {
  return g_avx512.load(std::memory_order_relaxed) ? KernelsAvx512<float>() : KernelsAvx2<float>();
}
template <>
const TileKernels<double>& Kernels<double>() {
  return g_avx512.load(std::memory_order_relaxed) ? KernelsAvx512<double>() : KernelsAvx2<double>();
}
template <>
const TileKernels<uint32_t>& Kernels<uint32_t>() {
  return KernelsAvx2<uint32_t>();
}
template <>
const TileKernels<uint64_t>& Kernels<uint64_t>() {
  return KernelsAvx2<uint64_t>();
}
template <>
const TileKernels<Complex64>& Kernels<Complex64>() {
  return KernelsAvx2<Complex64>();
}
template <>
const TileKernels<Complex128>& Kernels<Complex128>() {
  return KernelsAvx2<Complex128>();
}

}  // namespace mychip::emulator
