// WindowReduceCmd and SelectScatterCmd against HLO's definitions, element by element.
#include <gtest/gtest.h>

#include "cores.h"
#include "emulator_operands.h"
#include "emulator_testing.h"
#include "mychip/runtime/program.h"
#include "units.h"

namespace mychip::emulator {
namespace {

using namespace mychip::testing;

template <typename Cmd>
Status RunCommand(Runner (*decode)(const Cmd&), const Cmd& cmd, std::vector<Operand*> operands) {
  std::vector<Bytes*> buffers;
  for (Operand* o : operands) buffers.push_back(&o->bytes);
  return RunGuarded(buffers, [&](const std::vector<uint8_t*>& at) { return decode(cmd)(Buffers(at)); });
}

int64_t OutSize(const WindowDim& w, int64_t size) {
  const int64_t dilated = size == 0 ? 0 : (size - 1) * w.base_dilation + 1;
  const int64_t window = (w.size - 1) * w.window_dilation + 1, padded = dilated + w.pad_low + w.pad_high;
  return padded < window ? 0 : (padded - window) / w.stride + 1;
}

// Calls fn(input index) for every element in the window of `out`, in row-major order of the taps.
template <typename Fn>
void ForWindow(const std::vector<WindowDim>& window, const Dims& out, const Dims& dims, Fn fn) {
  Dims sizes;
  for (const WindowDim& w : window) sizes.push_back(w.size);
  ForEachIndex(sizes, [&](const Dims& tap) {
    Dims at(out.size());
    for (size_t d = 0; d < out.size(); ++d) {
      const WindowDim& w = window[d];
      const int64_t t = w.reversal ? w.size - 1 - tap[d] : tap[d];
      at[d] = out[d] * w.stride + t * w.window_dilation - w.pad_low;
      if (at[d] < 0 || at[d] % w.base_dilation != 0 || at[d] / w.base_dilation >= dims[d]) return;
      at[d] /= w.base_dilation;
    }
    fn(at);
  });
}

std::vector<WindowDim> RandomWindow(Random& random, size_t rank, bool dilate) {
  std::vector<WindowDim> window(rank);
  for (WindowDim& w : window) {
    if (Uniform(random, 0, 2) == 0) continue;
    w.size = Uniform(random, 1, 4), w.stride = Uniform(random, 1, 3);
    w.pad_low = Uniform(random, dilate ? -1 : 0, 2), w.pad_high = Uniform(random, dilate ? -1 : 0, 2);
    if (!dilate) continue;
    w.base_dilation = Uniform(random, 0, 2) == 0 ? Uniform(random, 2, 3) : 1;
    w.window_dilation = Uniform(random, 0, 2) == 0 ? Uniform(random, 2, 3) : 1;
    w.reversal = Uniform(random, 0, 3) == 0;
  }
  return window;
}

Dims RandomDims(Random& random, int64_t max_rank) {
  Dims dims;
  for (int64_t d = Uniform(random, 0, max_rank); d > 0; --d) {
    dims.push_back(Uniform(random, 0, 12) == 0 ? Uniform(random, 0, 40) : Uniform(random, 1, 7));
  }
  return dims;
}

Dims OutDims(const std::vector<WindowDim>& window, const Dims& dims) {
  Dims out;
  for (size_t d = 0; d < dims.size(); ++d) out.push_back(OutSize(window[d], dims[d]));
  return out;
}

TEST(WindowReduce, EqualsDefinitionForEveryDType) {
  Random random(21);
  const DType dtypes[] = {DType::kF32, DType::kF64,  DType::kS32, DType::kS64, DType::kU8,
                          DType::kF16, DType::kBF16, DType::kC64, DType::kS16};
  for (int trial = 0; trial < 900; ++trial) {
    const DType dtype = dtypes[trial % 9];
    WindowReduceCmd cmd;
    const Dims dims = RandomDims(random, 4);
    cmd.window = RandomWindow(random, dims.size(), true);
    Operand in = MakeOperand(random, 0, dtype, dims, static_cast<Layout>(trial % 3));
    FillSmall(random, &in, 1);
    Operand init = MakeOperand(random, 1, dtype, {}, Layout::kDense);
    init.Set({}, 1);
    Operand out = MakeOperand(random, 2, dtype, OutDims(cmd.window, dims), static_cast<Layout>(trial % 2));
    const bool max = trial % 2 == 0 && !IsComplex(dtype);
    cmd.inputs = {in.view}, cmd.inits = {init.view}, cmd.outputs = {out.view};
    cmd.combine = BinaryBody(max ? VOp::kMax : VOp::kAdd, dtype);
    ASSERT_TRUE(RunCommand(DecodeWindowReduce, cmd, {&in, &init, &out}).ok());
    ForEachIndex(out.view.dims, [&](const Dims& index) {
      std::complex<double> expected = 1;
      ForWindow(cmd.window, index, dims, [&](const Dims& at) {
        expected = max ? std::max(expected.real(), in.Value(at).real()) : expected + in.Value(at);
      });
      if (dtype == DType::kU8) expected = static_cast<double>(static_cast<uint8_t>(expected.real()));
      ASSERT_EQ(out.Value(index), expected) << "trial " << trial << " in " << ToString(in.view);
    });
    if (HasFailure()) return;
  }
}

// Two operands, a combiner that looks at both (arg-max), and a post step with an input and an index.
TEST(WindowReduce, SeveralOperandsAndPost) {
  Random random(22);
  for (int trial = 0; trial < 100; ++trial) {
    WindowReduceCmd cmd;
    const Dims dims{Uniform(random, 1, 3), Uniform(random, 1, 9), Uniform(random, 1, 9), Uniform(random, 1, 5)};
    cmd.window = RandomWindow(random, 4, true);
    Operand value = MakeOperand(random, 0, DType::kF32, dims, Layout::kAny);
    Operand position = MakeOperand(random, 1, DType::kS32, dims, Layout::kAny);
    FillSmall(random, &value, 3);
    double counter = 0;
    ForEachIndex(dims, [&](const Dims& index) { position.Set(index, counter++); });
    Operand low = MakeOperand(random, 2, DType::kF32, {}, Layout::kDense);
    low.Set({}, -100);
    Operand none = MakeOperand(random, 3, DType::kS32, {}, Layout::kDense);
    none.Set({}, -1);
    const Dims out_dims = OutDims(cmd.window, dims);
    Operand scale = MakeOperand(random, 4, DType::kF32, out_dims, Layout::kBroadcast);
    FillSmall(random, &scale, 3);
    Operand best = MakeOperand(random, 5, DType::kF32, out_dims, Layout::kAny);
    Operand where = MakeOperand(random, 6, DType::kS32, out_dims, Layout::kAny);
    BodyBuilder b;
    const int a0 = b.Param(0, DType::kF32), a1 = b.Param(1, DType::kS32), x0 = b.Param(2, DType::kF32),
              x1 = b.Param(3, DType::kS32);
    const int keep = b.Binary(VOp::kGe, a0, x0);
    const int r0 = b.Ternary(VOp::kSelect, keep, a0, x0), r1 = b.Ternary(VOp::kSelect, keep, a1, x1);
    cmd.combine = b.Build({r0, r1});
    BodyBuilder p;
    const int scaled = p.Binary(VOp::kMul, p.Param(0, DType::kF32), p.Param(2, DType::kF32));
    const int shifted = p.Binary(VOp::kAdd, p.Param(1, DType::kS32), p.Iota(DType::kS32, 1));
    cmd.post = p.Build({scaled, shifted});
    cmd.inputs = {value.view, position.view}, cmd.inits = {low.view, none.view};
    cmd.post_inputs = {scale.view}, cmd.outputs = {best.view, where.view};
    ASSERT_TRUE(RunCommand(DecodeWindowReduce, cmd, {&value, &position, &low, &none, &scale, &best, &where}).ok());
    ForEachIndex(out_dims, [&](const Dims& index) {
      double b0 = -100, b1 = -1;
      ForWindow(cmd.window, index, dims, [&](const Dims& at) {
        if (b0 >= value.Value(at).real()) return;
        b0 = value.Value(at).real(), b1 = position.Value(at).real();
      });
      ASSERT_EQ(best.Value(index).real(), b0 * scale.Value(index).real());
      ASSERT_EQ(where.Value(index).real(), b1 + static_cast<double>(index[1]));
    });
  }
}

TEST(WindowReduce, MaxPropagatesNan) {
  Random random(23);
  Operand in = MakeOperand(random, 0, DType::kF32, {1, 4, 4, 8}, Layout::kDense);
  FillSmall(random, &in, 3);
  in.Set({0, 1, 1, 3}, NAN);
  Operand init = MakeOperand(random, 1, DType::kF32, {}, Layout::kDense);
  init.Set({}, -INFINITY);
  Operand out = MakeOperand(random, 2, DType::kF32, {1, 2, 2, 8}, Layout::kDense);
  WindowReduceCmd cmd;
  cmd.window.resize(4);
  cmd.window[1].size = cmd.window[1].stride = cmd.window[2].size = cmd.window[2].stride = 2;
  cmd.inputs = {in.view}, cmd.inits = {init.view}, cmd.outputs = {out.view};
  cmd.combine = BinaryBody(VOp::kMax, DType::kF32);
  ASSERT_TRUE(RunCommand(DecodeWindowReduce, cmd, {&in, &init, &out}).ok());
  ForEachIndex(out.view.dims,
               [&](const Dims& i) { EXPECT_EQ(std::isnan(out.Value(i).real()), i[1] == 0 && i[2] == 0 && i[3] == 3); });
}

enum class Selection { kGe, kGt, kNotLt, kLe };

Body SelectBody(Selection s, DType dtype) {
  BodyBuilder b;
  const int x = b.Param(0, dtype), y = b.Param(1, dtype);
  switch (s) {
    case Selection::kGe:
      return b.Build({b.Binary(VOp::kGe, x, y)});
    case Selection::kGt:
      return b.Build({b.Binary(VOp::kGt, x, y)});
    case Selection::kLe:
      return b.Build({b.Binary(VOp::kLe, x, y)});
    case Selection::kNotLt:
      break;
  }
  return b.Build({b.Unary(VOp::kNot, b.Binary(VOp::kLt, x, y))});
}

bool Keeps(Selection s, double a, double b) {
  return s == Selection::kGe ? a >= b : s == Selection::kGt ? a > b : s == Selection::kLe ? a <= b : !(a < b);
}

TEST(SelectScatter, EqualsDefinitionAndIsBitEqualOverCores) {
  Random random(24);
  for (int trial = 0; trial < 400; ++trial) {
    const DType dtype = std::vector<DType>{DType::kF32, DType::kF32, DType::kF16, DType::kF64, DType::kS32}[trial % 5];
    const auto selection = static_cast<Selection>(trial / 5 % 4);
    SelectScatterCmd cmd;
    const Dims dims = RandomDims(random, 4);
    cmd.window = RandomWindow(random, dims.size(), false);
    Operand operand = MakeOperand(random, 0, dtype, dims, static_cast<Layout>(trial % 3));
    FillSmall(random, &operand, 2);
    if (dtype == DType::kF32 && NumElements(dims) > 0) operand.Set(Dims(dims.size(), 0), NAN);
    Operand source = MakeOperand(random, 1, dtype, OutDims(cmd.window, dims), static_cast<Layout>(trial % 3));
    FillSmall(random, &source, 3);
    Operand init = MakeOperand(random, 2, dtype, {}, Layout::kDense);
    init.Set({}, 2);
    Operand out = MakeOperand(random, 3, dtype, dims, static_cast<Layout>(trial % 2));
    cmd.operand = operand.view, cmd.source = source.view, cmd.init = init.view, cmd.out = out.view;
    cmd.select = SelectBody(selection, dtype);
    cmd.scatter = BinaryBody(VOp::kAdd, dtype);
    std::vector<std::vector<uint8_t>> results;
    for (int cores : {1, 2, 3}) {
      SetNumCores(cores);
      ASSERT_TRUE(RunCommand(DecodeSelectScatter, cmd, {&operand, &source, &init, &out}).ok());
      results.push_back(out.bytes);
    }
    EXPECT_TRUE(results[0] == results[1] && results[0] == results[2]);
    Operand wanted = MakeOperand(random, 4, DType::kF64, dims, Layout::kDense);
    ForEachIndex(dims, [&](const Dims& i) { wanted.Set(i, 2); });
    ForEachIndex(source.view.dims, [&](const Dims& index) {
      Dims best;
      ForWindow(cmd.window, index, dims, [&](const Dims& at) {
        if (best.empty() || !Keeps(selection, operand.Value(best).real(), operand.Value(at).real())) best = at;
        if (dims.empty()) best = {};
      });
      Dims inside;
      bool any = false;
      ForWindow(cmd.window, index, dims, [&](const Dims&) { any = true; });
      if (any) wanted.Set(best, wanted.Value(best) + source.Value(index));
    });
    ForEachIndex(dims, [&](const Dims& i) {
      ASSERT_EQ(out.Value(i), wanted.Value(i)) << "trial " << trial << " operand " << ToString(operand.view);
    });
    if (HasFailure()) return;
  }
  SetNumCores(2);
}

}  // namespace
}  // namespace mychip::emulator
