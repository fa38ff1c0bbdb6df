// The chip's own floating-point environment: nearest even, subnormals kept, no traps. TensorFlow's executor threads
// flush subnormals to zero, a thread inherits its creator's settings, and small programs run on the thread that
// enqueues them: without this a result would depend on where its command happened to run.
#pragma once

#include <immintrin.h>

namespace mychip::emulator {

inline constexpr unsigned kChipEnvironment = 0x1f80;  // MXCSR: all exceptions masked, nothing else set

// Sets the environment while it lives, for the calling thread.
class FloatEnvironment {
 public:
  FloatEnvironment() : before_(_mm_getcsr()) {
    if ((before_ & kControl) != kChipEnvironment) _mm_setcsr(kChipEnvironment);
  }
  ~FloatEnvironment() {
    if ((before_ & kControl) != kChipEnvironment) _mm_setcsr(before_);
  }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  static constexpr unsigned kControl = 0xffc0;  // without the exception flags
  const unsigned before_;
};

}  // namespace mychip::emulator
