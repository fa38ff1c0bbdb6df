// Convolution unit against a naive reference over HLO's whole parameter space, and on the forms training emits.
#include <gtest/gtest.h>

#include "cores.h"
#include "emulator_operands.h"
#include "emulator_testing.h"
#include "gemm_kernels.h"
#include "mychip/runtime/program.h"
#include "units.h"

namespace mychip::emulator {
namespace {

using namespace mychip::testing;

Status RunConv(const ConvCmd& cmd, std::vector<Operand*> operands) {
  std::vector<Bytes*> buffers;
  for (Operand* o : operands) buffers.push_back(&o->bytes);
  return RunGuarded(buffers, [&](const std::vector<uint8_t*>& at) { return DecodeConv(cmd)(Buffers(at)); });
}

int64_t OutSize(const WindowDim& w, int64_t size) {
  const int64_t dilated = size == 0 ? 0 : (size - 1) * w.base_dilation + 1;
  const int64_t window = (w.size - 1) * w.window_dilation + 1, padded = dilated + w.pad_low + w.pad_high;
  return padded < window ? 0 : (padded - window) / w.stride + 1;
}

struct Problem {
  ConvCmd cmd;
  Operand lhs, rhs, out;
  Status Run() {
    cmd.lhs = lhs.view, cmd.rhs = rhs.view, cmd.out = out.view;
    return RunConv(cmd, {&lhs, &rhs, &out});
  }
};

// HLO's definition, element by element.
std::complex<double> Reference(Problem& p, const Dims& out) {
  const ConvCmd& c = p.cmd;
  const int spatial = static_cast<int>(c.window.size());
  const Dims &lhs = p.lhs.view.dims, &rhs = p.rhs.view.dims;
  const int64_t co = out.back(), in_features = rhs[spatial];
  const int64_t group = co / (rhs.back() / std::max(c.feature_groups, c.batch_groups));
  Dims window(rhs.begin(), rhs.begin() + spatial);
  window.push_back(in_features);
  std::complex<double> sum = 0;
  ForEachIndex(window, [&](const Dims& tap) {
    Dims l(spatial + 2), r = tap;
    for (int d = 0; d < spatial; ++d) {
      const WindowDim& w = c.window[d];
      const int64_t at = out[d + 1] * w.stride + tap[d] * w.window_dilation - w.pad_low;
      if (at < 0 || at % w.base_dilation != 0 || at / w.base_dilation >= lhs[d + 1]) return;
      l[d + 1] = at / w.base_dilation;
      if (w.reversal) r[d] = w.size - 1 - tap[d];
    }
    l.front() = c.batch_groups > 1 ? group * (lhs.front() / c.batch_groups) + out.front() : out.front();
    l.back() = c.feature_groups > 1 ? group * in_features + tap.back() : tap.back();
    r.push_back(co);
    sum += p.lhs.Value(l) * p.rhs.Value(r);
  });
  return sum;
}

void ExpectExact(Problem& p, const char* what) {
  ForEachIndex(p.out.view.dims, [&](const Dims& index) {
    ASSERT_EQ(p.out.Value(index), Reference(p, index))
        << what << " lhs " << ToString(p.lhs.view) << " rhs " << ToString(p.rhs.view) << " out " << ToString(p.out.view)
        << " groups " << p.cmd.feature_groups << " " << p.cmd.batch_groups;
  });
}

struct Types {
  DType operand, accumulate, out;
};

class ConvDTypes : public ::testing::TestWithParam<Types> {};

Problem RandomProblem(Random& random, const Types& types) {
  Problem p;
  const int spatial = static_cast<int>(Uniform(random, 0, 3));
  const int64_t budget = spatial == 3 ? 5 : 9;
  Dims lhs{Uniform(random, 1, 3)}, rhs, out;
  for (int d = 0; d < spatial; ++d) {
    WindowDim w;
    lhs.push_back(Uniform(random, Uniform(random, 0, 9) == 0 ? 0 : 1, budget));
    w.size = Uniform(random, 1, 4), w.stride = Uniform(random, 1, 3);
    w.pad_low = Uniform(random, -1, 3), w.pad_high = Uniform(random, -1, 3);
    w.base_dilation = Uniform(random, 0, 1) == 0 ? 1 : Uniform(random, 1, 3);
    w.window_dilation = Uniform(random, 0, 1) == 0 ? 1 : Uniform(random, 1, 3);
    w.reversal = Uniform(random, 0, 1) == 0;
    p.cmd.window.push_back(w);
    rhs.push_back(w.size);
    out.push_back(OutSize(w, lhs.back()));
  }
  const int64_t kind = Uniform(random, 0, 3),
                groups = kind < 2 ? 1 : std::vector<int64_t>{2, 5, 8, 19}[Uniform(random, 0, 3)];
  int64_t ci = Uniform(random, 1, 6);
  const int64_t co = groups * (Uniform(random, 0, 1) == 0 ? 1 : Uniform(random, 1, 20 / groups + 1));
  if (kind == 2) p.cmd.feature_groups = groups;
  if (kind == 3) p.cmd.batch_groups = groups;
  rhs.push_back(ci), rhs.push_back(co);
  lhs.push_back(ci * p.cmd.feature_groups);
  out.insert(out.begin(), lhs[0]), out.push_back(co);
  lhs[0] *= p.cmd.batch_groups;
  p.cmd.accumulate = types.accumulate;
  p.lhs = MakeOperand(random, 0, types.operand, lhs, Uniform(random, 0, 2) == 0 ? Layout::kDense : Layout::kAny);
  p.rhs = MakeOperand(random, 1, types.operand, rhs, Uniform(random, 0, 2) == 0 ? Layout::kDense : Layout::kAny);
  p.out = MakeOperand(random, 2, types.out, out, Uniform(random, 0, 2) == 0 ? Layout::kDense : Layout::kAny);
  FillSmall(random, &p.lhs, 2), FillSmall(random, &p.rhs, 2);
  return p;
}

TEST_P(ConvDTypes, EqualsExactReferenceOverRandomWindows) {
  Random random(11);
  for (int trial = 0; trial < 400; ++trial) {
    Problem p = RandomProblem(random, GetParam());
    ASSERT_TRUE(p.Run().ok());
    ExpectExact(p, std::to_string(trial).c_str());
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ConvDTypes,
    ::testing::Values(Types{DType::kF32, DType::kF32, DType::kF32}, Types{DType::kF16, DType::kF32, DType::kF32},
                      Types{DType::kBF16, DType::kF32, DType::kF32}, Types{DType::kF64, DType::kF64, DType::kF64},
                      Types{DType::kS8, DType::kS32, DType::kS32}, Types{DType::kS32, DType::kS32, DType::kS32},
                      Types{DType::kS64, DType::kS64, DType::kS64}, Types{DType::kC64, DType::kC64, DType::kC64},
                      Types{DType::kC128, DType::kC128, DType::kC128}),
    [](const auto& info) { return std::string(Name(info.param.operand)); });

// A layer in NHWC and HWIO, and its gradients the way XLA writes them (dims permuted through strides).
struct Layer {
  int64_t n, h, w, ci, co, kernel, stride, dilation, groups;
};

Operand Dense(Random& random, int buffer, const Dims& dims) {
  Operand o = MakeOperand(random, buffer, DType::kF32, dims, Layout::kDense);
  FillSmall(random, &o, 1);
  return o;
}

// Same padding; out = ceil(size / stride).
WindowDim SameWindow(int64_t size, const Layer& l) {
  WindowDim w;
  w.size = l.kernel, w.stride = l.stride, w.window_dilation = l.dilation;
  const int64_t out = (size + l.stride - 1) / l.stride, span = (l.kernel - 1) * l.dilation + 1;
  const int64_t pad = std::max<int64_t>(0, (out - 1) * l.stride + span - size);
  w.pad_low = pad / 2, w.pad_high = pad - pad / 2;
  return w;
}

Problem Forward(Random& random, const Layer& l) {
  Problem p;
  p.cmd.feature_groups = l.groups;
  p.cmd.window = {SameWindow(l.h, l), SameWindow(l.w, l)};
  p.lhs = Dense(random, 0, {l.n, l.h, l.w, l.ci});
  p.rhs = Dense(random, 1, {l.kernel, l.kernel, l.ci / l.groups, l.co});
  p.out = Dense(random, 2, {l.n, OutSize(p.cmd.window[0], l.h), OutSize(p.cmd.window[1], l.w), l.co});
  return p;
}

// Gradient of the input: lhs = gradient with base dilation, rhs = the kernel reversed with its features swapped.
Problem InputGradient(Random& random, const Layer& l) {
  Problem f = Forward(random, l), p;
  p.lhs = Dense(random, 0, f.out.view.dims);
  p.rhs = Dense(random, 1, f.rhs.view.dims);
  p.rhs.view = Transposed(p.rhs.view, {0, 1, 3, 2});
  p.out = Dense(random, 2, f.lhs.view.dims);
  for (int d = 0; d < 2; ++d) {
    const WindowDim& fw = f.cmd.window[d];
    WindowDim w;
    w.size = l.kernel, w.window_dilation = l.dilation, w.base_dilation = l.stride, w.reversal = true;
    const int64_t span = (l.kernel - 1) * l.dilation, size = f.lhs.view.dims[d + 1], grad = p.lhs.view.dims[d + 1];
    w.pad_low = span - fw.pad_low;
    w.pad_high = size + span - ((grad - 1) * l.stride + 1) - w.pad_low;
    p.cmd.window.push_back(w);
  }
  return p;
}

// Gradient of the kernel: batch becomes the contracted feature, the gradient the window.
Problem FilterGradient(Random& random, const Layer& l) {
  Problem f = Forward(random, l), p;
  p.lhs = Dense(random, 0, f.lhs.view.dims);
  p.lhs.view = Transposed(p.lhs.view, {3, 1, 2, 0});
  p.rhs = Dense(random, 1, f.out.view.dims);
  p.rhs.view = Transposed(p.rhs.view, {1, 2, 0, 3});
  p.out = Dense(random, 2, f.rhs.view.dims);
  p.out.view = Transposed(p.out.view, {2, 0, 1, 3});
  p.cmd.batch_groups = l.groups;
  for (int d = 0; d < 2; ++d) {
    const WindowDim& fw = f.cmd.window[d];
    WindowDim w;
    w.size = p.rhs.view.dims[d], w.stride = l.dilation, w.window_dilation = l.stride, w.pad_low = fw.pad_low;
    const int64_t span = (w.size - 1) * l.stride + 1, wanted = (l.kernel - 1) * l.dilation + span;
    w.pad_high = wanted - f.lhs.view.dims[d + 1] - w.pad_low;
    p.cmd.window.push_back(w);
  }
  return p;
}

const Layer kLayers[] = {
    {2, 14, 14, 8, 40, 3, 1, 1, 1},   {2, 15, 13, 24, 16, 3, 2, 1, 1},  {3, 9, 9, 16, 33, 1, 1, 1, 1},
    {2, 9, 9, 16, 32, 1, 2, 1, 1},    {2, 12, 12, 4, 8, 3, 1, 2, 1},    {1, 20, 20, 3, 20, 7, 2, 1, 1},
    {2, 10, 11, 24, 24, 3, 1, 1, 24}, {2, 10, 11, 12, 24, 3, 2, 1, 12}, {2, 8, 8, 16, 16, 3, 1, 1, 2},
    {3, 30, 30, 1, 8, 3, 1, 1, 1},    {1, 1, 1, 64, 300, 1, 1, 1, 1},   {40, 16, 16, 2, 3, 3, 1, 1, 1},
    {2, 7, 7, 8, 64, 3, 1, 1, 1},     {1, 9, 9, 16, 350, 1, 1, 1, 1},   {2, 6, 6, 4, 58, 3, 1, 1, 1},
};

TEST(Conv, LayersAndTheirGradientsAreExactAndBitEqualOverCoresAndVectors) {
  Random random(13);
  for (const Layer& l : kLayers) {
    for (auto make : {Forward, InputGradient, FilterGradient}) {
      if (make == InputGradient && l.groups > 1) continue;  // another arrangement of rhs, covered by random windows
      Problem p = make(random, l);
      ASSERT_TRUE(p.Run().ok());
      ExpectExact(p, "layer");
      if (HasFailure()) return;
      FillUniform(random, &p.lhs), FillUniform(random, &p.rhs);
      std::vector<std::vector<uint8_t>> results;
      for (int cores : {1, 2, 3, 4}) {
        SetNumCores(cores);
        AllowAvx512(cores != 4);
        ASSERT_TRUE(p.Run().ok());
        results.push_back(p.out.bytes);
      }
      EXPECT_TRUE(results[0] == results[1] && results[0] == results[2] && results[0] == results[3])
          << "layer " << &l - kLayers;
      ForEachIndex(p.out.view.dims, [&](const Dims& index) {
        ASSERT_NEAR(p.out.Value(index).real(), Reference(p, index).real(), 2e-4);
      });
    }
  }
  AllowAvx512(true);
  SetNumCores(2);
}

TEST(Conv, EpilogueAddsBiasPerFeature) {
  Random random(17);
  for (const Layer& l : kLayers) {
    Problem p = Forward(random, l);
    Operand bias = Dense(random, 3, {l.co});
    bias.view = Broadcast(bias.view, p.out.view.dims, {3});
    BodyBuilder body;
    const int sum = body.Binary(VOp::kAdd, body.Param(0, DType::kF32), body.Param(1, DType::kF32));
    p.cmd.epilogue = body.Build({body.Binary(VOp::kMax, sum, body.Const(DType::kF32, 0))});
    p.cmd.epilogue_inputs = {bias.view};
    p.cmd.lhs = p.lhs.view, p.cmd.rhs = p.rhs.view, p.cmd.out = p.out.view;
    ASSERT_TRUE(RunConv(p.cmd, {&p.lhs, &p.rhs, &p.out, &bias}).ok());
    ForEachIndex(p.out.view.dims, [&](const Dims& index) {
      ASSERT_EQ(p.out.Value(index).real(), std::max(0.0, Reference(p, index).real() + bias.Value(index).real()));
    });
  }
}

TEST(Conv, ReducedPrecisionRoundsOperands) {
  Random random(19);
  Problem p = Forward(random, {1, 4, 4, 4, 8, 3, 1, 1, 1});
  p.cmd.precision = Precision::kTF32;
  ForEachIndex(p.lhs.view.dims, [&](const Dims& i) { p.lhs.Set(i, 1 + std::ldexp(1.0, -12)); });
  ForEachIndex(p.rhs.view.dims, [&](const Dims& i) { p.rhs.Set(i, 1); });
  ASSERT_TRUE(p.Run().ok());
  EXPECT_EQ(p.out.Value({0, 1, 1, 0}).real(), 36);
}

}  // namespace
}  // namespace mychip::emulator
