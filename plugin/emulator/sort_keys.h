// Sorting by one key: elements become unsigned integers in sorting order, and a stable radix sort orders their indices.
#pragma once

#include <cstdint>

#include "mychip/runtime/body.h"

namespace mychip::emulator {

// A comparator that is one comparison of one operand's pair.
struct KeyCompare {
  int operand = -1;  // -1: not of that kind
  DType dtype = DType::kF32;
  bool descending = false;
  bool total = false;  // lt_total: -0 before +0 and NaNs at the ends by sign; otherwise zeros tie and NaNs go last
};
KeyCompare MatchKeyCompare(const Body& compare);

// keys[i] for i < n from elements in memory format, `stride` bytes apart.
void MakeKeys(const KeyCompare& compare, const uint8_t* elements, int64_t stride, int64_t n, uint64_t* keys);

struct KeyIndex {
  uint64_t key;
  uint32_t index;
};
// Stable. `spare` has room for n.
void SortKeys(KeyIndex* items, KeyIndex* spare, int64_t n);

}  // namespace mychip::emulator
