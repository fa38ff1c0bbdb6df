#include "emulator_testing.h"

#include <sys/mman.h>
#include <unistd.h>

#include <memory>

#include "cores.h"

namespace mychip::testing {
namespace {

class GuardedCopy {
 public:
  GuardedCopy(const Bytes& bytes, bool at_end) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t inside = (bytes.size() + page - 1) / page * page;
    length_ = inside + 2 * page;
    void* mapped = mmap(nullptr, length_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(mapped, MAP_FAILED);
    mapped_ = static_cast<uint8_t*>(mapped);
    if (inside > 0) {
      EXPECT_EQ(mprotect(mapped_ + page, inside, PROT_READ | PROT_WRITE), 0);
    }
    data_ = mapped_ + page + (at_end ? inside - bytes.size() : 0);
    if (!bytes.empty()) std::memcpy(data_, bytes.data(), bytes.size());
  }
  ~GuardedCopy() { munmap(mapped_, length_); }
  GuardedCopy(const GuardedCopy&) = delete;
  GuardedCopy& operator=(const GuardedCopy&) = delete;
  uint8_t* data() const { return data_; }

 private:
  size_t length_;
  uint8_t *mapped_, *data_;
};

}  // namespace

Status RunGuarded(const std::vector<Bytes*>& buffers,
                  const std::function<Status(const std::vector<uint8_t*>& addresses)>& run) {
  static bool at_end = false;
  at_end = !at_end;
  std::vector<std::unique_ptr<GuardedCopy>> copies;
  std::vector<uint8_t*> addresses;
  for (const Bytes* bytes : buffers) {
    copies.push_back(std::make_unique<GuardedCopy>(*bytes, at_end));
    addresses.push_back(copies.back()->data());
  }
  Status status = run(addresses);
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!buffers[i]->empty()) std::memcpy(buffers[i]->data(), addresses[i], buffers[i]->size());
  }
  return status;
}

void ExpectSameOnAllCores(const std::function<Bytes()>& test) {
  Bytes first;
  for (int cores = 1; cores <= 3; ++cores) {
    emulator::SetNumCores(cores);
    const Bytes result = test();
    if (cores == 1) {
      first = result;
    } else {
      EXPECT_EQ(first, result) << "with " << cores << " cores";
    }
  }
}

}  // namespace mychip::testing
