#include <random>
#include <set>

#include "mychip/runtime/view.h"
#include "overlap.h"
#include "runtime_testing.h"

namespace mychip {
namespace {

// Byte addresses of all elements in row-major order of the indices.
std::vector<int64_t> Addresses(const View& view) {
  std::vector<int64_t> result;
  if (NumElements(view.dims) == 0) return result;
  Dims index(view.dims.size(), 0);
  for (;;) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) at += index[d] * view.strides[d];
    result.push_back(view.offset + at * ByteSize(view.dtype));
    int d = view.rank() - 1;
    for (; d >= 0 && ++index[d] == view.dims[d]; --d) index[d] = 0;
    if (d < 0) return result;
  }
}

TEST(View, Basics) {
  EXPECT_EQ(NumElements({}), 1);
  EXPECT_EQ(NumElements({3, 0, 5}), 0);
  EXPECT_EQ(NumElements({INT64_MAX, 2}), INT64_MAX);
  EXPECT_EQ(RowMajorStrides({2, 3, 4}), (Dims{12, 4, 1}));
  EXPECT_EQ(RowMajorStrides({2, 0, 4}), (Dims{4, 4, 1}));
  const View view = DenseView(1, 64, DType::kF32, {2, 3});
  EXPECT_TRUE(IsDense(view));
  EXPECT_EQ(ToString(view), "[b1+64 f32(2,3)]");
  EXPECT_EQ(ToString(Transposed(view, {1, 0})), "[b1+64 f32(3,2):(1,3)]");
  EXPECT_EQ(ToString(DenseView(0, 0, DType::kPred, {})), "[b0+0 pred]");
  EXPECT_FALSE(IsDense(Transposed(view, {1, 0})));
  View ones = DenseView(0, 0, DType::kF32, {1, 5, 1});
  ones.strides = {99, 1, -7};
  EXPECT_TRUE(IsDense(ones));
}

TEST(View, AlgebraAddressesTheSameElements) {
  const View v = DenseView(0, 0, DType::kS16, {2, 3});  // addresses 0 2 4 | 6 8 10
  EXPECT_EQ(Addresses(Transposed(v, {1, 0})), (std::vector<int64_t>{0, 6, 2, 8, 4, 10}));
  EXPECT_EQ(Addresses(Reversed(v, {1})), (std::vector<int64_t>{4, 2, 0, 10, 8, 6}));
  EXPECT_EQ(Addresses(Reversed(v, {0, 1})), (std::vector<int64_t>{10, 8, 6, 4, 2, 0}));
  EXPECT_EQ(Addresses(Sliced(v, {0, 0}, {2, 3}, {1, 2})), (std::vector<int64_t>{0, 4, 6, 10}));
  EXPECT_EQ(Addresses(Sliced(Reversed(v, {1}), {1, 1}, {2, 3}, {1, 1})), (std::vector<int64_t>{8, 6}));
  const View row = DenseView(0, 0, DType::kS16, {3});
  EXPECT_EQ(Addresses(Broadcast(row, {2, 3}, {1})), (std::vector<int64_t>{0, 2, 4, 0, 2, 4}));
  const View one = DenseView(0, 8, DType::kS16, {1, 3});
  EXPECT_EQ(Addresses(Broadcast(one, {2, 3}, {0, 1})), (std::vector<int64_t>{8, 10, 12, 8, 10, 12}));
}

TEST(View, EmptySlicesTouchNothing) {
  const View v = DenseView(0, 0, DType::kF32, {4});
  const View empty = Sliced(v, {4}, {4}, {1});
  EXPECT_EQ(empty.dims, (Dims{0}));
  EXPECT_EQ(empty.offset, 0);
  EXPECT_EQ(Reversed(empty, {0}).dims, (Dims{0}));
}

TEST(View, ReshapedKeepsTheOrderOrRefuses) {
  std::mt19937 random(3);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    View view = DenseView(0, 0, DType::kF32, {2, 1, 6, static_cast<int64_t>(random() % 4), 2});
    if (random() % 2) view = Transposed(view, {4, 1, 2, 3, 0});
    if (random() % 3 == 0) view = Sliced(view, {0, 0, 0, 0, 0}, view.dims, {1, 1, 2, 1, 1});
    if (random() % 3 == 0) view = Reversed(view, {2});
    const int64_t count = NumElements(view.dims);
    const std::vector<Dims> targets = {{count}, {count, 1}, {1, 2, count / 2}, {count / 2, 2}, {count / 4, 1, 2, 2}};
    const Dims& dims = targets[random() % targets.size()];
    if (NumElements(dims) != count) continue;
    View reshaped;
    if (Reshaped(view, dims, &reshaped)) {
      ++accepted;
      ASSERT_EQ(reshaped.dims, dims);
      ASSERT_EQ(Addresses(reshaped), Addresses(view)) << ToString(view) << " " << ToString(reshaped);
    } else {
      ++refused;
      ASSERT_FALSE(IsDense(view)) << ToString(view);
    }
  }
  EXPECT_GT(accepted, 500);
  EXPECT_GT(refused, 100);
  View result;
  EXPECT_FALSE(Reshaped(DenseView(0, 0, DType::kF32, {4}), {5}, &result));
  EXPECT_TRUE(Reshaped(DenseView(0, 0, DType::kF32, {1, 1}), {}, &result));
}

TEST(Overlap, AgreesWithEnumeration) {
  std::mt19937 random(5);
  const DType dtypes[] = {DType::kU8, DType::kS16, DType::kF32, DType::kC128};
  int meet = 0, apart = 0, self = 0;
  for (int i = 0; i < 20000; ++i) {
    View views[2];
    std::set<int64_t> bytes[2];
    bool twice[2] = {false, false};
    for (int k = 0; k < 2; ++k) {
      View& view = views[k];
      view.dtype = dtypes[random() % 4];
      view.offset = 1000 + static_cast<int64_t>(random() % 40) * ByteSize(view.dtype);
      for (int d = random() % 4; d > 0; --d) {
        view.dims.push_back(random() % 5);
        view.strides.push_back(static_cast<int64_t>(random() % 23) - 11);
      }
      for (int64_t address : Addresses(view)) {
        for (int64_t b = 0; b < ByteSize(view.dtype); ++b) twice[k] |= !bytes[k].insert(address + b).second;
      }
    }
    Extent extents[2];
    for (int k = 0; k < 2; ++k) {
      ASSERT_TRUE(ComputeExtent(views[k], {}, {}, &extents[k]));
      ASSERT_EQ(extents[k].empty, bytes[k].empty());
      if (!bytes[k].empty()) {
        ASSERT_EQ(extents[k].low, *bytes[k].begin());
        ASSERT_EQ(extents[k].high, *bytes[k].rbegin() + 1);
      }
      ASSERT_EQ(OverlapsItself(views[k], extents[k]), twice[k]) << ToString(views[k]);
      self += twice[k];
    }
    bool expected = false;
    for (int64_t b : bytes[0]) expected |= bytes[1].count(b) > 0;
    ASSERT_EQ(Overlaps(extents[0], extents[1]), expected) << ToString(views[0]) << " " << ToString(views[1]);
    (expected ? meet : apart)++;
  }
  EXPECT_GT(meet, 1000);
  EXPECT_GT(apart, 2000);
  EXPECT_GT(self, 2000);
}

TEST(Overlap, LargeInterleavedSlicesAreApart) {
  // Columns 0-511 and 512-1023 of a 4096 x 1024 array, and a transposed third.
  const View all = DenseView(0, 0, DType::kF32, {4096, 1024});
  const View left = Sliced(all, {0, 0}, {4096, 512}, {1, 1}), right = Sliced(all, {0, 512}, {4096, 1024}, {1, 1});
  Extent a, b, c;
  ASSERT_TRUE(ComputeExtent(left, {}, {}, &a));
  ASSERT_TRUE(ComputeExtent(right, {}, {}, &b));
  ASSERT_TRUE(ComputeExtent(Transposed(left, {1, 0}), {}, {}, &c));
  EXPECT_FALSE(Overlaps(a, b));
  EXPECT_FALSE(Overlaps(c, b));
  EXPECT_TRUE(Overlaps(a, c));
  EXPECT_FALSE(OverlapsItself(left, a));
}

TEST(Overlap, OverflowIsReported) {
  View view = DenseView(0, 0, DType::kF32, {3, 3});
  view.strides = {INT64_MAX / 2, 1};
  Extent extent;
  EXPECT_FALSE(ComputeExtent(view, {}, {}, &extent));
  view.strides = {INT64_MIN / 4, 1};
  EXPECT_FALSE(ComputeExtent(view, {}, {}, &extent));
}

}  // namespace
}  // namespace mychip
