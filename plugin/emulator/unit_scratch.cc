#include "unit_scratch.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace mychip::emulator {
namespace {

struct Block {
  void* data = nullptr;
  int64_t size = 0;
  ~Block() { std::free(data); }
};
thread_local Block t_blocks[static_cast<int>(ScratchSlot::kCount)];

}  // namespace

void* UnitScratchBytes(ScratchSlot slot, int64_t bytes) {
  Block& block = t_blocks[static_cast<int>(slot)];
  if (bytes <= block.size) return block.data;
  const int64_t size = (std::max(bytes, block.size + block.size / 2) + 4095) / 4096 * 4096;
  std::free(block.data);
  block.size = 0;
  block.data = std::aligned_alloc(64, size);
  if (block.data == nullptr) throw std::bad_alloc();
  block.size = size;
  return block.data;
}

}  // namespace mychip::emulator
