// Ops that only move elements: each is a list of copies between views of its inputs and outputs. The same plan becomes
// a Program for the DMA unit, or runs at once over host memory (int32 shape arithmetic).
#pragma once

#include <string>
#include <vector>

#include "mychip/ops/program_cache.h"
#include "mychip/ops/tensor_type.h"

namespace mychip::ops {

inline constexpr int kZeroSource = -2;  // View::buffer of a source that is zero everywhere

// View::buffer of a source is an index into `inputs`, of a destination an index into `outputs`.
struct Movement {
  struct Move {
    View src, dst;
  };
  std::vector<TensorType> inputs, outputs;
  std::vector<Move> moves;  // in order; later ones may overwrite earlier ones
};

// Appends everything that tells two movements apart.
void AddToKey(const Movement& m, CacheKey* key);
// Arguments: the inputs, then the outputs.
Result<ProgramPtr> Assemble(const std::string& name, const Movement& m);
// Over host memory, at once. Sources and destinations do not overlap.
void RunOnHost(const Movement& m, const std::vector<const void*>& inputs, const std::vector<void*>& outputs);
// True when output 0 holds exactly the elements of input *input in order: it may be the same memory.
bool IsIdentity(const Movement& m, int* input);

// A negative axis counts from the end. INVALID_ARGUMENT when out of [-rank, rank); `what` starts the message.
Result<int> CanonicalAxis(int64_t axis, int rank, const char* what);

Result<Movement> Concat(const std::vector<TensorType>& inputs, int64_t axis);
Result<Movement> Pack(const std::vector<TensorType>& inputs, int64_t axis);
Result<Movement> Unpack(const TensorType& input, int64_t axis, int64_t num);
// sizes: one entry per output, at most one of them -1 (what is left).
Result<Movement> Split(const TensorType& input, int64_t axis, Dims sizes);
Result<Movement> SplitEvenly(const TensorType& input, int64_t axis, int64_t num);
// size -1: up to the end.
Result<Movement> Slice(const TensorType& input, const Dims& begin, const Dims& size);
Result<Movement> Reverse(const TensorType& input, const Dims& axes);
Result<Movement> Tile(const TensorType& input, const Dims& multiples);
Result<Movement> Broadcast(const TensorType& input, const Dims& dims);
Result<Movement> Transpose(const TensorType& input, const Dims& permutation);
// paddings: [rank, 2] row-major. has_value: input 1 is the scalar to pad with; zero otherwise.
Result<Movement> Pad(const TensorType& input, const Dims& paddings, bool has_value);
// Mirror padding; symmetric repeats the border element.
Result<Movement> MirrorPad(const TensorType& input, const Dims& paddings, bool symmetric);
// Blocks of the spatial dims <-> depth, NHWC or NCHW.
Result<Movement> SpaceToDepth(const TensorType& input, int64_t block, bool nchw);
Result<Movement> DepthToSpace(const TensorType& input, int64_t block, bool nchw);

// Blocks of the dims behind the first <-> the first dim (the batch). block: per dim; paddings, crops: [dims, 2]
// row-major.
Result<Movement> SpaceToBatch(const TensorType& input, const Dims& block, const Dims& paddings);
Result<Movement> BatchToSpace(const TensorType& input, const Dims& block, const Dims& crops);

// Diagonals lower..upper of the last two dims (0 the main one, positive ones above it). Packed, they are rows from the
// uppermost to the lowest, each at the left or the right end of as many columns as the longest has; one diagonal alone
// has no dim for its number.
struct DiagonalSpec {
  int64_t lower = 0, upper = 0;
  bool super_left = true, sub_left = true;
};
// A matrix that is zero (has_value: input 1, a scalar) but for the diagonals. rows, columns: -1 for the fewest that
// fit.
Result<Movement> MatrixDiag(const TensorType& diagonal, const DiagonalSpec& spec, int64_t rows, int64_t columns,
                            bool has_value);
Result<Movement> MatrixDiagPart(const TensorType& input, const DiagonalSpec& spec, bool has_value);
// Inputs: the matrices, the diagonals.
Result<Movement> MatrixSetDiag(const TensorType& input, const TensorType& diagonal, const DiagonalSpec& spec);

struct StridedSpec {
  Dims begin, end, strides;
  int64_t begin_mask = 0, end_mask = 0, ellipsis_mask = 0, new_axis_mask = 0, shrink_axis_mask = 0;
};
// The elements x[spec] as a view of a dense tensor x of these dims (buffer 0); TensorFlow's rules and messages.
Result<View> StridedView(DType dtype, const Dims& dims, const StridedSpec& spec);
Result<Movement> StridedSlice(const TensorType& input, const StridedSpec& spec);
// Zeros of `dims`, with dy written where the slice was taken.
Result<Movement> StridedSliceGrad(const TensorType& dy, const Dims& dims, const StridedSpec& spec);

}  // namespace mychip::ops
