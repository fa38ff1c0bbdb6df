// Storage: device memory behind PJRT buffers, owned or borrowed.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "mychip/runtime/allocator.h"
#include "mychip/runtime/event.h"

namespace mychip::pjrt {

// Shared by the buffer, by outputs written in place over it, and by transfers that are not ordered by the device's
// compute stream. Owned memory goes back to its allocator at once when the last of them lets go: whoever gets it next
// uses it later on the compute stream. Borrowed memory (a view) is handed back when its last queued use is done.
class Storage {
 public:
  // RESOURCE_EXHAUSTED from the allocator. Zero bytes get an address too.
  static Result<std::shared_ptr<Storage>> Allocate(const ClientDevice& chip, int64_t bytes);
  // `on_delete` runs exactly once; may be empty.
  static std::shared_ptr<Storage> Borrow(const ClientDevice& chip, void* address, int64_t bytes,
                                         std::function<void()> on_delete);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* address() const { return address_; }
  int64_t bytes() const { return bytes_; }
  Device* device() const { return chip_.device; }
  // Work that uses this memory was enqueued and ends with `done`.
  void UsedUntil(const Event& done);

 private:
  Storage(const ClientDevice& chip, void* address, int64_t bytes) : chip_(chip), address_(address), bytes_(bytes) {}

  const ClientDevice chip_;
  void* const address_;
  const int64_t bytes_;
  bool borrowed_ = false;
  std::function<void()> on_delete_;
  std::mutex mu_;
  std::vector<Event> uses_;  // borrowed memory only
};

}  // namespace mychip::pjrt
