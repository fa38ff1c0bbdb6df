// ReduceCmd: any shapes, views and combiners; the order of combination never depends on the cores.
#include <algorithm>
#include <map>

#include "emulator_testing.h"

namespace mychip {
namespace {

using testing::Bytes;
using testing::Memory;

std::mt19937 g_random(11);
int64_t Pick(int64_t low, int64_t high) { return low + static_cast<int64_t>(g_random() % (high - low + 1)); }

struct Case {
  Dims dims;
  std::vector<bool> reduced;
  Dims kept_dims;
};

Case RandomCase(int64_t limit) {
  const int64_t sizes[] = {1, 2, 3, 7, 16, 33, 64, 130, 600, 1025, 5000};
  Case c;
  do {
    c.dims.resize(static_cast<size_t>(Pick(1, 4)));
    for (int64_t& d : c.dims) d = sizes[Pick(0, 10)];
  } while (NumElements(c.dims) > limit);
  c.kept_dims.clear(), c.reduced.clear();
  for (int64_t d : c.dims) {
    c.reduced.push_back(Pick(0, 1) == 0);
    if (!c.reduced.back()) c.kept_dims.push_back(d);
  }
  return c;
}

// Dense with the dims permuted in memory, or broadcast along one.
View Arrange(View view) {
  const int rank = view.rank();
  std::vector<int> order(rank);
  for (int d = 0; d < rank; ++d) order[d] = d;
  if (Pick(0, 1) == 0) std::shuffle(order.begin(), order.end(), g_random);
  int64_t next = 1;
  for (int i = rank - 1; i >= 0; --i) view.strides[order[i]] = next, next *= view.dims[order[i]];
  return view;
}

Dims KeptIndex(const Case& c, const Dims& index) {
  Dims kept;
  for (size_t d = 0; d < index.size(); ++d) {
    if (!c.reduced[d]) kept.push_back(index[d]);
  }
  return kept;
}

template <typename T>
T Load(Memory* memory, const View& view, const Dims& index) {
  T v;
  std::memcpy(&v, memory->bytes(view.buffer).data() + testing::OffsetOf(view, index), sizeof(v));
  return v;
}

TEST(Reduce, SumsAnyShape) {
  for (int round = 0; round < 200; ++round) {
    const Case c = RandomCase(200000);
    std::vector<float> x(static_cast<size_t>(NumElements(c.dims)));
    for (float& v : x) v = static_cast<float>(Pick(-1000, 1000)) / 256;
    Memory m;
    const View in = Arrange(m.Add(DType::kF32, c.dims, x));
    const View init = m.Add(DType::kF32, {}, std::vector<float>{0.5f});
    const View bias = m.Add(DType::kF32, c.kept_dims, std::vector<float>(NumElements(c.kept_dims), 2.0f));
    const View out = Arrange(m.Room(DType::kF32, c.kept_dims));
    ReduceCmd cmd;
    cmd.dims = c.dims, cmd.reduced = c.reduced, cmd.inputs = {in};
    BodyBuilder map;  // x * x, so that sums of squares are fused
    const int p = map.Param(0, DType::kF32);
    cmd.map = map.Build({map.Binary(VOp::kMul, p, p)});
    cmd.combine = BinaryBody(VOp::kAdd, DType::kF32);
    cmd.inits = {init};
    BodyBuilder post;
    const int acc = post.Param(0, DType::kF32);
    cmd.post = post.Build({post.Binary(VOp::kAdd, acc, post.Param(1, DType::kF32))});
    cmd.post_inputs = {bias};
    cmd.outputs = {out};
    EXPECT_OK(m.Run(cmd));
    std::map<Dims, double> expected;
    testing::ForEach(c.dims, [&](const Dims& index) {
      const double v = Load<float>(&m, in, index);
      expected[KeptIndex(c, index)] += v * v;
    });
    for (const auto& [index, sum] : expected) {
      const float actual = Load<float>(&m, out, index);
      ASSERT_NEAR(actual, sum + 2.5, 3e-7 * (sum + 2.5) + 1e-6) << ToString(in) << " round " << round;
    }
  }
}

// (value, index) with the larger value, the smaller index on ties; two accumulators.
Body ArgMaxCombine() {
  BodyBuilder b;
  const int va = b.Param(0, DType::kF32), ia = b.Param(1, DType::kS32);
  const int vb = b.Param(2, DType::kF32), ib = b.Param(3, DType::kS32);
  const int greater = b.Binary(VOp::kGt, va, vb), equal = b.Binary(VOp::kEq, va, vb);
  const int first = b.Binary(VOp::kLt, ia, ib);
  const int take = b.Binary(VOp::kOr, greater, b.Binary(VOp::kAnd, equal, first));
  return b.Build({b.Ternary(VOp::kSelect, take, va, vb), b.Ternary(VOp::kSelect, take, ia, ib)});
}

TEST(Reduce, ArgMaxAnyShape) {
  for (int round = 0; round < 100; ++round) {
    const Case c = RandomCase(60000);
    const int axis = static_cast<int>(std::find(c.reduced.begin(), c.reduced.end(), true) - c.reduced.begin());
    if (axis == static_cast<int>(c.dims.size())) continue;
    std::vector<float> x(static_cast<size_t>(NumElements(c.dims)));
    for (float& v : x) v = static_cast<float>(Pick(0, 50));
    Memory m;
    const View in = Arrange(m.Add(DType::kF32, c.dims, x));
    ReduceCmd cmd;
    cmd.dims = c.dims, cmd.reduced = c.reduced, cmd.inputs = {in};
    BodyBuilder map;
    cmd.map = map.Build({map.Param(0, DType::kF32), map.Iota(DType::kS32, axis)});
    cmd.combine = ArgMaxCombine();
    cmd.inits = {m.Add(DType::kF32, {}, std::vector<float>{-1}), m.Add(DType::kS32, {}, std::vector<int32_t>{0})};
    cmd.outputs = {m.Room(DType::kF32, c.kept_dims), m.Room(DType::kS32, c.kept_dims)};
    EXPECT_OK(m.Run(cmd));
    std::map<Dims, std::pair<float, int64_t>> expected;
    testing::ForEach(c.dims, [&](const Dims& index) {
      const float v = Load<float>(&m, in, index);
      auto [it, fresh] = expected.try_emplace(KeptIndex(c, index), v, index[axis]);
      auto& best = it->second;
      if (!fresh && (v > best.first || (v == best.first && index[axis] < best.second))) best = {v, index[axis]};
    });
    for (const auto& [index, best] : expected) {
      ASSERT_EQ(Load<float>(&m, cmd.outputs[0], index), best.first) << ToString(in);
      ASSERT_EQ(Load<int32_t>(&m, cmd.outputs[1], index), best.second) << ToString(in);
    }
  }
}

TEST(Reduce, IntegersOfAllCombiners) {
  const VOp ops[] = {VOp::kAdd, VOp::kMul, VOp::kMax, VOp::kMin, VOp::kAnd, VOp::kOr, VOp::kXor};
  for (VOp op : ops) {
    for (const Dims& dims : {Dims{3, 5000}, Dims{5000, 3}, Dims{70, 90}, Dims{1, 1}, Dims{9, 40}}) {
      for (int axis = 0; axis < 2; ++axis) {
        std::vector<int16_t> x(static_cast<size_t>(NumElements(dims)));
        for (int16_t& v : x) v = static_cast<int16_t>(g_random());
        Memory m;
        const View in = m.Add(DType::kS16, dims, x);
        ReduceCmd cmd;
        cmd.dims = dims, cmd.reduced = {axis == 0, axis == 1}, cmd.inputs = {in};
        cmd.combine = BinaryBody(op, DType::kS16);
        cmd.inits = {m.Add(DType::kS16, {}, std::vector<int16_t>{7})};
        cmd.outputs = {m.Room(DType::kS16, {dims[1 - axis]})};
        EXPECT_OK(m.Run(cmd));
        const std::vector<int16_t> out = m.Read<int16_t>(cmd.outputs[0]);
        for (int64_t k = 0; k < dims[1 - axis]; ++k) {
          int16_t r = 7;
          for (int64_t i = 0; i < dims[axis]; ++i) {
            const int16_t v = axis == 0 ? x[i * dims[1] + k] : x[k * dims[1] + i];
            switch (op) {
              case VOp::kAdd:
                r = static_cast<int16_t>(r + v);
                break;
              case VOp::kMul:
                r = static_cast<int16_t>(static_cast<uint32_t>(r) * static_cast<uint32_t>(v));
                break;
              case VOp::kMax:
                r = std::max(r, v);
                break;
              case VOp::kMin:
                r = std::min(r, v);
                break;
              case VOp::kAnd:
                r = r & v;
                break;
              case VOp::kOr:
                r = r | v;
                break;
              default:
                r = r ^ v;
            }
          }
          ASSERT_EQ(out[k], r) << Name(op) << " axis " << axis << " of " << dims[0] << "x" << dims[1];
        }
      }
    }
  }
}

TEST(Reduce, MaxKeepsNaNAndEmptyGivesInit) {
  Memory m;
  std::vector<float> x(300 * 40, -1.0f);
  x[7 * 40 + 3] = NAN;
  ReduceCmd cmd;
  cmd.dims = {300, 40}, cmd.reduced = {false, true}, cmd.inputs = {m.Add(DType::kF32, {300, 40}, x)};
  cmd.combine = BinaryBody(VOp::kMax, DType::kF32);
  cmd.inits = {m.Add(DType::kF32, {}, std::vector<float>{-INFINITY})};
  cmd.outputs = {m.Room(DType::kF32, {300})};
  EXPECT_OK(m.Run(cmd));
  std::vector<float> out = m.Read<float>(cmd.outputs[0]);
  for (int i = 0; i < 300; ++i) {
    if (i == 7)
      EXPECT_TRUE(std::isnan(out[i]));
    else
      EXPECT_EQ(out[i], -1.0f);
  }
  cmd.dims = {300, 0};
  cmd.inputs = {m.Room(DType::kF32, {300, 0})};
  EXPECT_OK(m.Run(cmd));
  EXPECT_EQ(m.Read<float>(cmd.outputs[0]), std::vector<float>(300, -INFINITY));
}

TEST(Reduce, HalfSumsInFloat) {
  Memory m;
  const std::vector<uint16_t> ones(4000, 0x3c00);  // 4000 x 1.0: 16-bit accumulation would stop at 2048
  ReduceCmd cmd;
  cmd.dims = {4000}, cmd.reduced = {true}, cmd.inputs = {m.Add(DType::kF16, {4000}, ones)};
  BodyBuilder map;
  cmd.map = map.Build({map.Convert(DType::kF32, map.Param(0, DType::kF16))});
  cmd.combine = BinaryBody(VOp::kAdd, DType::kF32);
  cmd.inits = {m.Add(DType::kF32, {}, std::vector<float>{0})};
  BodyBuilder post;
  cmd.post = post.Build({post.Convert(DType::kF16, post.Param(0, DType::kF32))});
  cmd.outputs = {m.Room(DType::kF16, {})};
  EXPECT_OK(m.Run(cmd));
  EXPECT_EQ(m.Read<uint16_t>(cmd.outputs[0])[0], 0x6bd0);  // 4000
}

TEST(Reduce, SameOnAllCores) {
  for (const Case& c :
       {Case{{3000000}, {true}, {}}, Case{{20000, 300}, {true, false}, {300}}, Case{{900, 4000}, {false, true}, {900}},
        Case{{300000, 7}, {false, true}, {300000}}, Case{{40, 900, 50}, {true, false, true}, {900}}}) {
    testing::ExpectSameOnAllCores([&c] {
      g_random.seed(5);
      std::vector<float> x(static_cast<size_t>(NumElements(c.dims)));
      for (float& v : x) v = static_cast<float>(Pick(-100000, 100000)) / 777;
      Memory m;
      ReduceCmd cmd;
      cmd.dims = c.dims, cmd.reduced = c.reduced, cmd.inputs = {m.Add(DType::kF32, c.dims, x)};
      cmd.combine = BinaryBody(VOp::kAdd, DType::kF32);
      cmd.inits = {m.Add(DType::kF32, {}, std::vector<float>{0})};
      cmd.outputs = {m.Room(DType::kF32, c.kept_dims)};
      EXPECT_OK(m.Run(cmd));
      return m.bytes(cmd.outputs[0].buffer);
    });
  }
}

}  // namespace
}  // namespace mychip
