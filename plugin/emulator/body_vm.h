// Runs a Body over dense tiles: the micro-program engine of the vector unit, also used for epilogues and combiners.
#pragma once

#include <cstdint>
#include <memory>

#include "mychip/runtime/body.h"
#include "mychip/runtime/status.h"
#include "mychip/runtime/view.h"

namespace mychip::emulator {

struct DecodedBody;

// Decodes once; immutable and usable from several threads afterwards.
class BodyRunner {
 public:
  explicit BodyRunner(const Body& body);
  BodyRunner(BodyRunner&&) noexcept;
  ~BodyRunner();

  // Not ok when an instruction has no meaning for its dtypes (named in the message); do not Run then.
  const Status& status() const;

  // A dense tile of n elements: params[i] points at n elements of param i's dtype, results[r] at room for n. A result
  // may coincide with a param of the same element size, not overlap it otherwise. Any n >= 0.
  void Run(int64_t n, const void* const* params, void* const* results) const;
  // For bodies with kIota: the n elements are row-major successors of linear index `first` in iteration space `dims`.
  void Run(int64_t n, const void* const* params, void* const* results, const Dims& dims, int64_t first) const;

 private:
  std::unique_ptr<const DecodedBody> decoded_;
};

}  // namespace mychip::emulator
