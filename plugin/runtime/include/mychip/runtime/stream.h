// Stream: an in-order queue of commands with a worker thread. Nothing blocks but Synchronize and Event::Wait.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mychip/runtime/event.h"
#include "mychip/runtime/export.h"
#include "mychip/runtime/program.h"
#include "mychip/runtime/status.h"

namespace mychip {

class Device;

// Device memory handed to a command: address and size in bytes.
struct DeviceSpan {
  void* address = nullptr;
  int64_t bytes = 0;
};

// Thread-safe. After a failing command the stream is poisoned: later commands are skipped and their events carry the
// same status, until Synchronize has returned it once; then the stream works again. Idle means queue empty and nothing
// running. With MYCHIP_SYNC=1 every call returns only after its command ran, with that command's status.
class MYCHIP_API Stream {
 public:
  virtual ~Stream() = default;  // waits for the queue to drain; errors nobody asked for are logged

  // Checks counts, sizes and that every span lies in this device's memory now (INVALID_ARGUMENT, nothing enqueued),
  // then enqueues. `temp` may be empty when the program needs none. The caller may free the memory as soon as this
  // returns, if whoever gets it next uses it on this stream (or after an event of this stream).
  virtual Status Launch(std::shared_ptr<const Program> program, const std::vector<DeviceSpan>& arguments,
                        DeviceSpan temp) = 0;
  // As Launch, for a client that reports failures through events of its own (PJRT outside TensorFlow): `done` runs
  // once, where Event::OnDone callbacks run, with the program's status or with the one that made the stream skip it,
  // and the program's failure does not poison the stream. Not called when this returns an error (nothing was enqueued).
  // With MYCHIP_SYNC=1 a failure of the program goes to `done` only. This default serves streams without isolation:
  // there the failure poisons.
  virtual Status LaunchIsolated(std::shared_ptr<const Program> program, const std::vector<DeviceSpan>& arguments,
                                DeviceSpan temp, std::function<void(const Status&)> done) {
    MYCHIP_RETURN_IF_ERROR(Launch(std::move(program), arguments, temp));
    Record().OnDone(std::move(done));
    return OkStatus();
  }
  // Host memory of async copies must stay valid until the copy is done.
  virtual Status CopyToDevice(void* dst, const void* host_src, int64_t bytes) = 0;
  virtual Status CopyToHost(void* host_dst, const void* src, int64_t bytes) = 0;
  // src and dst may belong to different devices; the caller orders the other device's work by events.
  virtual Status CopyOnDevice(void* dst, const void* src, int64_t bytes) = 0;
  virtual Status Fill8(void* dst, uint8_t pattern, int64_t bytes) = 0;
  virtual Status Fill32(void* dst, uint32_t pattern, int64_t bytes) = 0;  // bytes: multiple of 4
  // Runs on the worker in order; a non-ok status poisons the stream.
  virtual Status HostCallback(std::function<Status()> fn) = 0;
  virtual Event Record() = 0;
  // Work enqueued after this waits for `event` (any device's). A failed event does not poison this stream.
  virtual Status Wait(const Event& event) = 0;
  // Blocks until all work enqueued so far is done; returns the first unreported failure and clears it.
  virtual Status Synchronize() = 0;
  // The unreported failure, without blocking or clearing it.
  virtual Status status() const = 0;
  virtual bool Idle() const = 0;
  virtual Device* device() const = 0;
  virtual int id() const = 0;  // per device, from 0
};

}  // namespace mychip
