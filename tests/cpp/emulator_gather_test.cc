// GatherCmd and ScatterCmd against HLO's definitions over random dimension numbers.
#include <gtest/gtest.h>

#include "cores.h"
#include "emulator_operands.h"
#include "emulator_testing.h"
#include "mychip/runtime/program.h"
#include "units.h"

namespace mychip::emulator {
namespace {

using namespace mychip::testing;

template <typename Cmd>
Status RunCommand(Runner (*decode)(const Cmd&), const Cmd& cmd, std::vector<Operand*> operands) {
  std::vector<Bytes*> buffers;
  for (Operand* o : operands) buffers.push_back(&o->bytes);
  return RunGuarded(buffers, [&](const std::vector<uint8_t*>& at) { return decode(cmd)(Buffers(at)); });
}

bool Contains(const Dims& dims, int64_t d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); }

// Random dimension numbers shared by both commands (a scatter is a gather run backwards).
struct Numbers {
  Dims operand, window;    // sizes per operand dim
  Dims dropped, batching;  // operand dims without a window dim
  Dims map, indices, indices_batching;
  int64_t index_vector_dim;
  Dims result, window_dims;  // gather output / scatter updates
};

Numbers RandomNumbers(Random& random) {
  Numbers n;
  const int64_t rank = Uniform(random, 1, 4);
  Dims batch;
  for (int64_t d = Uniform(random, 0, 2); d > 0; --d)
    batch.push_back(Uniform(random, 0, 9) == 0 ? 0 : Uniform(random, 1, 4));
  Dims batching_positions, map;
  for (int64_t d = 0; d < rank; ++d) {
    int64_t size = Uniform(random, 1, 6);
    const int64_t kind = Uniform(random, 0, 5);
    if (kind == 0 && batching_positions.size() < batch.size()) {
      size = batch[batching_positions.size()];
      n.batching.push_back(d);
      batching_positions.push_back(static_cast<int64_t>(batching_positions.size()));
      n.window.push_back(std::min<int64_t>(1, size));
      if (size == 0) n.window.back() = 0;
    } else {
      if (kind < 3) n.dropped.push_back(d);
      n.window.push_back(kind < 3 ? 1 : Uniform(random, 1, size));
      if (kind != 5) map.push_back(d);
    }
    n.operand.push_back(size);
  }
  std::shuffle(map.begin(), map.end(), random);
  n.map = map;
  n.index_vector_dim = Uniform(random, 0, static_cast<int64_t>(batch.size()));
  const bool implicit =
      map.size() == 1 && n.index_vector_dim == static_cast<int64_t>(batch.size()) && Uniform(random, 0, 1) == 0;
  n.indices = batch;
  if (!implicit) n.indices.insert(n.indices.begin() + n.index_vector_dim, static_cast<int64_t>(map.size()));
  for (int64_t p : batching_positions) n.indices_batching.push_back(!implicit && p >= n.index_vector_dim ? p + 1 : p);
  Dims window;
  for (int64_t d = 0; d < rank; ++d) {
    if (!Contains(n.dropped, d) && !Contains(n.batching, d)) window.push_back(n.window[d]);
  }
  // Interleave window and batch dims at random.
  size_t w = 0, b = 0;
  while (w < window.size() || b < batch.size()) {
    if (b == batch.size() || (w < window.size() && Uniform(random, 0, 1) == 0)) {
      n.window_dims.push_back(static_cast<int64_t>(n.result.size()));
      n.result.push_back(window[w++]);
    } else {
      n.result.push_back(batch[b++]);
    }
  }
  return n;
}

// The operand index of `result` and the window's start there.
void Locate(const Numbers& n, Operand& indices, const Dims& result, Dims* start, Dims* at) {
  Dims position, offset;
  for (size_t d = 0; d < result.size(); ++d) {
    (Contains(n.window_dims, static_cast<int64_t>(d)) ? offset : position).push_back(result[d]);
  }
  start->assign(n.operand.size(), 0);
  for (size_t i = 0; i < n.map.size(); ++i) {
    Dims index = position;
    if (n.indices.size() > position.size()) index.insert(index.begin() + n.index_vector_dim, static_cast<int64_t>(i));
    (*start)[n.map[i]] = static_cast<int64_t>(indices.Value(index).real());
  }
  for (size_t i = 0; i < n.batching.size(); ++i) {
    const int64_t d = n.indices_batching[i];
    const bool after = n.indices.size() > position.size() && d > n.index_vector_dim;
    (*start)[n.batching[i]] = position[after ? d - 1 : d];
  }
  at->assign(n.operand.size(), 0);
  size_t next = 0;
  for (size_t d = 0; d < n.operand.size(); ++d) {
    if (!Contains(n.dropped, static_cast<int64_t>(d)) && !Contains(n.batching, static_cast<int64_t>(d)))
      (*at)[d] = offset[next++];
  }
}

// Adjusts start by the bounds rule; false when the window is dropped.
bool Bound(const Numbers& n, Bounds bounds, Dims* start) {
  for (int64_t d : n.map) {
    const int64_t limit = n.operand[d] - n.window[d];
    if (bounds == Bounds::kClamp) (*start)[d] = std::clamp<int64_t>((*start)[d], 0, limit);
    if ((*start)[d] < 0 || (*start)[d] > limit) return false;
  }
  return true;
}

Dims Plus(Dims a, const Dims& b) {
  for (size_t d = 0; d < a.size(); ++d) a[d] += b[d];
  return a;
}

const DType kIndexTypes[] = {DType::kS32, DType::kS64, DType::kU8, DType::kS8, DType::kU64, DType::kU32, DType::kS16};
const DType kValueTypes[] = {DType::kF32, DType::kF16, DType::kC128, DType::kS8, DType::kF64, DType::kBF16};

TEST(Gather, EqualsDefinitionOverRandomDimensionNumbers) {
  Random random(31);
  for (int trial = 0; trial < 1500; ++trial) {
    const Numbers n = RandomNumbers(random);
    const auto bounds = static_cast<Bounds>(trial % 2);
    const DType dtype = kValueTypes[trial % 6];
    Operand operand = MakeOperand(random, 0, dtype, n.operand, static_cast<Layout>(trial % 3));
    FillSmall(random, &operand, 8);
    Operand indices = MakeOperand(random, 1, kIndexTypes[trial % 7], n.indices, static_cast<Layout>(trial % 3));
    FillSmall(random, &indices, 6);
    Operand out = MakeOperand(random, 2, dtype, n.result, static_cast<Layout>(trial % 2));
    GatherCmd cmd;
    cmd.operand = operand.view, cmd.indices = indices.view, cmd.out = out.view, cmd.bounds = bounds;
    cmd.offset_dims = n.window_dims, cmd.collapsed_dims = n.dropped, cmd.start_index_map = n.map;
    cmd.operand_batching_dims = n.batching, cmd.indices_batching_dims = n.indices_batching;
    cmd.slice_sizes = n.window, cmd.index_vector_dim = n.index_vector_dim;
    ASSERT_TRUE(RunCommand(DecodeGather, cmd, {&operand, &indices, &out}).ok());
    ForEachIndex(n.result, [&](const Dims& index) {
      Dims start, at;
      Locate(n, indices, index, &start, &at);
      const bool present = Bound(n, bounds, &start);
      ASSERT_EQ(out.Value(index), present ? operand.Value(Plus(start, at)) : 0.0) << "trial " << trial;
    });
    if (HasFailure()) return;
  }
}

TEST(Scatter, EqualsDefinitionOverRandomDimensionNumbers) {
  Random random(32);
  for (int trial = 0; trial < 1500; ++trial) {
    const Numbers n = RandomNumbers(random);
    const auto bounds = static_cast<Bounds>(trial % 2);
    const DType dtype = kValueTypes[trial % 6];
    Operand operand = MakeOperand(random, 0, dtype, n.operand, static_cast<Layout>(trial % 2));
    FillSmall(random, &operand, 8);
    Operand indices = MakeOperand(random, 1, kIndexTypes[trial % 7], n.indices, static_cast<Layout>(trial % 3));
    FillSmall(random, &indices, 6);
    Operand updates = MakeOperand(random, 2, dtype, n.result, static_cast<Layout>(trial % 3));
    FillSmall(random, &updates, 4);
    Operand wanted = MakeOperand(random, 3, DType::kC128, n.operand, Layout::kDense);
    ForEachIndex(n.operand, [&](const Dims& i) { wanted.Set(i, operand.Value(i)); });
    const bool replace = trial % 4 == 3;
    ScatterCmd cmd;
    cmd.outs = {operand.view}, cmd.updates = {updates.view}, cmd.indices = indices.view, cmd.bounds = bounds;
    cmd.update_window_dims = n.window_dims, cmd.inserted_dims = n.dropped, cmd.scatter_dims_to_operand = n.map;
    cmd.input_batching_dims = n.batching, cmd.indices_batching_dims = n.indices_batching;
    cmd.index_vector_dim = n.index_vector_dim;
    BodyBuilder second;
    cmd.combine = replace ? second.Build({second.Param(1, dtype)}) : BinaryBody(VOp::kAdd, dtype);
    ASSERT_TRUE(RunCommand(DecodeScatter, cmd, {&operand, &indices, &updates}).ok());
    // Row-major order of the index positions; windows never collide with themselves.
    ForEachIndex(n.result, [&](const Dims& index) {
      Dims start, at;
      Locate(n, indices, index, &start, &at);
      if (!Bound(n, bounds, &start)) return;
      const Dims to = Plus(start, at);
      if (!replace) wanted.Set(to, wanted.Value(to) + updates.Value(index));
    });
    if (replace) {  // the last position in order wins: visit positions outermost
      Dims order;
      for (size_t d = 0; d < n.result.size(); ++d) {
        if (!Contains(n.window_dims, static_cast<int64_t>(d))) order.push_back(static_cast<int64_t>(d));
      }
      order.insert(order.end(), n.window_dims.begin(), n.window_dims.end());
      Dims sizes;
      for (int64_t d : order) sizes.push_back(n.result[d]);
      ForEachIndex(sizes, [&](const Dims& permuted) {
        Dims index(permuted.size()), start, at;
        for (size_t i = 0; i < order.size(); ++i) index[order[i]] = permuted[i];
        Locate(n, indices, index, &start, &at);
        if (Bound(n, bounds, &start)) wanted.Set(Plus(start, at), updates.Value(index));
      });
    }
    ForEachIndex(n.operand, [&](const Dims& i) {
      std::complex<double> value = wanted.Value(i);
      if (dtype == DType::kS8) value = static_cast<double>(static_cast<int8_t>(static_cast<int>(value.real())));
      ASSERT_EQ(operand.Value(i), value) << "trial " << trial;
    });
    if (HasFailure()) return;
  }
}

TEST(Scatter, LongRowsAreBitEqualOverCores) {
  Random random(33);
  Operand table = MakeOperand(random, 0, DType::kF32, {50, 300}, Layout::kDense);
  FillUniform(random, &table);
  Operand rows = MakeOperand(random, 1, DType::kS32, {2000}, Layout::kDense);
  ForEachIndex({2000}, [&](const Dims& i) { rows.Set(i, static_cast<double>(Uniform(random, -2, 55))); });
  Operand updates = MakeOperand(random, 2, DType::kF32, {2000, 300}, Layout::kDense);
  FillUniform(random, &updates);
  std::vector<float> wanted(50 * 300);
  std::memcpy(wanted.data(), table.bytes.data(), wanted.size() * 4);
  for (int64_t i = 0; i < 2000; ++i) {
    const auto row = rows.Get<int32_t>({i});
    for (int64_t j = 0; row >= 0 && row < 50 && j < 300; ++j) wanted[row * 300 + j] += updates.Get<float>({i, j});
  }
  ScatterCmd cmd;
  cmd.outs = {table.view}, cmd.updates = {updates.view}, cmd.indices = rows.view;
  cmd.update_window_dims = {1}, cmd.inserted_dims = {0}, cmd.scatter_dims_to_operand = {0}, cmd.index_vector_dim = 1;
  cmd.combine = BinaryBody(VOp::kAdd, DType::kF32);
  const std::vector<uint8_t> before = table.bytes;
  for (int cores : {1, 2, 3}) {
    SetNumCores(cores);
    table.bytes = before;
    ASSERT_TRUE(RunCommand(DecodeScatter, cmd, {&table, &rows, &updates}).ok());
    EXPECT_EQ(std::memcmp(table.bytes.data(), wanted.data(), wanted.size() * 4), 0) << cores << " cores";
  }
  SetNumCores(2);
}

TEST(GatherScatter, OutOfBoundsErrorsNameIndexLimitAndPosition) {
  Random random(34);
  Operand operand = MakeOperand(random, 0, DType::kF32, {4, 3}, Layout::kDense);
  Operand indices = MakeOperand(random, 1, DType::kS64, {2, 2}, Layout::kDense);
  FillSmall(random, &indices, 0);
  indices.Set({1, 0}, 7), indices.Set({1, 1}, -3);
  Operand rows = MakeOperand(random, 2, DType::kF32, {2, 2, 3}, Layout::kDense);
  GatherCmd gather;
  gather.operand = operand.view, gather.indices = indices.view, gather.out = rows.view, gather.bounds = Bounds::kError;
  gather.offset_dims = {2}, gather.collapsed_dims = {0}, gather.start_index_map = {0}, gather.slice_sizes = {1, 3};
  gather.index_vector_dim = 2;
  Status status = RunCommand(DecodeGather, gather, {&operand, &indices, &rows});
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "indices[1,0] = 7 is not in [0, 4)");
  ScatterCmd scatter;
  scatter.outs = {operand.view}, scatter.updates = {rows.view}, scatter.indices = indices.view;
  scatter.bounds = Bounds::kError, scatter.update_window_dims = {2}, scatter.inserted_dims = {0};
  scatter.scatter_dims_to_operand = {0}, scatter.index_vector_dim = 2;
  scatter.combine = BinaryBody(VOp::kAdd, DType::kF32);
  const std::vector<uint8_t> before = operand.bytes;
  status = RunCommand(DecodeScatter, scatter, {&operand, &indices, &rows});
  EXPECT_EQ(status.message(), "indices[1,0] = 7 is not in [0, 4)");
  EXPECT_EQ(operand.bytes, before);
}

}  // namespace
}  // namespace mychip::emulator
