#include "range_allocator.h"

#include <iterator>

namespace mychip {

RangeAllocator::RangeAllocator(int64_t size) {
  if (size > 0) AddFree(0, size);
}

void RangeAllocator::AddFree(int64_t offset, int64_t size) {
  by_offset_.emplace(offset, size);
  by_size_.emplace(size, offset);
}

void RangeAllocator::RemoveFree(std::map<int64_t, int64_t>::iterator block) {
  by_size_.erase({block->second, block->first});
  by_offset_.erase(block);
}

std::optional<int64_t> RangeAllocator::Allocate(int64_t size) {
  const auto fit = by_size_.lower_bound({size, 0});
  if (fit == by_size_.end()) return std::nullopt;
  const auto [block_size, offset] = *fit;
  RemoveFree(by_offset_.find(offset));
  if (block_size > size) AddFree(offset + size, block_size - size);
  live_.emplace(offset, size);
  return offset;
}

std::optional<int64_t> RangeAllocator::Free(int64_t offset) {
  const auto piece = live_.find(offset);
  if (piece == live_.end()) return std::nullopt;
  const int64_t freed = piece->second;
  live_.erase(piece);
  int64_t begin = offset, end = offset + freed;
  auto next = by_offset_.lower_bound(offset);
  if (next != by_offset_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == begin) {
      begin = before->first;
      RemoveFree(before);
    }
  }
  if (next != by_offset_.end() && next->first == end) {
    end += next->second;
    RemoveFree(next);
  }
  AddFree(begin, end - begin);
  return freed;
}

}  // namespace mychip
