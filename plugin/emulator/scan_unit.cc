// ScanCmd: sequential along the axis, side by side over everything else.
#include <algorithm>
#include <cstring>
#include <memory>

#include "cores.h"
#include "lane_combiner.h"
#include "stage.h"
#include "units.h"

namespace mychip::emulator {
namespace {

constexpr int64_t kLines = 512;  // scanned side by side

// Lines are the positions of all other dims, flat in row-major order.
struct ScanPlan {
  explicit ScanPlan(const ScanCmd& c) : cmd(c), combiner(c.combine) {
    Dims dims, in, out;
    for (int d = 0; d < c.input.rank(); ++d) {
      if (d == c.axis) continue;
      dims.push_back(c.input.dims[d]), in.push_back(c.input.strides[d]), out.push_back(c.output.strides[d]);
    }
    Space space{dims, {in, out}};
    Simplify(&space, 1);
    input = Walk(space.dims, space.strides[0]), output = Walk(space.dims, space.strides[1]);
    lines = NumElements(dims);
    length = c.input.dims[c.axis];
    bytes = ByteSize(c.input.dtype), lane_bytes = LaneBytes(c.input.dtype);
  }
  const ScanCmd& cmd;
  LaneCombiner combiner;
  Walk input, output;
  int64_t lines = 0, length = 0, bytes = 4, lane_bytes = 4;
};

void RunLines(const ScanPlan& plan, const Buffers& buffers, int64_t first, int64_t n) {
  const ScanCmd& cmd = plan.cmd;
  Scratch scratch;
  CombinerRun combine(plan.combiner, &scratch);
  const Kernel load = FindLoad(cmd.input.dtype), store = FindStore(cmd.input.dtype);
  uint8_t* raw = scratch.Array<uint8_t>(n * plan.bytes + 64);
  uint8_t* value = load != nullptr ? scratch.Array<uint8_t>(n * plan.lane_bytes + 64) : raw;
  uint8_t* acc = scratch.Array<uint8_t>(n * plan.lane_bytes + 64);
  uint8_t* next = scratch.Array<uint8_t>(n * plan.lane_bytes + 64);

  uint64_t cell[2];
  if (load != nullptr) {
    load(cell, buffers.Address(cmd.init), nullptr, nullptr, 1, 0);
  } else {
    std::memcpy(cell, buffers.Address(cmd.init), static_cast<size_t>(plan.bytes));
  }
  FillLanes(acc, cell, plan.lane_bytes, n);

  auto write = [&](int64_t i, const uint8_t* lanes) {
    uint8_t* base = buffers.Address(cmd.output) + i * cmd.output.strides[cmd.axis] * plan.bytes;
    if (store == nullptr) return plan.output.Scatter(base, plan.bytes, first, n, lanes);
    store(raw, lanes, nullptr, nullptr, n, 0);
    plan.output.Scatter(base, plan.bytes, first, n, raw);
  };
  for (int64_t step = 0; step < plan.length; ++step) {
    const int64_t i = cmd.reverse ? plan.length - 1 - step : step;
    const uint8_t* base = buffers.Address(cmd.input) + i * cmd.input.strides[cmd.axis] * plan.bytes;
    plan.input.Gather(base, plan.bytes, first, n, raw);
    if (load != nullptr) load(value, raw, nullptr, nullptr, n, 0);
    if (cmd.exclusive) {
      // The input may be the output: combine before the write.
      void* to = next;
      const void *a = acc, *b = value;
      combine.Run(n, &to, &a, &b);
      write(i, acc);
      std::swap(acc, next);
    } else {
      void* to = acc;
      const void *a = acc, *b = value;
      combine.Run(n, &to, &a, &b);
      write(i, acc);
    }
  }
}

}  // namespace

Runner DecodeScan(const ScanCmd& cmd) {
  return [plan = std::make_shared<const ScanPlan>(cmd)](const Buffers& buffers) {
    MYCHIP_RETURN_IF_ERROR(plan->combiner.status());
    if (plan->lines * plan->length == 0) return OkStatus();
    const int64_t grain = std::max<int64_t>(16, kParallelElements / plan->length);
    ParallelFor(plan->lines, grain, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; at += kLines) RunLines(*plan, buffers, at, std::min(kLines, end - at));
    });
    return OkStatus();
  };
}

}  // namespace mychip::emulator
