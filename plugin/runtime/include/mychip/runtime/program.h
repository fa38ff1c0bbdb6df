// Program: a list of commands for the chip's units over numbered buffers. Immutable once built and validated; shared by
// every stream that runs it. Both ways of data meet here: TensorFlow kernels (ops/) and HLO (codegen/) build Programs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "mychip/runtime/body.h"
#include "mychip/runtime/export.h"
#include "mychip/runtime/status.h"
#include "mychip/runtime/view.h"

namespace mychip {

// ---------------------------------------------------------------------------------------------------------------------
// Commands. "Views over the iteration space" have exactly the rank and dims of that space (broadcast by stride 0).
// Unless said otherwise, an output may coincide exactly with an input (same element, same address) but not overlap it
// in any other way, and outputs of one command do not overlap each other.

// A dynamic start of a copy: index d of the moving side is shifted by clamp(start[d], 0, limit[d]) elements of stride.
// All scalars are device views of one integer dtype (s32, s64, u32, u64), read when the command runs.
struct DynamicOffset {
  std::vector<View> starts;  // rank-0 views, one per moved dim
  Dims strides;              // of the moving side, elements per index step
  Dims limits;               // largest allowed start
  bool empty() const { return starts.empty(); }
};

// DMA unit: dst[i] = src[i]; same dims and dtype, any strides (transpose, slice, reverse, broadcast, concat, pad).
// src and dst must not overlap unless they coincide.
struct CopyCmd {
  View src, dst;
  DynamicOffset src_offset, dst_offset;  // dynamic-slice / dynamic-update-slice
};

// Vector unit: outputs[r][i] = body(inputs[...][i]). Params are the inputs in order.
struct VectorCmd {
  Dims dims;
  std::vector<View> inputs;  // over the iteration space
  Body body;
  std::vector<View> outputs;  // over the iteration space
};

// Vector unit, reducing: for each kept index, acc = init; acc = combine(acc, map(inputs)) over all reduced indices in
// an order that does not depend on the number of cores (fixed blocks, pairwise within); outputs = post(acc,
// post_inputs). N accumulators (N = results of map = inits). Accumulation happens in the combiner's dtype.
struct ReduceCmd {
  Dims dims;
  std::vector<bool> reduced;      // per dim
  std::vector<View> inputs;       // over the iteration space
  Body map;                       // params: inputs. Empty: identity on the inputs.
  Body combine;                   // params: N accumulators, then N values; N results
  std::vector<View> inits;        // rank 0, N of them
  Body post;                      // params: N accumulators, then post_inputs; empty: identity. Iota counts kept dims.
  std::vector<View> post_inputs;  // over the kept dims
  std::vector<View> outputs;      // over the kept dims, in order
};

// Inclusive or exclusive scan along `axis` (cumsum, cumprod, ...): order of combination is sequential.
struct ScanCmd {
  View input, output;  // same dims
  int axis = 0;
  bool exclusive = false;
  bool reverse = false;
  Body combine;  // two params
  View init;     // rank 0
};

enum class Precision : uint8_t { kF32, kTF32, kBF16 };  // how f32 operands enter the matrix unit

// Matrix unit: out[b.., m, n] = epilogue(sum_k a[b.., m, k] * b[b.., k, n], epilogue_inputs[b.., m, n]).
// Operand dtypes may be f32, f16, bf16 (accumulate f32), f64, s8/u8..s64 (accumulate s32 for 8-bit, else own dtype),
// c64, c128 (own dtype). `accumulate` names the accumulator's dtype = the epilogue's param 0.
struct MatMulCmd {
  View a, b;  // rank = batch rank + 2; batch strides may be 0
  DType accumulate = DType::kF32;
  Precision precision = Precision::kF32;
  Body epilogue;  // params: accumulator, then epilogue_inputs; one result. Empty: convert to out's dtype.
  std::vector<View> epilogue_inputs;  // dims of `out`
  View out;
};

struct WindowDim {
  int64_t size = 1, stride = 1, pad_low = 0, pad_high = 0, base_dilation = 1, window_dilation = 1;
  bool reversal = false;
};

// Convolution unit, HLO semantics. lhs [n, spatial..., ci], rhs [spatial..., ci / feature_groups, co],
// out [n', spatial..., co]; any memory order through strides. Epilogue as MatMulCmd's, over out's dims.
struct ConvCmd {
  View lhs, rhs;
  std::vector<WindowDim> window;
  int64_t feature_groups = 1, batch_groups = 1;
  DType accumulate = DType::kF32;
  Precision precision = Precision::kF32;
  Body epilogue;
  std::vector<View> epilogue_inputs;
  View out;
};

// HLO reduce-window; window has one entry per dim. Padding elements contribute nothing but `inits`.
// N operands share dims and the window; combiner as ReduceCmd's. post runs over out dims: params N accumulators,
// inputs.
struct WindowReduceCmd {
  std::vector<View> inputs;
  std::vector<WindowDim> window;
  Body combine;
  std::vector<View> inits;
  Body post;
  std::vector<View> post_inputs;
  std::vector<View> outputs;
};

// HLO select-and-scatter: out = init everywhere, then each source element is combined into the operand position that
// `select` (two params, pred: true keeps the first) picks in its window; the first wins on ties of ge.
struct SelectScatterCmd {
  View operand, source, init, out;
  std::vector<WindowDim> window;
  Body select, scatter;
};

enum class Bounds : uint8_t {
  kClamp,  // HLO gather: start indices are clamped
  kDrop,   // HLO scatter: updates outside are skipped; a gather yields 0
  kError,  // TensorFlow CPU: the command fails with OUT_OF_RANGE/INVALID_ARGUMENT naming index and limit
};

// HLO gather. Dimension numbers as in HLO, batching dims included.
struct GatherCmd {
  View operand, indices, out;
  Dims offset_dims, collapsed_dims, start_index_map, operand_batching_dims, indices_batching_dims, slice_sizes;
  int64_t index_vector_dim = 0;
  Bounds bounds = Bounds::kClamp;
};

// HLO scatter into `out`, which already holds the operand (the program copies it there first). N operands share
// indices. combine: params N current values, then N updates. Updates are applied in row-major order of the indices.
struct ScatterCmd {
  std::vector<View> outs, updates;
  View indices;
  Dims update_window_dims, inserted_dims, scatter_dims_to_operand, input_batching_dims, indices_batching_dims;
  int64_t index_vector_dim = 0;
  Body combine;
  Bounds bounds = Bounds::kDrop;
};

// HLO sort along `axis` of N views with the same dims; compare: params (a0, b0, a1, b1, ...), result pred "a before b".
struct SortCmd {
  std::vector<View> inputs, outputs;
  int axis = 0;
  bool stable = true;
  Body compare;
};

enum class RandomAlgorithm : uint8_t { kPhilox, kThreefry };
enum class RandomLayout : uint8_t {
  kTensorFlow,  // key u64[1], counter u64[2] -> words in counter order, four u32 a block: TF CPU's stateless kernels
  kXla,  // state u64[2 or 3] as HLO rng-bit-generator; words laid out as XLA's expander does (bit-equal to XLA:CPU)
};
// Random-bits unit. `state` is read; state_out (same dims, HLO only; buffer -1 otherwise) receives the next state.
// out = epilogue(bits); bits are u8, u16, u32 or u64: `bits`. An empty epilogue stores the bits.
struct RandomCmd {
  RandomAlgorithm algorithm = RandomAlgorithm::kPhilox;
  RandomLayout layout = RandomLayout::kXla;
  View state, state_out, out;
  DType bits = DType::kU32;
  Body epilogue;
};

// 1-3 innermost dims; HLO fft kinds.
enum class FftKind : uint8_t { kFft, kIfft, kRfft, kIrfft };
struct FftCmd {
  FftKind kind = FftKind::kFft;
  Dims lengths;  // of the transformed (innermost) dims
  View input, output;
};

// Control, run by the chip's command processor without the host. Blocks are command lists of the same program.
struct CallCmd {
  int block = -1;
};
// branches[clamp] : selector pred -> {true, false}; s32 -> index, out of range takes the last (HLO conditional).
struct IfCmd {
  View selector;
  std::vector<int> branches;
};
// do { run cond; if (!pred) break; run body } while (true)
struct WhileCmd {
  int cond = -1;
  View pred;
  int body = -1;
};

using CommandOp =
    std::variant<CopyCmd, VectorCmd, ReduceCmd, ScanCmd, MatMulCmd, ConvCmd, WindowReduceCmd, SelectScatterCmd,
                 GatherCmd, ScatterCmd, SortCmd, RandomCmd, FftCmd, CallCmd, IfCmd, WhileCmd>;

// Where a command comes from, for traces and messages: "dot.12", "MatMul", "model.py:31".
struct Source {
  std::string name;      // HLO instruction or op-library function
  std::string tf_op;     // TensorFlow op type or scope/op, may be empty
  std::string location;  // file:line, may be empty
};

struct Command {
  CommandOp op;
  int source = -1;  // index into Program::sources
};

enum class BufferKind : uint8_t {
  kArgument,  // bound at launch, in order of appearance
  kTemp,      // scratch bound at launch; contents undefined before and after. At most one.
  kConstant,  // program memory: `data`, read-only
};
struct Buffer {
  BufferKind kind = BufferKind::kArgument;
  int64_t size = 0;                // bytes; an argument may be larger
  std::vector<std::uint8_t> data;  // constants only
};

// What the emulator derives from a program once (decoded commands); made on first use, thread-safe, freed with the
// program. Not part of the program's value: a copy or moved-to program starts without.
class DecodedSlot {
 public:
  DecodedSlot() = default;
  DecodedSlot(const DecodedSlot&) {}
  DecodedSlot& operator=(const DecodedSlot&) {
    std::lock_guard<std::mutex> lock(mutex_);
    value_.reset();
    return *this;
  }
  std::shared_ptr<const void> GetOrMake(const std::function<std::shared_ptr<const void>()>& make) const {
    std::lock_guard<std::mutex> lock(mutex_);
    if (value_ == nullptr) value_ = make();
    return value_;
  }
  std::shared_ptr<const void> Get() const {  // null when nothing was made
    std::lock_guard<std::mutex> lock(mutex_);
    return value_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const void> value_;
};

struct Program {
  std::string name;
  std::vector<Buffer> buffers;
  std::vector<std::vector<Command>> blocks;  // block 0 is the entry
  std::vector<Source> sources;

  // Filled by Finalize:
  int num_arguments = 0;
  int temp_buffer = -1;
  DecodedSlot decoded;
};

// Modelled cost of one command issued once (control commands: their own issue only).
struct Cost {
  int64_t launches = 0, cycles = 0, bytes_read = 0, bytes_written = 0, flops = 0;
  Cost& operator+=(const Cost& o) {
    launches += o.launches, cycles += o.cycles, bytes_read += o.bytes_read, bytes_written += o.bytes_written,
        flops += o.flops;
    return *this;
  }
};
enum class Unit : uint8_t { kDma, kVector, kMatrix, kControl };

// Bounds, dtypes, ranks, dims, bodies, blocks (no recursion), overlap rules. The message names block, command and
// source.
MYCHIP_API Status Validate(const Program& program);
// Readable assembly, one command a line.
MYCHIP_API std::string ToAssembly(const Program& program);
MYCHIP_API const char* CommandName(const CommandOp& op);
MYCHIP_API Unit UnitOf(const CommandOp& op);
// The documented model (plugin/emulator/README.md).
MYCHIP_API Cost CostOf(const CommandOp& op);
// Static cost: every block weighted 1, a while body once.
MYCHIP_API Cost StaticCost(const Program& program);
// Versioned, checksummed bytes. Parse returns DATA_LOSS with the reason for anything that is not exactly such bytes.
MYCHIP_API std::string Serialize(const Program& program);
MYCHIP_API Result<std::shared_ptr<const Program>> Parse(const std::string& bytes);

class MYCHIP_API ProgramBuilder {
 public:
  explicit ProgramBuilder(std::string name) { program_.name = std::move(name); }
  // Argument buffers in launch order. Each returns the buffer index.
  int Argument(int64_t bytes);
  int Constant(const void* data, int64_t bytes);
  // Reserves scratch (64-byte aligned) and returns a dense view of it.
  View Temp(DType dtype, Dims dims);
  // A rank-0 constant.
  View Scalar(DType dtype, double value);
  View ScalarBits(DType dtype, uint64_t bits, uint64_t high_bits = 0);
  // Everything added until EndBlock goes into a new block. Returns its index. Nesting is allowed.
  int BeginBlock();
  void EndBlock();
  int AddSource(Source source);
  void SetSource(int source) { source_ = source; }  // for the commands that follow
  void Add(CommandOp op);
  // Validates; the builder is spent afterwards.
  Result<std::shared_ptr<const Program>> Build();

 private:
  Program program_;
  std::vector<int> open_blocks_{0};
  int source_ = -1;
  int temp_ = -1;
  bool unbalanced_ = false;  // an EndBlock too many
};

}  // namespace mychip
