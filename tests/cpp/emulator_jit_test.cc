// Translated programs against the tile machine's kernels: random bodies over every operation and dtype, bit by bit.
#include "jit.h"

#include <random>

#include "emulator_testing.h"

namespace mychip {
namespace {

using emulator::Access;
using emulator::DecodeBody;
using emulator::SetJit;
using testing::Bytes;
using testing::Memory;

std::mt19937 g_random(11);

int64_t Pick(int64_t low, int64_t high) { return low + static_cast<int64_t>(g_random() % (high - low + 1)); }

// What decodes from here on is interpreted; ends with the scope.
class Interpreted {
 public:
  Interpreted() { SetJit(false); }
  ~Interpreted() { SetJit(true); }
};

// Bits that matter: NaNs with different payloads, infinities, zeros, subnormals, ties of 16-bit rounding, any other.
uint32_t InterestingBits() {
  static const uint32_t special[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7fc12345,
                                     0x00000001, 0x80000123, 0x007fffff, 0x3f800000, 0xbf800000, 0x3f808000, 0x3f818000,
                                     0x477ff000, 0x33000000, 0x33800000, 0x7f7fffff, 0x4b000001, 0x3effffff, 31,
                                     32,         33,         0x7fffffff, 0xffffffff};
  switch (Pick(0, 3)) {
    case 0:
      return special[Pick(0, std::size(special) - 1)];
    case 1:
      return static_cast<uint32_t>(g_random());
    default: {
      const float v = static_cast<float>(Pick(-4000, 4000)) / 256;
      uint32_t bits;
      std::memcpy(&bits, &v, 4);
      return bits;
    }
  }
}

View AddParam(Memory* memory, DType dtype, int64_t n, bool scalar) {
  const int64_t bytes = (scalar ? 1 : n) * ByteSize(dtype);
  std::vector<uint8_t> data(static_cast<size_t>(bytes + 4));
  for (size_t i = 0; i + 4 <= data.size(); i += 4) {
    const uint32_t bits = InterestingBits();
    std::memcpy(&data[i], &bits, 4);
  }
  if (dtype == DType::kPred) {
    for (uint8_t& b : data) b = static_cast<uint8_t>(Pick(0, 1) * Pick(1, 255));
  }
  data.resize(static_cast<size_t>(bytes));
  View view = DenseView(memory->Add(DType::kU8, {bytes}, data).buffer, 0, dtype, {scalar ? 1 : n});
  return scalar ? Broadcast(view, {n}, {0}) : view;
}

constexpr DType kDTypes[] = {DType::kF32, DType::kF32, DType::kF32,  DType::kF16, DType::kBF16,
                             DType::kS32, DType::kU32, DType::kPred, DType::kF64, DType::kS8,
                             DType::kU16, DType::kS64, DType::kC64};

struct Operation {
  VOp op;
  int operands;
};
std::vector<Operation> Operations() {
  std::vector<Operation> all;
#define OP(enumerator, name, operands, rate) \
  if (operands > 0) all.push_back({VOp::enumerator, operands});
#include "mychip/runtime/vector_ops.def"
#undef OP
  return all;
}

bool Decodes(const Body& body, int num_params) {
  return DecodeBody(body, std::vector<Access>(num_params, Access::kDirect), {Access::kDirect}).status.ok();
}

// Appends a random instruction; false when the drawn one does not exist. `values`: what may be read.
bool AppendRandom(const std::vector<Operation>& operations, int num_params, Body* body) {
  const Operation o = operations[Pick(0, static_cast<int64_t>(operations.size()) - 1)];
  const int64_t last = static_cast<int64_t>(body->insts.size()) - 1;
  Inst inst{};
  inst.op = o.op, inst.a = static_cast<int32_t>(Pick(0, last)), inst.b = inst.c = -1;
  const DType a = body->insts[inst.a].dtype;
  // Operands share a dtype, but for a select's condition.
  auto like = [&](DType dtype) {
    std::vector<int32_t> fits;
    for (int32_t i = 0; i <= last; ++i) {
      if (body->insts[i].dtype == dtype) fits.push_back(i);
    }
    return fits[Pick(0, static_cast<int64_t>(fits.size()) - 1)];
  };
  inst.dtype = a;
  if (o.operands > 1) inst.b = o.op == VOp::kSelect ? static_cast<int32_t>(Pick(0, last)) : like(a);
  if (o.operands > 2) inst.c = like(body->insts[inst.b].dtype);
  if (o.op == VOp::kSelect) inst.dtype = body->insts[inst.b].dtype;
  const bool compare = o.op >= VOp::kEq && o.op <= VOp::kLtTotal;
  if (compare || o.op == VOp::kIsFinite || o.op == VOp::kIsInf || o.op == VOp::kIsNan) inst.dtype = DType::kPred;
  if (o.op == VOp::kConvert || o.op == VOp::kBitcast) inst.dtype = kDTypes[Pick(0, std::size(kDTypes) - 1)];
  if (o.op == VOp::kReducePrecision) inst.imm = 5, inst.imm2 = 7;
  Body longer = *body;
  longer.insts.push_back(inst);
  longer.results = {static_cast<int32_t>(last) + 1};
  std::vector<DType> params;
  for (int i = 0; i < num_params; ++i) params.push_back(longer.insts[i].dtype);
  if (!Validate(longer, params, 1).ok() || !Decodes(longer, num_params)) return false;
  *body = longer;
  return true;
}

struct RandomCase {
  Memory memory;
  VectorCmd cmd;
};

RandomCase MakeCase(const std::vector<Operation>& operations) {
  RandomCase c;
  const int64_t sizes[] = {1, 2, 7, 8, 9, 15, 16, 100, 1023, 1024, 1025, 3001};
  const int64_t n = sizes[Pick(0, std::size(sizes) - 1)];
  const int num_params = static_cast<int>(Pick(1, 8));
  const bool only_simple = Pick(0, 2) != 0;  // longer runs of what is translated
  Body body;
  for (int p = 0; p < num_params; ++p) {
    Inst param{};
    param.op = VOp::kParam, param.imm = static_cast<uint64_t>(p), param.a = param.b = param.c = -1;
    param.dtype = kDTypes[Pick(0, only_simple ? 7 : static_cast<int64_t>(std::size(kDTypes)) - 1)];
    body.insts.push_back(param);
    c.cmd.inputs.push_back(AddParam(&c.memory, param.dtype, n, Pick(0, 3) == 0));
  }
  const int64_t want = num_params + Pick(2, 24);
  for (int tries = 0; tries < 2000 && static_cast<int64_t>(body.insts.size()) < want; ++tries) {
    AppendRandom(operations, num_params, &body);
  }
  const int results = static_cast<int>(Pick(1, 3)), last = static_cast<int>(body.insts.size()) - 1;
  body.results.clear();
  for (int r = 0; r < results; ++r) {
    const int value = static_cast<int>(r == 0 ? last : Pick(num_params, last));
    const DType dtype = body.insts[value].dtype;
    body.results.push_back(value);
    // Sometimes over an input.
    const View& in = c.cmd.inputs[r % num_params];
    const bool over = r < num_params && in.dtype == dtype && in.strides[0] == 1 && Pick(0, 1) == 0;
    c.cmd.outputs.push_back(over ? in : c.memory.Room(dtype, {n}));
  }
  c.cmd.dims = {n};
  c.cmd.body = body;
  return c;
}

// Where two results differ first; empty when they do not.
std::string Difference(const Bytes& actual, const Bytes& expected) {
  for (size_t i = 0; i < actual.size(); ++i) {
    if (actual[i] == expected[i]) continue;
    const size_t word = i & ~size_t{3};
    std::string text = "byte " + std::to_string(i) + ":";
    for (const Bytes* bytes : {&actual, &expected}) {
      char hex[16];
      for (size_t k = std::min(word + 4, bytes->size()); k-- > word;) {
        std::snprintf(hex, sizeof(hex), "%s%02x", k + 1 == std::min(word + 4, bytes->size()) ? " " : "", (*bytes)[k]);
        text += hex;
      }
    }
    return text;
  }
  return "";
}

TEST(Jit, SameBitsAsTheKernels) {
  const std::vector<Operation> operations = Operations();
  for (int round = 0; round < 1500; ++round) {
    RandomCase c = MakeCase(operations);
    Memory interpreted = c.memory, translated = c.memory;
    {
      Interpreted scope;
      EXPECT_OK(interpreted.Run(c.cmd));
    }
    EXPECT_OK(translated.Run(c.cmd));
    for (size_t r = 0; r < c.cmd.outputs.size(); ++r) {
      const int buffer = c.cmd.outputs[r].buffer;
      ASSERT_EQ(Difference(translated.bytes(buffer), interpreted.bytes(buffer)), "")
          << "round " << round << ", " << c.cmd.dims[0] << " elements, result " << r << " of\n"
          << ToString(c.cmd.body);
    }
  }
}

// Every operation on every dtype, next to a second instruction so that there is something to fuse.
TEST(Jit, EveryOperationAndDType) {
  int fused = 0;
  for (const Operation& o : Operations()) {
    for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kS32, DType::kU32, DType::kPred, DType::kF64}) {
      BodyBuilder b;
      const int x = b.Param(0, dtype), y = b.Param(1, dtype), z = b.Param(2, dtype), p = b.Param(3, DType::kPred);
      if (o.op == VOp::kConvert || o.op == VOp::kBitcast || o.op == VOp::kReducePrecision) continue;
      const int v = o.operands == 1        ? b.Unary(o.op, x)
                    : o.operands == 2      ? b.Binary(o.op, x, y)
                    : o.op == VOp::kSelect ? b.Ternary(o.op, p, x, y)
                                           : b.Ternary(o.op, x, y, z);
      const int w = b.dtype(v) == dtype ? b.Binary(VOp::kMax, v, y) : b.Binary(VOp::kXor, v, p);
      const DType dtype_v = b.dtype(v), dtype_w = b.dtype(w);
      const Body body = b.Build({v, w});
      const std::vector<Access> access(4, Access::kDirect), out(2, Access::kDirect);
      if (!Validate(body, {dtype, dtype, dtype, DType::kPred}, 2).ok() || !DecodeBody(body, access, out).status.ok())
        continue;
      fused += !DecodeBody(body, access, out).code.empty();
      for (const int64_t n : {5, 2000}) {
        Memory m;
        VectorCmd cmd{{n}, {}, body, {}};
        for (DType t : {dtype, dtype, dtype, DType::kPred}) cmd.inputs.push_back(AddParam(&m, t, n, false));
        cmd.outputs = {m.Room(dtype_v, {n}), m.Room(dtype_w, {n})};
        Memory interpreted = m;
        {
          Interpreted scope;
          EXPECT_OK(interpreted.Run(cmd));
        }
        EXPECT_OK(m.Run(cmd));
        for (const View& view : cmd.outputs) {
          EXPECT_EQ(Difference(m.bytes(view.buffer), interpreted.bytes(view.buffer)), "") << ToString(body);
        }
      }
    }
  }
  EXPECT_GT(fused, 60);  // the test compares two different things
}

TEST(Jit, FusesAChainIntoOneFunction) {
  BodyBuilder b;
  const int x = b.Param(0, DType::kF32), y = b.Param(1, DType::kF32);
  const int v = b.Binary(VOp::kAdd, b.Binary(VOp::kMul, x, b.Const(DType::kF32, 1.5)), y);
  const Body body = b.Build({b.Binary(VOp::kMax, v, b.Const(DType::kF32, 0))});
  const std::vector<Access> in(2, Access::kDirect), out(1, Access::kDirect);
  EXPECT_EQ(DecodeBody(body, in, out).insts.size(), 1u);
  Interpreted scope;
  EXPECT_EQ(DecodeBody(body, in, out).insts.size(), 3u);
}

}  // namespace
}  // namespace mychip
