// Select: by element size only, the bits do not matter.
#include "kernel_loops.h"

namespace mychip::emulator {
namespace {

struct Select {
  template <typename T>
  static T Do(uint8_t p, T a, T b) {
    return p ? a : b;
  }
};

struct Bits128 {
  uint64_t low, high;
};

}  // namespace

KernelSet FindSelectKernel(DType dtype) {
  switch (LaneBytes(dtype)) {
    case 1:
      return Ternary<uint8_t, uint8_t, Select>();
    case 2:
      return Ternary<uint16_t, uint8_t, Select>();
    case 4:
      return Ternary<uint32_t, uint8_t, Select>();
    case 8:
      return Ternary<uint64_t, uint8_t, Select>();
    default:
      return Ternary<Bits128, uint8_t, Select>();
  }
}

}  // namespace mychip::emulator
