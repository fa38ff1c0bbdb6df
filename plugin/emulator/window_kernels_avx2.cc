#include "window_kernels.h"

#include <immintrin.h>

namespace mychip::emulator {
namespace {

template <WindowOp kOp>
__m256 Combine(__m256 sum, __m256 x) {
  if (kOp == WindowOp::kAdd) return _mm256_add_ps(sum, x);
  // The instructions return the second operand for equal values and NaN.
  const __m256 r = kOp == WindowOp::kMax ? _mm256_max_ps(x, sum) : _mm256_min_ps(x, sum);
  const __m256 with_x = _mm256_blendv_ps(r, x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  return _mm256_blendv_ps(with_x, sum, _mm256_cmp_ps(sum, sum, _CMP_UNORD_Q));
}

template <WindowOp kOp>
void Row(const float* in, const int64_t* taps, int64_t count, float init, int64_t n, float* out) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    __m256 a = _mm256_set1_ps(init), b = a;
    for (int64_t t = 0; t < count; ++t) {
      a = Combine<kOp>(a, _mm256_loadu_ps(in + taps[t] + i));
      b = Combine<kOp>(b, _mm256_loadu_ps(in + taps[t] + i + 8));
    }
    _mm256_storeu_ps(out + i, a);
    _mm256_storeu_ps(out + i + 8, b);
  }
  for (; i < n; i += 8) {
    const int64_t left = n - i;
    const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(left < 8 ? static_cast<int>(left) : 8),
                                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    __m256 a = _mm256_set1_ps(init);
    for (int64_t t = 0; t < count; ++t) a = Combine<kOp>(a, _mm256_maskload_ps(in + taps[t] + i, mask));
    _mm256_maskstore_ps(out + i, mask, a);
  }
}

}  // namespace

void WindowRowF32(WindowOp op, const float* in, const int64_t* taps, int64_t count, float init, int64_t n, float* out) {
  switch (op) {
    case WindowOp::kAdd:
      return Row<WindowOp::kAdd>(in, taps, count, init, n, out);
    case WindowOp::kMax:
      return Row<WindowOp::kMax>(in, taps, count, init, n, out);
    case WindowOp::kMin:
      return Row<WindowOp::kMin>(in, taps, count, init, n, out);
    case WindowOp::kOther:
      return;
  }
}

}  // namespace mychip::emulator
