// Accuracy of the vector unit's f32 functions against the C library in f64, over 2^22 arguments spread over all bit
// patterns and every special value; the bounds are those README.md documents.
#include <cstdio>
#include <limits>

#include "emulator_testing.h"
#include "kernels.h"
#include "special_math.h"

namespace mychip {
namespace {

// The same bits whichever vectors the processor has, over floats of every magnitude.
TEST(Math, SameBitsInBothVectorWidths) {
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq")) GTEST_SKIP() << "needs AVX-512";
  std::vector<float> x, y;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 401 * 64) {
    const uint32_t word = static_cast<uint32_t>(bits);
    float v;
    std::memcpy(&v, &word, 4);
    x.push_back(v);
  }
  y.assign(x.rbegin(), x.rend());
  std::vector<float> narrow(x.size()), wide(x.size());
  for (VOp op : {VOp::kCbrt, VOp::kExp, VOp::kExpm1, VOp::kLog, VOp::kLog1p, VOp::kTanh, VOp::kLogistic, VOp::kSin,
                 VOp::kCos, VOp::kTan, VOp::kErf, VOp::kErfc, VOp::kErfInv, VOp::kRem, VOp::kFloorMod, VOp::kPow}) {
    const int64_t n = static_cast<int64_t>(x.size());
    emulator::FindF32MathAvx2(op).by_mask[0](narrow.data(), x.data(), y.data(), nullptr, n, 0);
    emulator::FindF32MathAvx512(op).by_mask[0](wide.data(), x.data(), y.data(), nullptr, n, 0);
    EXPECT_EQ(std::memcmp(narrow.data(), wide.data(), 4 * x.size()), 0) << Name(op);
  }
}

using emulator::FindKernel;
using emulator::Kernel;

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

// |actual - exact| in units of the last place of the exact value as a float.
double UlpError(float actual, double exact) {
  if (std::isnan(exact)) return std::isnan(actual) ? 0 : 1e30;
  const float rounded = static_cast<float>(exact);
  if (std::isinf(rounded) || std::isinf(actual)) return rounded == actual ? 0 : 1e30;
  int exponent;
  std::frexp(exact, &exponent);
  return std::fabs(actual - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

std::vector<float> Arguments() {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 1021) {
    const uint32_t b = static_cast<uint32_t>(bits);
    float f;
    std::memcpy(&f, &b, 4);
    x.push_back(f);
  }
  // More where functions bend: [-20, 20], around 0 and around 1.
  for (int i = 0; i < 1 << 20; ++i) x.push_back(-20.0f + 40.0f * static_cast<float>(i) / (1 << 20));
  for (int i = 0; i < 1 << 19; ++i) x.push_back(0.5f + static_cast<float>(i) / (1 << 19));
  for (float special :
       {0.0f,          -0.0f,          1.0f,   -1.0f,  kInf,  -kInf,  kNan,     1e-45f,  -1e-45f, 1.17549435e-38f,
        3.4028235e38f, -3.4028235e38f, 88.72f, 88.73f, 89.0f, -87.3f, -103.97f, -104.0f, -150.0f, 0.99999994f}) {
    x.push_back(special);
  }
  return x;
}

struct Function {
  VOp op;
  double (*exact)(double);
  double max_ulp;  // 0.501: correctly rounded up to the reference's own error
};

double Logistic(double x) { return emulator::LogisticF64(x); }
double Rsqrt(double x) { return 1 / std::sqrt(x); }

const Function kFunctions[] = {
    {VOp::kSqrt, [](double x) { return std::sqrt(x); }, 0.501},
    {VOp::kRsqrt, Rsqrt, 0.501},
    {VOp::kCbrt, [](double x) { return std::cbrt(x); }, 0.501},
    {VOp::kExp, [](double x) { return std::exp(x); }, 1.1},
    {VOp::kExpm1, [](double x) { return std::expm1(x); }, 0.51},
    {VOp::kLog, [](double x) { return std::log(x); }, 1.0},
    {VOp::kLog1p, [](double x) { return std::log1p(x); }, 0.51},
    {VOp::kTanh, [](double x) { return std::tanh(x); }, 2.0},
    {VOp::kLogistic, Logistic, 2.5},
    {VOp::kSin, [](double x) { return std::sin(x); }, 0.51},
    {VOp::kCos, [](double x) { return std::cos(x); }, 0.51},
    {VOp::kTan, [](double x) { return std::tan(x); }, 0.51},
    {VOp::kErf, [](double x) { return std::erf(x); }, 1.5},
    {VOp::kErfc, [](double x) { return std::erfc(x); }, 0.501},
};

TEST(Math, UlpOfEveryFunction) {
  const std::vector<float> x = Arguments();
  const int64_t n = static_cast<int64_t>(x.size());
  std::vector<float> y(x.size());
  for (const Function& f : kFunctions) {
    const Kernel kernel = FindKernel(f.op, DType::kF32, DType::kF32).by_mask[0];
    kernel(y.data(), x.data(), nullptr, nullptr, n, 0);
    double worst = 0;
    float at = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double error = UlpError(y[i], f.exact(x[i]));
      if (error > worst) worst = error, at = x[i];
    }
    std::printf("%-10s %.3f ULP at %.9g\n", Name(f.op), worst, static_cast<double>(at));
    EXPECT_LE(worst, f.max_ulp) << Name(f.op) << " at " << at;
    for (float zero : {0.0f, -0.0f}) {  // odd functions keep the sign of zero
      if (f.exact(1e-3) > 2e-3 || f.exact(1e-3) < 0) continue;
      float r;
      kernel(&r, &zero, nullptr, nullptr, 1, 0);
      EXPECT_EQ(std::signbit(r), std::signbit(zero)) << Name(f.op);
    }
  }
}

TEST(Math, ErfInvInvertsErf) {
  const Kernel kernel = FindKernel(VOp::kErfInv, DType::kF32, DType::kF32).by_mask[0];
  double worst = 0;
  for (int i = -(1 << 20) + 1; i < 1 << 20; ++i) {
    float x = static_cast<float>(i) / (1 << 20), y;
    if (i % 3 == 0) x = std::copysign(1.0f - std::ldexp(1.0f - std::fabs(x), -4), x);  // the tails
    kernel(&y, &x, nullptr, nullptr, 1, 0);
    worst = std::max(worst, UlpError(y, emulator::ErfInvF64(x)));
  }
  std::printf("%-10s %.3f ULP\n", "erf_inv", worst);
  EXPECT_LE(worst, 0.6);
  for (const auto& [x, expected] :
       {std::pair{1.0f, kInf}, {-1.0f, -kInf}, {1.5f, kNan}, {kNan, kNan}, {-0.0f, -0.0f}}) {
    float y;
    kernel(&y, &x, nullptr, nullptr, 1, 0);
    EXPECT_EQ(testing::UlpDistance(y, expected), 0) << x;
  }
  // The f64 function itself: erf of it gives the argument back.
  for (double x : {1e-10, 0.1, 0.4999, 0.5001, 0.9, 0.999999, 1 - 1e-12}) {
    EXPECT_NEAR(std::erf(emulator::ErfInvF64(x)), x, 4e-16);
  }
}

TEST(Math, PowAgainstTheLibrary) {
  std::mt19937 random(3);
  const int64_t n = 1 << 20;
  std::vector<float> x(n), y(n), r(n);
  const float specials[] = {0, -0.0f, 1, -1, 2, -2, 3, -3, 0.5f, kInf, -kInf, kNan, 1e-40f, 3e38f};
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t a = static_cast<uint32_t>(random()), b = static_cast<uint32_t>(random());
    std::memcpy(&x[i], &a, 4);
    y[i] = std::ldexp(static_cast<float>(static_cast<int32_t>(b)), -29 + static_cast<int>(random() % 6));
    if (i % 4 == 0) y[i] = std::rint(y[i]);
    if (i < 14 * 14) x[i] = specials[i % 14], y[i] = specials[i / 14];
  }
  FindKernel(VOp::kPow, DType::kF32, DType::kF32).by_mask[0](r.data(), x.data(), y.data(), nullptr, n, 0);
  double worst = 0;
  for (int64_t i = 0; i < n; ++i) worst = std::max(worst, UlpError(r[i], std::pow(double(x[i]), double(y[i]))));
  std::printf("%-10s %.3f ULP\n", "pow", worst);
  EXPECT_LE(worst, 0.51);
}

TEST(Math, LgammaAndDigamma) {
  const Kernel lgamma = FindKernel(VOp::kLgamma, DType::kF32, DType::kF32).by_mask[0];
  const Kernel digamma = FindKernel(VOp::kDigamma, DType::kF32, DType::kF32).by_mask[0];
  auto at = [](Kernel k, float x) {
    float y;
    k(&y, &x, nullptr, nullptr, 1, 0);
    return y;
  };
  EXPECT_EQ(at(lgamma, 1), 0);
  EXPECT_NEAR(at(lgamma, 0.5f), 0.5723649429, 1e-7);
  EXPECT_EQ(at(lgamma, -2), kInf);
  EXPECT_NEAR(at(digamma, 1), -0.5772156649, 1e-7);
  EXPECT_NEAR(at(digamma, 0.5f), -1.9635100260, 2e-7);
  EXPECT_NEAR(at(digamma, -0.5f), 0.0364899740, 1e-8);
  EXPECT_NEAR(at(digamma, 100), 4.6001618527, 5e-7);
  EXPECT_TRUE(std::isnan(at(digamma, -3)));
}

}  // namespace
}  // namespace mychip
