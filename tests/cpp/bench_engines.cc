// Speed of the matrix, convolution and window units in GFLOP/s (or ms), beside the machine's multiply-add peak.
// Not a test: prints a table. Usage: bench_engines [filter] [cores...]
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "cores.h"
#include "emulator_operands.h"
#include "gemm_kernels.h"
#include "mychip/runtime/program.h"
#include "units.h"

namespace mychip::emulator {
namespace {

using namespace mychip::testing;

double Seconds(clockid_t clock = CLOCK_MONOTONIC) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::string g_filter;
bool Wanted(const std::string& name) { return name.find(g_filter) != std::string::npos; }

// Prints the best wall time, and the median of the process's CPU time (what counts when the machine is shared).
void Measure(const std::string& name, double flops, const std::function<void()>& fn) {
  if (!Wanted(name)) return;
  std::vector<double> wall, cpu;
  fn();
  const double start = Seconds();
  while (wall.size() < 5 || (Seconds() - start < 0.4 && wall.size() < 1000)) {
    const double w = Seconds(), c = Seconds(CLOCK_PROCESS_CPUTIME_ID);
    fn();
    cpu.push_back(Seconds(CLOCK_PROCESS_CPUTIME_ID) - c);
    wall.push_back(Seconds() - w);
  }
  std::sort(wall.begin(), wall.end());
  std::sort(cpu.begin(), cpu.end());
  const double median = cpu[cpu.size() / 2];
  std::printf("%-44s wall best %9.1f us %6.1f GF   cpu best %9.1f us %6.1f GF  median %6.1f GF\n", name.c_str(),
              wall[0] * 1e6, flops / wall[0] * 1e-9, cpu[0] * 1e6, flops / cpu[0] * 1e-9, flops / median * 1e-9);
  std::fflush(stdout);
}

struct Case {
  Random random{1};
  std::vector<Operand> operands;
  std::vector<uint8_t*> addresses;
  View Add(DType dtype, const Dims& dims) {
    operands.push_back(MakeOperand(random, static_cast<int>(operands.size()), dtype, dims, Layout::kDense));
    Operand& o = operands.back();
    if (ByteSize(dtype) == 4 && dtype == DType::kF32) {
      auto* values = reinterpret_cast<float*>(o.bytes.data());
      for (int64_t i = 0; i < NumElements(dims); ++i) values[i] = static_cast<float>(i * 7919 % 1009) / 1009 - 0.5f;
    } else {
      std::fill(o.bytes.begin(), o.bytes.end(), 0);
    }
    return o.view;
  }
  void Run(const std::string& name, double flops, const Runner& runner) {
    for (Operand& o : operands) addresses.push_back(o.bytes.data());
    Measure(name, flops, [&] {
      const Status status = runner(Buffers(addresses));
      if (!status.ok()) std::printf("%s\n", status.message().c_str()), std::exit(1);
    });
  }
};

void Peak() {
  // The micro-kernel on data in the first-level cache.
  const TileKernels<float>& kernels = Kernels<float>();
  constexpr int64_t kDepth = 256;
  std::vector<float> a(kMaxTileRows * kDepth, 0.5f), b(kMaxTileColumns * kDepth, 0.5f),
      c(kMaxTileRows * kMaxTileColumns);
  const float* rows[kMaxTileRows];
  std::vector<int64_t> offsets(kDepth);
  for (int64_t i = 0; i < kMaxTileRows; ++i) rows[i] = a.data() + i * kDepth;
  for (int64_t k = 0; k < kDepth; ++k) offsets[k] = k;
  const double flops = 2.0 * static_cast<double>(kernels.mr * kernels.nr * kDepth) * 1000;
  for (const int64_t* table : {static_cast<const int64_t*>(nullptr), static_cast<const int64_t*>(offsets.data())}) {
    Measure(table != nullptr ? "kernel, offset table" : "kernel, one stride", flops, [&] {
      for (int i = 0; i < 1000; ++i) {
        kernels.tile[kernels.mr]({kDepth, rows, table, 1, b.data(), kernels.nr, c.data(), kernels.nr, false});
      }
    });
  }
}

void MatMuls() {
  struct Shape {
    int64_t batch, m, n, k;
    int transpose;  // 1: a, 2: b
    DType dtype = DType::kF32;
  };
  for (const Shape& s : std::vector<Shape>{{1, 128, 128, 128, 0},
                                           {1, 256, 256, 256, 0},
                                           {1, 512, 512, 512, 0},
                                           {1, 1024, 1024, 1024, 0},
                                           {1, 2048, 2048, 2048, 0},
                                           {1, 64, 4096, 1024, 0},
                                           {96, 128, 128, 64, 0},
                                           {96, 128, 128, 64, 2},
                                           {1, 512, 512, 512, 1},
                                           {1, 512, 512, 512, 2},
                                           {1, 1024, 1024, 1024, 2},
                                           {1, 32, 512, 784, 0},
                                           {1, 32, 10, 512, 0},
                                           {1, 512, 784, 32, 1},
                                           {1, 32, 512, 512, 2},
                                           {1, 784, 512, 32, 1},
                                           {1, 1, 4096, 1024, 0},
                                           {1, 1, 4096, 1024, 2},
                                           {1, 4096, 1, 1024, 0},
                                           {1, 32, 256, 64, 0},
                                           {1, 32, 32, 32, 0},
                                           {1, 8, 8, 8, 0},
                                           {1, 512, 2048, 512, 0},
                                           {1, 512, 512, 512, 0, DType::kF16},
                                           {1, 512, 512, 512, 0, DType::kBF16},
                                           {1, 512, 512, 512, 0, DType::kF64},
                                           {1, 512, 512, 512, 0, DType::kS32},
                                           {1, 512, 512, 512, 0, DType::kS8}}) {
    const std::string name = std::string("matmul ") + Name(s.dtype) + " " + std::to_string(s.batch) + " x (" +
                             std::to_string(s.m) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k) + ")" +
                             (s.transpose == 1   ? " a^T"
                              : s.transpose == 2 ? " b^T"
                                                 : "");
    if (!Wanted(name)) continue;
    Case c;
    MatMulCmd cmd;
    const bool half = s.dtype == DType::kF16 || s.dtype == DType::kBF16;
    cmd.accumulate = half ? DType::kF32 : s.dtype == DType::kS8 ? DType::kS32 : s.dtype;
    cmd.a = (s.transpose & 1) != 0 ? Transposed(c.Add(s.dtype, {s.batch, s.k, s.m}), {0, 2, 1})
                                   : c.Add(s.dtype, {s.batch, s.m, s.k});
    cmd.b = (s.transpose & 2) != 0 ? Transposed(c.Add(s.dtype, {s.batch, s.n, s.k}), {0, 2, 1})
                                   : c.Add(s.dtype, {s.batch, s.k, s.n});
    cmd.out = c.Add(half ? s.dtype : cmd.accumulate, {s.batch, s.m, s.n});
    c.Run(name, 2e0 * static_cast<double>(s.batch * s.m * s.n * s.k), DecodeMatMul(cmd));
  }
}

struct Layer {
  const char* name;
  int64_t n, size, ci, co, kernel, stride = 1, dilation = 1, groups = 1;
};

void Convolutions() {
  for (const Layer& l : std::vector<Layer>{{"3x3 56x56 64->64", 32, 56, 64, 64, 3},
                                           {"3x3 28x28 128->128", 32, 28, 128, 128, 3},
                                           {"3x3 14x14 256->256", 32, 14, 256, 256, 3},
                                           {"3x3 7x7 512->512", 32, 7, 512, 512, 3},
                                           {"1x1 56x56 64->64", 32, 56, 64, 64, 1},
                                           {"1x1 28x28 512->128", 32, 28, 512, 128, 1},
                                           {"1x1/2 56x56 256->128", 32, 56, 256, 128, 1, 2},
                                           {"7x7/2 224x224 3->64", 8, 224, 3, 64, 7, 2},
                                           {"3x3/2 56x56 64->128", 32, 56, 64, 128, 3, 2},
                                           {"3x3 dil 2 28x28 128", 32, 28, 128, 128, 3, 1, 2},
                                           {"3x3 28x28 1->32", 32, 28, 1, 32, 3},
                                           {"3x3 8x8 32->64", 32, 8, 32, 64, 3},
                                           {"grouped 32 3x3 28x28 128", 32, 28, 128, 128, 3, 1, 1, 32},
                                           {"depthwise 3x3 56x56 64", 32, 56, 64, 64, 3, 1, 1, 64},
                                           {"depthwise 3x3/2 56x56 64", 32, 56, 64, 64, 3, 2, 1, 64}}) {
    const int64_t out = (l.size + l.stride - 1) / l.stride, span = (l.kernel - 1) * l.dilation + 1;
    const int64_t pad = std::max<int64_t>(0, (out - 1) * l.stride + span - l.size);
    const double flops = 2.0 * static_cast<double>(l.n * out * out * l.kernel * l.kernel * l.ci / l.groups * l.co);
    const Dims image{l.n, l.size, l.size, l.ci}, grad{l.n, out, out, l.co};
    const Dims kernel{l.kernel, l.kernel, l.ci / l.groups, l.co};
    WindowDim w;
    w.size = l.kernel, w.stride = l.stride, w.window_dilation = l.dilation, w.pad_low = pad / 2,
    w.pad_high = pad - pad / 2;
    for (int form = 0; form < 3; ++form) {
      const char* forms[] = {" forward", " input grad", " filter grad"};
      const std::string name = std::string("conv ") + l.name + forms[form];
      if (!Wanted(name)) continue;
      Case c;
      ConvCmd cmd;
      WindowDim v = w;
      if (form == 0) {
        cmd.lhs = c.Add(DType::kF32, image), cmd.rhs = c.Add(DType::kF32, kernel), cmd.out = c.Add(DType::kF32, grad);
        cmd.feature_groups = l.groups;
      } else if (form == 1) {
        cmd.lhs = c.Add(DType::kF32, grad), cmd.out = c.Add(DType::kF32, image);
        const View k = c.Add(DType::kF32, kernel);
        if (l.groups == 1) {
          cmd.rhs = Transposed(k, {0, 1, 3, 2});
        } else if (l.groups == l.ci) {
          cmd.rhs = k, cmd.feature_groups = l.groups;
        } else {
          continue;
        }
        v.stride = 1, v.base_dilation = l.stride, v.reversal = true;
        v.pad_low = span - 1 - w.pad_low, v.pad_high = l.size + span - 1 - ((out - 1) * l.stride + 1) - v.pad_low;
      } else {
        cmd.lhs = Transposed(c.Add(DType::kF32, image), {3, 1, 2, 0});
        cmd.rhs = Transposed(c.Add(DType::kF32, grad), {1, 2, 0, 3});
        cmd.out = Transposed(c.Add(DType::kF32, kernel), {2, 0, 1, 3});
        cmd.batch_groups = l.groups;
        v.size = out, v.stride = l.dilation, v.window_dilation = l.stride;
        v.pad_high = (l.kernel - 1) * l.dilation + (out - 1) * l.stride + 1 - l.size - v.pad_low;
      }
      cmd.window = {v, v};
      c.Run(name, flops, DecodeConv(cmd));
    }
  }
}

void Pools() {
  for (const int64_t channels : {64, 8}) {
    Case c;
    WindowReduceCmd cmd;
    const View in = c.Add(DType::kF32, {32, 56, 56, channels}), out = c.Add(DType::kF32, {32, 28, 28, channels});
    const View init = c.Add(DType::kF32, {});
    cmd.window.resize(4);
    for (int d : {1, 2}) cmd.window[d].size = cmd.window[d].stride = 2;
    cmd.inputs = {in}, cmd.inits = {init}, cmd.outputs = {out};
    cmd.combine = BinaryBody(VOp::kMax, DType::kF32);
    c.Run("pool max 2x2 56x56x" + std::to_string(channels), static_cast<double>(NumElements(in.dims)),
          DecodeWindowReduce(cmd));
    Case g;
    SelectScatterCmd grad;
    grad.operand = g.Add(DType::kF32, in.dims), grad.source = g.Add(DType::kF32, out.dims);
    grad.init = g.Add(DType::kF32, {}), grad.out = g.Add(DType::kF32, in.dims);
    grad.window = cmd.window;
    grad.select = BinaryBody(VOp::kGe, DType::kF32), grad.scatter = BinaryBody(VOp::kAdd, DType::kF32);
    g.Run("pool max grad 2x2 56x56x" + std::to_string(channels), static_cast<double>(NumElements(in.dims)),
          DecodeSelectScatter(grad));
  }
}

void Embeddings() {
  Case c;
  const View table = c.Add(DType::kF32, {20000, 128}), indices = c.Add(DType::kS32, {32 * 256});
  for (int64_t i = 0; i < 32 * 256; ++i) c.operands[1].Set({i}, static_cast<double>(i * 7919 % 20000));
  const View rows = c.Add(DType::kF32, {32 * 256, 128});
  GatherCmd gather;
  gather.operand = table, gather.indices = indices, gather.out = rows;
  gather.offset_dims = {1}, gather.collapsed_dims = {0}, gather.start_index_map = {0}, gather.slice_sizes = {1, 128};
  gather.index_vector_dim = 1;
  c.Run("gather 8192 rows of 128", 8192.0 * 128, DecodeGather(gather));
  ScatterCmd scatter;
  scatter.outs = {table}, scatter.updates = {rows}, scatter.indices = indices;
  scatter.update_window_dims = {1}, scatter.inserted_dims = {0}, scatter.scatter_dims_to_operand = {0};
  scatter.index_vector_dim = 1, scatter.combine = BinaryBody(VOp::kAdd, DType::kF32);
  c.addresses.clear();
  c.Run("scatter-add 8192 rows of 128", 8192.0 * 128, DecodeScatter(scatter));
}

}  // namespace
}  // namespace mychip::emulator

int main(int argc, char** argv) {
  using namespace mychip::emulator;
  if (argc > 1) g_filter = argv[1];
  std::vector<int> cores;
  for (int i = 2; i < argc; ++i) cores.push_back(std::atoi(argv[i]));
  if (cores.empty()) cores = {1, NumCores()};
  for (int n : cores) {
    SetNumCores(n);
    std::printf("-- %d cores\n", n);
    Peak();
    MatMuls();
    Convolutions();
    Pools();
    Embeddings();
  }
}
