// What each operation of vector_ops.def computes, by value: special values, every dtype class, the conversions.
#include <complex>
#include <limits>

#include "body_vm.h"
#include "emulator_testing.h"

namespace mychip {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename R, typename T>
std::vector<R> Apply(VOp op, DType result, DType dtype, const std::vector<std::vector<T>>& operands) {
  Body body;
  Inst inst{};
  inst.op = op, inst.dtype = result, inst.a = inst.b = inst.c = -1;
  for (size_t i = 0; i < operands.size(); ++i) {
    Inst param{};
    param.op = VOp::kParam, param.dtype = dtype, param.a = param.b = param.c = -1, param.imm = i;
    body.insts.push_back(param);
    (i == 0 ? inst.a : i == 1 ? inst.b : inst.c) = static_cast<int32_t>(i);
  }
  body.insts.push_back(inst);
  body.results = {static_cast<int32_t>(operands.size())};
  const emulator::BodyRunner runner(body);
  EXPECT_TRUE(runner.status().ok()) << runner.status().message();
  std::vector<R> out(operands[0].size());
  std::vector<const void*> in;
  for (const auto& o : operands) in.push_back(o.data());
  void* to = out.data();
  runner.Run(static_cast<int64_t>(out.size()), in.data(), &to);
  return out;
}

// Equal in value, NaN equal to NaN, and the sign of zero counts.
void ExpectSame(const std::vector<float>& actual, const std::vector<float>& expected, VOp op) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(actual[i])) << Name(op) << " [" << i << "] = " << actual[i];
    } else {
      EXPECT_EQ(actual[i], expected[i]) << Name(op) << " [" << i << "]";
      EXPECT_EQ(std::signbit(actual[i]), std::signbit(expected[i])) << Name(op) << " [" << i << "]";
    }
  }
}

TEST(Ops, FloatUnary) {
  const std::vector<float> x = {0.0f, -0.0f, 0.5f, -0.5f, 1.5f, -2.5f, 2.5f, 0.49999997f, 8388609, kInf, -kInf, kNan};
  const std::pair<VOp, std::vector<float>> cases[] = {
      {VOp::kAbs, {0, 0, .5f, .5f, 1.5f, 2.5f, 2.5f, 0.49999997f, 8388609, kInf, kInf, kNan}},
      {VOp::kNeg, {-0.0f, 0, -.5f, .5f, -1.5f, 2.5f, -2.5f, -0.49999997f, -8388609, -kInf, kInf, kNan}},
      {VOp::kSign, {0, -0.0f, 1, -1, 1, -1, 1, 1, 1, 1, -1, kNan}},
      {VOp::kFloor, {0, -0.0f, 0, -1, 1, -3, 2, 0, 8388609, kInf, -kInf, kNan}},
      {VOp::kCeil, {0, -0.0f, 1, -0.0f, 2, -2, 3, 1, 8388609, kInf, -kInf, kNan}},
      {VOp::kTrunc, {0, -0.0f, 0, -0.0f, 1, -2, 2, 0, 8388609, kInf, -kInf, kNan}},
      {VOp::kRoundEven, {0, -0.0f, 0, -0.0f, 2, -2, 2, 0, 8388609, kInf, -kInf, kNan}},
      {VOp::kRoundAfz, {0, -0.0f, 1, -1, 2, -3, 3, 0, 8388609, kInf, -kInf, kNan}},
  };
  for (const auto& [op, expected] : cases)
    ExpectSame(Apply<float, float>(op, DType::kF32, DType::kF32, {x}), expected, op);
  EXPECT_EQ((Apply<uint8_t, float>(VOp::kIsFinite, DType::kPred, DType::kF32, {x})),
            (std::vector<uint8_t>{1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0}));
  EXPECT_EQ((Apply<uint8_t, float>(VOp::kIsNan, DType::kPred, DType::kF32, {x}))[11], 1);
  EXPECT_EQ((Apply<uint8_t, float>(VOp::kIsInf, DType::kPred, DType::kF32, {x}))[10], 1);
}

TEST(Ops, FloatBinary) {
  const std::vector<float> a = {1, kNan, 1, kInf, -5, 5, -5.5f, 0, 1, 6};
  const std::vector<float> b = {2, 1, kNan, kInf, 3, -3, 2, 0, 0, kInf};
  const std::pair<VOp, std::vector<float>> cases[] = {
      {VOp::kMax, {2, kNan, kNan, kInf, 3, 5, 2, 0, 1, kInf}},
      {VOp::kMin, {1, kNan, kNan, kInf, -5, -3, -5.5f, 0, 0, 6}},
      {VOp::kRem, {1, kNan, kNan, kNan, -2, 2, -1.5f, kNan, kNan, 6}},
      {VOp::kFloorMod, {1, kNan, kNan, kNan, 1, -1, 0.5f, kNan, kNan, 6}},
      {VOp::kFloorDiv, {0, kNan, kNan, kNan, -2, -2, -3, kNan, kInf, 0}},
      {VOp::kDivNoNan, {0.5f, kNan, kNan, kNan, -5.0f / 3, -5.0f / 3, -2.75f, 0, 0, 0}},
  };
  for (const auto& [op, expected] : cases) {
    ExpectSame(Apply<float, float>(op, DType::kF32, DType::kF32, {a, b}), expected, op);
  }
  ExpectSame(Apply<float, float>(VOp::kNextAfter, DType::kF32, DType::kF32,
                                 {{1, 1, 0, 0, kNan, 1e-45f}, {2, 0, 1, -1, 1, -1}}),
             {1.00000012f, 0.99999994f, 1e-45f, -1e-45f, kNan, 0}, VOp::kNextAfter);
  EXPECT_EQ((Apply<uint8_t, float>(VOp::kLtTotal, DType::kPred, DType::kF32,
                                   {{-0.0f, 0.0f, -kNan, kInf, kNan, 1}, {0.0f, -0.0f, -kInf, kNan, kNan, 1}})),
            (std::vector<uint8_t>{1, 0, 1, 1, 0, 0}));
  EXPECT_EQ((Apply<uint8_t, float>(VOp::kNe, DType::kPred, DType::kF32, {{kNan, 1}, {kNan, 1}})),
            (std::vector<uint8_t>{1, 0}));
  ExpectSame(Apply<float, float>(VOp::kClamp, DType::kF32, DType::kF32, {{0, 0, 0, 2}, {-1, kNan, 5, 0}, {1, 1, 1, 1}}),
             {0, kNan, 1, 1}, VOp::kClamp);
}

TEST(Ops, IntegerCorners) {
  const int32_t kMin = INT32_MIN;
  const std::vector<int32_t> a = {7, -7, 7, -7, kMin, 5, 0, kMin}, b = {2, 2, -2, -2, -1, 0, 0, 3};
  auto run = [&](VOp op) { return Apply<int32_t, int32_t>(op, DType::kS32, DType::kS32, {a, b}); };
  EXPECT_EQ(run(VOp::kDiv), (std::vector<int32_t>{3, -3, -3, 3, kMin, -1, -1, kMin / 3}));
  EXPECT_EQ(run(VOp::kRem), (std::vector<int32_t>{1, -1, 1, -1, 0, 5, 0, kMin % 3}));
  EXPECT_EQ(run(VOp::kFloorDiv), (std::vector<int32_t>{3, -4, -4, 3, kMin, -1, -1, kMin / 3 - 1}));
  EXPECT_EQ(run(VOp::kFloorMod), (std::vector<int32_t>{1, 1, -1, -1, 0, 5, 0, kMin % 3 + 3}));
  EXPECT_EQ((Apply<int32_t, int32_t>(VOp::kPow, DType::kS32, DType::kS32,
                                     {{2, 3, -1, -1, 1, 5, 0}, {10, 0, -3, -2, -9, -1, -1}})),
            (std::vector<int32_t>{1024, 1, -1, 1, 1, 0, 0}));
  EXPECT_EQ((Apply<int32_t, int32_t>(VOp::kShl, DType::kS32, DType::kS32, {{1, 1, 1, 1}, {4, 31, 32, -1}})),
            (std::vector<int32_t>{16, kMin, 0, 0}));
  EXPECT_EQ((Apply<int32_t, int32_t>(VOp::kShrA, DType::kS32, DType::kS32, {{-8, -8, 8, -8}, {1, 40, 40, -1}})),
            (std::vector<int32_t>{-4, -1, 0, -1}));
  EXPECT_EQ((Apply<int32_t, int32_t>(VOp::kShrL, DType::kS32, DType::kS32, {{-8, -8}, {1, 32}})),
            (std::vector<int32_t>{0x7ffffffc, 0}));
  EXPECT_EQ((Apply<int32_t, int32_t>(VOp::kAbs, DType::kS32, DType::kS32, {{kMin, -1}})),
            (std::vector<int32_t>{kMin, 1}));
  EXPECT_EQ((Apply<uint8_t, uint8_t>(VOp::kDiv, DType::kU8, DType::kU8, {{200, 9}, {0, 2}})),
            (std::vector<uint8_t>{255, 4}));
  EXPECT_EQ((Apply<uint64_t, uint64_t>(VOp::kClz, DType::kU64, DType::kU64, {{0, 1, ~uint64_t{0}}})),
            (std::vector<uint64_t>{64, 63, 0}));
  EXPECT_EQ((Apply<int16_t, int16_t>(VOp::kPopcnt, DType::kS16, DType::kS16, {{-1, 5}})),
            (std::vector<int16_t>{16, 2}));
  // Division by multiplication with the inverse must not be off by one.
  std::vector<int32_t> x, y;
  for (int i = 0; i < 20000; ++i) x.push_back(i * 107374 - 1000000000), y.push_back(i % 1999 - 999);
  const std::vector<int32_t> q = Apply<int32_t, int32_t>(VOp::kDiv, DType::kS32, DType::kS32, {x, y});
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(q[i], y[i] == 0 ? -1 : x[i] / y[i]);
  std::vector<uint16_t> u, v;
  for (int i = 0; i < 65536; ++i)
    u.push_back(static_cast<uint16_t>(i * 40503)), v.push_back(static_cast<uint16_t>(i % 777 + 1));
  const std::vector<uint16_t> w = Apply<uint16_t, uint16_t>(VOp::kDiv, DType::kU16, DType::kU16, {u, v});
  for (size_t i = 0; i < u.size(); ++i) ASSERT_EQ(w[i], u[i] / v[i]);
}

TEST(Ops, PredLogic) {
  const std::vector<uint8_t> a = {0, 0, 1, 255}, b = {0, 7, 0, 1};  // any non-zero byte is true
  auto run = [&](VOp op) { return Apply<uint8_t, uint8_t>(op, DType::kPred, DType::kPred, {a, b}); };
  EXPECT_EQ(run(VOp::kAdd), (std::vector<uint8_t>{0, 1, 1, 1}));
  EXPECT_EQ(run(VOp::kMul), (std::vector<uint8_t>{0, 0, 0, 1}));
  EXPECT_EQ(run(VOp::kXor), (std::vector<uint8_t>{0, 1, 1, 0}));
  EXPECT_EQ(run(VOp::kEq), (std::vector<uint8_t>{1, 0, 0, 1}));
  EXPECT_EQ((Apply<uint8_t, uint8_t>(VOp::kNot, DType::kPred, DType::kPred, {a})), (std::vector<uint8_t>{1, 1, 0, 0}));
}

TEST(Ops, Conversions) {
  const std::vector<float> x = {1.9f, -1.9f, 3e9f, -3e9f, kNan, kInf, -kInf, 255.5f, 2147483648.0f, -0.0f};
  EXPECT_EQ((Apply<int32_t, float>(VOp::kConvert, DType::kS32, DType::kF32, {x})),
            (std::vector<int32_t>{1, -1, INT32_MAX, INT32_MIN, 0, INT32_MAX, INT32_MIN, 255, INT32_MAX, 0}));
  EXPECT_EQ((Apply<uint8_t, float>(VOp::kConvert, DType::kU8, DType::kF32, {x})),
            (std::vector<uint8_t>{1, 0, 255, 0, 0, 255, 0, 255, 255, 0}));
  EXPECT_EQ((Apply<uint64_t, float>(VOp::kConvert, DType::kU64, DType::kF32, {{1.8e19f, 2e19f, -1, 5}})),
            (std::vector<uint64_t>{18000000404716257280u, ~uint64_t{0}, 0, 5}));
  EXPECT_EQ((Apply<int64_t, double>(VOp::kConvert, DType::kS64, DType::kF64, {{9.3e18, -9.3e18, 1e15}})),
            (std::vector<int64_t>{INT64_MAX, INT64_MIN, 1000000000000000}));
  EXPECT_EQ((Apply<uint8_t, float>(VOp::kConvert, DType::kPred, DType::kF32, {x})),
            (std::vector<uint8_t>{1, 1, 1, 1, 1, 1, 1, 1, 1, 0}));
  EXPECT_EQ((Apply<int8_t, int32_t>(VOp::kConvert, DType::kS8, DType::kS32, {{300, -129, 5}})),
            (std::vector<int8_t>{44, 127, 5}));
  // 16 bits: nearest even, subnormals, overflow, NaN.
  EXPECT_EQ((Apply<uint16_t, float>(VOp::kConvert, DType::kF16, DType::kF32,
                                    {{1.0f, 65519.0f, 65520.0f, 5.9604645e-8f, 2.9802322e-8f, 1.00048828125f, -kInf}})),
            (std::vector<uint16_t>{0x3c00, 0x7bff, 0x7c00, 1, 0, 0x3c00, 0xfc00}));
  EXPECT_EQ((Apply<uint16_t, float>(VOp::kConvert, DType::kBF16, DType::kF32,
                                    {{1.0f, 1.00390625f, 1.01171875f, 3.4e38f, kInf, 1e-40f}})),
            (std::vector<uint16_t>{0x3f80, 0x3f80, 0x3f82, 0x7f80, 0x7f80, 0x0001}));
  for (DType half : {DType::kF16, DType::kBF16}) {
    const uint16_t bits = Apply<uint16_t, float>(VOp::kConvert, half, DType::kF32, {{kNan}})[0];
    EXPECT_EQ(bits & 0x7c00, 0x7c00);
    EXPECT_NE(bits & 0x3ff, 0);
  }
  // Every f16 value survives the way through f32.
  std::vector<uint16_t> all;
  for (int i = 0; i < 65536; ++i) {
    if ((i & 0x7c00) != 0x7c00 || (i & 0x3ff) == 0) all.push_back(static_cast<uint16_t>(i));
  }
  const std::vector<float> wide = Apply<float, uint16_t>(VOp::kConvert, DType::kF32, DType::kF16, {all});
  EXPECT_EQ((Apply<uint16_t, float>(VOp::kConvert, DType::kF16, DType::kF32, {wide})), all);
}

TEST(Ops, HalfRoundsAfterEveryInstruction) {
  // (2048 + 1) - 2048 in f16: 2049 is not representable, so 0 or 2, never 1.
  BodyBuilder b;
  const int x = b.Param(0, DType::kF16), one = b.Const(DType::kF16, 1);
  const Body body = b.Build({b.Binary(VOp::kSub, b.Binary(VOp::kAdd, x, one), x)});
  const emulator::BodyRunner runner(body);
  const uint16_t in = 0x6800;  // 2048
  uint16_t out = 1;
  const void* params = &in;
  void* results = &out;
  runner.Run(1, &params, &results);
  EXPECT_EQ(out, 0);
}

TEST(Ops, BitcastsOfHalves) {
  const std::vector<uint16_t> bits = {0x3c00, 0x8001, 0x7c00, 0x1234};
  EXPECT_EQ((Apply<uint16_t, uint16_t>(VOp::kBitcast, DType::kU16, DType::kF16, {bits})), bits);
  EXPECT_EQ((Apply<uint16_t, uint16_t>(VOp::kBitcast, DType::kBF16, DType::kF16, {bits})), bits);
  EXPECT_EQ((Apply<uint16_t, uint16_t>(VOp::kBitcast, DType::kF16, DType::kS16, {bits})), bits);
}

TEST(Ops, ReducePrecision) {
  BodyBuilder b;
  const Body body = b.Build({b.ReducePrecision(b.Param(0, DType::kF32), 5, 10)});
  const emulator::BodyRunner runner(body);
  const std::vector<float> x = {1.0f, 65519.0f, 65520.0f, 1.00048828125f, kNan, -kInf, 6.2e-5f, 6.0e-5f};
  std::vector<float> y(x.size());
  const void* params = x.data();
  void* results = y.data();
  runner.Run(static_cast<int64_t>(x.size()), &params, &results);
  ExpectSame(y, {1, 65504, kInf, 1, kNan, -kInf, 6.198883056640625e-05f, 0}, VOp::kReducePrecision);
}

TEST(Ops, Complex) {
  using C = std::complex<float>;
  const std::vector<C> a = {{3, 4}, {0, -1}}, b = {{1, 2}, {0, 0}};
  EXPECT_EQ((Apply<float, C>(VOp::kAbs, DType::kF32, DType::kC64, {a})), (std::vector<float>{5, 1}));
  EXPECT_EQ((Apply<C, C>(VOp::kMul, DType::kC64, DType::kC64, {a, b}))[0], C(-5, 10));
  EXPECT_EQ((Apply<C, C>(VOp::kDiv, DType::kC64, DType::kC64, {a, b}))[0], C(2.2f, -0.4f));
  EXPECT_EQ((Apply<C, C>(VOp::kDivNoNan, DType::kC64, DType::kC64, {a, b}))[1], C(0, 0));
  EXPECT_EQ((Apply<C, float>(VOp::kComplex, DType::kC64, DType::kF32, {{1}, {2}}))[0], C(1, 2));
  EXPECT_EQ((Apply<float, C>(VOp::kImag, DType::kF32, DType::kC64, {a}))[1], -1);
  const C e = Apply<C, C>(VOp::kExp, DType::kC64, DType::kC64, {{{0, 3.14159274f}}})[0];
  EXPECT_NEAR(e.real(), -1, 1e-6);
}

TEST(Ops, WhatHasNoMeaningIsRefusedByName) {
  BodyBuilder b;
  const emulator::BodyRunner runner(b.Build({b.Unary(VOp::kTanh, b.Param(0, DType::kS32))}));
  EXPECT_EQ(runner.status().code(), Code::kUnimplemented);
  EXPECT_NE(runner.status().message().find("tanh"), std::string::npos);
}

}  // namespace
}  // namespace mychip
