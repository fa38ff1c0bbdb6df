// PJRT_Client: one framework's view of the chips. All state hangs here; several clients live in one process.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "device.h"
#include "topology.h"

struct PJRT_Client {
  // Brings the list of devices up to date with the framework's table. The returned list lives as long as the client.
  mychip::Result<const std::vector<PJRT_Device*>*> Devices();
  // NOT_FOUND names the ids there are.
  mychip::Result<PJRT_Device*> Find(int id);
  mychip::Result<mychip::ClientDevice> Chip(int id) const;
  // The device a call means by a device or a memory space, of which either may be null: memory wins, then device, then
  // the first. Refuses those of another client.
  mychip::Result<PJRT_Device*> Target(PJRT_Device* device, PJRT_Memory* memory);

  // Set when the devices are TensorFlow's: its StreamExecutor kernels share the compute streams.
  std::optional<int64_t> table;
  std::vector<mychip::ClientDevice> chips;  // without a table: all of them
  std::string framework;                    // for the compile log; may be empty

  // Client_TopologyDescription: as of its first call.
  std::unique_ptr<PJRT_TopologyDescription> topology;
  std::unordered_set<void*> dma_mapped;
  std::mutex mu;

 private:
  std::vector<std::unique_ptr<PJRT_Device>> devices_;
  // What callers hold pointers into: superseded lists are kept.
  std::deque<std::vector<PJRT_Device*>> device_lists_;

 public:
  std::deque<std::vector<PJRT_Memory*>> memory_lists;
};

namespace mychip::pjrt {

inline constexpr char kPlatformName[] = "mychip";
// "mychip 0.1.0 for TensorFlow 2.21.0"
const std::string& PlatformVersion();

}  // namespace mychip::pjrt
