#include "mychip/ops/movement.h"

#include <cstring>

namespace mychip::ops {
namespace {

void AddToKey(const View& v, CacheKey* key) {
  key->Add(v.buffer).Add(v.offset).Add(v.dims);
  for (int64_t s : v.strides) key->Add(s);
}

void CopyOnHost(const View& src, const View& dst, const char* from, char* to) {
  const int64_t size = ByteSize(dst.dtype), n = NumElements(dst.dims);
  const int rank = dst.rank();
  Dims index(rank, 0);
  int64_t s = 0, d = 0;
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(to + d * size, from + s * size, size);
    for (int k = rank; k-- > 0;) {
      s += src.strides[k], d += dst.strides[k];
      if (++index[k] < dst.dims[k]) break;
      s -= src.strides[k] * dst.dims[k], d -= dst.strides[k] * dst.dims[k];
      index[k] = 0;
    }
  }
}

}  // namespace

void AddToKey(const Movement& m, CacheKey* key) {
  key->Add(static_cast<int64_t>(m.inputs.size())).Add(static_cast<int64_t>(m.outputs.size()));
  for (const TensorType& t : m.inputs) key->Add(t);
  for (const TensorType& t : m.outputs) key->Add(t);
  for (const Movement::Move& move : m.moves) AddToKey(move.src, key), AddToKey(move.dst, key);
}

Result<ProgramPtr> Assemble(const std::string& name, const Movement& m) {
  Assembler a(name);
  std::vector<int> inputs, outputs;
  for (const TensorType& t : m.inputs) inputs.push_back(a.Argument(t).buffer);
  for (const TensorType& t : m.outputs) outputs.push_back(a.Argument(t).buffer);
  for (const Movement::Move& move : m.moves) {
    if (NumElements(move.dst.dims) == 0) continue;
    View src = move.src, dst = move.dst;
    dst.buffer = outputs[dst.buffer];
    if (src.buffer == kZeroSource) {
      a.Fill(dst, 0);
      continue;
    }
    src.buffer = inputs[src.buffer];
    a.Copy(src, dst);
  }
  return a.Build();
}

void RunOnHost(const Movement& m, const std::vector<const void*>& inputs, const std::vector<void*>& outputs) {
  static const char kZero[16] = {};
  for (const Movement::Move& move : m.moves) {
    const char* from =
        move.src.buffer == kZeroSource ? kZero : static_cast<const char*>(inputs[move.src.buffer]) + move.src.offset;
    CopyOnHost(move.src, move.dst, from, static_cast<char*>(outputs[move.dst.buffer]) + move.dst.offset);
  }
}

bool IsIdentity(const Movement& m, int* input) {
  if (m.moves.size() != 1 || m.outputs.size() != 1 || m.moves[0].src.buffer == kZeroSource) return false;
  const View &src = m.moves[0].src, &dst = m.moves[0].dst;
  const int64_t n = NumElements(dst.dims);
  *input = src.buffer;
  return n == m.outputs[0].elements() && n == m.inputs[src.buffer].elements() && IsDense(src) && IsDense(dst) &&
         src.offset == 0 && dst.offset == 0;
}

Result<int> CanonicalAxis(int64_t axis, int rank, const char* what) {
  if (axis < -rank || axis >= rank) {
    return InvalidArgument("%s in the range [%d, %d), but got %lld", what, -rank, rank, static_cast<long long>(axis));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace mychip::ops
