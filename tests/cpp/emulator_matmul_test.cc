// Matrix unit against a naive reference: every dtype, random shapes and layouts, epilogues, bit-equality over cores.
#include <gtest/gtest.h>

#include <cmath>

#include "cores.h"
#include "emulator_operands.h"
#include "emulator_testing.h"
#include "gemm_kernels.h"
#include "mychip/runtime/program.h"
#include "units.h"

namespace mychip::emulator {
namespace {

using namespace mychip::testing;

struct Case {
  DType a, b, accumulate, out;
};

Status RunMatMul(const MatMulCmd& cmd, std::vector<Operand*> operands) {
  std::vector<Bytes*> buffers;
  for (Operand* o : operands) buffers.push_back(&o->bytes);
  return RunGuarded(buffers, [&](const std::vector<uint8_t*>& at) { return DecodeMatMul(cmd)(Buffers(at)); });
}

struct Problem {
  Operand a, b, out;
  MatMulCmd cmd;
};

Problem MakeProblem(Random& random, const Case& c, const Dims& batch, int64_t m, int64_t n, int64_t k, Layout layout) {
  const auto dims = [&](int64_t x, int64_t y) {
    Dims d = batch;
    d.push_back(x), d.push_back(y);
    return d;
  };
  Problem p;
  p.a = MakeOperand(random, 0, c.a, dims(m, k), layout);
  p.b = MakeOperand(random, 1, c.b, dims(k, n), layout);
  p.out = MakeOperand(random, 2, c.out, dims(m, n), layout == Layout::kDense ? layout : Layout::kAny);
  p.cmd.a = p.a.view, p.cmd.b = p.b.view, p.cmd.out = p.out.view, p.cmd.accumulate = c.accumulate;
  return p;
}

std::complex<double> Reference(Problem& p, const Dims& index) {
  Dims a = index, b = index;
  std::complex<double> sum = 0;
  const size_t last = index.size() - 1;
  for (int64_t k = 0; k < p.a.view.dims[last]; ++k) {
    a[last] = k, b[last - 1] = k;
    sum += p.a.Value(a) * p.b.Value(b);
  }
  return sum;
}

class MatMulDTypes : public ::testing::TestWithParam<Case> {};

TEST_P(MatMulDTypes, EqualsExactReferenceOverRandomShapesAndLayouts) {
  Random random(7);
  for (int trial = 0; trial < 120; ++trial) {
    const auto size = [&] { return std::vector<int64_t>{0, 1, 2, 3, 5, 8, 17, 33, 70}[Uniform(random, 0, 8)]; };
    Dims batch;
    for (int64_t d = Uniform(random, 0, 2); d > 0; --d)
      batch.push_back(Uniform(random, 0, 4) == 0 ? 0 : Uniform(random, 1, 3));
    const int64_t k = trial % 10 == 0 ? 700 : size();
    Problem p = MakeProblem(random, GetParam(), batch, size(), size(), k, static_cast<Layout>(trial % 3));
    const int64_t range = GetParam().out == DType::kF16 || GetParam().out == DType::kBF16 ? 1 : 3;
    FillSmall(random, &p.a, range), FillSmall(random, &p.b, range);
    ASSERT_TRUE(RunMatMul(p.cmd, {&p.a, &p.b, &p.out}).ok());
    ForEachIndex(p.out.view.dims, [&](const Dims& index) {
      std::complex<double> expected = Reference(p, index);
      if (p.out.view.dtype == DType::kBF16 && std::abs(expected.real()) > 256) return;  // not exact in bf16
      Operand wanted{View{0, 0, p.out.view.dtype, {}, {}}, std::vector<uint8_t>(16)};
      wanted.Set({}, expected);
      ASSERT_EQ(p.out.Value(index), wanted.Value({})) << "trial " << trial << " a " << ToString(p.a.view) << " b "
                                                      << ToString(p.b.view) << " out " << ToString(p.out.view);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatMulDTypes,
                         ::testing::Values(Case{DType::kF32, DType::kF32, DType::kF32, DType::kF32},
                                           Case{DType::kF16, DType::kF16, DType::kF32, DType::kF16},
                                           Case{DType::kF16, DType::kF16, DType::kF32, DType::kF32},
                                           Case{DType::kBF16, DType::kBF16, DType::kF32, DType::kBF16},
                                           Case{DType::kF64, DType::kF64, DType::kF64, DType::kF64},
                                           Case{DType::kS8, DType::kS8, DType::kS32, DType::kS32},
                                           Case{DType::kU8, DType::kS8, DType::kS32, DType::kS32},
                                           Case{DType::kU8, DType::kU8, DType::kS32, DType::kS32},
                                           Case{DType::kS16, DType::kS16, DType::kS16, DType::kS16},
                                           Case{DType::kU16, DType::kU16, DType::kU16, DType::kU16},
                                           Case{DType::kS32, DType::kS32, DType::kS32, DType::kS32},
                                           Case{DType::kU32, DType::kU32, DType::kU32, DType::kU32},
                                           Case{DType::kS64, DType::kS64, DType::kS64, DType::kS64},
                                           Case{DType::kU64, DType::kU64, DType::kU64, DType::kU64},
                                           Case{DType::kC64, DType::kC64, DType::kC64, DType::kC64},
                                           Case{DType::kC128, DType::kC128, DType::kC128, DType::kC128}),
                         [](const auto& info) {
                           return std::string(Name(info.param.a)) + "_" + Name(info.param.b) + "_to_" +
                                  Name(info.param.out);
                         });

constexpr Case kF32Case{DType::kF32, DType::kF32, DType::kF32, DType::kF32};

TEST(MatMul, WrapsAround) {
  Random random(1);
  Problem p = MakeProblem(random, {DType::kS64, DType::kS64, DType::kS64, DType::kS64}, {}, 3, 9, 11, Layout::kDense);
  std::vector<uint64_t> a(33), b(99);
  for (auto* v : {&a, &b}) {
    for (uint64_t& x : *v) x = std::uniform_int_distribution<uint64_t>()(random);
  }
  std::memcpy(p.a.bytes.data(), a.data(), 33 * 8);
  std::memcpy(p.b.bytes.data(), b.data(), 99 * 8);
  ASSERT_TRUE(RunMatMul(p.cmd, {&p.a, &p.b, &p.out}).ok());
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 9; ++j) {
      uint64_t sum = 0;
      for (int64_t k = 0; k < 11; ++k) sum += a[i * 11 + k] * b[k * 9 + j];
      EXPECT_EQ(p.out.Get<uint64_t>({i, j}), sum);
    }
  }
}

TEST(MatMul, FloatErrorIsThatOfBlockedSummation) {
  Random random(2);
  for (const auto& [m, n, k] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{
           {1, 1, 5000}, {1, 300, 1000}, {300, 1, 1000}, {2, 65, 900}, {97, 130, 1000}, {64, 10, 2000}, {5, 40, 333}}) {
    for (int layout = 0; layout < 6; ++layout) {
      Problem p = MakeProblem(random, kF32Case, {}, m, n, k, layout == 0 ? Layout::kDense : Layout::kAny);
      FillUniform(random, &p.a), FillUniform(random, &p.b);
      ASSERT_TRUE(RunMatMul(p.cmd, {&p.a, &p.b, &p.out}).ok());
      ForEachIndex(p.out.view.dims, [&](const Dims& index) {
        ASSERT_NEAR(p.out.Value(index).real(), Reference(p, index).real(), 3e-7 * std::sqrt(k) * 8);
      });
    }
  }
}

TEST(MatMul, BitEqualOverCoresVectorsAndPositions) {
  Random random(3);
  for (const auto& [m, n, k] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{{200, 300, 700},
                                                                                  {1, 2000, 500},
                                                                                  {2000, 3, 400},
                                                                                  {64, 1024, 333},
                                                                                  {700, 64, 64},
                                                                                  {1, 5000, 512},
                                                                                  {70, 58, 200},
                                                                                  {33, 112, 100},
                                                                                  {64, 1024, 1024}}) {
    for (int layout = 0; layout < 4; ++layout) {
      Problem p = MakeProblem(random, kF32Case, {2}, m, n, k, layout == 0 ? Layout::kDense : Layout::kAny);
      FillUniform(random, &p.a), FillUniform(random, &p.b);
      // Rows 0 and m-1 and columns 0 and n-1 are equal, so must their results be.
      for (int64_t b = 0; b < 2; ++b) {
        for (int64_t i = 0; i < k; ++i) p.a.Set({b, m - 1, i}, p.a.Value({b, 0, i}));
        for (int64_t i = 0; i < k; ++i) p.b.Set({b, i, n - 1}, p.b.Value({b, i, 0}));
      }
      std::vector<std::vector<uint8_t>> results;
      for (int cores : {1, 2, 3, 4}) {
        SetNumCores(cores);
        AllowAvx512(cores != 4);
        ASSERT_TRUE(RunMatMul(p.cmd, {&p.a, &p.b, &p.out}).ok());
        results.push_back(p.out.bytes);
      }
      EXPECT_TRUE(results[0] == results[1] && results[0] == results[2] && results[0] == results[3])
          << m << " " << n << " " << k;
      for (int64_t j = 0; j < n; ++j) ASSERT_EQ(p.out.Get<float>({1, 0, j}), p.out.Get<float>({1, m - 1, j}));
      for (int64_t i = 0; i < m; ++i) ASSERT_EQ(p.out.Get<float>({1, i, 0}), p.out.Get<float>({1, i, n - 1}));
    }
  }
  AllowAvx512(true);
  SetNumCores(2);
}

TEST(MatMul, ReducedPrecisionRoundsOperandsToNearestEven) {
  Random random(4);
  for (Precision precision : {Precision::kTF32, Precision::kBF16}) {
    const int bits = precision == Precision::kTF32 ? 10 : 7;
    Problem p = MakeProblem(random, kF32Case, {}, 1, 1, 1, Layout::kDense);
    p.cmd.precision = precision;
    const double ulp = std::ldexp(1.0, -bits);
    for (const auto& [in, out] : std::vector<std::pair<double, double>>{{1 + ulp / 2, 1},
                                                                        {1 + ulp * 1.5, 1 + 2 * ulp},
                                                                        {1 + ulp * 0.75, 1 + ulp},
                                                                        {-1 - ulp * 0.25, -1},
                                                                        {INFINITY, INFINITY}}) {
      p.a.Set({0, 0}, in), p.b.Set({0, 0}, 1);
      ASSERT_TRUE(RunMatMul(p.cmd, {&p.a, &p.b, &p.out}).ok());
      EXPECT_EQ(p.out.Value({0, 0}).real(), out);
      p.a.Set({0, 0}, 1), p.b.Set({0, 0}, in);
      ASSERT_TRUE(RunMatMul(p.cmd, {&p.a, &p.b, &p.out}).ok());
      EXPECT_EQ(p.out.Value({0, 0}).real(), out);
    }
    p.a.Set({0, 0}, NAN);
    ASSERT_TRUE(RunMatMul(p.cmd, {&p.a, &p.b, &p.out}).ok());
    EXPECT_TRUE(std::isnan(p.out.Value({0, 0}).real()));
  }
}

TEST(MatMul, NanAndInfPropagate) {
  Random random(5);
  Problem p = MakeProblem(random, kF32Case, {}, 7, 19, 5, Layout::kDense);
  FillSmall(random, &p.a, 2), FillSmall(random, &p.b, 2);
  for (int64_t i = 0; i < 7; ++i) p.a.Set({i, 2}, 0);
  p.b.Set({2, 4}, NAN), p.b.Set({2, 5}, INFINITY);
  ASSERT_TRUE(RunMatMul(p.cmd, {&p.a, &p.b, &p.out}).ok());
  for (int64_t i = 0; i < 7; ++i) {
    EXPECT_TRUE(std::isnan(p.out.Value({i, 4}).real()));
    EXPECT_TRUE(std::isnan(p.out.Value({i, 5}).real()));  // 0 * inf
    EXPECT_FALSE(std::isnan(p.out.Value({i, 6}).real()));
  }
}

TEST(MatMul, EpilogueSeesAccumulatorAndInputs) {
  Random random(6);
  for (int trial = 0; trial < 40; ++trial) {
    const int64_t m = Uniform(random, 1, 150), n = Uniform(random, 1, 90), k = Uniform(random, 0, 400);
    Problem p = MakeProblem(random, kF32Case, {2}, m, n, k, trial % 2 == 0 ? Layout::kDense : Layout::kAny);
    FillSmall(random, &p.a, 2), FillSmall(random, &p.b, 2);
    Operand bias = MakeOperand(random, 3, DType::kF32, {1, 1, n}, Layout::kDense);
    FillSmall(random, &bias, 100);
    bias.view.dims = {2, m, n}, bias.view.strides = {0, 0, 1};
    Operand residual = MakeOperand(random, 4, DType::kF32, {2, m, n}, Layout::kAny);
    FillSmall(random, &residual, 100);
    BodyBuilder body;
    const int sum = body.Binary(VOp::kAdd, body.Param(0, DType::kF32), body.Param(1, DType::kF32));
    const int relu = body.Binary(VOp::kMax, sum, body.Const(DType::kF32, 0));
    int result = body.Binary(VOp::kSub, relu, body.Param(2, DType::kF32));
    if (trial % 4 == 3) result = body.Binary(VOp::kAdd, result, body.Iota(DType::kF32, 1));
    p.cmd.epilogue = body.Build({result});
    p.cmd.epilogue_inputs = {bias.view, residual.view};
    ASSERT_TRUE(RunMatMul(p.cmd, {&p.a, &p.b, &p.out, &bias, &residual}).ok());
    ForEachIndex(p.out.view.dims, [&](const Dims& index) {
      double expected =
          std::max(0.0, Reference(p, index).real() + bias.Value(index).real()) - residual.Value(index).real();
      if (trial % 4 == 3) expected += static_cast<double>(index[1]);
      ASSERT_EQ(p.out.Value(index).real(), expected);
    });
  }
}

}  // namespace
}  // namespace mychip::emulator
