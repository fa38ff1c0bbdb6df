// The combining step of reductions and scans, on lanes: one kernel for add, mul, max, min, and, or; the tile machine
// for any other body, of any number of accumulators.
#pragma once

#include <vector>

#include "vm.h"

namespace mychip::emulator {

// dst[0] = x[0] op x[1] op ... op x[n - 1], n >= 1, in an order fixed by n alone.
using RowKernel = void (*)(void* dst, const void* x, int64_t n);
// Null when there is none.
RowKernel FindRowKernel(VOp op, DType dtype);

// acc[i] = acc[i] op x[0][i] op x[1][i] op x[2][i] op x[3][i], from the left.
using RowsKernel = void (*)(void* acc, const void* const* x, int64_t n);
constexpr int kRowsAtOnce = 4;
// Null when there is none.
RowsKernel FindRowsKernel(VOp op, DType dtype);

class LaneCombiner {
 public:
  explicit LaneCombiner(const Body& body);

  const Status& status() const { return vm_.status; }
  int count() const { return static_cast<int>(bytes_.size()); }  // accumulators
  int64_t bytes(int k) const { return bytes_[k]; }               // lane bytes of accumulator k
  RowKernel row_kernel() const { return row_; }
  RowsKernel rows_kernel() const { return rows_; }
  Kernel kernel() const { return round_ == nullptr ? kernel_ : nullptr; }  // a single call combines, in place if asked

 private:
  friend class CombinerRun;
  VmProgram vm_;
  Kernel kernel_ = nullptr, round_ = nullptr;
  RowKernel row_ = nullptr;
  RowsKernel rows_ = nullptr;
  std::vector<int64_t> bytes_;
};

// One thread's use of a combiner.
class CombinerRun {
 public:
  CombinerRun(const LaneCombiner& combiner, Scratch* scratch);
  // dst[k][i] = combine(a, b)[k][i] for i < n; dst must not overlap a or b, but may be exactly a.
  void Run(int64_t n, void* const* dst, const void* const* a, const void* const* b);
  // dst[k][0] = all n >= 1 lanes of x[k] combined, in an order fixed by n.
  void Fold(int64_t n, void* const* dst, const void* const* x);
  // dst[k][i] = rows j < m of x (m rows of `width` lanes, one after the other) combined per column i < width; an order
  // fixed by m. dst may be x.
  void FoldRows(int64_t m, int64_t width, void* const* dst, const void* const* x);

 private:
  static constexpr int64_t kTile = 1024;
  void RunTile(int64_t n, void* const* dst, const void* const* a, const void* const* b);

  const LaneCombiner& combiner_;
  VmFrame frame_;
  std::vector<void*> spare_;  // a tile an accumulator, for results that must not be written in place
};

}  // namespace mychip::emulator
