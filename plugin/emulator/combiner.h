// The combiner of windows and scatters over dense runs: one native kernel when the body is a single operation, the body
// engine otherwise.
#pragma once

#include <memory>
#include <vector>

#include "body_vm.h"
#include "kernels.h"

namespace mychip::emulator {

class Combiner {
 public:
  // Params: N current values, then N new ones; N results of the same dtypes.
  Combiner(const Body& body, const std::vector<DType>& dtypes);
  const Status& status() const { return status_; }
  // True when the result is the new value.
  bool replaces() const { return replaces_; }
  // The kernel of a one-operation body (current, new), null otherwise.
  Kernel kernel() const { return kernel_; }
  // current[r][i] = body(current[..][i], fresh[..][i])[r], i < n.
  void Run(int64_t n, void* const* current, const void* const* fresh) const;

 private:
  Status status_;
  Kernel kernel_ = nullptr;
  bool replaces_ = false;
  std::vector<int64_t> bytes_;
  std::unique_ptr<BodyRunner> runner_;
};

}  // namespace mychip::emulator
