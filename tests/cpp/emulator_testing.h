// Helpers of the emulator tests: programs with one command over host memory, and a slow reference evaluator of bodies.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "mychip/emulator/chip.h"
#include "mychip/runtime/body.h"
#include "mychip/runtime/program.h"

namespace mychip::testing {

using Bytes = std::vector<uint8_t>;

template <typename T>
Bytes ToBytes(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <typename T>
std::vector<T> FromBytes(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

// Runs with copies of the buffers that touch an inaccessible page: at their end, every second call at their beginning.
// A unit that reads or writes outside its operands dies with SIGSEGV. The contents are copied back.
Status RunGuarded(const std::vector<Bytes*>& buffers,
                  const std::function<Status(const std::vector<uint8_t*>& addresses)>& run);

// Buffers of a launch, in order of creation; views name them by index.
class Memory {
 public:
  template <typename T>
  View Add(DType dtype, Dims dims, const std::vector<T>& values) {
    buffers_.push_back(ToBytes(values));
    return DenseView(static_cast<int>(buffers_.size()) - 1, 0, dtype, std::move(dims));
  }
  View Room(DType dtype, Dims dims) {
    buffers_.emplace_back(static_cast<size_t>(NumElements(dims) * ByteSize(dtype)), uint8_t{0xcd});
    return DenseView(static_cast<int>(buffers_.size()) - 1, 0, dtype, std::move(dims));
  }
  Bytes& bytes(int buffer) { return buffers_[buffer]; }
  template <typename T>
  std::vector<T> Read(const View& view) {
    return FromBytes<T>(buffers_[view.buffer]);
  }

  // Validates and runs the blocks; block 0 is the entry. Every buffer is an argument.
  Status RunBlocks(const std::vector<std::vector<CommandOp>>& blocks, Cost* cost = nullptr) {
    ProgramBuilder builder("test");
    for (const Bytes& b : buffers_) builder.Argument(static_cast<int64_t>(b.size()));
    for (const CommandOp& op : blocks[0]) builder.Add(op);
    for (size_t i = 1; i < blocks.size(); ++i) {
      builder.BeginBlock();
      for (const CommandOp& op : blocks[i]) builder.Add(op);
      builder.EndBlock();
    }
    Result<std::shared_ptr<const Program>> program = builder.Build();
    if (!program.ok()) return program.status();
    std::vector<Bytes*> buffers;
    for (Bytes& b : buffers_) buffers.push_back(&b);
    Cost total;
    Status status = RunGuarded(buffers, [&](const std::vector<uint8_t*>& addresses) {
      return emulator::Run(**program, addresses, nullptr, &total);
    });
    if (cost != nullptr) *cost = total;
    return status;
  }
  Status Run(const CommandOp& op) { return RunBlocks({{op}}); }

 private:
  std::vector<Bytes> buffers_;
};

#define EXPECT_OK(expr)                             \
  do {                                              \
    const ::mychip::Status status_ = (expr);        \
    EXPECT_TRUE(status_.ok()) << status_.message(); \
  } while (false)

// Calls fn(index) for every index of dims in row-major order.
inline void ForEach(const Dims& dims, const std::function<void(const Dims&)>& fn) {
  Dims index(dims.size(), 0);
  for (int64_t i = 0, n = NumElements(dims); i < n; ++i) {
    fn(index);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d]) break;
      index[d] = 0;
    }
  }
}

inline int64_t OffsetOf(const View& view, const Dims& index) {
  int64_t element = 0;
  for (size_t d = 0; d < index.size(); ++d) element += index[d] * view.strides[d];
  return view.offset + element * ByteSize(view.dtype);
}

// Units in the last place between two floats; 0 for equal values and for two NaNs.
inline int64_t UlpDistance(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : INT64_MAX;
  auto key = [](float x) {
    int32_t bits;
    std::memcpy(&bits, &x, 4);
    return static_cast<int64_t>(bits < 0 ? -(bits & 0x7fffffff) : bits);
  };
  return std::abs(key(a) - key(b));
}

// Runs `test` with 1, 2 and 3 cores and expects the same bytes each time.
void ExpectSameOnAllCores(const std::function<Bytes()>& test);

}  // namespace mychip::testing
