// A small C++ client of the PJRT table, and the checks of these tests.
#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "mychip/runtime/allocator.h"
#include "mychip/runtime/status.h"
#include "xla/pjrt/c/pjrt_c_api.h"

extern "C" const PJRT_Api* GetPjrtApi();

namespace mychip::pjrt_test {

inline const PJRT_Api& api() { return *GetPjrtApi(); }

[[noreturn]] inline void Fail(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
  std::exit(1);
}
#define EXPECT(condition) \
  if (!(condition)) ::mychip::pjrt_test::Fail(__FILE__, __LINE__, "not so: " #condition)
#define EXPECT_OK(expression)                             \
  if (const ::mychip::Status s_ = (expression); !s_.ok()) \
  ::mychip::pjrt_test::Fail(__FILE__, __LINE__, "failed: " + s_.message())
// The failure must have this code and say this.
#define EXPECT_FAILS(expression, expected_code, text)                                                     \
  if (const ::mychip::Status s_ = (expression);                                                           \
      s_.code() != ::mychip::Code::expected_code || s_.message().find(text) == std::string::npos)         \
  ::mychip::pjrt_test::Fail(__FILE__, __LINE__,                                                           \
                            "expected " #expected_code " with \"" + std::string(text) + "\", got code " + \
                                std::to_string(static_cast<int>(s_.code())) + ": " + s_.message())

struct Test {
  const char* name;
  void (*run)();
};
std::vector<Test> ApiTests();
std::vector<Test> TransferTests();
std::vector<Test> ExecuteTests();
std::vector<Test> DonationTests();
std::vector<Test> FailureTests();
std::vector<Test> LaunchTests();
std::vector<Test> LifetimeTests();
std::vector<Test> AsyncTransferTests();

template <typename Args>
Args New() {
  Args args{};
  args.struct_size = sizeof(Args);
  return args;
}

Status Take(PJRT_Error* error);  // destroys it

// Waits, destroys the event, returns its status. Null is ok.
Status Await(PJRT_Event* event);

// Memory of a client, counted; can be made to run out.
class CountingAllocator : public DeviceAllocator {
 public:
  explicit CountingAllocator(DeviceAllocator* base) : base_(base) {}
  Result<void*> Allocate(int64_t bytes) override;
  void Free(void* address) override;
  MemoryStats stats() const override { return base_->stats(); }

  std::atomic<int> live{0};
  std::atomic<int> allowed{1 << 30};  // allocations until it refuses

 private:
  DeviceAllocator* const base_;
};

// Owns a PJRT_Buffer.
class Buffer {
 public:
  explicit Buffer(PJRT_Buffer* b = nullptr) : b_(b) {}
  Buffer(Buffer&& other) noexcept : b_(other.b_) { other.b_ = nullptr; }
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer() { Reset(); }
  void Reset();
  PJRT_Buffer* get() const { return b_; }

  Result<std::vector<float>> Floats() const;  // through ToHostBuffer
  std::vector<float> Values() const;          // as Floats, which must succeed
  Status Ready() const;                       // waits for the ready event
  bool IsDeleted() const;
  Status Delete() const;
  void* Address() const;

 private:
  PJRT_Buffer* b_;
};

struct Outputs {
  std::vector<Buffer> buffers;
  PJRT_Event* complete = nullptr;
};

class Client {
 public:
  Client();                        // every chip, JAX style: failures do not poison
  explicit Client(int64_t table);  // TensorFlow style
  ~Client();

  PJRT_Client* get() const { return client_; }
  std::vector<PJRT_Device*> Devices() const;
  PJRT_Device* Device(size_t i = 0) const { return Devices()[i]; }

  Buffer FromHost(const std::vector<float>& values, PJRT_Device* device = nullptr) const;
  Buffer FromInts(const std::vector<int32_t>& values) const;
  Result<Buffer> View(void* address, int64_t n, std::function<void()>* on_delete) const;
  Result<PJRT_LoadedExecutable*> Compile(const std::string& code, const std::string& options = "") const;

 private:
  Buffer FromHost(const void* data, PJRT_Buffer_Type type, int64_t n, PJRT_Device* device) const;
  PJRT_Client* client_ = nullptr;
};

class Executable {
 public:
  Executable(const Client& client, const std::string& code);
  ~Executable();
  PJRT_LoadedExecutable* get() const { return executable_; }
  Result<Outputs> Run(const std::vector<PJRT_Buffer*>& arguments, std::vector<int64_t> non_donatable = {},
                      PJRT_Device* device = nullptr) const;
  // Run, which must succeed; the completion event is dropped.
  std::vector<Buffer> Outs(const std::vector<PJRT_Buffer*>& arguments, std::vector<int64_t> non_donatable = {}) const;

 private:
  PJRT_LoadedExecutable* executable_;
  size_t num_outputs_;
};

// A device table with one entry, MYCHIP:0, over `allocator`.
int64_t TableOf(CountingAllocator* allocator);

}  // namespace mychip::pjrt_test
