#include "elements.h"

#include <cstring>

namespace mychip::emulator {
namespace {

struct Sixteen {
  uint64_t low, high;
};

template <typename W>
void GatherAs(const uint8_t* src, int64_t stride, int64_t n, uint8_t* dst) {
  const W* in = reinterpret_cast<const W*>(src);
  W* out = reinterpret_cast<W*>(dst);
  for (int64_t i = 0; i < n; ++i) out[i] = in[i * stride];
}
template <typename W>
void ScatterAs(const uint8_t* src, int64_t n, uint8_t* dst, int64_t stride) {
  const W* in = reinterpret_cast<const W*>(src);
  W* out = reinterpret_cast<W*>(dst);
  for (int64_t i = 0; i < n; ++i) out[i * stride] = in[i];
}

}  // namespace

void GatherElements(const uint8_t* src, int64_t stride, int64_t n, int64_t size, uint8_t* dst) {
  if (stride == 1) {
    std::memcpy(dst, src, n * size);
    return;
  }
  switch (size) {
    case 1:
      return GatherAs<uint8_t>(src, stride, n, dst);
    case 2:
      return GatherAs<uint16_t>(src, stride, n, dst);
    case 4:
      return GatherAs<uint32_t>(src, stride, n, dst);
    case 8:
      return GatherAs<uint64_t>(src, stride, n, dst);
    default:
      return GatherAs<Sixteen>(src, stride, n, dst);
  }
}

void ScatterElements(const uint8_t* src, int64_t n, int64_t size, uint8_t* dst, int64_t stride) {
  if (stride == 1) {
    std::memcpy(dst, src, n * size);
    return;
  }
  switch (size) {
    case 1:
      return ScatterAs<uint8_t>(src, n, dst, stride);
    case 2:
      return ScatterAs<uint16_t>(src, n, dst, stride);
    case 4:
      return ScatterAs<uint32_t>(src, n, dst, stride);
    case 8:
      return ScatterAs<uint64_t>(src, n, dst, stride);
    default:
      return ScatterAs<Sixteen>(src, n, dst, stride);
  }
}

}  // namespace mychip::emulator
