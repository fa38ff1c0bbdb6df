// Validation, assembly and serialization of programs.
#include <random>

#include "runtime_testing.h"

namespace mychip {
namespace {

using testing::EveryCommand;
using testing::ExpectError;

template <typename T>
T& Find(Program* program) {
  for (Command& command : program->blocks[0]) {
    if (auto* op = std::get_if<T>(&command.op)) return *op;
  }
  throw std::logic_error("no such command");
}

// The program with one command changed is refused with all `pieces` in the message.
template <typename T>
void Refuses(const std::function<void(T*)>& change, const std::vector<std::string>& pieces) {
  Program program = EveryCommand();
  change(&Find<T>(&program));
  ExpectError(Validate(program), Code::kInvalidArgument, pieces);
}

TEST(Validate, AcceptsEveryCommand) {
  const Program program = EveryCommand();
  EXPECT_OK(Validate(program));
  std::vector<bool> seen(std::variant_size_v<CommandOp>, false);
  for (const Command& command : program.blocks[0]) seen[command.op.index()] = true;
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_TRUE(seen[i]) << "EveryCommand lacks alternative " << i;
}

TEST(Validate, NamesProgramBlockCommandAndSource) {
  Refuses<VectorCmd>(
      [](VectorCmd* c) { c->inputs[0].buffer = 7; },
      {"program every_command: block 0 command 1 vector from dot.12 (MatMul) at model.py:31: input 0 names "
       "buffer 7 of 3"});
}

TEST(Validate, Bounds) {
  Refuses<VectorCmd>([](VectorCmd* c) { c->outputs[0].offset = (1 << 16) - 124; },
                     {"output 0", "reaches outside buffer 0"});
  Refuses<VectorCmd>(
      [](VectorCmd* c) {
        c->inputs[0].strides = {-8, 1};
        c->inputs[0].offset = 32;
      },
      {"reaches outside"});
  Refuses<VectorCmd>([](VectorCmd* c) { c->inputs[0].strides = {INT64_MAX / 2, 1}; }, {"reaches outside"});
  Refuses<VectorCmd>([](VectorCmd* c) { c->inputs[0].strides = {INT64_MIN, 1}; }, {"reaches outside"});
  Refuses<VectorCmd>([](VectorCmd* c) { c->inputs[0].offset = INT64_MAX - 3; }, {"reaches outside"});
  Refuses<VectorCmd>([](VectorCmd* c) { c->inputs[0].offset = -4; }, {"reaches outside"});
  Refuses<VectorCmd>([](VectorCmd* c) { c->inputs[0].offset += 2; }, {"not a multiple of the element size"});
  Refuses<VectorCmd>([](VectorCmd* c) { c->inputs[0].dims = {4, -8}; }, {"input 0 has dims (4,-8)"});
  Refuses<VectorCmd>([](VectorCmd* c) { c->inputs[0].dims = {INT64_MAX, 8}; }, {"input 0 has dims"});
  Refuses<VectorCmd>([](VectorCmd* c) { c->inputs[0].strides.pop_back(); }, {"2 dims and 1 strides"});
  Refuses<VectorCmd>([](VectorCmd* c) { c->inputs[0].dtype = static_cast<DType>(77); }, {"unknown dtype 77"});
  Refuses<CopyCmd>([](CopyCmd* c) { c->src_offset.limits[0] = 1 << 20; }, {"src", "reaches outside"});
  Refuses<CopyCmd>([](CopyCmd* c) { c->src_offset.starts[0].dtype = DType::kF32; }, {"src start 0 is f32"});
  Refuses<CopyCmd>([](CopyCmd* c) { c->src_offset.limits.clear(); }, {"1 starts, 1 strides and 0 limits"});
}

TEST(Validate, NegativeStridesInBoundsAreFine) {
  Program program = EveryCommand();
  View& in = Find<VectorCmd>(&program).inputs[0];
  in = Reversed(in, {0, 1});
  EXPECT_OK(Validate(program));
}

TEST(Validate, EmptyViewsTouchNothing) {
  Program program;
  program.name = "empty";
  program.buffers.resize(1);
  program.num_arguments = 1;
  program.blocks.resize(1);
  CopyCmd copy;
  copy.src = DenseView(0, 1 << 20, DType::kF32, {0, 5});
  copy.dst = DenseView(0, 0, DType::kF32, {0, 5});
  program.blocks[0].push_back({copy, -1});
  EXPECT_OK(Validate(program));
}

TEST(Validate, Outputs) {
  Refuses<VectorCmd>(
      [](VectorCmd* c) {
        c->outputs[0].buffer = 2;
        c->outputs[0].offset = 0;
        c->outputs[0].strides = {0, 0};
      },
      {"output 0", "would write a constant"});
  Refuses<VectorCmd>([](VectorCmd* c) { c->outputs[0].strides = {0, 1}; }, {"writes some address twice"});
  Refuses<VectorCmd>([](VectorCmd* c) { c->outputs[0].offset = c->inputs[0].offset + 4; },
                     {"output 0", "overlaps input 0"});
  Refuses<VectorCmd>([](VectorCmd* c) { c->outputs[1].offset = c->outputs[0].offset; },
                     {"output 0 and output 1 overlap"});
  Refuses<VectorCmd>([](VectorCmd* c) { c->outputs.clear(); }, {"no output"});
  Refuses<VectorCmd>([](VectorCmd* c) { c->outputs[0].dtype = DType::kS32; }, {"output 0 is s32, must be f32"});
  Refuses<MatMulCmd>([](MatMulCmd* c) { c->out.offset = c->a.offset; }, {"out", "overlaps a"});
  Program program = EveryCommand();
  VectorCmd& in_place = Find<VectorCmd>(&program);
  in_place.outputs[0] = in_place.inputs[0];
  EXPECT_OK(Validate(program));
}

TEST(Validate, RulesOfEachCommand) {
  Refuses<CopyCmd>([](CopyCmd* c) { c->dst.dtype = DType::kS32; }, {"dst is s32, must be f32"});
  Refuses<VectorCmd>([](VectorCmd* c) { c->dims = {4, 9}; }, {"input 0 has dims (4,8), must have (4,9)"});
  Refuses<VectorCmd>([](VectorCmd* c) { c->body.insts[4].imm = 2; }, {"body", "iota 2 of a space of rank 2"});
  Refuses<ReduceCmd>([](ReduceCmd* c) { c->reduced = {true}; }, {"1 reduced flags for rank 2"});
  Refuses<ReduceCmd>([](ReduceCmd* c) { c->map = Body(); }, {"init 0 is f32, must be f16"});
  Refuses<ReduceCmd>([](ReduceCmd* c) { c->combine = BinaryBody(VOp::kEq, DType::kF32); }, {"combine"});
  Refuses<ReduceCmd>([](ReduceCmd* c) { c->inits.clear(); }, {"map"});
  Refuses<ReduceCmd>([](ReduceCmd* c) { c->outputs[0].dims = {5}; }, {"output 0 has dims (5), must have (4)"});
  Refuses<ScanCmd>([](ScanCmd* c) { c->axis = 2; }, {"axis 2 of rank 2"});
  Refuses<MatMulCmd>([](MatMulCmd* c) { c->b.dims[1] = 7; }, {"contract different sizes"});
  Refuses<MatMulCmd>([](MatMulCmd* c) { c->accumulate = DType::kBF16; }, {"accumulate in f32"});
  Refuses<MatMulCmd>([](MatMulCmd* c) { c->b.dtype = DType::kF16; }, {"bf16 and f16"});
  Refuses<ConvCmd>([](ConvCmd* c) { c->window[0].stride = 0; }, {"window dim 0"});
  Refuses<ConvCmd>([](ConvCmd* c) { c->window.pop_back(); }, {"1 window dims need operands of rank 3"});
  Refuses<ConvCmd>([](ConvCmd* c) { c->feature_groups = 4; }, {"do not fit 4 feature groups"});
  Refuses<ConvCmd>([](ConvCmd* c) { c->window[1].pad_low = 1; }, {"out has dims (2,3,3,6), must have (2,3,4,6)"});
  Refuses<ConvCmd>([](ConvCmd* c) { c->epilogue = Body(); }, {"epilogue has inputs but no body"});
  Refuses<WindowReduceCmd>([](WindowReduceCmd* c) { c->window[1].size = 3; },
                           {"output 0 has dims (4,3), must have (4,2)"});
  Refuses<WindowReduceCmd>([](WindowReduceCmd* c) { c->window[1].size = int64_t{1} << 60; }, {"window dim 1"});
  Refuses<SelectScatterCmd>([](SelectScatterCmd* c) { c->window[1].base_dilation = 2; }, {"dilation is not defined"});
  Refuses<SelectScatterCmd>([](SelectScatterCmd* c) { c->select = BinaryBody(VOp::kAdd, DType::kF32); },
                            {"must be pred"});
  Refuses<GatherCmd>([](GatherCmd* c) { c->slice_sizes = {1, 5}; }, {"slice sizes (1,5)"});
  Refuses<GatherCmd>([](GatherCmd* c) { c->index_vector_dim = 3; }, {"index_vector_dim 3"});
  Refuses<GatherCmd>([](GatherCmd* c) { c->start_index_map = {0, 1}; }, {"1 entries and the index map 2"});
  Refuses<GatherCmd>([](GatherCmd* c) { c->offset_dims = {2}; }, {"offset dims (2)"});
  Refuses<GatherCmd>([](GatherCmd* c) { c->indices.dtype = DType::kF32; }, {"indices are f32"});
  Refuses<GatherCmd>([](GatherCmd* c) { c->bounds = static_cast<Bounds>(9); }, {"unknown bounds"});
  Refuses<ScatterCmd>([](ScatterCmd* c) { c->inserted_dims = {}; }, {"1 update window dims; the operand leaves 2"});
  Refuses<ScatterCmd>([](ScatterCmd* c) { c->updates.clear(); }, {"1 outs and 0 updates"});
  Refuses<ScatterCmd>([](ScatterCmd* c) { c->update_window_dims = {-1}; }, {"update window dims (-1)"});
  Refuses<SortCmd>([](SortCmd* c) { c->compare = BinaryBody(VOp::kAdd, DType::kF32); },
                   {"compare: the result must be pred"});
  Refuses<SortCmd>([](SortCmd* c) { c->outputs.pop_back(); }, {"2 inputs and 1 outputs"});
  Refuses<RandomCmd>([](RandomCmd* c) { c->state.dims = {1}; }, {"state"});
  Refuses<RandomCmd>([](RandomCmd* c) { c->bits = DType::kF32; }, {"bits have dtype"});
  Refuses<RandomCmd>([](RandomCmd* c) { c->bits = DType::kU16; }, {"output 0 is u32, must be u16"});
  Refuses<FftCmd>([](FftCmd* c) { c->lengths = {7}; }, {"must have (4,7)"});
  Refuses<FftCmd>([](FftCmd* c) { c->kind = FftKind::kFft; }, {"not a complex"});
  Refuses<IfCmd>([](IfCmd* c) { c->branches = {1}; }, {"1 branches for a selector of pred"});
  Refuses<IfCmd>([](IfCmd* c) { c->branches[0] = 0; }, {"branch 0 names block 0"});
  Refuses<CallCmd>([](CallCmd* c) { c->block = 3; }, {"call names block 3"});
  Refuses<WhileCmd>([](WhileCmd* c) { c->pred.dtype = DType::kU8; }, {"pred is u8"});
}

TEST(Validate, Program) {
  const auto refuses = [](const std::function<void(Program*)>& change, const std::vector<std::string>& pieces) {
    Program program = EveryCommand();
    change(&program);
    ExpectError(Validate(program), Code::kInvalidArgument, pieces);
  };
  refuses([](Program* p) { p->blocks.clear(); }, {"no block"});
  refuses([](Program* p) { p->blocks[1].push_back({CallCmd{1}, -1}); }, {"reached from itself"});
  refuses(
      [](Program* p) {
        p->blocks[1].push_back({CallCmd{2}, -1});
        p->blocks[2].push_back({CallCmd{1}, -1});
      },
      {"reached from itself"});
  refuses([](Program* p) { p->blocks[0][0].source = 9; }, {"names source 9 of 2"});
  refuses([](Program* p) { p->num_arguments = 2; }, {"2 arguments"});
  refuses([](Program* p) { p->buffers[2].size = 20; }, {"buffer 2 of 20 bytes holds 16"});
  refuses([](Program* p) { p->buffers[0].size = -1; }, {"buffer 0 has -1 bytes"});
  refuses([](Program* p) { p->buffers[0].kind = static_cast<BufferKind>(5); }, {"unknown kind 5"});
  refuses(
      [](Program* p) {
        for (int i = 3; i < 500; ++i) p->blocks.push_back({{CallCmd{i + 1}, -1}});
        p->blocks.emplace_back();
        p->blocks[2].push_back({CallCmd{3}, -1});
      },
      {"nest deeper"});
}

TEST(Validate, ScratchpadHoldsLiveValues) {
  ProgramBuilder builder("wide");
  const int out = builder.Argument(4 * 600);
  BodyBuilder b;
  std::vector<int32_t> results;
  VectorCmd c;
  c.dims = {1};
  const int first = b.Iota(DType::kF32, 0);
  for (int i = 0; i < 600; ++i) {
    results.push_back(b.Binary(VOp::kAdd, first, b.Const(DType::kF32, i)));
    c.outputs.push_back(DenseView(out, 4 * i, DType::kF32, {1}));
  }
  c.body = b.Build(results);
  builder.Add(c);
  ExpectError(builder.Build().status(), Code::kInvalidArgument, {"the scratchpad has 2048"});
}

TEST(ProgramBuilder, BuffersAndBlocks) {
  ProgramBuilder builder("p");
  const int a = builder.Argument(64);
  const View t1 = builder.Temp(DType::kF32, {3}), t2 = builder.Temp(DType::kF64, {2});
  const View half = builder.Scalar(DType::kF16, 0.5);
  EXPECT_EQ(t1.offset, 0);
  EXPECT_EQ(t2.offset, 64);
  const int block = builder.BeginBlock();
  builder.Add(CopyCmd{t1, DenseView(a, 0, DType::kF32, {3}), {}, {}});
  builder.EndBlock();
  builder.Add(CallCmd{block});
  auto program = builder.Build();
  ASSERT_OK(program.status());
  EXPECT_EQ((*program)->num_arguments, 1);
  EXPECT_EQ((*program)->temp_buffer, t1.buffer);
  EXPECT_EQ((*program)->buffers[t1.buffer].size, 128);
  EXPECT_EQ((*program)->buffers[half.buffer].data, (std::vector<uint8_t>{0x00, 0x38}));
  ASSERT_EQ((*program)->blocks.size(), 2u);
  EXPECT_EQ((*program)->blocks[0].size(), 1u);
}

TEST(ProgramBuilder, Mistakes) {
  ProgramBuilder open("open");
  open.BeginBlock();
  ExpectError(open.Build().status(), Code::kFailedPrecondition, {"open", "do not pair"});
  ProgramBuilder closed("closed");
  closed.EndBlock();
  ExpectError(closed.Build().status(), Code::kFailedPrecondition, {"do not pair"});
  ProgramBuilder huge("huge");
  huge.Temp(DType::kF32, {int64_t{1} << 40, int64_t{1} << 40});
  ExpectError(huge.Build().status(), Code::kInvalidArgument, {"buffer 0 has"});
  ProgramBuilder empty("empty");
  EXPECT_OK(empty.Build().status());
}

TEST(Assembly, OneLineACommand) {
  const Program program = EveryCommand();
  const std::string text = ToAssembly(program);
  size_t commands = 0;
  for (const auto& block : program.blocks) commands += block.size();
  EXPECT_EQ(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')),
            1 + program.buffers.size() + program.blocks.size() + commands);
  for (const char* piece : {"program every_command\n", "  b1: temp 4096 bytes\n",
                            "  b2: constant 16 bytes 00000000000000000000000000000000\n", "over=(-R)",
                            "window=(3/2 pad 1:1, 3 reversed)", "precision=tf32", "  ; dot.12 (MatMul) model.py:31\n",
                            "kind=rfft lengths=(8)", "  call block=1", "branches=(1, 2)"}) {
    EXPECT_NE(text.find(piece), std::string::npos) << piece << " not in\n" << text;
  }
}

TEST(Serialize, RoundTrip) {
  const Program program = EveryCommand();
  const std::string bytes = Serialize(program);
  auto parsed = Parse(bytes);
  ASSERT_OK(parsed.status());
  EXPECT_EQ(ToAssembly(**parsed), ToAssembly(program));
  EXPECT_EQ(Serialize(**parsed), bytes);
}

TEST(Serialize, EveryTruncationIsDataLoss) {
  const std::string bytes = Serialize(EveryCommand());
  for (size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_EQ(Parse(bytes.substr(0, size)).status().code(), Code::kDataLoss) << size;
  }
  ExpectError(Parse(bytes + "x").status(), Code::kDataLoss, {"bytes follow the header"});
  ExpectError(Parse("").status(), Code::kDataLoss, {"shorter than its header"});
}

TEST(Serialize, EveryBitFlipIsDataLoss) {
  std::string bytes = Serialize(EveryCommand());
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    ASSERT_EQ(Parse(bytes).status().code(), Code::kDataLoss) << bit;
    bytes[bit / 8] ^= static_cast<char>(1 << (bit % 8));
  }
  EXPECT_OK(Parse(bytes).status());
}

// Damage behind a right checksum: what a hostile writer could make. Parse must judge the fields themselves.
uint64_t ChecksumOf(const std::string& payload) {
  // Same function as serialize.cc's, written again so that a change of format shows.
  uint64_t hash = 0x9E3779B97F4A7C15u ^ payload.size();
  for (size_t at = 0;; at += 8) {
    uint64_t word = 0;
    const size_t left = payload.size() - std::min(at, payload.size());
    if (left > 0) memcpy(&word, payload.data() + at, std::min<size_t>(8, left));
    hash = (hash ^ word) * 0xD6E8FEB86659FD93u;
    hash ^= hash >> 32;
    if (left < 8) return hash;
  }
}

TEST(Serialize, FuzzBehindTheChecksum) {
  const std::string good = Serialize(EveryCommand());
  constexpr size_t kHeader = 28;
  ASSERT_EQ(ChecksumOf(good.substr(kHeader)), [&] {
    uint64_t stored;
    memcpy(&stored, good.data() + 20, 8);
    return stored;
  }());
  std::mt19937 random(11);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string payload = good.substr(kHeader);
    for (int changes = 1 + random() % 3; changes > 0; --changes) {
      const size_t at = random() % payload.size();
      switch (random() % 4) {
        case 0:
          payload[at] = static_cast<char>(random());
          break;
        case 1:
          payload[at] ^= static_cast<char>(1 << (random() % 8));
          break;
        case 2:
          payload.erase(at, 1 + random() % 9);
          break;
        case 3:
          for (size_t k = at; k < std::min(at + 8, payload.size()); ++k)
            payload[k] = static_cast<char>(random() % 2 ? 0xff : random());
          break;
      }
      if (payload.empty()) break;
    }
    std::string bytes = good.substr(0, 12);
    const uint64_t words[] = {payload.size(), ChecksumOf(payload)};
    bytes.append(reinterpret_cast<const char*>(words), sizeof(words));
    bytes += payload;
    auto parsed = Parse(bytes);
    if (parsed.ok()) {
      EXPECT_OK(Validate(**parsed));
      EXPECT_FALSE(ToAssembly(**parsed).empty());
      StaticCost(**parsed);
    } else {
      ASSERT_EQ(parsed.status().code(), Code::kDataLoss) << parsed.status().message();
      ++refused;
    }
  }
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace mychip
