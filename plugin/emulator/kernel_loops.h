// Loop templates for kernel files (*_avx2.cc): an operation is a struct with a static Do(); the loop vectorises itself.
#pragma once

#include <cstdint>

#include "kernels.h"

namespace mychip::emulator {
namespace {  // each kernel file has its own copies: nothing compiled for AVX2 is shared

template <typename D, typename A, typename F>
void UnaryLoop(void* dst, const void* a, const void*, const void*, int64_t n, uint64_t) {
  D* d = static_cast<D*>(dst);
  const A* x = static_cast<const A*>(a);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) d[i] = F::Do(x[i]);
}

template <typename D, typename A, typename F, int kMask>
void BinaryLoop(void* dst, const void* a, const void* b, const void*, int64_t n, uint64_t) {
  D* d = static_cast<D*>(dst);
  const A* x = static_cast<const A*>(a);
  const A* y = static_cast<const A*>(b);
  const A x0 = x[0], y0 = y[0];
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) d[i] = F::Do(kMask & 1 ? x0 : x[i], kMask & 2 ? y0 : y[i]);
}

template <typename D, typename A, typename F, int kMask>
void TernaryLoop(void* dst, const void* a, const void* b, const void* c, int64_t n, uint64_t) {
  D* d = static_cast<D*>(dst);
  const A* x = static_cast<const A*>(a);
  const D* y = static_cast<const D*>(b);
  const D* z = static_cast<const D*>(c);
  const A x0 = x[0];
  const D y0 = y[0], z0 = z[0];
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) d[i] = F::Do(kMask & 1 ? x0 : x[i], kMask & 2 ? y0 : y[i], kMask & 4 ? z0 : z[i]);
}

template <typename D, typename A, typename F>
KernelSet Unary() {
  return {{UnaryLoop<D, A, F>}};
}
template <typename D, typename A, typename F>
KernelSet Binary() {
  return {{BinaryLoop<D, A, F, 0>, BinaryLoop<D, A, F, 1>, BinaryLoop<D, A, F, 2>}};
}
template <typename D, typename A, typename F>
KernelSet Ternary() {
  return {{TernaryLoop<D, A, F, 0>, TernaryLoop<D, A, F, 1>, TernaryLoop<D, A, F, 2>, TernaryLoop<D, A, F, 3>,
           TernaryLoop<D, A, F, 4>, TernaryLoop<D, A, F, 5>, TernaryLoop<D, A, F, 6>, TernaryLoop<D, A, F, 7>}};
}

}  // namespace
}  // namespace mychip::emulator
