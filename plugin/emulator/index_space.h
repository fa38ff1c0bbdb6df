// What gather and scatter share: where an index vector points in the operand, and the window copied from there.
#pragma once

#include <string>
#include <vector>

#include "units.h"

namespace mychip::emulator {

// The positions of index vectors (all dims of `indices` but the index vector), row-major.
class IndexSpace {
 public:
  // map[i]: operand dim of entry i of an index vector. limits[d]: the largest start in operand dim d.
  IndexSpace(const View& indices, int64_t index_vector_dim, const Dims& map, const Dims& operand_batching,
             const Dims& indices_batching, const Dims& operand_dims, const Dims& window);

  const Dims& dims() const { return dims_; }
  int64_t size() const { return size_; }
  // The start of position p in every operand dim, unchecked. `start` holds the operand's rank. Reads the indices.
  void Start(const Buffers& buffers, int64_t position, int64_t* start) const;
  // Clamps; true when nothing had to change.
  bool Clamp(int64_t* start) const;
  bool InBounds(const int64_t* start) const;
  // INVALID_ARGUMENT naming the first position whose start is out of bounds; ok when there is none.
  Status Check(const Buffers& buffers) const;

 private:
  const View indices_;
  Dims dims_, strides_;  // of positions, in elements of indices
  int64_t size_ = 1, vector_stride_ = 0;
  Dims map_, limits_, sizes_;
  struct Batching {
    int64_t operand_dim, position_dim;
  };
  std::vector<Batching> batching_;
};

// A window as loops over two strided operands: sizes and strides in elements, outermost first; neighbours that lie
// behind one another in both are merged.
struct WindowLoops {
  struct Loop {
    int64_t size, operand_stride, other_stride;
  };
  std::vector<Loop> loops;  // the last one is the run
  WindowLoops(const Dims& sizes, const Dims& operand_strides, const Dims& other_strides);
  int64_t runs() const;
  // Offsets of run r in elements.
  void Offsets(int64_t run, int64_t* operand, int64_t* other) const;
};

}  // namespace mychip::emulator
