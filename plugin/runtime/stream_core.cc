// The worker of a stream: takes commands in order, runs or skips them, and moves the timeline.
#include "stream_core.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include "device_impl.h"
#include "fault_points.h"
#include "mychip/emulator/chip.h"
#include "mychip/runtime/config.h"
#include "process.h"
#include "trace_sink.h"
#include "undefined.h"

namespace mychip {
namespace {

// Up to here a copy takes less time than waking the worker.
constexpr int64_t kLightBytes = 16 * 1024;

// How long a worker that ran dry looks for the next command before it sleeps: about the gap between two eager ops.
constexpr int kWorkerSpinMicroseconds = 20;

using Kind = StreamCommand::Kind;

Status Guarded(const char* what, const std::function<Status()>& fn) {
  try {
    return fn();
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("%s: out of host memory", what);
  } catch (const std::exception& e) {
    return Internal("%s: %s", what, e.what());
  } catch (...) {
    return Internal("%s: unknown exception", what);
  }
}

// Never one that runs a user's code, waits, or may take long.
bool Light(const StreamCommand& command) {
  switch (command.kind) {
    case Kind::kLaunch:
      return emulator::IsLight(*command.program);
    case Kind::kCallback:
    case Kind::kWait:
      return false;
    default:
      return command.bytes <= kLightBytes;
  }
}

const char* KindName(Kind kind) {
  switch (kind) {
    case Kind::kToDevice:
      return "copy_h2d";
    case Kind::kToHost:
      return "copy_d2h";
    case Kind::kOnDevice:
      return "copy_d2d";
    case Kind::kFill8:
    case Kind::kFill32:
      return "fill";
    case Kind::kCallback:
      return "callback";
    default:
      return "";
  }
}

void Fill32(uint8_t* dst, uint32_t pattern, int64_t bytes) {
  const uint32_t byte = pattern & 0xff;
  if (pattern == byte * 0x01010101u) {
    if (bytes > 0) std::memset(dst, static_cast<int>(byte), bytes);
    return;
  }
  constexpr int64_t kBlock = 4096;
  const int64_t first = std::min(bytes, kBlock);
  for (int64_t at = 0; at < first; at += 4) std::memcpy(dst + at, &pattern, 4);
  for (int64_t at = first; at < bytes; at += kBlock) std::memcpy(dst + at, dst, std::min(bytes - at, kBlock));
}

}  // namespace

Status StreamCore::Enqueue(StreamCommand command, uint64_t* value) {
  MYCHIP_RETURN_IF_ERROR(CheckProcess());
  bool wake = false, here = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (stop_) return FailedPrecondition("stream %d is being destroyed", id_);
    MYCHIP_RETURN_IF_ERROR(StartWorker());
    *value = tail_.load(std::memory_order_relaxed) + 1;
    command.value = *value;
    command.epoch = epoch_;
    here = sleeping_ && !running_here_ && queue_.empty() && Light(command);
    wake = sleeping_ && !running_here_;
    if (here) {
      running_here_ = true;
      taken_ = *value;
    } else {
      queue_.push_back(std::move(command));
    }
    tail_.store(*value, std::memory_order_release);
  }
  if (here) {
    RunHere(std::move(command));  // NOLINT(bugprone-use-after-move): it was queued only when not `here`
  } else if (wake) {
    wake_.notify_one();
  }
  return OkStatus();
}

void StreamCore::RunHere(StreamCommand command) {
  Process(std::move(command));
  bool wake = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    running_here_ = false;
    wake = !queue_.empty() || stop_;
  }
  if (wake) wake_.notify_one();
}

Status StreamCore::StartWorker() {
  if (worker_.joinable()) return OkStatus();
  try {
    worker_ = std::thread([self = shared_from_this()] { self->Work(); });
  } catch (const std::system_error& e) {
    return ResourceExhausted("MYCHIP:%d stream %d: cannot start its thread: %s", device_->ordinal(), id_, e.what());
  }
  return OkStatus();
}

Status StreamCore::unreported() const {
  if (Forked()) return CheckProcess();
  std::lock_guard<std::mutex> lock(mutex_);
  return unreported_;
}

Status StreamCore::TakeFailure() {
  Status failure;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (unreported_.ok()) return OkStatus();
    std::swap(failure, unreported_);
    ++epoch_;
  }
  // The timeline's last value is a failed one: an event recorded from here on must not name it.
  uint64_t value = 0;
  (void)Enqueue(StreamCommand(), &value);
  return failure;
}

void StreamCore::Stop(bool wait) {
  if (Forked()) {
    // The threads are gone, and a lock may be one that they held: keep everything where it lies.
    static auto* const kept = new std::vector<std::shared_ptr<StreamCore>>;
    static auto* const mutex = new std::mutex;
    std::lock_guard<std::mutex> lock(*mutex);
    kept->push_back(shared_from_this());
    return;
  }
  std::thread worker;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    detached_ = !wait || Exiting();
    worker.swap(worker_);
  }
  wake_.notify_all();
  if (!worker.joinable()) return;  // nothing was ever enqueued
  if (detached_) {
    worker.detach();
  } else {
    worker.join();
    timeline_->JoinCompletionThread();
  }
}

void StreamCore::Abandon() {
  abandoned_.store(true);
  { std::lock_guard<std::mutex> lock(mutex_); }  // so that a worker about to sleep sees it
  wake_.notify_all();
}

void StreamCore::Hold(const Event& event) {
  std::lock_guard<std::mutex> lock(mutex_);
  holds_.erase(std::remove_if(holds_.begin(), holds_.end(), [](const Event& e) { return e.Done(); }), holds_.end());
  holds_.push_back(event);
}

bool StreamCore::Held() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::any_of(holds_.begin(), holds_.end(), [](const Event& e) { return !e.Done(); });
}

bool StreamCore::Quiet() const { return Idle() && timeline_->CallbacksIdle(); }

bool StreamCore::NextBatch(std::deque<StreamCommand>* batch) {
  const auto ready = [this] { return tail_.load(std::memory_order_acquire) != taken_; };
  if (!ready()) SpinUntil(ready, kWorkerSpinMicroseconds);
  std::unique_lock<std::mutex> lock(mutex_);
  if (queue_.empty() && !stop_) {
    sleeping_ = true;
    wake_.wait(lock, [this] { return !running_here_ && (!queue_.empty() || stop_); });
    sleeping_ = false;
  }
  batch->swap(queue_);
  if (batch->empty()) return false;
  taken_ = batch->back().value;
  return true;
}

void StreamCore::Work() {
  Timeline::worker_of = timeline_.get();
  char name[16];
  std::snprintf(name, sizeof(name), "mychip%d-s%d", device_->ordinal(), id_);
  pthread_setname_np(pthread_self(), name);
  std::deque<StreamCommand> batch;
  while (NextBatch(&batch)) {
    for (; !batch.empty(); batch.pop_front()) Process(std::move(batch.front()));
  }
  if (Status left = unreported(); !left.ok() && !Exiting()) {
    Log(0, "MYCHIP:%d stream %d was destroyed with a failure that nobody asked for: %s", device_->ordinal(), id_,
        left.message().c_str());
  }
  timeline_->Close();
  std::lock_guard<std::mutex> lock(mutex_);
  if (detached_) timeline_->DetachCompletionThread();
}

void StreamCore::Process(StreamCommand command) {
  const uint64_t value = command.value;
  Status status;
  bool fresh = false;  // a failure of this command, not one it inherits
  if (abandoned_.load(std::memory_order_relaxed)) {
    status = Cancelled("the process is exiting");
    fresh = true;
  } else if (poisoned_ && command.epoch <= poison_epoch_) {
    status = poison_;
  } else if (command.kind != Kind::kNothing) {
    status = CheckDefined(command);
    if (status.ok()) status = Execute(&command);
    fresh = !status.ok();
  }
  // An isolated program's failure is its caller's affair, who does not hand the outputs on.
  if (!status.ok() && !command.done && !abandoned_.load(std::memory_order_relaxed)) MarkUndefined(command, status);
  if (command.done) {
    timeline_->Post(std::move(command.done), status);
    if (fresh) status = OkStatus(), fresh = false;
  }
  if (fresh) {
    std::lock_guard<std::mutex> lock(mutex_);
    poisoned_ = true;
    poison_epoch_ = command.epoch;
    poison_ = status;
    unreported_ = status;
  }
  command = StreamCommand();  // what it holds is released before its event is done
  timeline_->Complete(value, status);
}

Status StreamCore::ExecuteWait(const Event& event) {
  if (event.timeline_ == nullptr || event.Done()) return OkStatus();
  event.timeline_->OnDone(
      event.value_,
      [self = shared_from_this()](const Status&) {
        { std::lock_guard<std::mutex> lock(self->mutex_); }
        self->wake_.notify_all();
      },
      Timeline::Where::kHere);
  std::unique_lock<std::mutex> lock(mutex_);
  wake_.wait(lock, [&] { return event.Done() || abandoned_.load(); });
  return OkStatus();  // a failed event is its own stream's affair
}

Status StreamCore::Execute(StreamCommand* command) {
  if (command->kind == Kind::kWait) return ExecuteWait(command->event);
  const bool tracing = Tracing();
  const int64_t start = tracing ? RealtimeNs() : 0;
  Counters counters;
  Status status;
  switch (command->kind) {
    case Kind::kLaunch: {
      if (FaultHits(FaultPoint::kLaunch)) return InjectedFault(command->program->name.c_str());
      counters.programs = 1;
      emulator::CommandObserver observer;
      if (tracing) observer = CommandTracer(*command->program, device_->ordinal(), id_, command->enqueue_ns);
      status = Guarded(command->program->name.c_str(),
                       [&] { return emulator::Run(*command->program, command->buffers, observer, &counters.cost); });
      break;
    }
    case Kind::kToDevice:
    case Kind::kToHost:
    case Kind::kOnDevice: {
      if (FaultHits(FaultPoint::kCopy)) return InjectedFault(KindName(command->kind));
      if (command->bytes > 0) std::memmove(command->dst, command->src, command->bytes);
      const auto kind = command->kind == Kind::kToDevice ? CopyKind::kToDevice
                        : command->kind == Kind::kToHost ? CopyKind::kToHost
                                                         : CopyKind::kOnDevice;
      counters = CopyCounters(kind, command->bytes);
      break;
    }
    case Kind::kFill8:
      if (command->bytes > 0) std::memset(command->dst, static_cast<int>(command->pattern), command->bytes);
      counters = FillCounters(command->bytes);
      break;
    case Kind::kFill32:
      Fill32(command->dst, command->pattern, command->bytes);
      counters = FillCounters(command->bytes);
      break;
    case Kind::kCallback:
      status = Guarded("host callback", command->callback);
      break;
    case Kind::kWait:
    case Kind::kNothing:
      break;
  }
  device_->Count(counters);
  if (tracing && command->kind != Kind::kLaunch) {
    TraceRecord record;
    record.name = KindName(command->kind);
    record.unit = command->kind == Kind::kCallback ? Unit::kControl : Unit::kDma;
    record.device = device_->ordinal();
    record.stream = id_;
    record.enqueue_ns = command->enqueue_ns != 0 ? command->enqueue_ns : start;
    record.start_ns = start;
    record.end_ns = RealtimeNs();
    record.cost = counters.cost;
    AddTraceRecord(std::move(record));
  }
  return status;
}

}  // namespace mychip
