// Hands out pieces of [0, size): best fit, coalescing, O(log n). Knows numbers only; Memory gives them addresses.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace mychip {

class RangeAllocator {
 public:
  explicit RangeAllocator(int64_t size);
  // `size` > 0, a multiple of whatever alignment the caller keeps. The smallest free block that fits, lowest first.
  std::optional<int64_t> Allocate(int64_t size);
  // The size given back; nothing when `offset` is not the start of a live piece.
  std::optional<int64_t> Free(int64_t offset);

  int64_t largest_free() const { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }
  const std::map<int64_t, int64_t>& free_blocks() const { return by_offset_; }  // offset -> size
  size_t live() const { return live_.size(); }

 private:
  void AddFree(int64_t offset, int64_t size);
  void RemoveFree(std::map<int64_t, int64_t>::iterator block);

  std::map<int64_t, int64_t> by_offset_;
  std::set<std::pair<int64_t, int64_t>> by_size_;  // size, offset
  std::unordered_map<int64_t, int64_t> live_;
};

}  // namespace mychip
