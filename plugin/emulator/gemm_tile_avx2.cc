// The micro-kernels for AVX2 and FMA: 6x16 in f32.
#include <immintrin.h>

#include "gemm_tile.h"

namespace mychip::emulator {
namespace {

struct F32 {
  using T = float;
  using V = __m256;
  static constexpr int kLanes = 8;
  static V Zero() { return _mm256_setzero_ps(); }
  static V Load(const T* p) { return _mm256_loadu_ps(p); }
  static void Store(T* p, V v) { _mm256_storeu_ps(p, v); }
  static V Broadcast(const T* p) { return _mm256_broadcast_ss(p); }
  static V Add(V a, V b) { return _mm256_add_ps(a, b); }
  static V MultiplyAdd(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
};

struct F64 {
  using T = double;
  using V = __m256d;
  static constexpr int kLanes = 4;
  static V Zero() { return _mm256_setzero_pd(); }
  static V Load(const T* p) { return _mm256_loadu_pd(p); }
  static void Store(T* p, V v) { _mm256_storeu_pd(p, v); }
  static V Broadcast(const T* p) { return _mm256_broadcast_sd(p); }
  static V Add(V a, V b) { return _mm256_add_pd(a, b); }
  static V MultiplyAdd(V a, V b, V c) { return _mm256_fmadd_pd(a, b, c); }
};

struct U32 {
  using T = uint32_t;
  using V = __m256i;
  static constexpr int kLanes = 8;
  static V Zero() { return _mm256_setzero_si256(); }
  static V Load(const T* p) { return _mm256_loadu_si256(reinterpret_cast<const V*>(p)); }
  static void Store(T* p, V v) { _mm256_storeu_si256(reinterpret_cast<V*>(p), v); }
  static V Broadcast(const T* p) { return _mm256_set1_epi32(static_cast<int>(*p)); }
  static V Add(V a, V b) { return _mm256_add_epi32(a, b); }
  static V MultiplyAdd(V a, V b, V c) { return _mm256_add_epi32(c, _mm256_mullo_epi32(a, b)); }
};

struct U64 {
  using T = uint64_t;
  using V = __m256i;
  static constexpr int kLanes = 4;
  static V Zero() { return _mm256_setzero_si256(); }
  static V Load(const T* p) { return _mm256_loadu_si256(reinterpret_cast<const V*>(p)); }
  static void Store(T* p, V v) { _mm256_storeu_si256(reinterpret_cast<V*>(p), v); }
  static V Broadcast(const T* p) { return _mm256_set1_epi64x(static_cast<long long>(*p)); }
  static V Add(V a, V b) { return _mm256_add_epi64(a, b); }
  static V MultiplyAdd(V a, V b, V c) {
    const V cross =
        _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(a, 32), b), _mm256_mul_epu32(a, _mm256_srli_epi64(b, 32)));
    return _mm256_add_epi64(c, _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64(cross, 32)));
  }
};

// Complex numbers lie as (re, im) pairs of lanes. (ar br - ai bi, ar bi + ai br) with one rounding saved, then added.
struct C64 {
  using T = Complex64;
  using V = __m256;
  static constexpr int kLanes = 4;
  static V Zero() { return _mm256_setzero_ps(); }
  static V Load(const T* p) { return _mm256_loadu_ps(&p->re); }
  static void Store(T* p, V v) { _mm256_storeu_ps(&p->re, v); }
  static V Broadcast(const T* p) { return _mm256_castpd_ps(_mm256_broadcast_sd(reinterpret_cast<const double*>(p))); }
  static V Add(V a, V b) { return _mm256_add_ps(a, b); }
  static V MultiplyAdd(V a, V b, V c) {
    const V cross = _mm256_mul_ps(_mm256_movehdup_ps(a), _mm256_permute_ps(b, 0xB1));
    return _mm256_add_ps(c, _mm256_fmaddsub_ps(_mm256_moveldup_ps(a), b, cross));
  }
};

struct C128 {
  using T = Complex128;
  using V = __m256d;
  static constexpr int kLanes = 2;
  static V Zero() { return _mm256_setzero_pd(); }
  static V Load(const T* p) { return _mm256_loadu_pd(&p->re); }
  static void Store(T* p, V v) { _mm256_storeu_pd(&p->re, v); }
  static V Broadcast(const T* p) { return _mm256_broadcast_pd(reinterpret_cast<const __m128d*>(p)); }
  static V Add(V a, V b) { return _mm256_add_pd(a, b); }
  static V MultiplyAdd(V a, V b, V c) {
    const V cross = _mm256_mul_pd(_mm256_permute_pd(a, 0xF), _mm256_permute_pd(b, 0x5));
    return _mm256_add_pd(c, _mm256_fmaddsub_pd(_mm256_movedup_pd(a), b, cross));
  }
};

template <typename L>
constexpr TileKernels<typename L::T> MakeKernels() {
  return {6,
          2 * L::kLanes,
          L::kLanes,
          {nullptr, Tile<L, 1, 2>, Tile<L, 2, 2>, Tile<L, 3, 2>, Tile<L, 4, 2>, Tile<L, 5, 2>, Tile<L, 6, 2>},
          {{nullptr, Tile<L, 1, 1>, Tile<L, 2, 1>, Tile<L, 3, 1>, Tile<L, 4, 1>, Tile<L, 5, 1>, Tile<L, 6, 1>}},
          4,
          {0, 8 * L::kLanes, 6 * L::kLanes, 4 * L::kLanes, 3 * L::kLanes},
          {nullptr, Tile<L, 1, 8>, Tile<L, 2, 6>, Tile<L, 3, 4>, Tile<L, 4, 3>},
          {nullptr, LaneTile<L, 1>, LaneTile<L, 2>, LaneTile<L, 3>, LaneTile<L, 4>, LaneTile<L, 5>, LaneTile<L, 6>,
           LaneTile<L, 7>, LaneTile<L, 8>}};
}

}  // namespace

#define KERNELS(L)                                                  \
  template <>                                                       \
  const TileKernels<L::T>& KernelsAvx2<L::T>() {                    \
    static constexpr TileKernels<L::T> kKernels = MakeKernels<L>(); \
    return kKernels;                                                \
  }                                                                 \
  template <>                                                       \
  void AddInto<L::T>(const L::T* more, int64_t n, L::T* sum) {      \
    AddVectors<L>(more, n, sum);                                    \
  }
KERNELS(F32)
KERNELS(F64)
KERNELS(U32)
KERNELS(U64)
KERNELS(C64)
KERNELS(C128)
#undef KERNELS

float DotF32(const float* a, const float* b, int64_t k) {
  __m256 sum[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
  int64_t i = 0;
  for (; i + 32 <= k; i += 32) {
    for (int v = 0; v < 4; ++v) {
      sum[v] = _mm256_fmadd_ps(_mm256_loadu_ps(a + i + 8 * v), _mm256_loadu_ps(b + i + 8 * v), sum[v]);
    }
  }
  for (; i + 8 <= k; i += 8) sum[0] = _mm256_fmadd_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i), sum[0]);
  const __m256 all = _mm256_add_ps(_mm256_add_ps(sum[0], sum[1]), _mm256_add_ps(sum[2], sum[3]));
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  float total = _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
  for (; i < k; ++i) total = __builtin_fmaf(a[i], b[i], total);
  return total;
}

}  // namespace mychip::emulator
