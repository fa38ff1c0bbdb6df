// Helpers of the runtime tests.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "mychip/runtime/device.h"
#include "mychip/runtime/program.h"

namespace mychip::testing {

#define EXPECT_OK(expr)                                              \
  do {                                                               \
    const ::mychip::Status status_ = (expr);                         \
    EXPECT_TRUE(status_.ok()) << #expr << ": " << status_.message(); \
  } while (false)
#define ASSERT_OK(expr)                                              \
  do {                                                               \
    const ::mychip::Status status_ = (expr);                         \
    ASSERT_TRUE(status_.ok()) << #expr << ": " << status_.message(); \
  } while (false)

// The code, and every given piece of the message.
inline void ExpectError(const Status& status, Code code, const std::vector<std::string>& pieces) {
  EXPECT_EQ(static_cast<int>(status.code()), static_cast<int>(code)) << status.message();
  for (const std::string& piece : pieces) {
    EXPECT_NE(status.message().find(piece), std::string::npos) << "no '" << piece << "' in: " << status.message();
  }
}

// A door that commands wait at.
class Gate {
 public:
  void Open() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
  }
  void Pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void WaitUntilArrived() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return arrived_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int arrived_ = 0;
};

inline Device* TheDevice(int ordinal = 0) {
  Result<Device*> device = Device::Get(ordinal);
  if (!device.ok()) ADD_FAILURE() << device.status().message();
  return device.value();
}

// Device memory that is freed at the end.
class Block {
 public:
  Block(Device* device, int64_t bytes) : device_(device), bytes_(bytes) {
    Result<void*> address = device->memory().Allocate(bytes);
    if (!address.ok()) ADD_FAILURE() << address.status().message();
    address_ = address.value();
  }
  ~Block() { EXPECT_OK(device_->memory().Free(address_)); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  void* address() const { return address_; }
  DeviceSpan span() const { return {address_, bytes_}; }

 private:
  Device* const device_;
  const int64_t bytes_;
  void* address_ = nullptr;
};

// y = x + 1 over `count` f32.
inline std::shared_ptr<const Program> AddOne(int64_t count) {
  ProgramBuilder builder("add_one");
  const int x = builder.Argument(count * 4), y = builder.Argument(count * 4);
  BodyBuilder body;
  const int sum = body.Binary(VOp::kAdd, body.Param(0, DType::kF32), body.Const(DType::kF32, 1));
  VectorCmd add;
  add.dims = {count};
  add.inputs = {DenseView(x, 0, DType::kF32, {count})};
  add.outputs = {DenseView(y, 0, DType::kF32, {count})};
  add.body = body.Build({sum});
  builder.SetSource(builder.AddSource({"add.1", "AddV2", "model.py:7"}));
  builder.Add(std::move(add));
  auto program = builder.Build();
  if (!program.ok()) ADD_FAILURE() << program.status().message();
  return std::move(program).value();
}

// At least one command of every kind; valid.
Program EveryCommand();

}  // namespace mychip::testing
