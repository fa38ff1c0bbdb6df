// The last step of the matrix and convolution units: accumulators -> epilogue -> `out`.
#pragma once

#include <memory>
#include <vector>

#include "body_vm.h"
#include "gemm_kernels.h"
#include "units.h"

namespace mychip::emulator {

class AccumulatorOutput {
 public:
  // The views must outlive this object. `accumulate` is the dtype of the epilogue's param 0.
  AccumulatorOutput(const Body& epilogue, const std::vector<View>& inputs, const View& out, DType accumulate);

  const Status& status() const { return status_; }
  // True when accumulators of type T may be written straight into `out` where its last stride is 1.
  bool Direct() const { return direct_; }

  // Writes rows x n accumulators c[r * c_stride + j]. coords[r * (rank - 1) ..] holds row r's index in all dims of
  // `out` but the last, where elements column .. column + n - 1 are meant.
  template <typename T>
  void Write(const Buffers& buffers, const T* c, int64_t c_stride, int64_t rows, int64_t n, const int64_t* coords,
             int64_t column) const;

 private:
  struct Tile;
  void WriteTile(const Buffers& buffers, const Tile& tile) const;
  const void* Gather(const Buffers& buffers, const View& view, const Tile& tile, uint8_t* room) const;
  int64_t RowOffset(const View& view, const int64_t* coords, int64_t column) const;

  const std::vector<View>& inputs_;
  const View& out_;
  DType accumulate_;
  Status status_;
  std::unique_ptr<BodyRunner> body_;  // null: copy or narrow
  bool direct_ = false, has_iota_ = false;
};

}  // namespace mychip::emulator
