#include <cmath>
#include <cstring>
#include <limits>

#include "body_rules.h"
#include "runtime_testing.h"
#include "scalar.h"

namespace mychip {
namespace {

using testing::ExpectError;

TEST(Body, SourcesAreShared) {
  BodyBuilder b;
  EXPECT_EQ(b.Param(0, DType::kF32), b.Param(0, DType::kF32));
  EXPECT_EQ(b.Const(DType::kF32, 1), b.ConstInt(DType::kF32, 1));
  EXPECT_NE(b.Const(DType::kF32, 0.0), b.Const(DType::kF32, -0.0));
  EXPECT_EQ(b.Iota(DType::kS32, 0), b.Iota(DType::kS32, 0));
  EXPECT_NE(b.Iota(DType::kS32, 0), b.Iota(DType::kS32, 1));
}

TEST(Body, ResultDTypes) {
  BodyBuilder b;
  const int c = b.Param(0, DType::kC64), f = b.Param(1, DType::kF32), p = b.Param(2, DType::kPred);
  EXPECT_EQ(b.dtype(b.Unary(VOp::kAbs, c)), DType::kF32);
  EXPECT_EQ(b.dtype(b.Unary(VOp::kAbs, f)), DType::kF32);
  EXPECT_EQ(b.dtype(b.Unary(VOp::kIsNan, f)), DType::kPred);
  EXPECT_EQ(b.dtype(b.Binary(VOp::kComplex, f, f)), DType::kC64);
  EXPECT_EQ(b.dtype(b.Binary(VOp::kEq, c, c)), DType::kPred);
  EXPECT_EQ(b.dtype(b.Ternary(VOp::kSelect, p, f, f)), DType::kF32);
  EXPECT_EQ(b.Convert(DType::kF32, f), f);
  EXPECT_EQ(b.Bitcast(DType::kF32, f), f);
  const Body body = b.Build({f});
  EXPECT_OK(Validate(body, {DType::kC64, DType::kF32, DType::kPred}, 1));
}

TEST(Body, MatchBinaryBody) {
  VOp op;
  EXPECT_TRUE(MatchBinaryBody(BinaryBody(VOp::kSub, DType::kF32), &op));
  EXPECT_EQ(op, VOp::kSub);
  const auto swapped = [](VOp which) {
    BodyBuilder b;
    const int x = b.Param(0, DType::kF32), y = b.Param(1, DType::kF32);
    return b.Build({b.Binary(which, y, x)});
  };
  EXPECT_TRUE(MatchBinaryBody(swapped(VOp::kMax), &op));
  EXPECT_EQ(op, VOp::kMax);
  EXPECT_FALSE(MatchBinaryBody(swapped(VOp::kSub), &op));
  EXPECT_FALSE(MatchBinaryBody(Body(), &op));
  BodyBuilder b;
  const int x = b.Param(0, DType::kF32);
  EXPECT_FALSE(MatchBinaryBody(b.Build({b.Binary(VOp::kAdd, x, x)}), &op));
}

TEST(Body, ValidateNamesTheInstruction) {
  const auto build = [](auto make) {
    BodyBuilder b;
    return b.Build({make(&b)});
  };
  const std::vector<DType> params = {DType::kF32, DType::kS32};
  ExpectError(Validate(build([](BodyBuilder* b) { return b->Param(2, DType::kF32); }), params, 1),
              Code::kInvalidArgument, {"%0 = param", "param 2"});
  ExpectError(Validate(build([](BodyBuilder* b) { return b->Param(1, DType::kF32); }), params, 1),
              Code::kInvalidArgument, {"read as f32 but is s32"});
  ExpectError(Validate(build([](BodyBuilder* b) {
                         return b->Binary(VOp::kAdd, b->Param(0, DType::kF32), b->Param(1, DType::kS32));
                       }),
                       params, 1),
              Code::kInvalidArgument, {"%2 = add", "f32 and s32"});
  ExpectError(Validate(build([](BodyBuilder* b) { return b->Unary(VOp::kTanh, b->Param(1, DType::kS32)); }), params, 1),
              Code::kInvalidArgument, {"tanh", "not defined for s32"});
  ExpectError(
      Validate(build([](BodyBuilder* b) { return b->Bitcast(DType::kF64, b->Param(0, DType::kF32)); }), params, 1),
      Code::kInvalidArgument, {"different sizes"});
  ExpectError(Validate(build([](BodyBuilder* b) { return b->Param(0, DType::kF32); }), params, 2),
              Code::kInvalidArgument, {"1 results, must have 2"});
  Body body = BinaryBody(VOp::kAdd, DType::kF32);
  body.insts[2].b = 2;
  ExpectError(Validate(body, {DType::kF32, DType::kF32}, 1), Code::kInvalidArgument, {"operand 1 is %2"});
  body = BinaryBody(VOp::kAdd, DType::kF32);
  body.results = {3};
  ExpectError(Validate(body, {DType::kF32, DType::kF32}, 1), Code::kInvalidArgument, {"result %3"});
  body.insts[2].op = static_cast<VOp>(250);
  ExpectError(Validate(body, {DType::kF32, DType::kF32}, 1), Code::kInvalidArgument, {"unknown operation 250"});
  body.insts[2].op = VOp::kAdd;
  body.insts[2].dtype = static_cast<DType>(99);
  ExpectError(Validate(body, {DType::kF32, DType::kF32}, 1), Code::kInvalidArgument, {"unknown dtype 99"});
}

TEST(Body, Text) {
  EXPECT_EQ(ToString(BinaryBody(VOp::kAdd, DType::kF32)),
            "{ %0 = param.f32 0; %1 = param.f32 1; %2 = add.f32 %0, %1; return %2 }");
  BodyBuilder b;
  EXPECT_EQ(ToString(b.Build({b.Const(DType::kF16, 0.1)})), "{ %0 = const.f16 0.0999755859; return %0 }");
}

TEST(Body, PeakLiveBytes) {
  BodyBuilder b;
  int sum = b.Param(0, DType::kF32);
  for (int i = 1; i < 10; ++i) sum = b.Binary(VOp::kAdd, sum, b.Param(i, DType::kF32));
  EXPECT_EQ(PeakLiveBytes(b.Build({sum})), 12);  // a chain: two operands and their sum
  std::vector<int> values;
  for (int i = 0; i < 10; ++i) values.push_back(b.Param(i, DType::kF64));
  EXPECT_EQ(PeakLiveBytes(b.Build({values.begin(), values.end()})), 80);
}

uint64_t Encode(DType dtype, long double value) { return EncodeScalar(dtype, value).low; }

TEST(Scalar, SmallFloatsRoundToNearestEven) {
  EXPECT_EQ(Encode(DType::kF16, 1), 0x3c00u);
  EXPECT_EQ(Encode(DType::kF16, -2), 0xc000u);
  EXPECT_EQ(Encode(DType::kF16, 65504), 0x7bffu);
  EXPECT_EQ(Encode(DType::kF16, 65519), 0x7bffu);
  EXPECT_EQ(Encode(DType::kF16, 65520), 0x7c00u);  // ties to even: infinity
  EXPECT_EQ(Encode(DType::kF16, std::ldexp(1.0, -24)), 1u);
  EXPECT_EQ(Encode(DType::kF16, std::ldexp(1.0, -25)), 0u);
  EXPECT_EQ(Encode(DType::kF16, std::ldexp(1.1, -25)), 1u);
  EXPECT_EQ(Encode(DType::kF16, -0.0), 0x8000u);
  EXPECT_EQ(Encode(DType::kF16, std::ldexp(1023.5, -24)), 0x400u);  // the carry makes it normal
  EXPECT_EQ(Encode(DType::kF16, INFINITY), 0x7c00u);
  EXPECT_EQ(Encode(DType::kF16, NAN) & 0x7e00, 0x7e00u);
  EXPECT_EQ(Encode(DType::kBF16, 1), 0x3f80u);
  EXPECT_EQ(Encode(DType::kBF16, 1 + std::ldexp(1.0, -8)), 0x3f80u);
  EXPECT_EQ(Encode(DType::kBF16, 1 + std::ldexp(3.0, -8)), 0x3f82u);
  EXPECT_EQ(Encode(DType::kBF16, 3.4e38), 0x7f80u);
  EXPECT_EQ(Encode(DType::kF32, 0.1), 0x3dcccccdu);
}

// bfloat16 is the upper half of float32, which the host rounds for us.
TEST(Scalar, BFloat16AgreesWithFloatRounding) {
  for (uint32_t bits = 0; bits < 0x7f800000u; bits += 9973) {
    float value;
    std::memcpy(&value, &bits, 4);
    const uint32_t expected = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    ASSERT_EQ(Encode(DType::kBF16, value), expected) << value;
  }
}

TEST(Scalar, IntegersSaturateAndConstIntIsExact) {
  EXPECT_EQ(Encode(DType::kS8, 300), 127u);
  EXPECT_EQ(Encode(DType::kS8, -300), 0x80u);
  EXPECT_EQ(Encode(DType::kU8, -1), 0u);
  EXPECT_EQ(Encode(DType::kS32, NAN), 0u);
  EXPECT_EQ(Encode(DType::kS32, -1.9), 0xffffffffu);
  EXPECT_EQ(Encode(DType::kU64, 1.9e19), ~uint64_t{0});
  EXPECT_EQ(EncodeInteger(DType::kS64, INT64_MIN).low, uint64_t{1} << 63);
  EXPECT_EQ(EncodeInteger(DType::kU8, 300).low, 44u);
  EXPECT_EQ(EncodeInteger(DType::kF64, INT64_MAX).low, 0x43e0000000000000u);
  EXPECT_EQ(Encode(DType::kPred, 0.5), 1u);
}

TEST(Scalar, Text) {
  EXPECT_EQ(ScalarToString(DType::kF32, EncodeScalar(DType::kF32, 0.1)), "0.1");
  EXPECT_EQ(ScalarToString(DType::kF32, {0x3f800001}), "1.00000012");
  EXPECT_EQ(ScalarToString(DType::kF64, EncodeScalar(DType::kF64, 0.1)), "0.1");
  EXPECT_EQ(ScalarToString(DType::kF64, EncodeScalar(DType::kF64, 1.0 / 3)), "0.33333333333333331");
  EXPECT_EQ(ScalarToString(DType::kS8, {0xff}), "-1");
  EXPECT_EQ(ScalarToString(DType::kF16, {0xfc00}), "-inf");
  EXPECT_EQ(ScalarToString(DType::kPred, {1}), "true");
}

}  // namespace
}  // namespace mychip
