// Working memory of one host thread, reused from command to command: what would be the units' scratchpads.
#pragma once

#include <cstdint>

namespace mychip::emulator {

enum class ScratchSlot : uint8_t {
  kPackedA,
  kPackedB,
  kAccumulators,
  kTransposed,
  kStage,
  kOffsets,
  kRhsOffsets,
  kShared,
  kPartial,
  kEpilogueAcc,
  kEpilogueIn,
  kEpilogueOut,
  kCount,
};

// At least `bytes` bytes, 64-byte aligned, undefined contents; valid until this thread asks for the same slot again.
// Freed when the thread ends. Throws std::bad_alloc.
void* UnitScratchBytes(ScratchSlot slot, int64_t bytes);

template <typename T>
T* UnitScratch(ScratchSlot slot, int64_t elements) {
  return static_cast<T*>(UnitScratchBytes(slot, elements * static_cast<int64_t>(sizeof(T))));
}

}  // namespace mychip::emulator
