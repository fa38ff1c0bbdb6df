// RandomCmd: bits in the order TensorFlow's CPU kernels (kTensorFlow) or XLA's expander (kXla) lay them out, then the
// epilogue. Philox gives 16 bytes a counter in order; u8 and u16 take the low bits of one word each. Threefry gives a
// pair of words a counter; for up to 32 bits the pair lies along the first even dim of the output (else the largest).
#include <algorithm>
#include <cstring>
#include <memory>

#include "body_tools.h"
#include "cores.h"
#include "random_kernels.h"
#include "stage.h"
#include "units.h"

namespace mychip::emulator {
namespace {

constexpr int64_t kTile = 1024;

struct RandomPlan {
  const RandomCmd* cmd = nullptr;
  Status status;
  Body body;
  Stage stage;
  int64_t total = 0;
  // Threefry pairs: position = (outer * split + s) * inner + i.
  int64_t split = 1, inner = 1;
  bool pairs = false;

  int64_t half() const { return (split + 1) / 2; }
  // Counters that the command uses up.
  int64_t Counters() const {
    const int64_t bytes = ByteSize(cmd->bits);
    if (cmd->algorithm == RandomAlgorithm::kPhilox) return (bytes == 8 ? 2 * total + 3 : total + 3) / 4;
    return pairs ? total / split * half() : total;
  }
};

struct Generator {
  uint64_t key, low, high;
};

Generator ReadState(const RandomCmd& cmd, const Buffers& buffers) {
  uint64_t words[3] = {};
  const uint8_t* address = buffers.Address(cmd.state);
  for (int64_t i = 0; i < cmd.state.dims[0]; ++i) {
    std::memcpy(&words[i], address + 8 * i * cmd.state.strides[0], 8);
  }
  if (cmd.state.dims[0] >= 3) return {words[0], words[1], words[2]};
  // XLA's short Philox state: the key doubles as the counter's high half.
  return {words[0], words[1], cmd.algorithm == RandomAlgorithm::kPhilox ? words[0] : 0};
}

void WriteState(const RandomPlan& plan, const Generator& g, const Buffers& buffers) {
  const View& out = plan.cmd->state_out;
  if (out.buffer < 0) return;
  const uint64_t low = g.low + static_cast<uint64_t>(plan.Counters());
  const uint64_t words[3] = {g.key, low, g.high + (low < g.low)};
  for (int64_t i = 0; i < out.dims[0]; ++i) std::memcpy(buffers.Address(out) + 8 * i * out.strides[0], &words[i], 8);
}

template <typename T>
void Narrow(const uint32_t* words, int64_t n, void* out) {
  T* to = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(words[i]);
}

// Positions [position, position + n), position a multiple of 4.
void PhiloxBits(const RandomPlan& plan, const Generator& g, int64_t position, int64_t n, uint32_t* words, void* out) {
  const int64_t bytes = ByteSize(plan.cmd->bits);
  const int64_t per_element = bytes == 8 ? 2 : 1;
  const int64_t first = position * per_element / 4, blocks = (n * per_element + 3) / 4;
  const uint64_t low = g.low + static_cast<uint64_t>(first);
  Philox(g.key, low, g.high + (low < g.low), blocks, words);
  if (bytes == 1) return Narrow<uint8_t>(words, n, out);
  if (bytes == 2) return Narrow<uint16_t>(words, n, out);
  std::memcpy(out, words, static_cast<size_t>(n * bytes));
}

void ThreefryBits(const RandomPlan& plan, const Generator& g, int64_t position, int64_t n, uint64_t* counters,
                  uint64_t* blocks, void* out) {
  uint32_t words[kTile];
  uint8_t high[kTile];
  int64_t i = position % plan.inner, row = position / plan.inner;
  int64_t s = row % plan.split, outer = row / plan.split;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t s_half = plan.pairs ? s / 2 : s, size = plan.pairs ? plan.half() : plan.split;
    counters[k] = g.low + static_cast<uint64_t>((outer * size + s_half) * plan.inner + i);
    high[k] = static_cast<uint8_t>(s & 1);
    if (++i < plan.inner) continue;
    i = 0;
    if (++s == plan.split) s = 0, ++outer;
  }
  Threefry(g.key, counters, n, blocks);
  const int64_t bytes = ByteSize(plan.cmd->bits);
  if (bytes == 8) {
    std::memcpy(out, blocks, static_cast<size_t>(n) * 8);
    return;
  }
  for (int64_t k = 0; k < n; ++k) words[k] = static_cast<uint32_t>(high[k] ? blocks[k] >> 32 : blocks[k]);
  if (bytes == 1) return Narrow<uint8_t>(words, n, out);
  if (bytes == 2) return Narrow<uint16_t>(words, n, out);
  std::memcpy(out, words, static_cast<size_t>(n) * 4);
}

// The dim along which XLA lays the two words of a Threefry block.
size_t SplitDim(const Dims& dims) {
  size_t largest = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] % 2 == 0) return d;
    if (dims[d] > dims[largest]) largest = d;
  }
  return largest;
}

std::shared_ptr<const RandomPlan> MakePlan(const RandomCmd& cmd) {
  auto plan = std::make_shared<RandomPlan>();
  plan->cmd = &cmd;
  plan->total = NumElements(cmd.out.dims);
  if (cmd.layout == RandomLayout::kTensorFlow && cmd.algorithm == RandomAlgorithm::kThreefry) {
    plan->status = Unimplemented("threefry in TensorFlow's layout: its CPU kernels only know philox");
    return plan;
  }
  plan->pairs = cmd.algorithm == RandomAlgorithm::kThreefry && ByteSize(cmd.bits) < 8;
  if (plan->pairs && cmd.out.rank() > 0) {
    const size_t d = SplitDim(cmd.out.dims);
    plan->split = cmd.out.dims[d];
    for (size_t k = d + 1; k < cmd.out.dims.size(); ++k) plan->inner *= cmd.out.dims[k];
  } else if (cmd.algorithm == RandomAlgorithm::kThreefry && !plan->pairs) {
    plan->split = std::max<int64_t>(1, plan->total);
  }
  if (plan->total == 0) return plan;
  plan->body = cmd.epilogue.empty() ? IdentityBody({cmd.bits}) : cmd.epilogue;
  StageSpec spec;
  spec.body = &plan->body;
  spec.dims = cmd.out.dims;
  spec.lane_params = 1;
  spec.outputs = {cmd.out};
  spec.output_strides = {cmd.out.strides};
  for (int d = 0; d < NumIotaDims(plan->body); ++d) spec.iota_strides.push_back(IotaStrides(cmd.out.rank(), d));
  spec.block = plan->total;
  plan->stage = Stage(spec);
  plan->status = plan->stage.vm.status;
  return plan;
}

void RunTiles(const RandomPlan& plan, const Generator& g, const Buffers& buffers, int64_t begin, int64_t end) {
  Scratch scratch;
  StageRun run(plan.stage, buffers, kTile, &scratch);
  uint64_t* blocks = scratch.Array<uint64_t>(kTile);
  uint64_t* counters = scratch.Array<uint64_t>(kTile);
  uint32_t* words = scratch.Array<uint32_t>(2 * kTile + 4);
  for (int64_t t = begin; t < end; ++t) {
    const int64_t position = t * kTile, n = std::min(kTile, plan.total - position);
    if (plan.cmd->algorithm == RandomAlgorithm::kPhilox) {
      PhiloxBits(plan, g, position, n, words, blocks);
    } else {
      ThreefryBits(plan, g, position, n, counters, reinterpret_cast<uint64_t*>(words), blocks);
    }
    run.SetLanes(0, blocks);
    run.Run(position, n);
  }
}

}  // namespace

Runner DecodeRandom(const RandomCmd& cmd) {
  return [plan = MakePlan(cmd)](const Buffers& buffers) {
    MYCHIP_RETURN_IF_ERROR(plan->status);
    const Generator g = ReadState(*plan->cmd, buffers);
    if (plan->total > 0) {
      ParallelFor((plan->total + kTile - 1) / kTile, 16,
                  [&](int64_t begin, int64_t end) { RunTiles(*plan, g, buffers, begin, end); });
    }
    WriteState(*plan, g, buffers);  // last: state_out may be the state
    return OkStatus();
  };
}

}  // namespace mychip::emulator
