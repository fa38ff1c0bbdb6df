// Interval timers: the host's clock, read by callbacks that run in stream order.
#include <atomic>
#include <chrono>
#include <memory>

#include "convert.h"

namespace {

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Shared with the callbacks: TensorFlow may destroy a timer whose stop has not run yet.
struct Interval {
  std::atomic<int64_t> start{0}, stop{0};
};

}  // namespace

struct SP_Timer_st {
  std::shared_ptr<Interval> interval = std::make_shared<Interval>();
  mychip::Event stopped;
};

namespace mychip::device {
namespace {

void Create(const SP_Device*, SP_Timer* timer, TF_Status* status) {
  *timer = new SP_Timer_st;
  Set(status, OkStatus());
}

void Destroy(const SP_Device*, SP_Timer timer) { delete timer; }

void Start(const SP_Device*, SP_Stream stream, SP_Timer timer, TF_Status* status) {
  Set(status, stream->stream->HostCallback([interval = timer->interval] {
    interval->start = Now();
    return OkStatus();
  }));
}

void Stop(const SP_Device*, SP_Stream stream, SP_Timer timer, TF_Status* status) {
  Status enqueued = stream->stream->HostCallback([interval = timer->interval] {
    interval->stop = Now();
    return OkStatus();
  });
  timer->stopped = stream->stream->Record();
  Set(status, enqueued);
}

// Waits for the stop: an unfinished interval has no length. A failed stream never stopped it: 0.
uint64_t Nanoseconds(SP_Timer timer) {
  const Status stopped = timer->stopped.Wait();
  const int64_t length = timer->interval->stop - timer->interval->start;
  return stopped.ok() && length > 0 ? static_cast<uint64_t>(length) : 0;
}

}  // namespace

void FillTimer(SP_StreamExecutor* executor) {
  executor->create_timer = Create;
  executor->destroy_timer = Destroy;
  executor->start_timer = Start;
  executor->stop_timer = Stop;
}

void FillTimerFns(SP_TimerFns* fns) { fns->nanoseconds = Nanoseconds; }

}  // namespace mychip::device
