// Walks over views: an iteration space made small (unit dims dropped, dims that lie behind one another merged), and
// per operand the map from a flat position in that space to memory, with gathers and scatters in runs.
#pragma once

#include <cstdint>
#include <vector>

#include "mychip/runtime/view.h"

namespace mychip::emulator {

// The space all operands share. strides[k][d]: operand k's stride along dim d, in elements.
struct Space {
  Dims dims;
  std::vector<Dims> strides;

  int rank() const { return static_cast<int>(dims.size()); }
  int64_t inner() const { return dims.empty() ? 1 : dims.back(); }
};

// Drops unit dims. `sort_by` >= 0 reorders dims so that this operand's strides fall (order does not matter then).
void Simplify(Space* space, int sort_by);
// Merges neighbouring dims where every operand allows it.
void MergeDims(Space* space);

// One operand of a space: flat position -> elements.
class Walk {
 public:
  Walk() = default;
  Walk(const Dims& dims, const Dims& strides);

  bool is_constant() const { return dims_.empty(); }                           // one element throughout
  bool is_dense() const { return dims_.size() == 1 && dims_[0].stride == 1; }  // position = element
  int64_t run() const { return dims_.empty() ? size_ : dims_.back().size; }    // positions with one stride
  int64_t run_stride() const { return dims_.empty() ? 0 : dims_.back().stride; }
  // Positions after which everything repeats (a divisor of the size; the size itself when nothing does).
  int64_t period() const { return period_; }
  // Element offset of a flat position.
  int64_t At(int64_t position) const;
  // dst[i] = element(position + i) for i < n; bytes: 1, 2, 4, 8 or 16 per element.
  void Gather(const uint8_t* base, int64_t bytes, int64_t position, int64_t n, void* dst) const;
  // element(position + i) = src[i].
  void Scatter(uint8_t* base, int64_t bytes, int64_t position, int64_t n, const void* src) const;

 private:
  struct Dim {
    int64_t size, stride;
  };
  std::vector<Dim> dims_;
  int64_t size_ = 1, period_ = 1;
};

}  // namespace mychip::emulator
