// Device: one emulated chip of this process. Devices are created on first use and live until the process ends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mychip/runtime/export.h"
#include "mychip/runtime/memory.h"
#include "mychip/runtime/stream.h"

namespace mychip {

// What commands have cost since start (or ResetCounters): modelled cycles, not wall time.
struct Counters {
  int64_t programs = 0;  // launches of whole programs
  Cost cost;             // launches = commands issued to units
  int64_t host_to_device_bytes = 0, device_to_host_bytes = 0;
};

class MYCHIP_API Device {
 public:
  // MYCHIP_NUM_DEVICES; a bad value counts as 1 and is logged once.
  static int Count();
  // INVALID_ARGUMENT when ordinal is out of range; RESOURCE_EXHAUSTED when the address range cannot be reserved.
  static Result<Device*> Get(int ordinal);
  // The device whose memory holds `address`, or nullptr.
  static Device* Owner(const void* address);

  virtual ~Device() = default;
  virtual int ordinal() const = 0;
  virtual Memory& memory() = 0;
  // Programs of every client (TensorFlow kernels, PJRT) run in one order, on this stream.
  virtual Stream* compute_stream() = 0;
  virtual std::unique_ptr<Stream> CreateStream() = 0;
  // All streams of this device. First unreported failure.
  virtual Status Synchronize() = 0;
  virtual Counters counters() const = 0;
  virtual void ResetCounters() = 0;

  // Blocking copies outside any stream, host <-> device or device <-> device: they wait for nothing queued.
  static Status CopySync(void* dst, const void* src, int64_t bytes);
};

// The chip's fixed numbers (design of the chip, not of the host).
namespace chip {
inline constexpr int kCores = 8;
inline constexpr int64_t kClockHz = 1'000'000'000;
inline constexpr int64_t kMacsF32 = 1024, kMacsTF32 = 2048, kMacs16 = 4096, kMacsS8 = 8192;  // per core and cycle
inline constexpr int64_t kLanes32 = 256, kLanes16 = 512;                                     // per core and cycle
inline constexpr int64_t kScratchpadBytes = 512 * 1024;                                      // per core
inline constexpr int64_t kMemoryBytesPerCycle = 800;                                         // whole chip
inline constexpr int64_t kHostLinkBytesPerCycle = 32;
inline constexpr int64_t kLaunchCycles = 500;
}  // namespace chip

}  // namespace mychip
