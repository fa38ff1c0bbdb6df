// Event: "work up to here is done", a value on a stream's timeline.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "mychip/runtime/export.h"
#include "mychip/runtime/status.h"

namespace mychip {

class StreamCore;
class Timeline;  // one per stream; outlives it while events refer to it

// Cheap to copy, thread-safe. A default-constructed event is done and ok.
class MYCHIP_API Event {
 public:
  Event() = default;
  Event(std::shared_ptr<Timeline> timeline, uint64_t value) : timeline_(std::move(timeline)), value_(value) {}
  // An event the host completes by Signal (PJRT host transfers).
  static Event Manual();
  // Already failed.
  static Event Failed(Status status);

  bool Done() const;  // never blocks
  // Blocks until done. The status of the work up to this event: the first failure of a command of its stream at or
  // before it that no earlier synchronisation had reported when the command was enqueued.
  Status Wait() const;
  Status status() const;  // ok while pending; after Done as Wait
  // Runs `fn` exactly once, when done: on the stream's completion thread, or on the caller's thread at once if done
  // already. `fn` must not block on work of any device.
  void OnDone(std::function<void(const Status&)> fn) const;
  void Signal(Status status) const;  // manual events only, once

 private:
  friend class StreamCore;
  std::shared_ptr<Timeline> timeline_;
  uint64_t value_ = 0;
};

}  // namespace mychip
