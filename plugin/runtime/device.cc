#include "mychip/runtime/device.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "device_impl.h"
#include "fault_points.h"
#include "mychip/runtime/config.h"
#include "process.h"
#include "undefined.h"

namespace mychip {
namespace {

constexpr int kMaxDevices = 64;
constexpr auto kExitPatience = std::chrono::seconds(5);

// Devices are never destroyed: streams of other libraries' static objects may outlive any order we could choose.
std::array<std::atomic<DeviceImpl*>, kMaxDevices> g_devices{};
std::mutex* const g_make_mutex = new std::mutex;

// Runs before static destructors: what is queued fails with CANCELLED at once, so that nobody waits for it later; the
// command that runs gets some time to end.
void AbandonAll() {
  std::vector<std::shared_ptr<StreamCore>> streams;
  for (DeviceImpl* device : LiveDevices()) {
    for (auto& core : device->streams()) streams.push_back(std::move(core));
  }
  for (const auto& core : streams) core->Abandon();
  const auto end = std::chrono::steady_clock::now() + kExitPatience;
  for (const auto& core : streams) {
    while (!core->Quiet() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

Cost LinkCost(int64_t bytes, int64_t bytes_per_cycle) {
  Cost cost;
  cost.launches = 1;
  cost.cycles = chip::kLaunchCycles + (bytes + bytes_per_cycle - 1) / bytes_per_cycle;
  return cost;
}

}  // namespace

std::vector<DeviceImpl*> LiveDevices() {
  std::vector<DeviceImpl*> devices;
  for (const auto& slot : g_devices) {
    if (DeviceImpl* device = slot.load(std::memory_order_acquire); device != nullptr) devices.push_back(device);
  }
  return devices;
}

int Device::Count() {
  static const int count = static_cast<int>(EnvInt("MYCHIP_NUM_DEVICES", 1, kMaxDevices));
  return count;
}

Result<Device*> Device::Get(int ordinal) {
  MYCHIP_RETURN_IF_ERROR(CheckProcess());
  if (ordinal < 0 || ordinal >= Count()) {
    return InvalidArgument("there is no MYCHIP:%d; this process has %d (MYCHIP_NUM_DEVICES)", ordinal, Count());
  }
  std::atomic<DeviceImpl*>& slot = g_devices[ordinal];
  if (DeviceImpl* device = slot.load(std::memory_order_acquire); device != nullptr) return static_cast<Device*>(device);
  std::lock_guard<std::mutex> lock(*g_make_mutex);
  if (DeviceImpl* device = slot.load(); device != nullptr) return static_cast<Device*>(device);
  const int64_t megabytes = EnvInt("MYCHIP_MEMORY_MB", 1, int64_t{1} << 24);
  MYCHIP_ASSIGN_OR_RETURN(auto memory, Memory::Create(megabytes << 20, "MYCHIP:" + std::to_string(ordinal)));
  StartWatchingProcess(AbandonAll);
  slot.store(new DeviceImpl(ordinal, std::move(memory)), std::memory_order_release);
  return static_cast<Device*>(slot.load());
}

Device* Device::Owner(const void* address) {
  for (int i = 0, count = Count(); i < count; ++i) {
    DeviceImpl* device = g_devices[i].load(std::memory_order_acquire);
    if (device != nullptr && device->memory().Contains(address, 1)) return device;
  }
  return nullptr;
}

uint8_t* Shadow(const void* address, int64_t bytes, Device** owner) {
  for (int i = 0, count = Device::Count(); i < count; ++i) {
    DeviceImpl* device = g_devices[i].load(std::memory_order_acquire);
    if (device == nullptr || !device->memory().Contains(address, bytes)) continue;
    if (owner != nullptr) *owner = device;
    return static_cast<uint8_t*>(const_cast<void*>(address)) + device->memory().ShadowOffset();
  }
  return nullptr;
}

Status Device::CopySync(void* dst, const void* src, int64_t bytes) {
  MYCHIP_RETURN_IF_ERROR(CheckProcess());
  if (bytes < 0) return InvalidArgument("%lld bytes", static_cast<long long>(bytes));
  if (bytes == 0) return OkStatus();
  if (dst == nullptr || src == nullptr) return InvalidArgument("%s is null", dst == nullptr ? "destination" : "source");
  Device *to = nullptr, *from = nullptr;
  uint8_t* device_dst = Shadow(dst, bytes, &to);
  const uint8_t* device_src = Shadow(src, bytes, &from);
  if ((to == nullptr && Owner(dst) != nullptr) || (from == nullptr && Owner(src) != nullptr)) {
    return InvalidArgument("%lld bytes reach beyond the device's memory", static_cast<long long>(bytes));
  }
  if (to == nullptr && from == nullptr) {
    return InvalidArgument("neither %p nor %p is memory of a MYCHIP device", dst, src);
  }
  if (from != nullptr) MYCHIP_RETURN_IF_ERROR(CheckDefined(device_src, bytes));
  if (FaultHits(FaultPoint::kCopy)) return InjectedFault("copy");
  std::memmove(to != nullptr ? device_dst : dst, from != nullptr ? device_src : src, bytes);
  if (to != nullptr) MarkDefined(device_dst, bytes);
  const CopyKind kind = from == nullptr ? CopyKind::kToDevice : to == nullptr ? CopyKind::kToHost : CopyKind::kOnDevice;
  static_cast<DeviceImpl*>(to != nullptr ? to : from)->Count(CopyCounters(kind, bytes));
  return OkStatus();
}

DeviceImpl::DeviceImpl(int ordinal, std::unique_ptr<Memory> memory)
    : ordinal_(ordinal), memory_(std::move(memory)), allocator_(NewDefaultAllocator(this)) {
  compute_stream_ = CreateStream();
}

std::unique_ptr<Stream> DeviceImpl::CreateStream() {
  std::lock_guard<std::mutex> lock(mutex_);
  auto core = std::make_shared<StreamCore>(this, next_stream_++);
  const auto gone = [](const std::weak_ptr<StreamCore>& stream) { return stream.expired(); };
  streams_.erase(std::remove_if(streams_.begin(), streams_.end(), gone), streams_.end());
  streams_.push_back(core);
  return std::make_unique<StreamImpl>(std::move(core));
}

std::vector<std::shared_ptr<StreamCore>> DeviceImpl::streams() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::shared_ptr<StreamCore>> alive;
  for (const auto& stream : streams_) {
    if (auto core = stream.lock()) alive.push_back(std::move(core));
  }
  return alive;
}

Status DeviceImpl::Synchronize() {
  if (Forked()) return CheckProcess();
  const auto cores = streams();
  for (const auto& core : cores) {
    if (Timeline::worker_of == core->timeline().get()) {
      return FailedPrecondition("a callback of a stream synchronizes with its own device, which cannot end");
    }
  }
  for (const auto& core : cores) (void)core->timeline()->Wait(core->tail());
  for (const auto& core : cores) {
    if (Status failure = core->TakeFailure(); !failure.ok()) return failure;  // the others keep theirs
  }
  return OkStatus();
}

Counters DeviceImpl::counters() const {
  std::unique_lock<std::mutex> lock(mutex_, std::defer_lock);
  if (!Forked()) lock.lock();  // see Memory::stats
  return counters_;
}

void DeviceImpl::ResetCounters() {
  std::lock_guard<std::mutex> lock(mutex_);
  counters_ = Counters();
}

void DeviceImpl::Count(const Counters& delta) {
  std::lock_guard<std::mutex> lock(mutex_);
  counters_.programs += delta.programs;
  counters_.cost += delta.cost;
  counters_.host_to_device_bytes += delta.host_to_device_bytes;
  counters_.device_to_host_bytes += delta.device_to_host_bytes;
}

Counters CopyCounters(CopyKind kind, int64_t bytes) {
  Counters counters;
  switch (kind) {
    case CopyKind::kToDevice:
      counters.cost = LinkCost(bytes, chip::kHostLinkBytesPerCycle);
      counters.cost.bytes_written = bytes;
      counters.host_to_device_bytes = bytes;
      break;
    case CopyKind::kToHost:
      counters.cost = LinkCost(bytes, chip::kHostLinkBytesPerCycle);
      counters.cost.bytes_read = bytes;
      counters.device_to_host_bytes = bytes;
      break;
    case CopyKind::kOnDevice:
      counters.cost = LinkCost(2 * bytes, chip::kMemoryBytesPerCycle);
      counters.cost.bytes_read = counters.cost.bytes_written = bytes;
      break;
  }
  return counters;
}

Counters FillCounters(int64_t bytes) {
  Counters counters;
  counters.cost = LinkCost(bytes, chip::kMemoryBytesPerCycle);
  counters.cost.bytes_written = bytes;
  return counters;
}

bool SyncMode() {
  static const bool sync = EnvBool("MYCHIP_SYNC");
  return sync;
}

bool ValidateMode() {
  static const bool validate = EnvBool("MYCHIP_VALIDATE");
  return validate;
}

int64_t RealtimeNs() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return t.tv_sec * int64_t{1'000'000'000} + t.tv_nsec;
}

}  // namespace mychip
