#include "mychip/runtime/allocator.h"

#include <map>
#include <mutex>
#include <string>

#include "device_impl.h"
#include "mychip/runtime/config.h"

namespace mychip {
namespace {

class OwnMemory : public DeviceAllocator {
 public:
  explicit OwnMemory(Device* device) : device_(device) {}
  Result<void*> Allocate(int64_t bytes) override { return device_->memory().Allocate(bytes); }
  void Free(void* address) override {
    if (Status s = device_->memory().Free(address); !s.ok()) Log(0, "%s", s.message().c_str());
  }
  MemoryStats stats() const override { return device_->memory().stats(); }

 private:
  Device* const device_;
};

struct Tables {
  std::mutex mutex;
  std::map<int64_t, std::map<int, ClientDevice>> tables;  // by id, by local_id
};

Tables& TheTables() {
  static Tables* const tables = new Tables;
  return *tables;
}

}  // namespace

std::unique_ptr<DeviceAllocator> NewDefaultAllocator(Device* device) { return std::make_unique<OwnMemory>(device); }

DeviceAllocator* DefaultAllocator(Device* device) { return static_cast<DeviceImpl*>(device)->allocator(); }

int64_t RegisterDeviceTable() {
  Tables& t = TheTables();
  std::lock_guard<std::mutex> lock(t.mutex);
  const auto id = static_cast<int64_t>(t.tables.size()) + 1;
  t.tables[id];
  return id;
}

void SetTableDevice(int64_t table, const ClientDevice& device) {
  Tables& t = TheTables();
  std::lock_guard<std::mutex> lock(t.mutex);
  const auto found = t.tables.find(table);
  if (found == t.tables.end()) {
    Log(0, "SetTableDevice: there is no device table %lld", static_cast<long long>(table));
    return;
  }
  found->second[device.local_id] = device;
}

Result<std::vector<ClientDevice>> GetDeviceTable(int64_t table) {
  Tables& t = TheTables();
  std::lock_guard<std::mutex> lock(t.mutex);
  const auto found = t.tables.find(table);
  if (found == t.tables.end()) return NotFound("there is no device table %lld", static_cast<long long>(table));
  std::vector<ClientDevice> devices;
  for (const auto& [id, device] : found->second) devices.push_back(device);
  return devices;
}

std::string DescribeShortage(Device* device, int64_t requested) {
  DeviceAllocator* allocator = DefaultAllocator(device);
  {
    Tables& t = TheTables();
    std::lock_guard<std::mutex> lock(t.mutex);
    for (const auto& [id, table] : t.tables) {
      for (const auto& [local_id, entry] : table) {
        if (entry.device == device && entry.allocator != nullptr) allocator = entry.allocator;
      }
    }
  }
  const MemoryStats stats = allocator->stats();
  return "requested " + std::to_string(requested) + " bytes, free " +
         std::to_string(stats.bytes_limit - stats.bytes_in_use) + ", limit " + std::to_string(stats.bytes_limit);
}

}  // namespace mychip
