// A stand-in for passes/ and codegen/: the "HLO" is the name of a hand-written program. It lets the tests run pjrt/
// without XLA, and run what no HLO can express: a program that fails while it runs, or one that takes long.
#include <map>

#include "mychip/xla/compiler.h"

namespace mychip::xla_backend {
namespace {

constexpr int64_t kN = 4;

ArrayType Array(DType dtype, Dims dims) {
  static const std::map<DType, int> kXlaTypes = {{DType::kF32, 11}, {DType::kS32, 4}};
  ArrayType type{dtype, dims, kXlaTypes.at(dtype), ByteSize(dtype)};
  for (int64_t d : dims) type.bytes *= d;
  return type;
}

View Dense(int buffer, DType dtype, Dims dims) { return DenseView(buffer, 0, dtype, std::move(dims)); }

Result<Compiled> Finish(Compiled compiled, ProgramBuilder* builder) {
  MYCHIP_ASSIGN_OR_RETURN(compiled.program, builder->Build());
  if (compiled.program->temp_buffer >= 0) {
    compiled.temp_bytes = compiled.program->buffers[compiled.program->temp_buffer].size;
  }
  compiled.static_cost = StaticCost(*compiled.program);
  compiled.optimized_hlo_with_config = "optimized " + compiled.name;
  compiled.fingerprint = "fingerprint of " + compiled.name;
  return compiled;
}

void AddVector(ProgramBuilder* builder, VOp op, int a, int b, int out, int64_t n) {
  builder->Add(VectorCmd{{n},
                         {Dense(a, DType::kF32, {n}), Dense(b, DType::kF32, {n})},
                         BinaryBody(op, DType::kF32),
                         {Dense(out, DType::kF32, {n})}});
}

// add: r0 = p0 + p1.
Result<Compiled> Add(int64_t n) {
  ProgramBuilder builder("add");
  Compiled compiled;
  compiled.name = n == kN ? "add" : "add_empty";
  compiled.parameters = {Array(DType::kF32, {n}), Array(DType::kF32, {n})};
  compiled.results = {Array(DType::kF32, {n})};
  const int a = builder.Argument(4 * n), b = builder.Argument(4 * n), out = builder.Argument(4 * n);
  compiled.bindings = {{0, -1}, {1, -1}, {-1, 0}};
  AddVector(&builder, VOp::kAdd, a, b, out, n);
  return Finish(std::move(compiled), &builder);
}

// hundred: r0 = p0 + 100 p1, one addition a command.
Result<Compiled> Hundred() {
  ProgramBuilder builder("hundred");
  Compiled compiled;
  compiled.name = "hundred";
  compiled.parameters = {Array(DType::kF32, {kN}), Array(DType::kF32, {kN})};
  compiled.results = {Array(DType::kF32, {kN})};
  const int a = builder.Argument(4 * kN), b = builder.Argument(4 * kN), out = builder.Argument(4 * kN);
  compiled.bindings = {{0, -1}, {1, -1}, {-1, 0}};
  AddVector(&builder, VOp::kAdd, a, b, out, kN);
  for (int i = 1; i < 100; ++i) AddVector(&builder, VOp::kAdd, out, b, out, kN);
  return Finish(std::move(compiled), &builder);
}

// update: r0 = p0 + p1, written over p0; r1 = p0 * p1.
Result<Compiled> Update() {
  ProgramBuilder builder("update");
  Compiled compiled;
  compiled.name = "update";
  compiled.parameters = {Array(DType::kF32, {kN}), Array(DType::kF32, {kN})};
  compiled.results = {Array(DType::kF32, {kN}), Array(DType::kF32, {kN})};
  const int a = builder.Argument(4 * kN), b = builder.Argument(4 * kN), product = builder.Argument(4 * kN);
  compiled.bindings = {{0, 0}, {1, -1}, {-1, 1}};
  AddVector(&builder, VOp::kMul, a, b, product, kN);
  AddVector(&builder, VOp::kAdd, a, b, a, kN);
  return Finish(std::move(compiled), &builder);
}

// pick: r0 = p0[p1]; fails while it runs when the index is out of range.
Result<Compiled> Pick() {
  ProgramBuilder builder("pick");
  Compiled compiled;
  compiled.name = "pick";
  compiled.parameters = {Array(DType::kF32, {kN}), Array(DType::kS32, {1})};
  compiled.results = {Array(DType::kF32, {1})};
  const int a = builder.Argument(4 * kN), index = builder.Argument(4), out = builder.Argument(4);
  compiled.bindings = {{0, -1}, {1, -1}, {-1, 0}};
  GatherCmd gather;
  gather.operand = Dense(a, DType::kF32, {kN});
  gather.indices = Dense(index, DType::kS32, {1});
  gather.out = Dense(out, DType::kF32, {1});
  gather.collapsed_dims = {0};
  gather.start_index_map = {0};
  gather.slice_sizes = {1};
  gather.index_vector_dim = 1;
  gather.bounds = Bounds::kError;
  builder.Add(gather);
  return Finish(std::move(compiled), &builder);
}

// slow: r0 = p0, after tens of milliseconds of work on 32 MiB of scratch.
Result<Compiled> Slow() {
  ProgramBuilder builder("slow");
  Compiled compiled;
  compiled.name = "slow";
  compiled.parameters = {Array(DType::kF32, {kN})};
  compiled.results = {Array(DType::kF32, {kN})};
  const int a = builder.Argument(4 * kN), out = builder.Argument(4 * kN);
  compiled.bindings = {{0, -1}, {-1, 0}};
  const Dims big = {8 << 20};
  const View scratch = builder.Temp(DType::kF32, big);
  BodyBuilder fill;
  builder.Add(VectorCmd{big, {}, fill.Build({fill.Const(DType::kF32, 0.5)}), {scratch}});
  BodyBuilder sine;
  const Body body = sine.Build({sine.Unary(VOp::kSin, sine.Param(0, DType::kF32))});
  for (int i = 0; i < 8; ++i) builder.Add(VectorCmd{big, {scratch}, body, {scratch}});
  builder.Add(CopyCmd{Dense(a, DType::kF32, {kN}), Dense(out, DType::kF32, {kN})});
  return Finish(std::move(compiled), &builder);
}

}  // namespace

Result<Compiled> Compile(const std::string& format, const std::string& code, const CompileOptions&) {
  if (format != "hlo") return Unimplemented("the stand-in compiler knows \"hlo\" only");
  if (code == "add") return Add(kN);
  if (code == "add_empty") return Add(0);
  if (code == "hundred") return Hundred();
  if (code == "update") return Update();
  if (code == "pick") return Pick();
  if (code == "slow") return Slow();
  return InvalidArgument("the stand-in compiler has no program \"%s\"", code.c_str());
}

std::string SaveCompiled(const Compiled& compiled) { return "fake:" + compiled.name; }

Result<Compiled> LoadCompiled(const std::string& bytes) {
  if (bytes.compare(0, 5, "fake:") != 0) return DataLoss("not saved by the stand-in compiler");
  return Compile("hlo", bytes.substr(5), {});
}

}  // namespace mychip::xla_backend
