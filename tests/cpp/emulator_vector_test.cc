// VectorCmd: how operands are addressed, cut into tiles and written back. What each operation computes is the subject
// of emulator_ops_test.cc.
#include <random>

#include "emulator_testing.h"

namespace mychip {
namespace {

using testing::Bytes;
using testing::Memory;

std::mt19937 g_random(7);

int64_t Pick(int64_t low, int64_t high) { return low + static_cast<int64_t>(g_random() % (high - low + 1)); }

// A random view of `dims` in a fresh buffer of random bytes, with every kind of stride.
View RandomView(Memory* memory, DType dtype, const Dims& dims, bool output) {
  const int rank = static_cast<int>(dims.size());
  std::vector<int> order(rank);
  for (int d = 0; d < rank; ++d) order[d] = d;
  if (Pick(0, 2) == 0) std::shuffle(order.begin(), order.end(), g_random);
  View view;
  view.dtype = dtype, view.dims = dims, view.strides.assign(rank, 0);
  const bool gaps = Pick(0, 3) == 0, reverse = Pick(0, 3) == 0, broadcast = !output && Pick(0, 1) == 0;
  int64_t next = 1, first = 0;
  for (int i = rank - 1; i >= 0; --i) {
    const int d = order[i];
    if (broadcast && Pick(0, 1) == 0) continue;
    view.strides[d] = next;
    next *= dims[d] + (gaps ? Pick(0, 2) : 0);
    if (gaps && Pick(0, 1) == 0) next *= 2;
    if (reverse && Pick(0, 1) == 0) {
      first += (dims[d] - 1) * view.strides[d];
      view.strides[d] = -view.strides[d];
    }
  }
  view.offset = first * ByteSize(dtype);
  std::vector<uint8_t> data(static_cast<size_t>(next * ByteSize(dtype)));
  for (uint8_t& b : data) b = static_cast<uint8_t>(g_random());
  if (dtype == DType::kF32) {
    for (size_t i = 0; i + 4 <= data.size(); i += 4) {
      const float v = static_cast<float>(Pick(-1000, 1000)) / 8;
      std::memcpy(&data[i], &v, 4);
    }
  }
  if (dtype == DType::kBF16) {  // no NaNs
    for (size_t i = 1; i < data.size(); i += 2) data[i] &= 0xbf;
  }
  view.buffer = memory->Add(DType::kU8, {static_cast<int64_t>(data.size())}, data).buffer;
  return view;
}

template <typename T>
T Load(Memory* memory, const View& view, const Dims& index) {
  T v;
  std::memcpy(&v, memory->bytes(view.buffer).data() + testing::OffsetOf(view, index), sizeof(v));
  return v;
}

float FromBF16(uint16_t x) {
  const uint32_t bits = static_cast<uint32_t>(x) << 16;
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}
uint16_t ToBF16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// out0 = x * y + iota(d), out1 = select(p, s32(x), z), out2 = bf16(w) * bf16(w) in bf16.
struct MixedCase {
  Dims dims;
  View x, y, p, z, w, out0, out1, out2;
  int iota_dim;
  VectorCmd cmd;
};

MixedCase MakeMixed(Memory* m, Dims dims) {
  MixedCase c;
  c.dims = dims;
  c.x = RandomView(m, DType::kF32, dims, false);
  c.y = RandomView(m, DType::kF32, dims, false);
  c.p = RandomView(m, DType::kPred, dims, false);
  c.z = RandomView(m, DType::kS32, dims, false);
  c.w = RandomView(m, DType::kBF16, dims, false);
  c.out0 = RandomView(m, DType::kF32, dims, true);
  c.out1 = RandomView(m, DType::kS32, dims, true);
  c.out2 = RandomView(m, DType::kBF16, dims, true);
  c.iota_dim = static_cast<int>(Pick(0, static_cast<int64_t>(dims.size()) - 1));
  BodyBuilder b;
  const int x = b.Param(0, DType::kF32), y = b.Param(1, DType::kF32), p = b.Param(2, DType::kPred);
  const int z = b.Param(3, DType::kS32), w = b.Param(4, DType::kBF16);
  const int sum = b.Binary(VOp::kAdd, b.Binary(VOp::kMul, x, y), b.Iota(DType::kF32, c.iota_dim));
  const int chosen = b.Ternary(VOp::kSelect, p, b.Convert(DType::kS32, x), z);
  c.cmd.dims = dims;
  c.cmd.inputs = {c.x, c.y, c.p, c.z, c.w};
  c.cmd.outputs = {c.out0, c.out1, c.out2};
  c.cmd.body = b.Build({sum, chosen, b.Binary(VOp::kMul, w, w)});
  return c;
}

void CheckMixed(Memory* m, const MixedCase& c, Memory* before) {
  int bad0 = 0, bad1 = 0, bad2 = 0;
  testing::ForEach(c.dims, [&](const Dims& index) {
    const float x = Load<float>(before, c.x, index), y = Load<float>(before, c.y, index);
    const float sum = x * y + static_cast<float>(index[c.iota_dim]);
    const int32_t chosen =
        Load<uint8_t>(before, c.p, index) != 0 ? static_cast<int32_t>(x) : Load<int32_t>(before, c.z, index);
    const float w = FromBF16(Load<uint16_t>(before, c.w, index));
    bad0 += Load<float>(m, c.out0, index) != sum;
    bad1 += Load<int32_t>(m, c.out1, index) != chosen;
    bad2 += Load<uint16_t>(m, c.out2, index) != ToBF16(w * w);
  });
  EXPECT_EQ(bad0, 0);
  EXPECT_EQ(bad1, 0);
  EXPECT_EQ(bad2, 0);
}

TEST(VectorUnit, AnyViews) {
  for (int round = 0; round < 300; ++round) {
    Dims dims(static_cast<size_t>(Pick(1, 4)));
    const int64_t sizes[] = {1, 2, 3, 5, 8, 31, 64, 100, 700, 2500};
    do {
      for (int64_t& d : dims) d = sizes[Pick(0, 9)];
    } while (NumElements(dims) > 60000);
    Memory m;
    const MixedCase c = MakeMixed(&m, dims);
    Memory before = m;
    EXPECT_OK(m.Run(c.cmd));
    CheckMixed(&m, c, &before);
    if (::testing::Test::HasFailure()) {
      for (const View& v : c.cmd.inputs) ADD_FAILURE() << ToString(v);
      for (const View& v : c.cmd.outputs) ADD_FAILURE() << ToString(v);
      return;
    }
  }
}

TEST(VectorUnit, SameOnAllCores) {
  testing::ExpectSameOnAllCores([] {
    g_random.seed(3);
    Memory m;
    const MixedCase c = MakeMixed(&m, {5, 900, 300});
    EXPECT_OK(m.Run(c.cmd));
    Bytes all = m.bytes(c.out0.buffer);
    all.insert(all.end(), m.bytes(c.out1.buffer).begin(), m.bytes(c.out1.buffer).end());
    return all;
  });
}

TEST(VectorUnit, OutputsMayCoincideWithInputs) {
  // out0 = a + b over a; out1 = a - b over b; both read a and b.
  const int64_t n = 5000;
  std::vector<float> a(n), b(n);
  for (int64_t i = 0; i < n; ++i) a[i] = static_cast<float>(i), b[i] = static_cast<float>(3 * i + 1);
  Memory m;
  const View va = m.Add(DType::kF32, {n}, a), vb = m.Add(DType::kF32, {n}, b);
  BodyBuilder body;
  const int x = body.Param(0, DType::kF32), y = body.Param(1, DType::kF32);
  const int sum = body.Binary(VOp::kAdd, x, y), difference = body.Binary(VOp::kSub, x, y);
  EXPECT_OK(m.Run(VectorCmd{{n}, {va, vb}, body.Build({sum, difference}), {va, vb}}));
  for (int64_t i = 0; i < n; ++i) {
    ASSERT_EQ(m.Read<float>(va)[0], 1.0f);
    a[i] += b[i], b[i] = a[i] - 2 * b[i];
  }
  EXPECT_EQ(m.Read<float>(va), a);
  EXPECT_EQ(m.Read<float>(vb), b);
}

TEST(VectorUnit, SwapsInPlace) {
  const int64_t n = 3000;
  std::vector<int32_t> a(n), b(n);
  for (int64_t i = 0; i < n; ++i) a[i] = static_cast<int32_t>(i), b[i] = static_cast<int32_t>(-i);
  Memory m;
  const View va = m.Add(DType::kS32, {n}, a), vb = m.Add(DType::kS32, {n}, b);
  BodyBuilder body;
  const int x = body.Param(0, DType::kS32), y = body.Param(1, DType::kS32);
  EXPECT_OK(m.Run(VectorCmd{{n}, {va, vb}, body.Build({y, x}), {va, vb}}));
  EXPECT_EQ(m.Read<int32_t>(va), b);
  EXPECT_EQ(m.Read<int32_t>(vb), a);
}

TEST(VectorUnit, ConstantsAndParamsAsResults) {
  Memory m;
  const View x = m.Add(DType::kF16, {3}, std::vector<uint16_t>{0x3c00, 0xc000, 0x7e00});
  const View fill = m.Room(DType::kBF16, {3}), copy = m.Room(DType::kF16, {3}), wide = m.Room(DType::kF32, {3});
  BodyBuilder body;
  const int p = body.Param(0, DType::kF16);
  const int c = body.Const(DType::kBF16, 1.5);
  EXPECT_OK(m.Run(VectorCmd{{3}, {x}, body.Build({c, p, body.Convert(DType::kF32, p)}), {fill, copy, wide}}));
  EXPECT_EQ(m.Read<uint16_t>(fill), (std::vector<uint16_t>(3, 0x3fc0)));
  EXPECT_EQ(m.Read<uint16_t>(copy), (std::vector<uint16_t>{0x3c00, 0xc000, 0x7e00}));
  EXPECT_EQ(m.Read<float>(wide)[1], -2.0f);
  EXPECT_TRUE(std::isnan(m.Read<float>(wide)[2]));
}

TEST(VectorUnit, EmptySpace) {
  Memory m;
  const View x = m.Room(DType::kF32, {0, 4}), y = m.Room(DType::kF32, {0, 4});
  EXPECT_OK(m.Run(VectorCmd{{0, 4},
                            {x},
                            [] {
                              BodyBuilder b;
                              return b.Build({b.Unary(VOp::kNeg, b.Param(0, DType::kF32))});
                            }(),
                            {y}}));
}

TEST(VectorUnit, LongScalarProgram) {
  Memory m;
  const View x = m.Add(DType::kU32, {}, std::vector<uint32_t>{12345}), y = m.Room(DType::kU32, {});
  BodyBuilder b;
  int v = b.Param(0, DType::kU32);
  uint32_t expected = 12345;
  for (uint32_t i = 0; i < 700; ++i) {
    v = b.Binary(VOp::kXor, b.Binary(VOp::kMul, v, b.ConstInt(DType::kU32, 2654435761u)), b.ConstInt(DType::kU32, i));
    expected = (expected * 2654435761u) ^ i;
  }
  EXPECT_OK(m.Run(VectorCmd{{}, {x}, b.Build({v}), {y}}));
  EXPECT_EQ(m.Read<uint32_t>(y)[0], expected);
}

}  // namespace
}  // namespace mychip
