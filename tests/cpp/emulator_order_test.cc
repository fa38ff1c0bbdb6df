// Copy, Scan, Sort, Fft and control flow.
#include <algorithm>
#include <complex>
#include <limits>

#include "emulator_testing.h"

namespace mychip {
namespace {

using testing::Bytes;
using testing::Memory;

std::mt19937 g_random(17);
int64_t Pick(int64_t low, int64_t high) { return low + static_cast<int64_t>(g_random() % (high - low + 1)); }

View Permuted(View view) {
  const int rank = view.rank();
  std::vector<int> order(rank);
  for (int d = 0; d < rank; ++d) order[d] = d;
  std::shuffle(order.begin(), order.end(), g_random);
  int64_t next = 1;
  for (int i = rank - 1; i >= 0; --i) view.strides[order[i]] = next, next *= view.dims[order[i]];
  return view;
}

TEST(Copy, AnyViewsOfAllSizes) {
  const int64_t sizes[] = {1, 2, 3, 4, 8, 17, 64, 65, 100, 300};
  const DType dtypes[] = {DType::kU8, DType::kF16, DType::kF32, DType::kF64, DType::kC128};
  for (int round = 0; round < 400; ++round) {
    Dims dims(static_cast<size_t>(Pick(0, 4)));
    do {
      for (int64_t& d : dims) d = sizes[Pick(0, 9)];
    } while (NumElements(dims) > 50000);
    const DType dtype = dtypes[Pick(0, 4)];
    const int64_t bytes = ByteSize(dtype);
    Memory m;
    View src = Permuted(m.Room(dtype, dims)), dst = Permuted(m.Room(dtype, dims));
    for (uint8_t& b : m.bytes(src.buffer)) b = static_cast<uint8_t>(g_random());
    if (Pick(0, 2) == 0 && !dims.empty()) {
      const size_t d = static_cast<size_t>(Pick(0, static_cast<int64_t>(dims.size()) - 1));
      if (Pick(0, 1) == 0) {
        src.strides[d] = 0;
      } else {
        src.offset += (dims[d] - 1) * src.strides[d] * bytes;
        src.strides[d] = -src.strides[d];
      }
    }
    EXPECT_OK(m.Run(CopyCmd{src, dst, {}, {}}));
    bool same = true;
    testing::ForEach(dims, [&](const Dims& index) {
      same = same && std::memcmp(m.bytes(src.buffer).data() + testing::OffsetOf(src, index),
                                 m.bytes(dst.buffer).data() + testing::OffsetOf(dst, index), bytes) == 0;
    });
    ASSERT_TRUE(same) << ToString(src) << " -> " << ToString(dst);
  }
}

TEST(Copy, LargeTransposeOnAllCores) {
  testing::ExpectSameOnAllCores([] {
    Memory m;
    std::vector<int32_t> x(1000 * 700);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int32_t>(i);
    const View src = m.Add(DType::kS32, {1000, 700}, x), dst = m.Room(DType::kS32, {700, 1000});
    EXPECT_OK(m.Run(CopyCmd{Transposed(src, {1, 0}), dst, {}, {}}));
    const std::vector<int32_t> y = m.Read<int32_t>(dst);
    for (int i = 0; i < 700; ++i) EXPECT_EQ(y[i * 1000 + 7], 7 * 700 + i);
    return m.bytes(dst.buffer);
  });
}

TEST(Copy, DynamicOffsetsAreClamped) {
  for (const auto& [row, column, at] : {std::tuple{1, 2, 12}, {-5, 100, 6}, {2, 0, 20}, {9, 9, 26}}) {
    Memory m;
    std::vector<int32_t> x(50);
    for (int i = 0; i < 50; ++i) x[i] = i;
    const View src = m.Add(DType::kS32, {5, 10}, x);
    const View r = m.Add(DType::kS32, {}, std::vector<int32_t>{row});
    const View c = m.Add(DType::kS32, {}, std::vector<int32_t>{column});
    CopyCmd cmd;
    cmd.src = Sliced(src, {0, 0}, {3, 4}, {1, 1});
    cmd.dst = m.Room(DType::kS32, {3, 4});
    cmd.src_offset = {{r, c}, {10, 1}, {2, 6}};
    EXPECT_OK(m.Run(cmd));
    const std::vector<int32_t> y = m.Read<int32_t>(cmd.dst);
    EXPECT_EQ(y[0], at);
    EXPECT_EQ(y[11], at + 23);
    // And the other way: an update at the same place.
    CopyCmd update;
    update.src = cmd.dst;
    update.dst = Sliced(m.Room(DType::kS32, {5, 10}), {0, 0}, {3, 4}, {1, 1});
    update.dst_offset = cmd.src_offset;
    EXPECT_OK(m.Run(update));
    EXPECT_EQ(testing::FromBytes<int32_t>(m.bytes(update.dst.buffer))[at + 23], at + 23);
  }
}

TEST(Scan, AllDirections) {
  for (const Dims& dims : {Dims{7}, Dims{4, 600}, Dims{600, 4}, Dims{3, 5, 2}}) {
    for (int axis = 0; axis < static_cast<int>(dims.size()); ++axis) {
      for (int mode = 0; mode < 8; ++mode) {
        const bool exclusive = mode & 1, reverse = mode & 2, in_place = mode & 4;
        Memory m;
        std::vector<int32_t> x(static_cast<size_t>(NumElements(dims)));
        for (int32_t& v : x) v = static_cast<int32_t>(Pick(-100, 100));
        ScanCmd cmd;
        cmd.input = m.Add(DType::kS32, dims, x);
        cmd.output = in_place ? cmd.input : m.Room(DType::kS32, dims);
        cmd.axis = axis, cmd.exclusive = exclusive, cmd.reverse = reverse;
        cmd.combine = BinaryBody(VOp::kAdd, DType::kS32);
        cmd.init = m.Add(DType::kS32, {}, std::vector<int32_t>{3});
        EXPECT_OK(m.Run(cmd));
        const std::vector<int32_t> y = m.Read<int32_t>(cmd.output);
        int64_t inner = 1;
        for (size_t d = axis + 1; d < dims.size(); ++d) inner *= dims[d];
        const int64_t n = dims[axis];
        for (int64_t line = 0; line < NumElements(dims) / n; ++line) {
          const int64_t base = line / inner * n * inner + line % inner;
          int32_t acc = 3;
          for (int64_t i = 0; i < n; ++i) {
            const int64_t at = base + (reverse ? n - 1 - i : i) * inner;
            const int32_t before = acc;
            acc += x[at];
            ASSERT_EQ(y[at], exclusive ? before : acc);
          }
        }
      }
    }
  }
}

// Bodies (a0, b0, a1, b1): a before b.
Body KeyLess(VOp op, DType dtype, bool swapped) {
  BodyBuilder b;
  const int x = b.Param(swapped ? 1 : 0, dtype), y = b.Param(swapped ? 0 : 1, dtype);
  return b.Build({b.Binary(op, x, y)});
}

TEST(Sort, KeyWithValueIsStable) {
  for (int64_t n : {0, 1, 2, 100, 1000}) {
    for (bool descending : {false, true}) {
      Memory m;
      std::vector<float> keys(static_cast<size_t>(3 * n));
      std::vector<int32_t> values(static_cast<size_t>(3 * n));
      for (size_t i = 0; i < keys.size(); ++i)
        keys[i] = static_cast<float>(Pick(-20, 20)), values[i] = static_cast<int32_t>(i);
      SortCmd cmd;
      cmd.inputs = {m.Add(DType::kF32, {3, n}, keys), m.Add(DType::kS32, {3, n}, values)};
      cmd.outputs = {m.Room(DType::kF32, {3, n}), cmd.inputs[1]};
      cmd.axis = 1;
      cmd.compare = KeyLess(descending ? VOp::kGt : VOp::kLt, DType::kF32, false);
      EXPECT_OK(m.Run(cmd));
      for (int64_t row = 0; row < 3; ++row) {
        std::vector<int32_t> expected(values.begin() + row * n, values.begin() + (row + 1) * n);
        std::stable_sort(expected.begin(), expected.end(),
                         [&](int32_t a, int32_t b) { return descending ? keys[a] > keys[b] : keys[a] < keys[b]; });
        const std::vector<int32_t> all = m.Read<int32_t>(cmd.outputs[1]);
        EXPECT_EQ(std::vector<int32_t>(all.begin() + row * n, all.begin() + (row + 1) * n), expected);
        const std::vector<float> sorted = m.Read<float>(cmd.outputs[0]);
        for (int64_t i = 0; i < n; ++i) EXPECT_EQ(sorted[row * n + i], keys[expected[i]]);
      }
    }
  }
}

TEST(Sort, TotalOrderBothWays) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = INFINITY;
  const std::vector<float> sorted = {-nan, -inf, -1, -0.0f, 0.0f, 1, inf, nan};
  for (bool reversed : {false, true}) {
    Memory m;
    std::vector<float> x = {1, nan, -0.0f, inf, -nan, 0.0f, -inf, -1};
    SortCmd cmd;
    cmd.inputs = {m.Add(DType::kF32, {8}, x)};
    cmd.outputs = {m.Room(DType::kF32, {8})};
    cmd.compare = KeyLess(VOp::kLtTotal, DType::kF32, reversed);
    EXPECT_OK(m.Run(cmd));
    std::vector<float> expected = sorted;
    if (reversed) std::reverse(expected.begin(), expected.end());
    EXPECT_EQ(m.bytes(cmd.outputs[0].buffer), testing::ToBytes(expected));
  }
}

TEST(Sort, IntegersOfAllWidthsDescending) {
  Memory m;
  std::vector<int64_t> x(2000);
  for (int64_t& v : x) {
    v = static_cast<int64_t>(uint64_t{g_random()} * uint64_t{g_random()} - (uint64_t{1} << 62));
  }
  x[0] = INT64_MIN, x[1] = INT64_MAX, x[2] = -1;
  SortCmd cmd;
  cmd.inputs = cmd.outputs = {m.Add(DType::kS64, {2000}, x)};
  cmd.compare = KeyLess(VOp::kLt, DType::kS64, true);
  EXPECT_OK(m.Run(cmd));
  std::sort(x.begin(), x.end(), std::greater<int64_t>());
  EXPECT_EQ(m.Read<int64_t>(cmd.outputs[0]), x);
}

TEST(Sort, GeneralComparator) {
  // By |value|, then by index descending.
  for (int64_t n : {1, 2, 3, 37, 1000, 5000}) {
    Memory m;
    std::vector<int32_t> x(n), index(n);
    for (int64_t i = 0; i < n; ++i) x[i] = static_cast<int32_t>(Pick(-50, 50)), index[i] = static_cast<int32_t>(i);
    SortCmd cmd;
    cmd.inputs = {m.Add(DType::kS32, {n, 1}, x), m.Add(DType::kS32, {n, 1}, index)};
    cmd.outputs = {m.Room(DType::kS32, {n, 1}), m.Room(DType::kS32, {n, 1})};
    BodyBuilder b;
    const int a0 = b.Unary(VOp::kAbs, b.Param(0, DType::kS32)), b0 = b.Unary(VOp::kAbs, b.Param(1, DType::kS32));
    const int tie = b.Binary(VOp::kAnd, b.Binary(VOp::kEq, a0, b0),
                             b.Binary(VOp::kGt, b.Param(2, DType::kS32), b.Param(3, DType::kS32)));
    cmd.compare = b.Build({b.Binary(VOp::kOr, b.Binary(VOp::kLt, a0, b0), tie)});
    EXPECT_OK(m.Run(cmd));
    std::vector<int32_t> expected = index;
    std::sort(expected.begin(), expected.end(), [&](int32_t i, int32_t j) {
      return std::make_pair(std::abs(x[i]), -i) < std::make_pair(std::abs(x[j]), -j);
    });
    EXPECT_EQ(m.Read<int32_t>(cmd.outputs[1]), expected);
  }
}

TEST(Sort, ContradictingComparatorStillPermutes) {
  Memory m;
  std::vector<float> x(3000);
  for (float& v : x) v = Pick(0, 3) == 0 ? NAN : static_cast<float>(Pick(0, 1000));
  SortCmd cmd;
  cmd.inputs = {m.Add(DType::kF32, {3000}, x)};
  cmd.outputs = {m.Room(DType::kF32, {3000})};
  BodyBuilder b;  // "not less or equal": true both ways when a NaN is involved
  cmd.compare = b.Build({b.Unary(VOp::kNot, b.Binary(VOp::kLe, b.Param(0, DType::kF32), b.Param(1, DType::kF32)))});
  EXPECT_OK(m.Run(cmd));
  std::vector<uint32_t> before = testing::FromBytes<uint32_t>(testing::ToBytes(x));
  std::vector<uint32_t> after = m.Read<uint32_t>(cmd.outputs[0]);
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  EXPECT_EQ(before, after);
}

using Complex = std::complex<double>;

std::vector<Complex> NaiveFft(const std::vector<Complex>& x, int64_t sign) {
  const int64_t n = static_cast<int64_t>(x.size());
  std::vector<Complex> y(x.size());
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t j = 0; j < n; ++j) {
      y[k] += x[j] * std::polar(1.0, sign * 2 * M_PI * static_cast<double>(j * k % n) / static_cast<double>(n));
    }
  }
  return y;
}

TEST(Fft, AnyLength) {
  for (int64_t n : {1, 2, 3, 4, 5, 8, 12, 15, 31, 37, 64, 74, 97, 128, 210, 1009}) {
    Memory m;
    std::vector<Complex> x(static_cast<size_t>(2 * n));
    for (Complex& v : x) v = Complex(static_cast<double>(Pick(-100, 100)), static_cast<double>(Pick(-100, 100)));
    FftCmd cmd;
    cmd.lengths = {n};
    cmd.input = m.Add(DType::kC128, {2, n}, x);
    cmd.output = m.Room(DType::kC128, {2, n});
    EXPECT_OK(m.Run(cmd));
    const std::vector<Complex> y = m.Read<Complex>(cmd.output);
    for (int64_t row = 0; row < 2; ++row) {
      const std::vector<Complex> expected = NaiveFft({x.begin() + row * n, x.begin() + (row + 1) * n}, -1);
      for (int64_t k = 0; k < n; ++k) ASSERT_LT(std::abs(y[row * n + k] - expected[k]), 1e-9 * (1 + n)) << n;
    }
    // And back.
    FftCmd inverse;
    inverse.kind = FftKind::kIfft, inverse.lengths = {n}, inverse.input = cmd.output;
    inverse.output = m.Room(DType::kC128, {2, n});
    EXPECT_OK(m.Run(inverse));
    const std::vector<Complex> z = m.Read<Complex>(inverse.output);
    for (int64_t k = 0; k < 2 * n; ++k) ASSERT_LT(std::abs(z[k] - x[k]), 1e-9 * (1 + n));
  }
}

TEST(Fft, RealTwoDimsRoundTrip) {
  for (const Dims& dims : {Dims{4, 6}, Dims{3, 7}, Dims{5, 1}, Dims{1, 8}}) {
    Memory m;
    std::vector<float> x(static_cast<size_t>(NumElements(dims)));
    for (float& v : x) v = static_cast<float>(Pick(-100, 100));
    FftCmd forward;
    forward.kind = FftKind::kRfft, forward.lengths = dims, forward.input = m.Add(DType::kF32, dims, x);
    forward.output = m.Room(DType::kC64, {dims[0], dims[1] / 2 + 1});
    EXPECT_OK(m.Run(forward));
    float sum = 0;
    for (float v : x) sum += v;
    EXPECT_NEAR(m.Read<std::complex<float>>(forward.output)[0].real(), sum, 1e-3);
    FftCmd back;
    back.kind = FftKind::kIrfft, back.lengths = dims, back.input = forward.output;
    back.output = m.Room(DType::kF32, dims);
    EXPECT_OK(m.Run(back));
    const std::vector<float> y = m.Read<float>(back.output);
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], x[i], 1e-4);
  }
}

TEST(Control, WhileIfCall) {
  Memory m;
  const View i = m.Add(DType::kS32, {}, std::vector<int32_t>{0}), p = m.Room(DType::kPred, {});
  const View acc = m.Add(DType::kS32, {}, std::vector<int32_t>{0}), odd = m.Room(DType::kS32, {});
  auto on = [](VOp op, int32_t c) {
    BodyBuilder b;
    return b.Build({b.Binary(op, b.Param(0, DType::kS32), b.ConstInt(DType::kS32, c))});
  };
  // while (i < 10) { i += 1; if (i % 2 == 0: branch 0, else last) acc += {100, 1}; }
  const VectorCmd test{{}, {i}, on(VOp::kLt, 10), {p}}, next{{}, {i}, on(VOp::kAdd, 1), {i}};
  const VectorCmd parity{{}, {i}, on(VOp::kRem, 2), {odd}};
  const VectorCmd hundred{{}, {acc}, on(VOp::kAdd, 100), {acc}}, one{{}, {acc}, on(VOp::kAdd, 1), {acc}};
  Cost cost;
  EXPECT_OK(m.RunBlocks(
      {{WhileCmd{1, p, 2}}, {test}, {next, parity, CallCmd{3}}, {IfCmd{odd, {4, 5}}}, {hundred}, {one}}, &cost));
  EXPECT_EQ(m.Read<int32_t>(i)[0], 10);
  EXPECT_EQ(m.Read<int32_t>(acc)[0], 505);
  EXPECT_GE(cost.launches, 11 + 10 * 3);
}

TEST(Control, BranchOutOfRangeTakesTheLast) {
  for (int32_t index : {-1, 0, 1, 2, 99}) {
    Memory m;
    const View s = m.Add(DType::kS32, {}, std::vector<int32_t>{index}), out = m.Room(DType::kS32, {});
    auto set = [&](int32_t v) {
      BodyBuilder b;
      return VectorCmd{{}, {}, b.Build({b.ConstInt(DType::kS32, v)}), {out}};
    };
    EXPECT_OK(m.RunBlocks({{IfCmd{s, {1, 2, 3}}}, {set(0)}, {set(1)}, {set(2)}}));
    EXPECT_EQ(m.Read<int32_t>(out)[0], index < 0 || index > 2 ? 2 : index);
  }
}

}  // namespace
}  // namespace mychip
