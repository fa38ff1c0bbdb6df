#include "storage.h"

#include <algorithm>

#include "event.h"

namespace mychip::pjrt {

Result<std::shared_ptr<Storage>> Storage::Allocate(const ClientDevice& chip, int64_t bytes) {
  MYCHIP_ASSIGN_OR_RETURN(void* const address, chip.allocator->Allocate(std::max<int64_t>(bytes, 1)));
  return std::shared_ptr<Storage>(new Storage(chip, address, bytes));
}

std::shared_ptr<Storage> Storage::Borrow(const ClientDevice& chip, void* address, int64_t bytes,
                                         std::function<void()> on_delete) {
  std::shared_ptr<Storage> storage(new Storage(chip, address, bytes));
  storage->borrowed_ = true;
  storage->on_delete_ = std::move(on_delete);
  return storage;
}

Storage::~Storage() {
  if (!borrowed_) {
    chip_.allocator->Free(address_);
  } else if (on_delete_) {
    AllOf(std::move(uses_)).OnDone([on_delete = std::move(on_delete_)](const Status&) { on_delete(); });
  }
}

void Storage::UsedUntil(const Event& done) {
  if (!borrowed_ || !on_delete_) return;
  const std::lock_guard<std::mutex> lock(mu_);
  uses_.erase(std::remove_if(uses_.begin(), uses_.end(), [](const Event& e) { return e.Done(); }), uses_.end());
  uses_.push_back(done);
}

}  // namespace mychip::pjrt
