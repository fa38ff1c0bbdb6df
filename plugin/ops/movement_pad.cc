// Padding.
#include <algorithm>

#include "mychip/ops/movement.h"

namespace mychip::ops {
namespace {

// Below this many bytes one fill of everything and a copy over it beats a fill per border (a launch costs 400 KB).
constexpr int64_t kFillWholeBytes = 1 << 18;

View Whole(int buffer, const TensorType& t) { return DenseView(buffer, 0, t.dtype, t.dims); }

Status CheckPaddings(const TensorType& input, const Dims& paddings) {
  if (paddings.size() != 2 * input.dims.size()) {
    return InvalidArgument("The first dimension of paddings must be the rank of inputs%s: %zu paddings",
                           ToString(input.dims).c_str(), paddings.size() / 2);
  }
  for (size_t i = 0; i < paddings.size(); ++i) {
    if (paddings[i] < 0) {
      return InvalidArgument("Paddings must be non-negative: %lld %lld", static_cast<long long>(paddings[i & ~1]),
                             static_cast<long long>(paddings[i | 1]));
    }
  }
  return OkStatus();
}

}  // namespace

Result<Movement> Pad(const TensorType& input, const Dims& paddings, bool has_value) {
  MYCHIP_RETURN_IF_ERROR(CheckPaddings(input, paddings));
  TensorType out = input;
  const size_t rank = input.dims.size();
  for (size_t d = 0; d < rank; ++d) out.dims[d] += paddings[2 * d] + paddings[2 * d + 1];
  Movement m{{input}, {out}, {}};
  View value{kZeroSource, 0, input.dtype, {}, {}};
  if (has_value) {
    m.inputs.push_back({input.dtype, {}});
    value.buffer = 1;
  }
  View box = Whole(0, out);
  const auto fill = [&](const View& dst) {
    if (NumElements(dst.dims) > 0) m.moves.push_back({BroadcastTo(value, dst.dims), dst});
  };
  const bool whole = out.bytes() <= kFillWholeBytes && out.elements() > input.elements();
  if (whole) fill(box);
  // Shrinks the box dim by dim; what is cut off is border.
  for (size_t d = 0; d < rank; ++d) {
    const int64_t low = paddings[2 * d], size = input.dims[d], step = box.strides[d] * ByteSize(box.dtype);
    View border = box;
    border.dims[d] = low;
    if (!whole) fill(border);
    border.offset += (low + size) * step;
    border.dims[d] = paddings[2 * d + 1];
    if (!whole) fill(border);
    box.offset += low * step;
    box.dims[d] = size;
  }
  if (input.elements() > 0) m.moves.push_back({Whole(0, input), box});
  return m;
}

Result<Movement> MirrorPad(const TensorType& input, const Dims& paddings, bool symmetric) {
  MYCHIP_RETURN_IF_ERROR(CheckPaddings(input, paddings));
  TensorType out = input;
  const size_t rank = input.dims.size();
  const int64_t skip = symmetric ? 0 : 1;
  for (size_t d = 0; d < rank; ++d) {
    if (std::max(paddings[2 * d], paddings[2 * d + 1]) > input.dims[d] - skip) {
      return InvalidArgument("paddings must be %s the dimension size: %lld, %lld %s %lld",
                             symmetric ? "no greater than" : "less than", static_cast<long long>(paddings[2 * d]),
                             static_cast<long long>(paddings[2 * d + 1]), symmetric ? "greater than" : "not less than",
                             static_cast<long long>(input.dims[d]));
    }
    out.dims[d] += paddings[2 * d] + paddings[2 * d + 1];
  }
  // One move per combination of (low border, interior, high border) in each padded dim, straight from the input.
  std::vector<Movement::Move> moves = {{Whole(0, input), Whole(0, out)}};
  for (size_t d = 0; d < rank; ++d) {
    std::vector<Movement::Move> next;
    const int64_t low = paddings[2 * d], high = paddings[2 * d + 1], n = input.dims[d], b = ByteSize(input.dtype);
    for (const Movement::Move& move : moves) {
      const int64_t ss = move.src.strides[d], ds = move.dst.strides[d];
      const auto part = [&](int64_t src, int64_t step, int64_t dst, int64_t size) {
        if (size == 0) return;
        Movement::Move p = move;
        p.src.offset += src * ss * b, p.dst.offset += dst * ds * b;
        p.src.strides[d] = ss * step;
        p.src.dims[d] = p.dst.dims[d] = size;
        next.push_back(p);
      };
      part(low - 1 + skip, -1, 0, low);
      part(0, 1, low, n);
      part(n - 1 - skip, -1, low + n, high);
    }
    moves = std::move(next);
  }
  return Movement{{input}, {out}, moves};
}

}  // namespace mychip::ops
