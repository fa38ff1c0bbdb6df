#include "mychip/runtime/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "fault_points.h"
#include "process.h"
#include "range_allocator.h"
#include "undefined.h"

namespace mychip {
namespace {

constexpr int64_t kPage = int64_t{2} << 20;        // a huge page; the grain of commitment
constexpr int64_t kTrimBlock = int64_t{64} << 20;  // free blocks from this size on go back to the host
constexpr int64_t kMaxMemoryBytes = int64_t{1} << 44;

int64_t RoundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// `bytes` of address space, aligned to kPage. nullptr when the kernel refuses.
uint8_t* MapAligned(int64_t bytes, int protection) {
  const auto total = static_cast<size_t>(bytes + kPage);
  void* mapped = mmap(nullptr, total, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* begin = static_cast<uint8_t*>(mapped);
  auto* aligned = reinterpret_cast<uint8_t*>(RoundUp(reinterpret_cast<intptr_t>(begin), kPage));
  if (aligned != begin) munmap(begin, aligned - begin);
  if (uint8_t* end = aligned + bytes; end != begin + total) munmap(end, begin + total - end);
  return aligned;
}

}  // namespace

struct Memory::Impl {
  Impl(std::string owner_name, int64_t limit, int64_t mapped_bytes)
      : owner(std::move(owner_name)), mapped(mapped_bytes), ranges(limit), committed(mapped_bytes / kPage, false) {
    stats.bytes_limit = limit;
  }
  ~Impl() {
    if (addresses != nullptr) munmap(addresses, mapped);
    if (shadow != nullptr) munmap(shadow, mapped);
  }

  const std::string owner;
  const int64_t mapped;
  uint8_t* addresses = nullptr;  // PROT_NONE
  uint8_t* shadow = nullptr;     // read-write

  mutable std::mutex mutex;
  RangeAllocator ranges;
  MemoryStats stats;
  std::vector<bool> committed;  // per kPage: perhaps backed by host memory
};

Memory::Memory(std::unique_ptr<Impl> impl) : impl_(std::move(impl)), shadow_offset_(impl_->shadow - impl_->addresses) {}

Memory::~Memory() = default;

Result<std::unique_ptr<Memory>> Memory::Create(int64_t bytes_limit, const std::string& owner) {
  if (bytes_limit < kMemoryAlignment || bytes_limit > kMaxMemoryBytes) {
    return InvalidArgument("%s: a memory of %lld bytes; possible are %lld to %lld", owner.c_str(),
                           static_cast<long long>(bytes_limit), static_cast<long long>(kMemoryAlignment),
                           static_cast<long long>(kMaxMemoryBytes));
  }
  const int64_t limit = bytes_limit / kMemoryAlignment * kMemoryAlignment;
  auto impl = std::make_unique<Impl>(owner, limit, RoundUp(limit, kPage));
  impl->addresses = MapAligned(impl->mapped, PROT_NONE);
  impl->shadow = MapAligned(impl->mapped, PROT_READ | PROT_WRITE);
  if (impl->addresses == nullptr || impl->shadow == nullptr) {
    return ResourceExhausted("%s: cannot reserve an address range of %lld bytes (%s); lower MYCHIP_MEMORY_MB",
                             owner.c_str(), static_cast<long long>(limit), std::strerror(errno));
  }
  // Advice only: where the kernel refuses, things are slower or a fork copies page tables, and nothing else changes.
  (void)madvise(impl->shadow, impl->mapped, MADV_HUGEPAGE);
  (void)madvise(impl->shadow, impl->mapped, MADV_DONTFORK);
  (void)madvise(impl->shadow, impl->mapped, MADV_DONTDUMP);
  return std::unique_ptr<Memory>(new Memory(std::move(impl)));
}

Result<void*> Memory::Allocate(int64_t bytes) {
  if (Forked()) return CheckProcess();
  if (bytes < 0)
    return InvalidArgument("%s: an allocation of %lld bytes", impl_->owner.c_str(), static_cast<long long>(bytes));
  Impl& m = *impl_;
  const bool injected = FaultHits(FaultPoint::kAlloc);
  std::lock_guard<std::mutex> lock(m.mutex);
  MemoryStats& stats = m.stats;
  // Larger than the limit first: rounding up must not overflow.
  const int64_t size = bytes > stats.bytes_limit ? bytes : RoundUp(std::max<int64_t>(bytes, 1), kMemoryAlignment);
  const auto offset = injected ? std::nullopt : m.ranges.Allocate(size);
  if (!offset) {
    return ResourceExhausted("%s: out of memory: requested %lld bytes, free %lld (largest block %lld), limit %lld%s",
                             m.owner.c_str(), static_cast<long long>(bytes),
                             static_cast<long long>(stats.bytes_limit - stats.bytes_in_use),
                             static_cast<long long>(m.ranges.largest_free()), static_cast<long long>(stats.bytes_limit),
                             injected ? "; injected by MYCHIP_FAULT" : "");
  }
  stats.bytes_in_use += size;
  stats.peak_bytes_in_use = std::max(stats.peak_bytes_in_use, stats.bytes_in_use);
  stats.largest_alloc_size = std::max(stats.largest_alloc_size, size);
  ++stats.num_allocs;
  for (int64_t page = *offset / kPage; page <= (*offset + size - 1) / kPage; ++page) {
    if (m.committed[page]) continue;
    m.committed[page] = true;
    stats.bytes_committed += kPage;
  }
  return static_cast<void*>(m.addresses + *offset);
}

Status Memory::Free(void* address) {
  if (address == nullptr) return OkStatus();
  if (Forked()) return CheckProcess();
  Impl& m = *impl_;
  std::lock_guard<std::mutex> lock(m.mutex);
  const auto* at = static_cast<uint8_t*>(address);
  std::optional<int64_t> freed;
  if (at >= m.addresses && at < m.addresses + m.mapped) freed = m.ranges.Free(at - m.addresses);
  if (!freed) {
    return InvalidArgument("%s: %p is not a live allocation (freed twice, or of another device?)", m.owner.c_str(),
                           address);
  }
  m.stats.bytes_in_use -= *freed;
  MarkDefined(m.shadow + (at - m.addresses), *freed);
  return OkStatus();
}

MemoryStats Memory::stats() const {
  // The lock of a forked child may be one that a lost thread held; there is only one thread then.
  std::unique_lock<std::mutex> lock(impl_->mutex, std::defer_lock);
  if (!Forked()) lock.lock();
  MemoryStats stats = impl_->stats;
  stats.largest_free_block = impl_->ranges.largest_free();
  return stats;
}

void Memory::ResetPeak() {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->stats.peak_bytes_in_use = impl_->stats.bytes_in_use;
}

void Memory::Trim() {
  Impl& m = *impl_;
  std::lock_guard<std::mutex> lock(m.mutex);
  for (const auto& [offset, size] : m.ranges.free_blocks()) {
    if (size < kTrimBlock) continue;
    const int64_t first = RoundUp(offset, kPage) / kPage, last = (offset + size) / kPage;
    if (last <= first) continue;
    if (madvise(m.shadow + first * kPage, (last - first) * kPage, MADV_DONTNEED) != 0) continue;
    for (int64_t page = first; page < last; ++page) {
      if (m.committed[page]) m.stats.bytes_committed -= kPage;
      m.committed[page] = false;
    }
  }
}

bool Memory::Contains(const void* address, int64_t bytes) const {
  const auto at = reinterpret_cast<uintptr_t>(address), begin = reinterpret_cast<uintptr_t>(impl_->addresses);
  const auto limit = static_cast<uint64_t>(impl_->stats.bytes_limit);  // constant after Create
  return at >= begin && at - begin <= limit && bytes >= 0 && static_cast<uint64_t>(bytes) <= limit - (at - begin);
}

}  // namespace mychip
