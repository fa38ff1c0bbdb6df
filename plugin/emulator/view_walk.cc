#include "view_walk.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace mychip::emulator {
namespace {

struct Bits128 {
  uint64_t low, high;
};

template <typename T>
void GatherRun(const T* src, int64_t stride, int64_t n, T* dst) {
  if (stride == 1) {
    std::memcpy(dst, src, static_cast<size_t>(n) * sizeof(T));
  } else if (stride == 0) {
    const T v = *src;
    for (int64_t i = 0; i < n; ++i) dst[i] = v;
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i] = src[i * stride];
  }
}

template <typename T>
void ScatterRun(T* dst, int64_t stride, int64_t n, const T* src) {
  if (stride == 1) {
    std::memcpy(dst, src, static_cast<size_t>(n) * sizeof(T));
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i * stride] = src[i];
  }
}

// Calls run(element offset, positions done, length) for the runs that cover [position, position + n).
template <typename DimT, typename Fn>
void ForRuns(const std::vector<DimT>& dims, int64_t position, int64_t n, const Fn& run) {
  const int rank = static_cast<int>(dims.size());
  int64_t index[kMaxRank], offset = 0;
  for (int d = rank - 1; d >= 0; --d) {
    index[d] = position % dims[d].size;
    position /= dims[d].size;
    offset += index[d] * dims[d].stride;
  }
  const DimT& inner = dims[rank - 1];
  int64_t done = 0;
  for (;;) {
    const int64_t length = std::min(n - done, inner.size - index[rank - 1]);
    run(offset, done, length);
    done += length;
    if (done == n) return;
    offset -= index[rank - 1] * inner.stride;
    index[rank - 1] = 0;
    for (int d = rank - 2; d >= 0; --d) {
      offset += dims[d].stride;
      if (++index[d] < dims[d].size) break;
      offset -= dims[d].size * dims[d].stride;
      index[d] = 0;
    }
  }
}

template <typename T, typename DimT>
void GatherAs(const std::vector<DimT>& dims, const uint8_t* base, int64_t position, int64_t n, void* dst) {
  const T* src = reinterpret_cast<const T*>(base);
  T* out = static_cast<T*>(dst);
  const int64_t stride = dims.back().stride;
  ForRuns(dims, position, n,
          [&](int64_t offset, int64_t done, int64_t length) { GatherRun(src + offset, stride, length, out + done); });
}

template <typename T, typename DimT>
void ScatterAs(const std::vector<DimT>& dims, uint8_t* base, int64_t position, int64_t n, const void* src) {
  T* out = reinterpret_cast<T*>(base);
  const T* in = static_cast<const T*>(src);
  const int64_t stride = dims.back().stride;
  ForRuns(dims, position, n,
          [&](int64_t offset, int64_t done, int64_t length) { ScatterRun(out + offset, stride, length, in + done); });
}

}  // namespace

void Simplify(Space* space, int sort_by) {
  std::vector<int> order;
  for (int d = 0; d < space->rank(); ++d) {
    if (space->dims[d] != 1) order.push_back(d);
  }
  if (sort_by >= 0) {
    const Dims& key = space->strides[sort_by];
    std::stable_sort(order.begin(), order.end(), [&](int x, int y) { return std::abs(key[x]) > std::abs(key[y]); });
  }
  auto pick = [&](const Dims& from) {
    Dims to;
    for (int d : order) to.push_back(from[d]);
    return to;
  };
  space->dims = pick(space->dims);
  for (Dims& s : space->strides) s = pick(s);
}

void MergeDims(Space* space) {
  for (int d = space->rank() - 2; d >= 0; --d) {
    const int64_t inner = space->dims[d + 1];
    const bool all = std::all_of(space->strides.begin(), space->strides.end(),
                                 [&](const Dims& s) { return s[d] == s[d + 1] * inner; });
    if (!all) continue;
    space->dims[d] *= inner;
    space->dims.erase(space->dims.begin() + d + 1);
    for (Dims& s : space->strides) s.erase(s.begin() + d);
  }
}

Walk::Walk(const Dims& dims, const Dims& strides) {
  Space own{dims, {strides}};
  Simplify(&own, -1);
  MergeDims(&own);
  for (int64_t d : own.dims) size_ *= d;
  period_ = size_;
  if (own.rank() == 1 && own.strides[0][0] == 0) {
    period_ = 1;
    return;
  }
  for (int d = 0; d < own.rank(); ++d) dims_.push_back({own.dims[d], own.strides[0][d]});
  for (const Dim& d : dims_) {
    if (d.stride != 0) break;
    period_ /= d.size;
  }
}

int64_t Walk::At(int64_t position) const {
  int64_t offset = 0;
  for (size_t d = dims_.size(); d-- > 0;) {
    if (d == 0) return offset + position * dims_[0].stride;
    offset += position % dims_[d].size * dims_[d].stride;
    position /= dims_[d].size;
  }
  return offset;
}

void Walk::Gather(const uint8_t* base, int64_t bytes, int64_t position, int64_t n, void* dst) const {
  const std::vector<Dim> constant{{size_, 0}};
  const std::vector<Dim>& dims = dims_.empty() ? constant : dims_;
  switch (bytes) {
    case 1:
      return GatherAs<uint8_t>(dims, base, position, n, dst);
    case 2:
      return GatherAs<uint16_t>(dims, base, position, n, dst);
    case 4:
      return GatherAs<uint32_t>(dims, base, position, n, dst);
    case 8:
      return GatherAs<uint64_t>(dims, base, position, n, dst);
    default:
      return GatherAs<Bits128>(dims, base, position, n, dst);
  }
}

void Walk::Scatter(uint8_t* base, int64_t bytes, int64_t position, int64_t n, const void* src) const {
  const std::vector<Dim> constant{{size_, 0}};
  const std::vector<Dim>& dims = dims_.empty() ? constant : dims_;
  switch (bytes) {
    case 1:
      return ScatterAs<uint8_t>(dims, base, position, n, src);
    case 2:
      return ScatterAs<uint16_t>(dims, base, position, n, src);
    case 4:
      return ScatterAs<uint32_t>(dims, base, position, n, src);
    case 8:
      return ScatterAs<uint64_t>(dims, base, position, n, src);
    default:
      return ScatterAs<Bits128>(dims, base, position, n, src);
  }
}

}  // namespace mychip::emulator
