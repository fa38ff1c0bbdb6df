#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "mychip/runtime/allocator.h"
#include "mychip/runtime/device.h"
#include "stream_core.h"

namespace mychip {

class DeviceImpl : public Device {
 public:
  DeviceImpl(int ordinal, std::unique_ptr<Memory> memory);
  int ordinal() const override { return ordinal_; }
  Memory& memory() override { return *memory_; }
  Stream* compute_stream() override { return compute_stream_.get(); }
  std::unique_ptr<Stream> CreateStream() override;
  Status Synchronize() override;
  Counters counters() const override;
  void ResetCounters() override;

  DeviceAllocator* allocator() { return allocator_.get(); }
  void Count(const Counters& delta);
  std::vector<std::shared_ptr<StreamCore>> streams() const;  // alive, by id

 private:
  const int ordinal_;
  const std::unique_ptr<Memory> memory_;
  const std::unique_ptr<DeviceAllocator> allocator_;
  mutable std::mutex mutex_;
  Counters counters_;
  int next_stream_ = 0;
  std::vector<std::weak_ptr<StreamCore>> streams_;
  std::unique_ptr<Stream> compute_stream_;
};

std::unique_ptr<DeviceAllocator> NewDefaultAllocator(Device* device);

// The devices made so far.
std::vector<DeviceImpl*> LiveDevices();

// Host address (emulator's view) of device memory; nullptr when [address, address + bytes) is not all in one device.
uint8_t* Shadow(const void* address, int64_t bytes, Device** owner);

enum class CopyKind { kToDevice, kToHost, kOnDevice };
// What a copy or fill costs by the cycle model.
Counters CopyCounters(CopyKind kind, int64_t bytes);
Counters FillCounters(int64_t bytes);

bool SyncMode();      // MYCHIP_SYNC
bool ValidateMode();  // MYCHIP_VALIDATE
int64_t RealtimeNs();

}  // namespace mychip
