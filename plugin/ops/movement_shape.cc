// Slices, reversals, repetition, transposition.
#include "mychip/ops/movement.h"

namespace mychip::ops {
namespace {

View Whole(int buffer, const TensorType& t) { return DenseView(buffer, 0, t.dtype, t.dims); }

Movement FromView(const TensorType& input, const View& src) {
  const TensorType out{input.dtype, src.dims};
  return {{input}, {out}, {{src, Whole(0, out)}}};
}

}  // namespace

Result<Movement> Slice(const TensorType& input, const Dims& begin, const Dims& size) {
  const size_t rank = input.dims.size();
  if (begin.size() != rank || size.size() != rank) {
    return InvalidArgument(
        "Expected begin and size arguments to be 1-D tensors of size %zu, but got shapes [%zu] and "
        "[%zu] instead.",
        rank, begin.size(), size.size());
  }
  View v = Whole(0, input);
  for (size_t d = 0; d < rank; ++d) {
    const int64_t limit = input.dims[d];
    if (begin[d] < 0 || begin[d] > limit) {
      return InvalidArgument("Expected begin[%zu] in [0, %lld], but got %lld", d, static_cast<long long>(limit),
                             static_cast<long long>(begin[d]));
    }
    const int64_t n = size[d] == -1 ? limit - begin[d] : size[d];
    if (n < 0 || begin[d] + n > limit) {
      return InvalidArgument("Expected size[%zu] in [0, %lld], but got %lld", d,
                             static_cast<long long>(limit - begin[d]), static_cast<long long>(size[d]));
    }
    v.offset += begin[d] * v.strides[d] * ByteSize(v.dtype);
    v.dims[d] = n;
  }
  return FromView(input, v);
}

Result<Movement> Reverse(const TensorType& input, const Dims& axes) {
  const int rank = static_cast<int>(input.dims.size());
  std::vector<bool> seen(rank, false);
  Dims reversed;
  for (int64_t axis : axes) {
    MYCHIP_ASSIGN_OR_RETURN(const int d, CanonicalAxis(axis, rank, "'axis' entries must be"));
    if (seen[d]) return InvalidArgument("axis %d specified more than once.", d);
    seen[d] = true;
    reversed.push_back(d);
  }
  return FromView(input, Reversed(Whole(0, input), reversed));
}

Result<Movement> Tile(const TensorType& input, const Dims& multiples) {
  const size_t rank = input.dims.size();
  if (multiples.size() != rank) {
    return InvalidArgument("Expected multiples argument to be a vector of length %zu but got length %zu", rank,
                           multiples.size());
  }
  TensorType out = input;
  for (size_t d = 0; d < rank; ++d) {
    if (multiples[d] < 0) {
      return InvalidArgument("Expected multiples[%zu] >= 0, but got %lld", d, static_cast<long long>(multiples[d]));
    }
    out.dims[d] *= multiples[d];
  }
  // Every dim becomes (repeat, dim): the source stands still along `repeat`.
  View src = Whole(0, input), dst = Whole(0, out), s = src, t = dst;
  s.dims.clear(), s.strides.clear(), t.dims.clear(), t.strides.clear();
  for (size_t d = 0; d < rank; ++d) {
    for (View* v : {&s, &t}) v->dims.push_back(multiples[d]), v->dims.push_back(input.dims[d]);
    s.strides.push_back(0), s.strides.push_back(src.strides[d]);
    t.strides.push_back(input.dims[d] * dst.strides[d]), t.strides.push_back(dst.strides[d]);
  }
  return Movement{{input}, {out}, {{s, t}}};
}

Result<Movement> Broadcast(const TensorType& input, const Dims& dims) {
  bool fits = input.dims.size() <= dims.size();
  for (size_t d = 0; fits && d < input.dims.size(); ++d) {
    const int64_t from = input.dims[d], to = dims[d + dims.size() - input.dims.size()];
    fits = from == to || from == 1;
  }
  if (!fits) {
    return InvalidArgument("Incompatible shapes: %s vs. %s", ToString(input.dims).c_str(), ToString(dims).c_str());
  }
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] < 0) return InvalidArgument("shape[%zu] = %lld must be >= 0", d, static_cast<long long>(dims[d]));
  }
  return FromView(input, BroadcastTo(Whole(0, input), dims));
}

Result<Movement> Transpose(const TensorType& input, const Dims& permutation) {
  const size_t rank = input.dims.size();
  if (permutation.size() != rank) {
    return InvalidArgument("transpose expects a vector of size %zu. But input(1) is a vector of size %zu", rank,
                           permutation.size());
  }
  std::vector<bool> seen(rank, false);
  Dims p = permutation;
  for (int64_t& d : p) {
    if (d < 0) d += static_cast<int64_t>(rank);
    if (d < 0 || d >= static_cast<int64_t>(rank)) {
      return InvalidArgument("%lld is out of range [0 .. %zu)", static_cast<long long>(d), rank);
    }
    if (seen[d]) return InvalidArgument("%lld is repeated in perm", static_cast<long long>(d));
    seen[d] = true;
  }
  return FromView(input, Transposed(Whole(0, input), p));
}

// Both ways split the spatial dims in (outer, block) and the depth in (block, block, depth).
static Result<Movement> Blocks(const TensorType& input, int64_t block, bool nchw, bool to_depth) {
  if (input.dims.size() != 4) return InvalidArgument("Input rank should be: 4 instead of: %zu", input.dims.size());
  const int h = nchw ? 2 : 1, w = h + 1, c = nchw ? 1 : 3;
  const TensorType& in = input;
  TensorType out = input;
  if (to_depth) {
    if (in.dims[h] % block || in.dims[w] % block) {
      return InvalidArgument("Image height %lld and width %lld should be divisible by block_size: %lld",
                             static_cast<long long>(in.dims[h]), static_cast<long long>(in.dims[w]),
                             static_cast<long long>(block));
    }
    out.dims[h] /= block, out.dims[w] /= block, out.dims[c] *= block * block;
  } else {
    if (in.dims[c] % (block * block)) {
      return InvalidArgument("Input depth dimension %lld should be divisible by: %lld",
                             static_cast<long long>(in.dims[c]), static_cast<long long>(block * block));
    }
    out.dims[h] *= block, out.dims[w] *= block, out.dims[c] /= block * block;
  }
  const TensorType &space = to_depth ? in : out, &depth = to_depth ? out : in;
  const Dims ss = RowMajorStrides(space.dims), ds = RowMajorStrides(depth.dims);
  const int64_t channels = space.dims[c];
  // Iterate (n, h, bh, w, bw, c) on both sides.
  const Dims dims = {in.dims[0], depth.dims[h], block, depth.dims[w], block, channels};
  View s{0, 0, in.dtype, dims, {ss[0], ss[h] * block, ss[h], ss[w] * block, ss[w], ss[c]}};
  View d{0, 0, in.dtype, dims, {ds[0], ds[h], ds[c] * channels * block, ds[w], ds[c] * channels, ds[c]}};
  return Movement{{in}, {out}, {to_depth ? Movement::Move{s, d} : Movement::Move{d, s}}};
}
Result<Movement> SpaceToDepth(const TensorType& input, int64_t block, bool nchw) {
  return Blocks(input, block, nchw, true);
}
Result<Movement> DepthToSpace(const TensorType& input, int64_t block, bool nchw) {
  return Blocks(input, block, nchw, false);
}

}  // namespace mychip::ops
