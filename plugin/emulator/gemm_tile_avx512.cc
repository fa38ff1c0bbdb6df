// The micro-kernels for AVX-512: 8x48 in f32. Used where the processor has it; results are those of AVX2, bit by bit.
#include <immintrin.h>

#include "gemm_tile.h"

namespace mychip::emulator {
namespace {

struct F32 {
  using T = float;
  using V = __m512;
  static constexpr int kLanes = 16;
  static V Zero() { return _mm512_setzero_ps(); }
  static V Load(const T* p) { return _mm512_loadu_ps(p); }
  static void Store(T* p, V v) { _mm512_storeu_ps(p, v); }
  static V Broadcast(const T* p) { return _mm512_set1_ps(*p); }
  static V Add(V a, V b) { return _mm512_add_ps(a, b); }
  static V MultiplyAdd(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
};

struct F64 {
  using T = double;
  using V = __m512d;
  static constexpr int kLanes = 8;
  static V Zero() { return _mm512_setzero_pd(); }
  static V Load(const T* p) { return _mm512_loadu_pd(p); }
  static void Store(T* p, V v) { _mm512_storeu_pd(p, v); }
  static V Broadcast(const T* p) { return _mm512_set1_pd(*p); }
  static V Add(V a, V b) { return _mm512_add_pd(a, b); }
  static V MultiplyAdd(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
};

template <typename L>
constexpr TileKernels<typename L::T> MakeKernels() {
  return {8,
          3 * L::kLanes,
          L::kLanes,
          {nullptr, Tile<L, 1, 3>, Tile<L, 2, 3>, Tile<L, 3, 3>, Tile<L, 4, 3>, Tile<L, 5, 3>, Tile<L, 6, 3>,
           Tile<L, 7, 3>, Tile<L, 8, 3>},
          {{nullptr, Tile<L, 1, 1>, Tile<L, 2, 1>, Tile<L, 3, 1>, Tile<L, 4, 1>, Tile<L, 5, 1>, Tile<L, 6, 1>,
            Tile<L, 7, 1>, Tile<L, 8, 1>},
           {nullptr, Tile<L, 1, 2>, Tile<L, 2, 2>, Tile<L, 3, 2>, Tile<L, 4, 2>, Tile<L, 5, 2>, Tile<L, 6, 2>,
            Tile<L, 7, 2>, Tile<L, 8, 2>}},
          4,
          {0, 8 * L::kLanes, 6 * L::kLanes, 4 * L::kLanes, 4 * L::kLanes},
          {nullptr, Tile<L, 1, 8>, Tile<L, 2, 6>, Tile<L, 3, 4>, Tile<L, 4, 4>},
          {nullptr, LaneTile<L, 1>, LaneTile<L, 2>, LaneTile<L, 3>, LaneTile<L, 4>, LaneTile<L, 5>, LaneTile<L, 6>,
           LaneTile<L, 7>, LaneTile<L, 8>}};
}

}  // namespace

template <>
const TileKernels<float>& KernelsAvx512<float>() {
  static constexpr TileKernels<float> kKernels = MakeKernels<F32>();
  return kKernels;
}
template <>
const TileKernels<double>& KernelsAvx512<double>() {
  static constexpr TileKernels<double> kKernels = MakeKernels<F64>();
  return kKernels;
}

}  // namespace mychip::emulator
