// The cycle model: README.md, "Cycle model", states it in words. Pure functions of the command: the same on every host.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "mychip/runtime/device.h"
#include "mychip/runtime/program.h"

namespace mychip {
namespace {

constexpr int64_t kBurstBytes = 64;                    // what device memory moves at once
constexpr int64_t kVectorTile = 1024;                  // elements a core takes at once
constexpr int64_t kWeightPerCycle = 512;               // a weight of 1 is one element of one 16-bit lane
constexpr int64_t kMatrixTile = 256;                   // edge of the output tile that stays in the scratchpads
constexpr int64_t kMatrixFill = 32;                    // cycles to fill and drain the MAC array
constexpr int64_t kControlCycles = 50;                 // one decision of the command processor
constexpr int64_t kPhiloxOps = 24, kThreefryOps = 36;  // simple 32-bit operations per 32-bit word
constexpr int64_t kFftOps = 5;                         // real operations per point and stage

int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

int Log2Ceil(int64_t n) {
  int bits = 0;
  while (bits < 62 && (int64_t{1} << bits) < n) ++bits;
  return bits;
}

// --- Memory ---------------------------------------------------------------------------------------------------------

struct Traffic {
  int64_t bytes = 0;   // useful
  int64_t bursts = 0;  // bytes moved, whole bursts
  Traffic& operator+=(const Traffic& o) {
    bytes += o.bytes, bursts += o.bursts;
    return *this;
  }
  Traffic operator*(int64_t times) const { return {bytes * times, bursts * times}; }
};

// Reading or writing every element once; what is broadcast is fetched once.
Traffic TrafficOf(const View& view) {
  if (NumElements(view.dims) == 0) return {};
  std::array<std::pair<int64_t, int64_t>, kMaxRank> dims;  // |stride| in bytes, count
  int rank = 0;
  const int64_t size = ByteSize(view.dtype);
  for (int d = 0; d < view.rank(); ++d) {
    if (view.dims[d] > 1 && view.strides[d] != 0) dims[rank++] = {std::abs(view.strides[d]) * size, view.dims[d]};
  }
  std::sort(dims.begin(), dims.begin() + rank);
  int64_t run = size, runs = 1;
  for (int d = 0; d < rank; ++d) {
    if (runs == 1 && dims[d].first == run) {
      run *= dims[d].second;
    } else {
      runs *= dims[d].second;
    }
  }
  return {run * runs, CeilDiv(run, kBurstBytes) * kBurstBytes * runs};
}

Traffic TrafficOf(const std::vector<View>& views) {
  Traffic total;
  for (const View& view : views) total += TrafficOf(view);
  return total;
}

// --- Vector unit ----------------------------------------------------------------------------------------------------

// Weight of one simple operation on one element.
int64_t WidthWeight(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 16;
    case DType::kC128:
      return 32;
    case DType::kC64:
      return 4;
    default:
      return std::max<int64_t>(ByteSize(dtype) / 2, 1);
  }
}

struct Work {
  int64_t weight = 0, ops = 0;  // per element
  Work operator+(const Work& o) const { return {weight + o.weight, ops + o.ops}; }
  Work operator*(int64_t times) const { return {weight * times, ops * times}; }
};

Work WorkOf(const Body& body) {
  static constexpr int64_t kClassFactor[] = {0, 1, 2, 4};  // by RateClass
  Work work;
  for (const Inst& inst : body.insts) {
    const int64_t factor = kClassFactor[static_cast<int>(Rate(inst.op))];
    if (factor == 0) continue;
    int64_t width = WidthWeight(inst.dtype);
    if (NumOperands(inst.op) > 0) {
      const int32_t value = inst.op == VOp::kSelect ? inst.b : inst.a;
      width = std::max(width, WidthWeight(body.insts[value].dtype));
    }
    work.weight += factor * width;
    work.ops += 1;
  }
  return work;
}

int64_t VectorCycles(int64_t elements, int64_t weight) {
  return CeilDiv(CeilDiv(elements, kVectorTile), chip::kCores) * (kVectorTile / kWeightPerCycle) * weight;
}

// --- Matrix unit ----------------------------------------------------------------------------------------------------

struct MacArray {
  int64_t rows, columns;  // outputs that advance by one step of k per cycle
};

MacArray ArrayFor(DType dtype, Precision precision) {
  switch (dtype) {
    case DType::kF32:
      if (precision == Precision::kTF32) return {32, 64};
      if (precision == Precision::kBF16) return {64, 64};
      return {32, 32};
    case DType::kF16:
    case DType::kBF16:
      return {64, 64};
    case DType::kS8:
    case DType::kU8:
      return {64, 128};
    case DType::kC64:
      return {16, 16};
    case DType::kC128:
      return {1, 8};
    case DType::kF64:
      return {1, 32};
    case DType::kS64:
    case DType::kU64:
      return {1, 64};
    default:
      return {1, 128};  // 16- and 32-bit integers, on the vector lanes: a multiply and an add
  }
}

int64_t MatrixCycles(int64_t batch, int64_t m, int64_t n, int64_t k, const MacArray& array) {
  const int64_t blocks = batch * CeilDiv(m, array.rows) * CeilDiv(n, array.columns);
  return CeilDiv(blocks, chip::kCores) * (k + kMatrixFill);
}

int64_t FlopsPerMac(DType dtype) { return IsComplex(dtype) ? 8 : 2; }

// --- Putting a command together -------------------------------------------------------------------------------------

Cost Assemble(int64_t compute, const Traffic& read, const Traffic& written, int64_t flops) {
  Cost cost;
  cost.launches = 1;
  cost.bytes_read = read.bytes;
  cost.bytes_written = written.bytes;
  cost.flops = flops;
  cost.cycles =
      chip::kLaunchCycles + std::max(compute, CeilDiv(read.bursts + written.bursts, chip::kMemoryBytesPerCycle));
  return cost;
}

Cost CostOfCommand(const CopyCmd& c) {
  Traffic read = TrafficOf(c.src);
  read += TrafficOf(c.src_offset.starts);
  read += TrafficOf(c.dst_offset.starts);
  return Assemble(0, read, TrafficOf(c.dst), 0);
}

Cost CostOfCommand(const VectorCmd& c) {
  const int64_t count = NumElements(c.dims);
  const Work work = WorkOf(c.body);
  return Assemble(VectorCycles(count, work.weight), TrafficOf(c.inputs), TrafficOf(c.outputs), count * work.ops);
}

Cost CostOfCommand(const ReduceCmd& c) {
  const int64_t count = NumElements(c.dims), kept = NumElements(c.outputs[0].dims);
  const Work each = WorkOf(c.map) + WorkOf(c.combine), post = WorkOf(c.post);
  Traffic read = TrafficOf(c.inputs);
  read += TrafficOf(c.inits);
  read += TrafficOf(c.post_inputs);
  return Assemble(VectorCycles(count, each.weight) + VectorCycles(kept, post.weight), read, TrafficOf(c.outputs),
                  count * each.ops + kept * post.ops);
}

Cost CostOfCommand(const ScanCmd& c) {
  const int64_t count = NumElements(c.input.dims), steps = c.input.dims[c.axis];
  const Work work = WorkOf(c.combine);
  const int64_t compute = count == 0 ? 0 : steps * VectorCycles(count / steps, work.weight);
  Traffic read = TrafficOf(c.input);
  read += TrafficOf(c.init);
  return Assemble(compute, read, TrafficOf(c.output), count * work.ops);
}

Cost CostOfCommand(const MatMulCmd& c) {
  const int rank = c.a.rank();
  const int64_t m = c.a.dims[rank - 2], k = c.a.dims[rank - 1], n = c.b.dims[rank - 1];
  const int64_t out = NumElements(c.out.dims);
  if (out == 0) return Assemble(0, {}, {}, 0);
  const int64_t batch = out / (m * n);
  const Work epilogue = WorkOf(c.epilogue);
  const int64_t compute =
      std::max(MatrixCycles(batch, m, n, k, ArrayFor(c.a.dtype, c.precision)), VectorCycles(out, epilogue.weight));
  Traffic read = TrafficOf(c.a) * CeilDiv(n, kMatrixTile);
  read += TrafficOf(c.b) * CeilDiv(m, kMatrixTile);
  read += TrafficOf(c.epilogue_inputs);
  return Assemble(compute, read, TrafficOf(c.out), out * k * FlopsPerMac(c.a.dtype) + out * epilogue.ops);
}

// Implicit GEMM: m = output pixels of all images, n = output features of a group, k = taps x input features of a group.
Cost CostOfCommand(const ConvCmd& c) {
  const int64_t out = NumElements(c.out.dims);
  if (out == 0) return Assemble(0, {}, {}, 0);
  const int spatial = static_cast<int>(c.window.size());
  int64_t k = c.rhs.dims[spatial];
  for (const WindowDim& w : c.window) k *= w.size;
  const int64_t groups = c.feature_groups * c.batch_groups;
  const int64_t n = c.rhs.dims.back() / groups, m = out / c.rhs.dims.back();
  const Work epilogue = WorkOf(c.epilogue);
  const int64_t compute =
      std::max(MatrixCycles(groups, m, n, k, ArrayFor(c.lhs.dtype, c.precision)), VectorCycles(out, epilogue.weight));
  Traffic read = TrafficOf(c.lhs) * CeilDiv(n, kMatrixTile);
  read += TrafficOf(c.rhs) * CeilDiv(m, kMatrixTile);
  read += TrafficOf(c.epilogue_inputs);
  return Assemble(compute, read, TrafficOf(c.out), out * k * FlopsPerMac(c.lhs.dtype) + out * epilogue.ops);
}

int64_t Taps(const std::vector<WindowDim>& window) {
  int64_t taps = 1;
  for (const WindowDim& w : window) taps *= w.size;
  return taps;
}

Cost CostOfCommand(const WindowReduceCmd& c) {
  const int64_t out = NumElements(c.outputs[0].dims), taps = Taps(c.window);
  const Work work = WorkOf(c.combine) * taps + WorkOf(c.post);
  Traffic read = TrafficOf(c.inputs);
  read += TrafficOf(c.inits);
  read += TrafficOf(c.post_inputs);
  return Assemble(VectorCycles(out, work.weight), read, TrafficOf(c.outputs), out * work.ops);
}

Cost CostOfCommand(const SelectScatterCmd& c) {
  const int64_t windows = NumElements(c.source.dims);
  const Work work = WorkOf(c.select) * Taps(c.window) + WorkOf(c.scatter);
  Traffic read = TrafficOf(c.operand);
  read += TrafficOf(c.source);
  read += TrafficOf(c.init);
  return Assemble(VectorCycles(windows, work.weight), read, TrafficOf(c.out), windows * work.ops);
}

// Index vectors in an indices operand.
int64_t NumVectors(const View& indices, int64_t index_vector_dim) {
  const int64_t count = NumElements(indices.dims);
  if (index_vector_dim == indices.rank() || count == 0) return count;
  return count / indices.dims[index_vector_dim];
}

Cost CostOfCommand(const GatherCmd& c) {
  const int64_t vectors = NumVectors(c.indices, c.index_vector_dim);
  View slice = c.operand;
  slice.dims = c.slice_sizes;
  Traffic read = TrafficOf(slice) * vectors;
  read += TrafficOf(c.indices);
  return Assemble(CeilDiv(vectors, chip::kCores), read, TrafficOf(c.out), 0);
}

Cost CostOfCommand(const ScatterCmd& c) {
  const int64_t vectors = NumVectors(c.indices, c.index_vector_dim);
  const int64_t updates = NumElements(c.updates[0].dims);
  const Work work = WorkOf(c.combine);
  Traffic read = TrafficOf(c.indices), written;
  for (size_t i = 0; i < c.outs.size(); ++i) {
    const Traffic update = TrafficOf(c.updates[i]);
    // What is replaced is read, combined and written back; slices are as long as the updates' window.
    View window = c.updates[i];
    window.dims.clear();
    window.strides.clear();
    for (size_t d = 0, w = 0; d < c.outs[i].dims.size(); ++d) {
      const auto in = [d](const Dims& dims) { return std::find(dims.begin(), dims.end(), d) != dims.end(); };
      if (in(c.inserted_dims) || in(c.input_batching_dims)) continue;
      window.dims.push_back(c.updates[i].dims[c.update_window_dims[w++]]);
      window.strides.push_back(c.outs[i].strides[d]);
    }
    const Traffic touched = TrafficOf(window) * vectors;
    read += update;
    if (work.ops > 0) read += touched;
    written += touched;
  }
  return Assemble(std::max(CeilDiv(vectors, chip::kCores), VectorCycles(updates, work.weight)), read, written,
                  updates * work.ops);
}

Cost CostOfCommand(const SortCmd& c) {
  const int64_t count = NumElements(c.inputs[0].dims), length = c.inputs[0].dims[c.axis];
  const int stages = Log2Ceil(length);
  Work work = WorkOf(c.compare);
  int64_t row = 0;
  for (const View& input : c.inputs) {
    work.weight += WidthWeight(input.dtype);
    row += length * ByteSize(input.dtype);
  }
  // Runs that fit a scratchpad are sorted in it; each doubling beyond is a pass over memory.
  const int64_t passes = 1 + Log2Ceil(CeilDiv(2 * row, chip::kScratchpadBytes));
  return Assemble(stages * VectorCycles(count, work.weight), TrafficOf(c.inputs) * passes,
                  TrafficOf(c.outputs) * passes, stages * count * work.ops);
}

Cost CostOfCommand(const RandomCmd& c) {
  const int64_t count = NumElements(c.out.dims);
  const int64_t words = CeilDiv(count * ByteSize(c.bits), 4);
  const int64_t ops = c.algorithm == RandomAlgorithm::kPhilox ? kPhiloxOps : kThreefryOps;
  const Work epilogue = WorkOf(c.epilogue);
  Traffic written = TrafficOf(c.out);
  if (c.state_out.buffer >= 0) written += TrafficOf(c.state_out);
  return Assemble(VectorCycles(words, ops * WidthWeight(DType::kU32)) + VectorCycles(count, epilogue.weight),
                  TrafficOf(c.state), written, words * ops + count * epilogue.ops);
}

Cost CostOfCommand(const FftCmd& c) {
  const View& larger = NumElements(c.input.dims) > NumElements(c.output.dims) ? c.input : c.output;
  const int64_t count = NumElements(larger.dims);
  int64_t stages = 0;
  for (int64_t length : c.lengths) {
    const bool power = length > 0 && (length & (length - 1)) == 0;
    // Other lengths go through a convolution: three transforms of the next power of two above 2n.
    stages += power ? Log2Ceil(length) : 3 * 2 * Log2Ceil(2 * length);
  }
  const int64_t weight = IsComplex(c.input.dtype) ? WidthWeight(c.input.dtype) : 2 * WidthWeight(c.input.dtype);
  return Assemble(VectorCycles(count, weight * kFftOps * stages), TrafficOf(c.input), TrafficOf(c.output),
                  count * kFftOps * stages);
}

Cost Control() {
  Cost cost;
  cost.cycles = kControlCycles;
  return cost;
}
Cost CostOfCommand(const CallCmd&) { return Control(); }
Cost CostOfCommand(const IfCmd&) { return Control(); }
Cost CostOfCommand(const WhileCmd&) { return Control(); }

}  // namespace

Cost CostOf(const CommandOp& op) {
  return std::visit([](const auto& command) { return CostOfCommand(command); }, op);
}

Cost StaticCost(const Program& program) {
  Cost total;
  for (const auto& block : program.blocks) {
    for (const Command& command : block) total += CostOf(command.op);
  }
  return total;
}

}  // namespace mychip
