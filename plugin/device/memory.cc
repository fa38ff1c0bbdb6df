// Allocation, statistics and copies.
#include <cstdlib>

#include "convert.h"
#include "mychip/runtime/config.h"

namespace mychip::device {
namespace {

void Allocate(const SP_Device* device, uint64_t size, int64_t, SP_DeviceMemoryBase* mem) {
  mem->struct_size = SP_DEVICE_MEMORY_BASE_STRUCT_SIZE;
  mem->payload = 0;
  Result<void*> address = Chip(device)->memory().Allocate(static_cast<int64_t>(size));
  if (!address.ok()) {
    // TensorFlow only learns "no memory" and says INTERNAL for its own copies: the numbers stand here.
    Log(1, "MYCHIP:%d: %s", device->ordinal, address.status().message().c_str());
  }
  mem->opaque = address.ok() ? *address : nullptr;
  mem->size = address.ok() ? size : 0;
}

void Deallocate(const SP_Device* device, SP_DeviceMemoryBase* mem) {
  Status status = Chip(device)->memory().Free(mem->opaque);
  if (!status.ok()) Log(0, "MYCHIP:%d: deallocate: %s", device->ordinal, status.message().c_str());
  mem->opaque = nullptr;
  mem->size = 0;
}

constexpr size_t kHostAlignment = 64;

void* HostAllocate(const SP_Device*, uint64_t size) {
  void* address = nullptr;
  return posix_memalign(&address, kHostAlignment, size == 0 ? kHostAlignment : size) == 0 ? address : nullptr;
}

void HostDeallocate(const SP_Device*, void* mem) { free(mem); }

// The platform says it has no unified memory; a caller that asks anyway gets none.
void* UnifiedAllocate(const SP_Device* device, uint64_t) {
  Log(0, "MYCHIP:%d: unified memory is not supported: device and host memory are separate", device->ordinal);
  return nullptr;
}

void UnifiedDeallocate(const SP_Device* device, void* location) {
  if (location != nullptr) Log(0, "MYCHIP:%d: unified memory is not supported, nothing to free", device->ordinal);
}

TF_Bool AllocatorStats(const SP_Device* device, SP_AllocatorStats* out) {
  const MemoryStats stats = Chip(device)->memory().stats();
  out->struct_size = SP_ALLOCATORSTATS_STRUCT_SIZE;
  out->num_allocs = stats.num_allocs;
  out->bytes_in_use = stats.bytes_in_use;
  out->peak_bytes_in_use = stats.peak_bytes_in_use;
  out->largest_alloc_size = stats.largest_alloc_size;
  out->has_bytes_limit = 1;
  out->bytes_limit = stats.bytes_limit;
  out->bytes_reserved = stats.bytes_in_use;
  out->peak_bytes_reserved = stats.peak_bytes_in_use;
  out->has_bytes_reservable_limit = 1;
  out->bytes_reservable_limit = stats.bytes_limit;
  out->largest_free_block_bytes = stats.largest_free_block;
  return 1;
}

TF_Bool MemoryUsage(const SP_Device* device, int64_t* free, int64_t* total) {
  const MemoryStats stats = Chip(device)->memory().stats();
  *total = stats.bytes_limit;
  *free = stats.bytes_limit - stats.bytes_in_use;
  return 1;
}

void CopyToHost(const SP_Device*, SP_Stream stream, void* dst, const SP_DeviceMemoryBase* src, uint64_t size,
                TF_Status* status) {
  Set(status, stream->stream->CopyToHost(dst, src->opaque, static_cast<int64_t>(size)));
}

void CopyToDevice(const SP_Device* device, SP_Stream stream, SP_DeviceMemoryBase* dst, const void* src, uint64_t size,
                  TF_Status* status) {
  // TensorFlow fills fresh constants on a copy stream without waiting for the compute stream, though their memory may
  // just have been freed by an op that still runs there.
  if (stream->owned != nullptr) {
    const Status waited = stream->stream->Wait(Chip(device)->compute_stream()->Record());
    if (!waited.ok()) return Set(status, waited);
  }
  Set(status, stream->stream->CopyToDevice(dst->opaque, src, static_cast<int64_t>(size)));
}

void CopyOnDevice(const SP_Device*, SP_Stream stream, SP_DeviceMemoryBase* dst, const SP_DeviceMemoryBase* src,
                  uint64_t size, TF_Status* status) {
  Set(status, stream->stream->CopyOnDevice(dst->opaque, src->opaque, static_cast<int64_t>(size)));
}

void SyncCopyToHost(const SP_Device*, void* dst, const SP_DeviceMemoryBase* src, uint64_t size, TF_Status* status) {
  Set(status, Device::CopySync(dst, src->opaque, static_cast<int64_t>(size)));
}

void SyncCopyToDevice(const SP_Device*, SP_DeviceMemoryBase* dst, const void* src, uint64_t size, TF_Status* status) {
  Set(status, Device::CopySync(dst->opaque, src, static_cast<int64_t>(size)));
}

void SyncCopyOnDevice(const SP_Device*, SP_DeviceMemoryBase* dst, const SP_DeviceMemoryBase* src, uint64_t size,
                      TF_Status* status) {
  Set(status, Device::CopySync(dst->opaque, src->opaque, static_cast<int64_t>(size)));
}

void MemZero(const SP_Device*, SP_Stream stream, SP_DeviceMemoryBase* dst, uint64_t size, TF_Status* status) {
  Set(status, stream->stream->Fill8(dst->opaque, 0, static_cast<int64_t>(size)));
}

void Memset8(const SP_Device*, SP_Stream stream, SP_DeviceMemoryBase* dst, uint8_t pattern, uint64_t size,
             TF_Status* status) {
  Set(status, stream->stream->Fill8(dst->opaque, pattern, static_cast<int64_t>(size)));
}

void Memset32(const SP_Device*, SP_Stream stream, SP_DeviceMemoryBase* dst, uint32_t pattern, uint64_t size,
              TF_Status* status) {
  Set(status, stream->stream->Fill32(dst->opaque, pattern, static_cast<int64_t>(size)));
}

}  // namespace

void FillMemory(SP_StreamExecutor* executor) {
  executor->allocate = Allocate;
  executor->deallocate = Deallocate;
  executor->host_memory_allocate = HostAllocate;
  executor->host_memory_deallocate = HostDeallocate;
  executor->unified_memory_allocate = UnifiedAllocate;
  executor->unified_memory_deallocate = UnifiedDeallocate;
  executor->get_allocator_stats = AllocatorStats;
  executor->device_memory_usage = MemoryUsage;
  executor->memcpy_dtoh = CopyToHost;
  executor->memcpy_htod = CopyToDevice;
  executor->memcpy_dtod = CopyOnDevice;
  executor->sync_memcpy_dtoh = SyncCopyToHost;
  executor->sync_memcpy_htod = SyncCopyToDevice;
  executor->sync_memcpy_dtod = SyncCopyOnDevice;
  executor->mem_zero = MemZero;
  executor->memset = Memset8;
  executor->memset32 = Memset32;
}

}  // namespace mychip::device
