#include "allocator.h"

#include <algorithm>
#include <map>
#include <mutex>

namespace mychip::bridge {
namespace {

class Adapter : public DeviceAllocator {
 public:
  Adapter(Device* chip, tensorflow::Allocator* allocator) : chip_(chip), allocator_(allocator) {}

  Result<void*> Allocate(int64_t bytes) override {
    void* address = Try(bytes);
    if (address == nullptr) {
      // Work in flight may hold the last references to memory; once it is done there may be room.
      (void)chip_->compute_stream()->Record().Wait();
      address = Try(bytes);
    }
    if (address != nullptr) return address;
    return ResourceExhausted("MYCHIP:%d is out of memory: %s", chip_->ordinal(),
                             DescribeShortage(chip_, bytes).c_str());
  }

  void Free(void* address) override { allocator_->DeallocateRaw(address); }

  MemoryStats stats() const override {
    MemoryStats out;
    auto stats = allocator_->GetStats();
    if (!stats.has_value()) return out;
    out.bytes_in_use = stats->bytes_in_use;
    out.peak_bytes_in_use = stats->peak_bytes_in_use;
    out.bytes_limit = stats->bytes_limit.value_or(0);
    out.num_allocs = stats->num_allocs;
    out.largest_alloc_size = stats->largest_alloc_size;
    out.largest_free_block = stats->largest_free_block_bytes;
    out.bytes_committed = chip_->memory().stats().bytes_committed;
    return out;
  }

 private:
  // TensorFlow's allocator answers null for 0 bytes; callers want an address of their own.
  void* Try(int64_t bytes) {
    tensorflow::AllocationAttributes once;
    once.retry_on_failure = false;
    return allocator_->AllocateRaw(kMemoryAlignment, static_cast<size_t>(std::max<int64_t>(bytes, 1)), once);
  }

  Device* const chip_;
  tensorflow::Allocator* const allocator_;
};

}  // namespace

DeviceAllocator* Adapt(Device* chip, tensorflow::Allocator* allocator) {
  static std::mutex mutex;
  static auto* const adapters = new std::map<tensorflow::Allocator*, std::unique_ptr<Adapter>>;
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Adapter>& adapter = (*adapters)[allocator];
  if (adapter == nullptr) adapter = std::make_unique<Adapter>(chip, allocator);
  return adapter.get();
}

}  // namespace mychip::bridge
