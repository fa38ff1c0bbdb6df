#include "index_space.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace mychip::emulator {
namespace {

int64_t ReadIndex(const uint8_t* address, DType dtype) {
  const auto read = [&](auto value) {
    std::memcpy(&value, address, sizeof(value));
    return value;
  };
  switch (dtype) {
    case DType::kS8:
      return read(int8_t{});
    case DType::kS16:
      return read(int16_t{});
    case DType::kS32:
      return read(int32_t{});
    case DType::kS64:
      return read(int64_t{});
    case DType::kU8:
      return read(uint8_t{});
    case DType::kU16:
      return read(uint16_t{});
    case DType::kU32:
      return read(uint32_t{});
    default:
      break;
  }
  return static_cast<int64_t>(std::min<uint64_t>(read(uint64_t{}), std::numeric_limits<int64_t>::max()));
}

}  // namespace

IndexSpace::IndexSpace(const View& indices, int64_t index_vector_dim, const Dims& map, const Dims& operand_batching,
                       const Dims& indices_batching, const Dims& operand_dims, const Dims& window)
    : indices_(indices), map_(map), sizes_(operand_dims) {
  for (int64_t d = 0; d < indices.rank(); ++d) {
    if (d == index_vector_dim) {
      vector_stride_ = indices.strides[d];
      continue;
    }
    const auto it = std::find(indices_batching.begin(), indices_batching.end(), d);
    if (it != indices_batching.end()) {
      batching_.push_back({operand_batching[it - indices_batching.begin()], static_cast<int64_t>(dims_.size())});
    }
    dims_.push_back(indices.dims[d]);
    strides_.push_back(indices.strides[d]);
    size_ *= indices.dims[d];
  }
  for (size_t d = 0; d < operand_dims.size(); ++d) limits_.push_back(operand_dims[d] - window[d]);
}

void IndexSpace::Start(const Buffers& buffers, int64_t position, int64_t* start) const {
  std::fill(start, start + limits_.size(), 0);
  int64_t offset = 0, rest = position;
  for (size_t d = dims_.size(); d-- > 0;) {
    const int64_t i = rest % dims_[d];
    rest /= dims_[d];
    offset += i * strides_[d];
    for (const Batching& b : batching_) {
      if (b.position_dim == static_cast<int64_t>(d)) start[b.operand_dim] = i;
    }
  }
  const int64_t bytes = ByteSize(indices_.dtype);
  const uint8_t* address = buffers.Address(indices_) + offset * bytes;
  for (size_t i = 0; i < map_.size(); ++i) {
    start[map_[i]] = ReadIndex(address + static_cast<int64_t>(i) * vector_stride_ * bytes, indices_.dtype);
  }
}

bool IndexSpace::Clamp(int64_t* start) const {
  bool unchanged = true;
  for (int64_t d : map_) {
    const int64_t clamped = std::clamp<int64_t>(start[d], 0, std::max<int64_t>(0, limits_[d]));
    unchanged &= clamped == start[d];
    start[d] = clamped;
  }
  return unchanged;
}

bool IndexSpace::InBounds(const int64_t* start) const {
  for (int64_t d : map_) {
    if (start[d] < 0 || start[d] > limits_[d]) return false;
  }
  return true;
}

Status IndexSpace::Check(const Buffers& buffers) const {
  std::vector<int64_t> start(limits_.size());
  for (int64_t p = 0; p < size_; ++p) {
    Start(buffers, p, start.data());
    for (int64_t d : map_) {
      if (start[d] >= 0 && start[d] <= limits_[d]) continue;
      std::string where;
      for (int64_t i = static_cast<int64_t>(dims_.size()) - 1, rest = p; i >= 0; rest /= dims_[i--]) {
        where = std::to_string(rest % dims_[i]) + (where.empty() ? "" : ",") + where;
      }
      const std::string axis = map_.size() > 1 ? " (of dimension " + std::to_string(d) + ")" : "";
      return InvalidArgument("indices[%s] = %lld is not in [0, %lld)%s", where.c_str(),
                             static_cast<long long>(start[d]), static_cast<long long>(limits_[d] + 1), axis.c_str());
    }
  }
  return OkStatus();
}

WindowLoops::WindowLoops(const Dims& sizes, const Dims& operand_strides, const Dims& other_strides) {
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    if (!loops.empty() && loops.back().operand_stride == sizes[d] * operand_strides[d] &&
        loops.back().other_stride == sizes[d] * other_strides[d]) {
      loops.back() = {loops.back().size * sizes[d], operand_strides[d], other_strides[d]};
    } else {
      loops.push_back({sizes[d], operand_strides[d], other_strides[d]});
    }
  }
  if (loops.empty()) loops.push_back({1, 1, 1});
}

int64_t WindowLoops::runs() const {
  int64_t n = 1;
  for (size_t i = 0; i + 1 < loops.size(); ++i) n *= loops[i].size;
  return n;
}

void WindowLoops::Offsets(int64_t run, int64_t* operand, int64_t* other) const {
  *operand = *other = 0;
  for (size_t i = loops.size() - 1; i-- > 0;) {
    const int64_t at = run % loops[i].size;
    run /= loops[i].size;
    *operand += at * loops[i].operand_stride;
    *other += at * loops[i].other_stride;
  }
}

}  // namespace mychip::emulator
