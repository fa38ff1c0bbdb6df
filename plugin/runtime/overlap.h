// Do the elements of two views meet? Decides whether a command may read one and write the other.
#pragma once

#include "mychip/runtime/view.h"

namespace mychip {

// A view's reach: elements at `low` + sum(i_d * step_d), 0 <= i_d < count_d, `size` bytes each. Steps are positive.
struct Extent {
  int64_t low = 0, high = 0;  // [low, high) in bytes
  int64_t size = 0;
  Dims counts, steps;  // bytes; dims of count 1 or step 0 are left out
  bool empty = false;
};

// `extra_counts`, `extra_steps` (elements) describe further dims that move the view (dynamic offsets). False when an
// address does not fit in 63 bits.
bool ComputeExtent(const View& view, const Dims& extra_counts, const Dims& extra_steps, Extent* extent);

// True when an element of `a` and one of `b`, both in the same buffer, share a byte. The search is exact up to a
// bounded amount of work, which only contrived strides exhaust; then the answer is false.
bool Overlaps(const Extent& a, const Extent& b);

// True when two index tuples of the view address the same bytes (dims of step 0 included).
bool OverlapsItself(const View& view, const Extent& extent);

// True when equal indices mean equal addresses, for every index.
bool Coincides(const View& a, const View& b);

}  // namespace mychip
