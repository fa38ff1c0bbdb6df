// PJRT_Buffer: an array on a device.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "device.h"
#include "element_types.h"
#include "mychip/runtime/event.h"
#include "storage.h"

namespace mychip::pjrt {

// How work enqueued later on the device's compute stream learns that a buffer's `ready` failed.
enum class FailureSeen {
  kByStream,   // it poisons the stream: such work is skipped
  kInOrder,    // `ready` is set by a program of the stream, before the completion callbacks of later programs run
  kByWaiting,  // neither
};

}  // namespace mychip::pjrt

struct PJRT_Buffer {
  PJRT_Buffer(PJRT_Device* owner, mychip::pjrt::Shape array, std::shared_ptr<mychip::pjrt::Storage> memory,
              mychip::Event when_ready);

  PJRT_Device* const device;
  const mychip::pjrt::Shape shape;
  const std::vector<int64_t> minor_to_major;  // what the layout queries point to

  mutable std::mutex mu;                           // guards what follows; taken inside the device's enqueue_mu
  std::shared_ptr<mychip::pjrt::Storage> storage;  // null once deleted or donated, and in error buffers
  mychip::Event ready;                             // the contents are there, or why not
  uint64_t ready_id = 0;  // buffers with the same id (not 0) share one `ready`: the outputs of one execution
  mychip::pjrt::FailureSeen failure_seen = mychip::pjrt::FailureSeen::kByWaiting;
  // The work that fills the buffer is on the device's compute stream already; otherwise users wait for `ready` there.
  bool stream_ordered = true;
  // A view: memory that the compute stream's work so far fills. `ready` means nothing.
  bool is_view = false;
  const char* gone = nullptr;  // "deleted", "donated": why storage is null
  int external_references = 0;
  std::shared_ptr<mychip::pjrt::Storage> referenced;  // kept while external_references > 0
};

namespace mychip::pjrt {

// What work on a buffer needs.
struct Access {
  std::shared_ptr<Storage> storage;
  Event ready;  // done and ok for views
  uint64_t ready_id = 0;
  FailureSeen failure_seen = FailureSeen::kByWaiting;
  bool stream_ordered = true;
};

// FAILED_PRECONDITION when deleted or donated; the buffer's own failure when it has failed by now.
Result<Access> Acquire(const PJRT_Buffer& buffer);
// Makes work enqueued next on the device's compute stream follow the contents. Call with enqueue_mu held.
Status Order(const Access& access, Stream* stream);
// No longer usable; `why` is a literal.
void Release(PJRT_Buffer* buffer, const char* why);

}  // namespace mychip::pjrt
