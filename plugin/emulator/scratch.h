// Per-thread scratch that nests: what a scope allocates lives until the scope ends. Memory stays with the thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mychip::emulator {

class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // 64-byte aligned, uninitialised. Throws std::bad_alloc (a command then fails with RESOURCE_EXHAUSTED).
  void* Allocate(size_t bytes);
  template <typename T>
  T* Array(int64_t n) {
    return static_cast<T*>(Allocate(static_cast<size_t>(n) * sizeof(T)));
  }

 private:
  size_t block_, used_;  // the thread's position when the scope began
};

}  // namespace mychip::emulator
