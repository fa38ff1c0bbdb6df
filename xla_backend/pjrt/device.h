// PJRT_Device, its description, and its one memory space.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "mychip/runtime/allocator.h"
#include "mychip/runtime/stream.h"
#include "named_values.h"
#include "xla/pjrt/c/pjrt_c_api.h"

// What can be said without the chip: also the entries of a topology.
struct PJRT_DeviceDescription {
  explicit PJRT_DeviceDescription(int id);

  const int id;  // = local id: one process drives all chips it sees
  const std::string kind, name, debug_string;
  mychip::pjrt::NamedValues attributes;
};

// "device": the chip's own memory. The chip reads no other: host memory is reached by copies only.
struct PJRT_Memory {
  explicit PJRT_Memory(PJRT_Device* owner);

  PJRT_Device* const device;
  const int id;
  const std::string name, debug_string;
};

struct PJRT_Device {
  PJRT_Device(PJRT_Client* owner, int local_id)
      : client(owner), id(local_id), description(local_id), memory(this), self(this), memories{&memory} {}

  // The chip and the allocator in force. NOT_FOUND when the framework's table has lost this id.
  mychip::Result<mychip::ClientDevice> Chip() const;

  PJRT_Client* const client;
  const int id;
  PJRT_DeviceDescription description;
  PJRT_Memory memory;
  PJRT_Device* const self;  // lists of one, which the C API points to
  PJRT_Memory* const memories[1];

  // Held while work on this device's buffers is checked and enqueued, so that what was checked is what runs.
  std::mutex enqueue_mu;

  // For host data that arrives in pieces, made on first use. It never waits for events, so that data can always arrive,
  // even for memory that the compute stream is waiting for.
  mychip::Stream* TransferStream(mychip::Device* chip);

 private:
  std::unique_ptr<mychip::Stream> transfer_stream_;
};

namespace mychip::pjrt {

inline constexpr char kMemoryKind[] = "device";

// "MYCHIP:1"
std::string DeviceName(int id);

}  // namespace mychip::pjrt
