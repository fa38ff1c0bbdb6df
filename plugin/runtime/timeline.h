// Timeline: how far a stream has come. Shared by the stream, its worker and every event that refers to it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "mychip/runtime/event.h"

namespace mychip {

// For about `microseconds` looks whether `ready` holds, before the caller goes to sleep. Never longer: cores are few.
bool SpinUntil(const std::function<bool()>& ready, int microseconds);

class Timeline : public std::enable_shared_from_this<Timeline> {
 public:
  using Callback = std::function<void(const Status&)>;
  enum class Kind { kStream, kManual };
  enum class Where { kCompletionThread, kHere };  // kHere: on the thread that completes; must be short, must not lock

  explicit Timeline(Kind kind) : kind_(kind) {}

  bool Done(uint64_t value) const { return completed_.load(std::memory_order_acquire) >= value; }
  uint64_t completed() const { return completed_.load(std::memory_order_acquire); }
  // The status of the command at `value`; ok while it is pending.
  Status StatusAt(uint64_t value) const;
  Status Wait(uint64_t value);
  void OnDone(uint64_t value, Callback fn, Where where);

  // For the owner. Values rise by one. A command that was skipped carries the status that made it so.
  void Complete(uint64_t value, const Status& status);
  // Runs fn(status) where OnDone callbacks run.
  void Post(Callback fn, Status status);
  // Manual timelines: completes value 1; false when it already was.
  bool Signal(Status&& status);
  // No more Complete or Post follows. The completion thread ends when it has run everything.
  void Close();
  // Waits for that, unless called by the completion thread itself.
  void JoinCompletionThread();
  void DetachCompletionThread();
  bool CallbacksIdle() const;

  // Set for the threads that a stream owns: they must not wait for it.
  static thread_local const Timeline* worker_of;
  static thread_local const Timeline* completion_of;

 private:
  struct Pending {
    Callback fn;
    Where where;
  };
  struct Ready {
    Callback fn;
    Status status;
  };
  struct Failure {
    uint64_t first, last;
    Status status;
  };
  Status StatusLocked(uint64_t value) const;
  void Notify();
  // Gives callbacks to the completion thread; leaves those in `ready` that it could not (no thread). Needs mutex_.
  void HandOver(std::vector<Ready>* ready);
  void RunReady();

  const Kind kind_;
  std::atomic<uint64_t> completed_{0};
  std::atomic<int> watchers_{0};  // waiters and pending callbacks; Complete takes the lock only when there are any
  std::atomic<bool> has_failures_{false};
  mutable std::mutex mutex_;
  std::condition_variable done_;
  std::vector<Failure> failures_;  // rising, apart
  std::multimap<uint64_t, Pending> pending_;

  std::condition_variable ready_;
  std::deque<Ready> queue_;
  bool running_ = false, closed_ = false;
  std::thread thread_;
};

}  // namespace mychip
