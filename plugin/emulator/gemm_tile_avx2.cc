// The 6x16 micro-kernel and its siblings: a tile of accumulators in registers, two vectors of b and one broadcast of a
// a step.
#include <immintrin.h>

#include "gemm_kernels.h"

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

template <typename L, int kRows, int kVectors, bool kOffsets>
void RunTile(const TileArgs<typename L::T>& t) {
  using T = typename L::T;
  using V = typename L::V;
  V sum[kRows][kVectors];
  const T* a[kRows];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
    a[i] = t.a[i];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sum[i][v] = L::Zero();
  }
  const T* b = t.b;
  const int64_t b_stride = t.b_stride, a_stride = t.a_stride;
  const int64_t* offsets = t.k_offsets;
  int64_t offset = 0;
  for (int64_t k = t.k; k > 0; --k) {
    if (kOffsets) offset = *offsets++;
    V bv[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      bv[v] = L::Load(b + v * L::kLanes);
      // g++ would fold these loads into every multiply-add and then run out of load ports.
      asm("" : "+x"(bv[v]));
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      asm("" : "+r"(a[i]));  // keeps the row pointers in registers instead of as sums with offset
      const V av = L::Broadcast(a[i] + offset);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sum[i][v] = L::MultiplyAdd(av, bv[v], sum[i][v]);
    }
    b += b_stride;
    if (!kOffsets) offset += a_stride;
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
    T* c = t.c + i * t.c_stride;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      T* p = c + v * L::kLanes;
      L::Store(p, t.accumulate ? L::Add(L::Load(p), sum[i][v]) : sum[i][v]);
    }
  }
}

template <typename L, int kRows, int kVectors>
void Tile(const TileArgs<typename L::T>& t) {
  if (t.k_offsets != nullptr) return RunTile<L, kRows, kVectors, true>(t);
  return RunTile<L, kRows, kVectors, false>(t);
}

// Independent products in the lanes of a vector: depthwise convolution. offset(k) comes from the table.
template <typename L, int kRows>
void LaneTile(int64_t n, const TileArgs<typename L::T>& t) {
  using T = typename L::T;
  using V = typename L::V;
  const T* a[kRows];
  for (int i = 0; i < kRows; ++i) a[i] = t.a[i];
  for (int64_t j = 0; j < n; j += L::kLanes) {
    V sum[kRows];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) sum[i] = L::Zero();
    const T* b = t.b + j;
    for (int64_t k = 0; k < t.k; ++k, b += t.b_stride) {
      const int64_t offset = t.k_offsets[k] + j;
      V bv = L::Load(b);
      asm("" : "+x"(bv));
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) sum[i] = L::MultiplyAdd(L::Load(a[i] + offset), bv, sum[i]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      T* c = t.c + i * t.c_stride + j;
      L::Store(c, t.accumulate ? L::Add(L::Load(c), sum[i]) : sum[i]);
    }
  }
}

template <typename L>
constexpr TileKernels<typename L::T> MakeKernels() {
  return {6,
          2 * L::kLanes,
          {nullptr, Tile<L, 1, 2>, Tile<L, 2, 2>, Tile<L, 3, 2>, Tile<L, 4, 2>, Tile<L, 5, 2>, Tile<L, 6, 2>},
          4,
          {0, 8 * L::kLanes, 6 * L::kLanes, 4 * L::kLanes, 3 * L::kLanes},
          {nullptr, Tile<L, 1, 8>, Tile<L, 2, 6>, Tile<L, 3, 4>, Tile<L, 4, 3>},
          {nullptr, LaneTile<L, 1>, LaneTile<L, 2>, LaneTile<L, 3>, LaneTile<L, 4>, LaneTile<L, 5>, LaneTile<L, 6>,
           LaneTile<L, 7>, LaneTile<L, 8>}};
}

template <typename L>
void AddVectors(const typename L::T* more, int64_t n, typename L::T* sum) {
  int64_t i = 0;
  for (; i + L::kLanes <= n; i += L::kLanes) L::Store(sum + i, L::Add(L::Load(sum + i), L::Load(more + i)));
  using T = typename L::T;
  T rest[2 * L::kLanes] = {};
  for (int64_t j = i; j < n; ++j) rest[j - i] = sum[j], rest[L::kLanes + j - i] = more[j];
  L::Store(rest, L::Add(L::Load(rest), L::Load(rest + L::kLanes)));
  for (int64_t j = i; j < n; ++j) sum[j] = rest[j - i];
}

}  // namespace

#define KERNELS(L)                                                  \
  template <>                                                       \
  const TileKernels<L::T>& Kernels<L::T>() {                        \
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
