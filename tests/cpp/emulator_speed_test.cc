// Guards the micro-kernel's speed: a compiler that folds its loads differently once cost a third of it. The ratio to
// a loop of multiply-adds in registers is reported (also as a property of the test), never checked: a shared machine
// would fail it. Expect 0.8 to 0.95; below 0.7 look at the loop of RunTile in the disassembly.
#include <gtest/gtest.h>
#include <immintrin.h>
#include <time.h>

#include <algorithm>
#include <vector>

#include "gemm_kernels.h"

namespace mychip::emulator {
namespace {

constexpr int kRounds = 20;

double Seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Runs fn, which does `flops` operations, a few times; the best rate.
template <typename Fn>
double BestRate(double flops, Fn&& fn) {
  double best = 0;
  for (int i = 0; i < kRounds; ++i) {
    const double start = Seconds();
    fn();
    best = std::max(best, flops / (Seconds() - start));
  }
  return best;
}

// 12 chains of multiply-adds: more than latency times ports, and all in registers.
constexpr int kChains = 12, kSteps = 20000;
__attribute__((target("avx2,fma"))) void Loop256(float* sink) {
  __m256 sum[kChains], a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(0.25f);
  for (__m256& s : sum) s = a;
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < kChains; ++j) sum[j] = _mm256_fmadd_ps(sum[j], a, b);
  }
  for (int j = 0; j < kChains; ++j) _mm256_storeu_ps(sink + 8 * j, sum[j]);
}
__attribute__((target("avx512f"))) void Loop512(float* sink) {
  __m512 sum[kChains], a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(0.25f);
  for (__m512& s : sum) s = a;
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < kChains; ++j) sum[j] = _mm512_fmadd_ps(sum[j], a, b);
  }
  for (int j = 0; j < kChains; ++j) _mm512_storeu_ps(sink + 16 * j, sum[j]);
}

void Report(const char* name, const TileKernels<float>& kernels, void (*loop)(float*)) {
  constexpr int64_t kDepth = 192;
  constexpr int kTiles = 100;
  std::vector<float> sink(16 * kChains);
  const double peak = BestRate(2.0 * kChains * kSteps * kernels.vector, [&] { loop(sink.data()); });
  EXPECT_EQ(sink[0], 0.5f);  // the fixed point of x / 2 + 1 / 4
  std::vector<float> a(kMaxTileRows * (kDepth + 8), 0.5f), b(kMaxTileColumns * kDepth, 0.25f),
      c(kMaxTileRows * kMaxTileColumns);
  const float* rows[kMaxTileRows];
  for (int64_t i = 0; i < kMaxTileRows; ++i) rows[i] = a.data() + i * (kDepth + 8);
  const TileArgs<float> args{kDepth, rows, nullptr, 1, b.data(), kernels.nr, c.data(), kernels.nr, false};
  const double rate = BestRate(2.0 * kernels.mr * kernels.nr * kDepth * kTiles, [&] {
    for (int i = 0; i < kTiles; ++i) kernels.tile[kernels.mr](args);
  });
  for (int64_t i = 0; i < kernels.mr * kernels.nr; ++i) ASSERT_EQ(c[i], 0.125f * kDepth);
  std::printf("%s: %dx%d micro-kernel %.1f GFLOP/s, multiply-add loop %.1f: %.2f\n", name, kernels.mr, kernels.nr,
              rate * 1e-9, peak * 1e-9, rate / peak);
  ::testing::Test::RecordProperty(name, std::to_string(rate / peak));
}

TEST(MicroKernel, SpeedBesideAMultiplyAddLoop) {
  Report("avx2", KernelsAvx2<float>(), Loop256);
  if (__builtin_cpu_supports("avx512f")) Report("avx512", KernelsAvx512<float>(), Loop512);
}

}  // namespace
}  // namespace mychip::emulator
