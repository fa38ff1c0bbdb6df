// What a stream is made of. Shared by the Stream object, its worker thread and the process-exit handler, so that none
// needs the others to be alive.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "mychip/runtime/stream.h"
#include "timeline.h"

namespace mychip {

class DeviceImpl;

struct StreamCommand {
  enum class Kind : uint8_t { kLaunch, kToDevice, kToHost, kOnDevice, kFill8, kFill32, kCallback, kWait, kNothing };
  Kind kind = Kind::kNothing;
  uint32_t pattern = 0;
  uint64_t value = 0;      // on the timeline
  uint64_t epoch = 0;      // how many failures had been reported when it was enqueued
  int64_t enqueue_ns = 0;  // only while tracing
  // Host addresses the emulator may touch, for copies and fills.
  uint8_t* dst = nullptr;
  const uint8_t* src = nullptr;
  int64_t bytes = 0;
  // Launches.
  std::shared_ptr<const Program> program;
  std::vector<uint8_t*> buffers;            // one per program buffer
  std::function<void(const Status&)> done;  // isolated launches: takes the program's failure
  // Callbacks and waits.
  std::function<Status()> callback;
  Event event;
};

class StreamCore : public std::enable_shared_from_this<StreamCore> {
 public:
  StreamCore(DeviceImpl* device, int id)
      : device_(device), id_(id), timeline_(std::make_shared<Timeline>(Timeline::Kind::kStream)) {}

  // Refused in a forked child and at exit; `value` receives the command's place on the timeline.
  Status Enqueue(StreamCommand command, uint64_t* value);
  uint64_t tail() const { return tail_.load(std::memory_order_acquire); }
  bool Idle() const { return timeline_->completed() >= tail(); }
  Status unreported() const;
  // After the work is done: the unreported failure, which from now on poisons nothing that is enqueued.
  Status TakeFailure();
  // Drains the queue, then ends the worker. With `wait` returns when both threads have ended.
  void Stop(bool wait);
  // Process exit: what has not started fails with CANCELLED, now.
  void Abandon();
  // MYCHIP_SYNC: what is enqueued behind an event that is still to come cannot be waited for, as the waiting thread may
  // be the one that signals it.
  void Hold(const Event& event);
  bool Held() const;
  bool Quiet() const;  // nothing queued or running, callbacks included

  DeviceImpl* device() const { return device_; }
  int id() const { return id_; }
  const std::shared_ptr<Timeline>& timeline() const { return timeline_; }

 private:
  Status StartWorker();  // needs mutex_
  void Work();
  void RunHere(StreamCommand command);
  bool NextBatch(std::deque<StreamCommand>* batch);
  void Process(StreamCommand command);
  Status Execute(StreamCommand* command);
  Status ExecuteWait(const Event& event);

  DeviceImpl* const device_;
  const int id_;
  const std::shared_ptr<Timeline> timeline_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<StreamCommand> queue_;
  std::atomic<uint64_t> tail_{0};  // value of the last command enqueued
  uint64_t taken_ = 0;             // of the runner: value of the last command taken
  uint64_t epoch_ = 0;
  bool sleeping_ = false, stop_ = false, detached_ = false;
  bool running_here_ = false;  // a thread that enqueued a light command runs it, in the sleeping worker's stead
  std::atomic<bool> abandoned_{false};
  std::vector<Event> holds_;  // MYCHIP_SYNC only
  std::thread worker_;

  // The failure that poisons commands of its epoch or an earlier one, and the part nobody has been told. All but
  // unreported_ belong to the thread that runs commands: the worker, or one inside RunHere.
  bool poisoned_ = false;
  uint64_t poison_epoch_ = 0;
  Status poison_, unreported_;
};

// The Stream that users hold.
class StreamImpl : public Stream {
 public:
  explicit StreamImpl(std::shared_ptr<StreamCore> core) : core_(std::move(core)) {}
  ~StreamImpl() override;
  Status Launch(std::shared_ptr<const Program> program, const std::vector<DeviceSpan>& arguments,
                DeviceSpan temp) override;
  Status LaunchIsolated(std::shared_ptr<const Program> program, const std::vector<DeviceSpan>& arguments,
                        DeviceSpan temp, std::function<void(const Status&)> done) override;
  Status CopyToDevice(void* dst, const void* host_src, int64_t bytes) override;
  Status CopyToHost(void* host_dst, const void* src, int64_t bytes) override;
  Status CopyOnDevice(void* dst, const void* src, int64_t bytes) override;
  Status Fill8(void* dst, uint8_t pattern, int64_t bytes) override;
  Status Fill32(void* dst, uint32_t pattern, int64_t bytes) override;
  Status HostCallback(std::function<Status()> fn) override;
  Event Record() override { return Event(core_->timeline(), core_->tail()); }
  Status Wait(const Event& event) override;
  Status Synchronize() override;
  Status status() const override { return core_->unreported(); }
  bool Idle() const override { return core_->Idle(); }
  Device* device() const override;
  int id() const override { return core_->id(); }

 private:
  Status Submit(StreamCommand command, bool report = true);
  Status PrepareLaunch(const std::shared_ptr<const Program>& program, const std::vector<DeviceSpan>& arguments,
                       DeviceSpan temp, StreamCommand* command) const;
  const std::shared_ptr<StreamCore> core_;
};

}  // namespace mychip
