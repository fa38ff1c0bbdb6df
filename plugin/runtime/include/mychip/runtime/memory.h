// Memory of one chip. Addresses are real numbers in a reserved PROT_NONE range: a host access faults. The emulator
// reaches the bytes through a second mapping a constant offset away (ShadowOffset), which only runtime/ and emulator/
// may use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "mychip/runtime/export.h"
#include "mychip/runtime/status.h"

namespace mychip {

struct MemoryStats {
  int64_t bytes_in_use = 0;
  int64_t peak_bytes_in_use = 0;
  int64_t bytes_limit = 0;
  int64_t num_allocs = 0;  // successful, since start
  int64_t largest_alloc_size = 0;
  int64_t largest_free_block = 0;
  int64_t bytes_committed = 0;  // host pages behind the range, upper bound
};

inline constexpr int64_t kMemoryAlignment = 256;

// Thread-safe. First-fit-by-size with coalescing over the range; pages are committed on first use and given back to the
// host when a free block of at least 64 MiB is followed by `Trim` (or by the process ending): see runtime/README.md.
class MYCHIP_API Memory {
 public:
  static Result<std::unique_ptr<Memory>> Create(int64_t bytes_limit, const std::string& owner);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // `bytes` may be 0 (a distinct address of kMemoryAlignment bytes). RESOURCE_EXHAUSTED names requested, free, limit.
  Result<void*> Allocate(int64_t bytes);
  // INVALID_ARGUMENT when `address` is not a live allocation (double free, foreign pointer). nullptr is ok.
  Status Free(void* address);
  MemoryStats stats() const;
  void ResetPeak();
  void Trim();
  bool Contains(const void* address, int64_t bytes) const;
  // host address of the same byte = address + ShadowOffset().
  ptrdiff_t ShadowOffset() const { return shadow_offset_; }

 private:
  struct Impl;
  explicit Memory(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
  ptrdiff_t shadow_offset_ = 0;
};

}  // namespace mychip
