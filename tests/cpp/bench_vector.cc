// Times the vector, reduce and copy units on typical cases. Not a test: prints milliseconds, best wall time and median
// processor time (the one to trust on a busy machine, with one core). Usage: mychip_bench_vector [cores]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <vector>

#include "cores.h"
#include "mychip/emulator/chip.h"
#include "mychip/runtime/program.h"

namespace {

using namespace mychip;  // NOLINT: a program of its own

void Time(const char* name, int64_t elements, const std::vector<int64_t>& sizes,
          const std::function<void(ProgramBuilder*)>& build) {
  ProgramBuilder builder(name);
  std::vector<std::vector<uint8_t>> memory;
  for (int64_t bytes : sizes) {
    builder.Argument(bytes);
    memory.emplace_back(static_cast<size_t>(bytes));
    float* f = reinterpret_cast<float*>(memory.back().data());
    for (int64_t i = 0; i < bytes / 4; ++i) f[i] = static_cast<float>(i % 1000) / 500 - 1;
  }
  build(&builder);
  auto program = builder.Build();
  if (!program.ok()) {
    std::printf("%s: %s\n", name, program.status().message().c_str());
    std::exit(1);
  }
  // Temps and constants follow the arguments.
  std::vector<std::vector<uint8_t>> extra;
  std::vector<uint8_t*> addresses;
  const Program& p = **program;
  size_t argument = 0;
  for (const Buffer& b : p.buffers) {
    if (b.kind == BufferKind::kArgument) {
      addresses.push_back(memory[argument++].data());
    } else if (b.kind == BufferKind::kConstant) {
      addresses.push_back(const_cast<uint8_t*>(b.data.data()));
    } else {
      extra.emplace_back(static_cast<size_t>(b.size));
      addresses.push_back(extra.back().data());
    }
  }
  std::vector<double> ms, cpu;
  for (int i = 0; i < 15; ++i) {
    Cost cost;
    const std::clock_t cpu_start = std::clock();
    const auto start = std::chrono::steady_clock::now();
    const Status status = emulator::Run(p, addresses, nullptr, &cost);
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    cpu.push_back(1e3 * static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC);
    if (!status.ok()) {
      std::printf("%s: %s\n", name, status.message().c_str());
      std::exit(1);
    }
  }
  std::sort(ms.begin(), ms.end());
  std::sort(cpu.begin(), cpu.end());
  const double median = cpu[cpu.size() / 2];
  std::printf("%-28s best %8.3f  cpu %8.3f ms  %7.2f Gelt/s cpu\n", name, ms[0], median,
              static_cast<double>(elements) / median / 1e6);
}

View V(int buffer, Dims dims, DType dtype = DType::kF32) { return DenseView(buffer, 0, dtype, std::move(dims)); }

void Chain(const char* name, int64_t n, bool heavy) {
  Time(name, n, {4 * n, 4 * n, 4 * n}, [&](ProgramBuilder* p) {
    BodyBuilder b;
    const int x = b.Param(0, DType::kF32), y = b.Param(1, DType::kF32);
    int v = b.Binary(VOp::kAdd, b.Binary(VOp::kMul, x, b.Const(DType::kF32, 1.1)), y);
    if (heavy) {
      const int e = b.Unary(VOp::kExp, b.Unary(VOp::kTanh, v));
      const int s = b.Ternary(VOp::kSelect, b.Binary(VOp::kGt, x, y), e, v);
      v = b.Binary(VOp::kAdd, s, y);
    } else {
      v = b.Binary(VOp::kMax, v, b.Const(DType::kF32, 0));
    }
    p->Add(VectorCmd{{n}, {V(0, {n}), V(1, {n})}, b.Build({v}), {V(2, {n})}});
  });
}

void Unary(VOp op, int64_t n, DType dtype) {
  const std::string name = std::string(Name(op)) + " 1M " + Name(dtype);
  Time(name.c_str(), n, {4 * n, 4 * n}, [&](ProgramBuilder* p) {
    BodyBuilder b;
    p->Add(VectorCmd{{n}, {V(0, {n}, dtype)}, b.Build({b.Unary(op, b.Param(0, dtype))}), {V(1, {n}, dtype)}});
  });
}

void Sum(const char* name, Dims dims, std::vector<bool> reduced, VOp op) {
  const int64_t n = NumElements(dims);
  Dims kept;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!reduced[d]) kept.push_back(dims[d]);
  }
  Time(name, n, {4 * n, 4 * std::max<int64_t>(1, NumElements(kept))}, [&](ProgramBuilder* p) {
    ReduceCmd cmd;
    cmd.dims = dims, cmd.reduced = reduced, cmd.inputs = {V(0, dims)};
    cmd.combine = BinaryBody(op, DType::kF32);
    cmd.inits = {p->Scalar(DType::kF32, 0)};
    cmd.outputs = {V(1, kept)};
    p->Add(cmd);
  });
}

void Softmax(int64_t rows, int64_t n) {
  Time("softmax 4096x1024", rows * n, {4 * rows * n, 4 * rows * n}, [&](ProgramBuilder* p) {
    const Dims dims = {rows, n};
    const View max = p->Temp(DType::kF32, {rows}), sum = p->Temp(DType::kF32, {rows});
    auto along_rows = [&](const View& v) { return Broadcast(v, dims, {0}); };
    ReduceCmd m;
    m.dims = dims, m.reduced = {false, true}, m.inputs = {V(0, dims)};
    m.combine = BinaryBody(VOp::kMax, DType::kF32), m.inits = {p->Scalar(DType::kF32, -INFINITY)}, m.outputs = {max};
    p->Add(m);
    ReduceCmd s = m;
    BodyBuilder e;
    s.inputs = {V(0, dims), along_rows(max)};
    s.map = e.Build({e.Unary(VOp::kExp, e.Binary(VOp::kSub, e.Param(0, DType::kF32), e.Param(1, DType::kF32)))});
    s.combine = BinaryBody(VOp::kAdd, DType::kF32), s.inits = {p->Scalar(DType::kF32, 0)}, s.outputs = {sum};
    p->Add(s);
    BodyBuilder b;
    const int x = b.Unary(VOp::kExp, b.Binary(VOp::kSub, b.Param(0, DType::kF32), b.Param(1, DType::kF32)));
    const Body body = b.Build({b.Binary(VOp::kDiv, x, b.Param(2, DType::kF32))});
    p->Add(VectorCmd{dims, {V(0, dims), along_rows(max), along_rows(sum)}, body, {V(1, dims)}});
  });
}

void Transpose(DType dtype, Dims dims, Dims permutation) {
  const int64_t bytes = NumElements(dims) * ByteSize(dtype);
  std::string name = std::string("transpose ") + Name(dtype);
  for (int64_t d : dims) name += " " + std::to_string(d);
  Time(name.c_str(), NumElements(dims), {bytes, bytes}, [&](ProgramBuilder* p) {
    const View src = Transposed(V(0, dims, dtype), permutation);
    p->Add(CopyCmd{src, V(1, src.dims, dtype), {}, {}});
  });
}

void Scalar() {
  Time("700 scalar u32 instructions", 700, {4, 4}, [&](ProgramBuilder* p) {
    BodyBuilder b;
    int v = b.Param(0, DType::kU32);
    for (int i = 0; i < 350; ++i) {
      v = b.Binary(VOp::kXor, b.Binary(VOp::kMul, v, b.ConstInt(DType::kU32, 2654435761u)), b.ConstInt(DType::kU32, i));
    }
    p->Add(VectorCmd{{}, {V(0, {}, DType::kU32)}, b.Build({v}), {V(1, {}, DType::kU32)}});
  });
}

void Bias(int64_t rows, int64_t n) {
  const std::string name = "bias+relu x" + std::to_string(n);
  Time(name.c_str(), rows * n, {4 * rows * n, 4 * n, 4 * rows * n}, [&](ProgramBuilder* p) {
    BodyBuilder b;
    const int v = b.Binary(VOp::kAdd, b.Param(0, DType::kF32), b.Param(1, DType::kF32));
    const Dims dims = {rows, n};
    p->Add(VectorCmd{dims,
                     {V(0, dims), Broadcast(V(1, {n}), dims, {1})},
                     b.Build({b.Binary(VOp::kMax, v, b.Const(DType::kF32, 0))}),
                     {V(2, dims)}});
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) emulator::SetNumCores(std::atoi(argv[1]));
  const int64_t m = 1 << 20;
  Chain("3 cheap ops 1M", m, false);
  Chain("3 cheap ops 16M", 16 * m, false);
  Chain("tanh exp chain 1M", m, true);
  Chain("tanh exp chain 16M", 16 * m, true);
  for (VOp op : {VOp::kExp, VOp::kTanh, VOp::kLog, VOp::kLogistic, VOp::kErf, VOp::kExpm1, VOp::kLog1p, VOp::kSin,
                 VOp::kRsqrt, VOp::kErfInv, VOp::kErfc}) {
    Unary(op, m, DType::kF32);
  }
  Unary(VOp::kExp, m, DType::kF16);
  Unary(VOp::kNeg, m, DType::kBF16);
  Sum("row sum 4096^2", {4096, 4096}, {false, true}, VOp::kAdd);
  Sum("column sum 4096^2", {4096, 4096}, {true, false}, VOp::kAdd);
  Sum("row max 262144x64", {262144, 64}, {false, true}, VOp::kMax);
  Sum("column sum 262144x64", {262144, 64}, {true, false}, VOp::kAdd);
  Sum("sum 16M", {16 * m}, {true}, VOp::kAdd);
  Sum("middle sum 64x1024x256", {64, 1024, 256}, {false, true, false}, VOp::kAdd);
  Softmax(4096, 1024);
  Bias(16384, 64);
  Bias(1024, 1024);
  Transpose(DType::kF32, {4096, 4096}, {1, 0});
  Transpose(DType::kF16, {4096, 4096}, {1, 0});
  Transpose(DType::kF32, {32, 56, 56, 64}, {0, 3, 1, 2});
  Scalar();
}
