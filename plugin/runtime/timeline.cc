#include "timeline.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <system_error>

#include "mychip/runtime/config.h"
#include "process.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace mychip {
namespace {

constexpr int kWaitSpinMicroseconds = 10;

int64_t MonotonicNs() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * int64_t{1'000'000'000} + t.tv_nsec;
}

void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

thread_local const Timeline* Timeline::worker_of = nullptr;
thread_local const Timeline* Timeline::completion_of = nullptr;

bool SpinUntil(const std::function<bool()>& ready, int microseconds) {
  static const bool alone = std::thread::hardware_concurrency() < 2;
  if (alone) return ready();
  const int64_t end = MonotonicNs() + microseconds * int64_t{1000};
  do {
    for (int i = 0; i < 16; ++i) {
      if (ready()) return true;
      Pause();
    }
  } while (MonotonicNs() < end);
  return ready();
}

Status Timeline::StatusLocked(uint64_t value) const {
  const auto after = std::upper_bound(failures_.begin(), failures_.end(), value,
                                      [](uint64_t v, const Failure& f) { return v < f.first; });
  if (after == failures_.begin()) return OkStatus();
  const Failure& failure = *std::prev(after);
  return value <= failure.last ? failure.status : OkStatus();
}

Status Timeline::StatusAt(uint64_t value) const {
  if (!Done(value) || !has_failures_.load(std::memory_order_acquire)) return OkStatus();
  if (Forked()) return CheckProcess();
  std::lock_guard<std::mutex> lock(mutex_);
  return StatusLocked(value);
}

Status Timeline::Wait(uint64_t value) {
  if (Done(value)) return StatusAt(value);
  if (Forked()) return CheckProcess();
  if (worker_of == this) {
    return FailedPrecondition("a callback of a stream waits for later work of the same stream, which cannot end");
  }
  if (SpinUntil([&] { return Done(value); }, kWaitSpinMicroseconds)) return StatusAt(value);
  watchers_.fetch_add(1);
  {
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [&] { return completed_.load() >= value; });
  }
  watchers_.fetch_sub(1);
  return StatusAt(value);
}

void Timeline::OnDone(uint64_t value, Callback fn, Where where) {
  if (Forked()) return fn(CheckProcess());
  watchers_.fetch_add(1);
  Status status;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (completed_.load() < value) {
      pending_.emplace(value, Pending{std::move(fn), where});
      return;
    }
    status = StatusLocked(value);
  }
  watchers_.fetch_sub(1);
  fn(status);
}

void Timeline::Complete(uint64_t value, const Status& status) {
  if (!status.ok()) {
    std::lock_guard<std::mutex> lock(mutex_);
    // A run of commands skipped for one reason is one entry: the first message of a status is its identity.
    if (!failures_.empty() && failures_.back().last + 1 == value &&
        &failures_.back().status.message() == &status.message()) {
      failures_.back().last = value;
    } else {
      failures_.push_back({value, value, status});
    }
    has_failures_.store(true, std::memory_order_release);
  }
  completed_.store(value);  // sequentially consistent, as is the next line: either this thread sees the watcher
  if (watchers_.load() != 0) Notify();  // or the watcher sees the value
}

void Timeline::Notify() {
  std::vector<Ready> here, there;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto end = pending_.upper_bound(completed_.load());
    for (auto it = pending_.begin(); it != end; ++it) {
      auto& list = it->second.where == Where::kHere || kind_ == Kind::kManual ? here : there;
      list.push_back({std::move(it->second.fn), StatusLocked(it->first)});
    }
    watchers_.fetch_sub(static_cast<int>(std::distance(pending_.begin(), end)));
    pending_.erase(pending_.begin(), end);
    HandOver(&there);
  }
  done_.notify_all();
  for (const auto* list : {&here, &there}) {
    for (const Ready& ready : *list) ready.fn(ready.status);
  }
}

void Timeline::HandOver(std::vector<Ready>* ready) {
  if (ready->empty()) return;
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([self = shared_from_this()] { self->RunReady(); });
    } catch (const std::system_error& e) {
      Log(0, "cannot start a completion thread (%s); callbacks run on the worker", e.what());
      return;
    }
  }
  for (Ready& item : *ready) queue_.push_back(std::move(item));
  ready->clear();
  ready_.notify_one();
}

void Timeline::Post(Callback fn, Status status) {
  std::vector<Ready> ready;
  ready.push_back({std::move(fn), std::move(status)});
  {
    std::lock_guard<std::mutex> lock(mutex_);
    HandOver(&ready);
  }
  for (const Ready& left : ready) left.fn(left.status);
}

void Timeline::RunReady() {
  completion_of = this;
  pthread_setname_np(pthread_self(), "mychip-done");
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    ready_.wait(lock, [this] { return !queue_.empty() || closed_; });
    if (queue_.empty()) return;
    Ready item = std::move(queue_.front());
    queue_.pop_front();
    running_ = true;
    lock.unlock();
    item.fn(item.status);
    item = Ready();  // what the callback holds is released before the stream counts as idle
    lock.lock();
    running_ = false;
  }
}

bool Timeline::Signal(Status&& status) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (kind_ != Kind::kManual || closed_) return false;
    closed_ = true;
  }
  const Status taken = std::move(status);
  Complete(1, taken);
  return true;
}

void Timeline::Close() {
  std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  ready_.notify_all();
}

void Timeline::JoinCompletionThread() {
  std::thread thread;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    thread.swap(thread_);
  }
  if (!thread.joinable()) return;
  if (completion_of == this || Exiting()) {
    thread.detach();
  } else {
    thread.join();
  }
}

void Timeline::DetachCompletionThread() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (thread_.joinable()) thread_.detach();
}

bool Timeline::CallbacksIdle() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return queue_.empty() && !running_;
}

Event Event::Manual() { return Event(std::make_shared<Timeline>(Timeline::Kind::kManual), 1); }

Event Event::Failed(Status status) {
  Event event = Manual();
  event.timeline_->Signal(std::move(status));
  return event;
}

bool Event::Done() const { return timeline_ == nullptr || timeline_->Done(value_); }
Status Event::Wait() const { return timeline_ == nullptr ? OkStatus() : timeline_->Wait(value_); }
Status Event::status() const { return timeline_ == nullptr ? OkStatus() : timeline_->StatusAt(value_); }

void Event::OnDone(std::function<void(const Status&)> fn) const {
  if (timeline_ == nullptr) return fn(OkStatus());
  timeline_->OnDone(value_, std::move(fn), Timeline::Where::kCompletionThread);
}

void Event::Signal(Status status) const {
  if (timeline_ == nullptr || !timeline_->Signal(std::move(status))) {
    Log(0, "Event::Signal of an event that is no pending manual one; ignored");
  }
}

}  // namespace mychip
