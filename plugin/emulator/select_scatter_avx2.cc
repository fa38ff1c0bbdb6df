#include <immintrin.h>

#include "select_scatter_kernels.h"

namespace mychip::emulator {
namespace {

template <int kCompare>
void Select(const float* operand, const int64_t* taps, int64_t count, int64_t n, int32_t* selected) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m256 best = _mm256_loadu_ps(operand + taps[0] + i);
    __m256 which = _mm256_setzero_ps();
    for (int64_t t = 1; t < count; ++t) {
      const __m256 value = _mm256_loadu_ps(operand + taps[t] + i);
      const __m256 keep = _mm256_cmp_ps(best, value, kCompare);
      best = _mm256_blendv_ps(value, best, keep);
      which = _mm256_blendv_ps(_mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(t))), which, keep);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(selected + i), _mm256_castps_si256(which));
  }
  for (; i < n; ++i) {
    __m128 best = _mm_set_ss(operand[taps[0] + i]);
    selected[i] = 0;
    for (int64_t t = 1; t < count; ++t) {
      const __m128 value = _mm_set_ss(operand[taps[t] + i]);
      if ((_mm_movemask_ps(_mm_cmp_ss(best, value, kCompare)) & 1) != 0) continue;
      best = value;
      selected[i] = static_cast<int32_t>(t);
    }
  }
}

}  // namespace

void SelectScatterF32(SelectRule rule, const float* operand, const int64_t* taps, int64_t count, const float* values,
                      int64_t n, float* out, int64_t out_taps, int32_t* selected) {
  if (rule == SelectRule::kGe) {
    Select<_CMP_GE_OQ>(operand, taps, count, n, selected);
  } else if (rule == SelectRule::kGt) {
    Select<_CMP_GT_OQ>(operand, taps, count, n, selected);
  } else {
    Select<_CMP_NLT_UQ>(operand, taps, count, n, selected);
  }
  const int64_t* to = taps + out_taps;
  for (int64_t i = 0; i < n; ++i) out[to[selected[i]] + i] += values[i];
}

}  // namespace mychip::emulator
