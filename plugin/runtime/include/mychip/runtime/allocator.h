// Where PJRT takes device memory from. Without TensorFlow it is the chip's own Memory; inside TensorFlow the bridge
// supplies TF's allocator of the same device, so that one account covers kernels and XLA alike.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mychip/runtime/device.h"
#include "mychip/runtime/export.h"
#include "mychip/runtime/status.h"

namespace mychip {

class DeviceAllocator {
 public:
  virtual ~DeviceAllocator() = default;
  virtual Result<void*> Allocate(int64_t bytes) = 0;  // RESOURCE_EXHAUSTED names requested, free, limit
  virtual void Free(void* address) = 0;
  virtual MemoryStats stats() const = 0;
};

// One addressable device of a PJRT client.
struct ClientDevice {
  int local_id = 0;                      // the framework's ordinal
  Device* device = nullptr;              // the chip
  DeviceAllocator* allocator = nullptr;  // outlives the client
};

// The allocator over Device::memory(). Lives as long as the device.
MYCHIP_API DeviceAllocator* DefaultAllocator(Device* device);

// Tables by which an embedding framework describes its devices. The id is passed to PJRT_Client_Create as the int64
// option "mychip_device_table"; a client created without it sees every chip with its default allocator. A table may
// grow after a client took it: the client reads it at each look-up. Thread-safe.
MYCHIP_API int64_t RegisterDeviceTable();
MYCHIP_API void SetTableDevice(int64_t table, const ClientDevice& device);  // replaces an entry of the same local_id
MYCHIP_API Result<std::vector<ClientDevice>> GetDeviceTable(int64_t table);

// "requested N bytes, free F, limit L" for messages, with the statistics of the allocator that an embedding framework
// uses on `device`, or of its own memory when none does.
MYCHIP_API std::string DescribeShortage(Device* device, int64_t requested);

}  // namespace mychip
