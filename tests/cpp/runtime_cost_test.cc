// The cycle model: exact numbers of a few commands (plugin/emulator/README.md works them out) and its properties.
#include "runtime_testing.h"

namespace mychip {
namespace {

MatMulCmd MatMul(DType dtype, int64_t m, int64_t k, int64_t n, Precision precision = Precision::kF32) {
  MatMulCmd c;
  c.a = DenseView(0, 0, dtype, {m, k});
  c.b = DenseView(1, 0, dtype, {k, n});
  c.out = DenseView(2, 0, dtype, {m, n});
  c.precision = precision;
  return c;
}

double Utilisation(const MatMulCmd& c, int64_t macs_per_core) {
  const Cost cost = CostOf(c);
  return static_cast<double>(cost.flops / 2) / (static_cast<double>(cost.cycles) * macs_per_core * chip::kCores);
}

TEST(Cost, LargeMatMulsFillTheArrayAndTinyOnesDoNot) {
  EXPECT_GE(Utilisation(MatMul(DType::kF32, 2048, 2048, 2048), chip::kMacsF32), 0.9);
  EXPECT_GE(Utilisation(MatMul(DType::kF32, 2048, 2048, 2048, Precision::kTF32), chip::kMacsTF32), 0.9);
  EXPECT_GE(Utilisation(MatMul(DType::kBF16, 4096, 4096, 4096), chip::kMacs16), 0.9);
  EXPECT_LE(Utilisation(MatMul(DType::kF32, 8, 8, 8), chip::kMacsF32), 0.01);
  EXPECT_LE(Utilisation(MatMul(DType::kF32, 33, 2048, 33), chip::kMacsF32), 0.2);
}

TEST(Cost, MatMulByHand) {
  // 64 x 64 blocks of 32 x 32 on 8 cores, 2048 + 32 cycles each; traffic: each operand 8 times.
  const Cost cost = CostOf(MatMul(DType::kF32, 2048, 2048, 2048));
  EXPECT_EQ(cost.launches, 1);
  EXPECT_EQ(cost.cycles, 500 + 64 * 64 / 8 * 2080);
  EXPECT_EQ(cost.flops, int64_t{2} * 2048 * 2048 * 2048);
  EXPECT_EQ(cost.bytes_read, int64_t{2} * 8 * 4 * 2048 * 2048);
  EXPECT_EQ(cost.bytes_written, 4 * 2048 * 2048);
}

VectorCmd Elementwise(VOp op, DType dtype, int64_t count) {
  VectorCmd c;
  c.dims = {count};
  c.inputs = {DenseView(0, 0, dtype, {count})};
  BodyBuilder b;
  c.body = b.Build({b.Unary(op, b.Param(0, dtype))});
  c.outputs = {DenseView(1, 0, dtype, {count})};
  return c;
}

TEST(Cost, VectorRates) {
  EXPECT_EQ(CostOf(Elementwise(VOp::kNeg, DType::kF32, 1'000'000)).cycles, 500 + 10'000);  // memory: 8 MB / 800
  EXPECT_EQ(CostOf(Elementwise(VOp::kTanh, DType::kF64, 1)).cycles, 500 + 2 * 16 * 4);
  EXPECT_EQ(CostOf(Elementwise(VOp::kTanh, DType::kF64, 9 * 1024)).cycles,
            500 + 2 * 2 * 16 * 4);  // two tiles on one core
  EXPECT_EQ(CostOf(Elementwise(VOp::kNeg, DType::kF32, 1)).cycles, 500 + 4);
  EXPECT_EQ(CostOf(Elementwise(VOp::kTanh, DType::kF32, 1)).cycles, 500 + 16);
  EXPECT_EQ(CostOf(Elementwise(VOp::kSqrt, DType::kF16, 1)).cycles, 500 + 4);
  EXPECT_EQ(CostOf(Elementwise(VOp::kNeg, DType::kF32, 0)).cycles, 500);
}

TEST(Cost, BroadcastOperandsAreFetchedOnce) {
  VectorCmd c = Elementwise(VOp::kNeg, DType::kF32, 1024);
  c.dims = {64, 1024};
  c.inputs[0] = Broadcast(DenseView(0, 0, DType::kF32, {1024}), c.dims, {1});
  c.outputs[0] = DenseView(1, 0, DType::kF32, c.dims);
  EXPECT_EQ(CostOf(c).bytes_read, 4096);
  EXPECT_EQ(CostOf(c).bytes_written, 64 * 4096);
}

TEST(Cost, ScatteredElementsMoveWholeBursts) {
  const View dense = DenseView(0, 0, DType::kF32, {1024, 16}), out = DenseView(1, 0, DType::kF32, {1024});
  View column = Sliced(dense, {0, 0}, {1024, 1}, {1, 1});
  column.dims = {1024}, column.strides = {16};
  const Cost strided = CostOf(CopyCmd{column, out, {}, {}});
  EXPECT_EQ(strided.bytes_read, 4096);
  EXPECT_EQ(strided.cycles, 500 + (1024 * 64 + 4096 + 799) / 800);
  // A transpose reads rows and writes rows: full bursts on both sides.
  const View square = DenseView(0, 0, DType::kF32, {64, 64});
  View moved = Transposed(square, {1, 0});
  moved.buffer = 1;
  EXPECT_EQ(CostOf(CopyCmd{square, moved, {}, {}}).cycles, 500 + (2 * 16384 + 799) / 800);
}

TEST(Cost, ConvolutionIsAnImplicitMatMul) {
  ConvCmd c;
  c.lhs = DenseView(0, 0, DType::kF32, {32, 28, 28, 128});
  c.rhs = DenseView(1, 0, DType::kF32, {3, 3, 128, 128});
  c.window = {{3, 1, 1, 1}, {3, 1, 1, 1}};
  c.out = DenseView(2, 0, DType::kF32, {32, 28, 28, 128});
  const Cost cost = CostOf(c);
  EXPECT_EQ(cost.flops, int64_t{2} * 32 * 28 * 28 * 128 * 9 * 128);
  EXPECT_EQ(cost.cycles, 500 + (32 * 28 * 28 / 32 * 4 / 8) * (9 * 128 + 32));
  EXPECT_GE(static_cast<double>(cost.flops / 2) / (cost.cycles * 8192.0), 0.9);
}

TEST(Cost, EveryCommandHasOne) {
  const Program program = testing::EveryCommand();
  Cost sum;
  for (const auto& block : program.blocks) {
    for (const Command& command : block) {
      const Cost cost = CostOf(command.op);
      const bool control = UnitOf(command.op) == Unit::kControl;
      EXPECT_EQ(cost.launches, control ? 0 : 1) << CommandName(command.op);
      EXPECT_EQ(cost.cycles < 500, control) << CommandName(command.op);
      if (!control) {
        EXPECT_GT(cost.bytes_read, 0) << CommandName(command.op);
        EXPECT_GT(cost.bytes_written, 0) << CommandName(command.op);
      }
      sum += cost;
    }
  }
  EXPECT_EQ(StaticCost(program).cycles, sum.cycles);
  EXPECT_EQ(StaticCost(program).launches, sum.launches);
}

}  // namespace
}  // namespace mychip
