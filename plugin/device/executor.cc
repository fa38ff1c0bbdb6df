// Streams, events and host callbacks.
#include <map>
#include <mutex>
#include <utility>

#include "convert.h"

namespace mychip::device {
namespace {

// Which devices have a live handle to their compute stream. TensorFlow creates its compute stream before its copy
// streams, so the first handle of a device is that one; should TensorFlow destroy it, the next one takes its place.
std::mutex g_compute_mutex;
std::map<Device*, SP_Stream>& ComputeHandles() {
  static auto* const handles = new std::map<Device*, SP_Stream>;
  return *handles;
}

void CreateStream(const SP_Device* device, SP_Stream* out, TF_Status* status) {
  Device* chip = Chip(device);
  auto handle = std::make_unique<SP_Stream_st>();
  std::lock_guard<std::mutex> lock(g_compute_mutex);
  SP_Stream& compute = ComputeHandles()[chip];
  if (compute == nullptr) {
    handle->stream = chip->compute_stream();
    compute = handle.get();
  } else {
    handle->owned = chip->CreateStream();
    handle->stream = handle->owned.get();
  }
  *out = handle.release();
  Set(status, OkStatus());
}

void DestroyStream(const SP_Device* device, SP_Stream stream) {
  if (stream == nullptr) return;
  {
    std::lock_guard<std::mutex> lock(g_compute_mutex);
    SP_Stream& compute = ComputeHandles()[Chip(device)];
    if (compute == stream) compute = nullptr;
  }
  delete stream;
}

void StreamDependency(const SP_Device*, SP_Stream dependent, SP_Stream other, TF_Status* status) {
  Set(status, dependent->stream->Wait(other->stream->Record()));
}

void StreamStatus(const SP_Device*, SP_Stream stream, TF_Status* status) { Set(status, stream->stream->status()); }

void CreateEvent(const SP_Device*, SP_Event* event, TF_Status* status) {
  *event = new SP_Event_st;
  Set(status, OkStatus());
}

void DestroyEvent(const SP_Device*, SP_Event event) { delete event; }

SE_EventStatus EventStatus(const SP_Device*, SP_Event event) {
  if (!event->event.Done()) return SE_EVENT_PENDING;
  return event->event.status().ok() ? SE_EVENT_COMPLETE : SE_EVENT_ERROR;
}

void RecordEvent(const SP_Device*, SP_Stream stream, SP_Event event, TF_Status* status) {
  event->event = stream->stream->Record();
  Set(status, OkStatus());
}

void WaitForEvent(const SP_Device*, SP_Stream stream, SP_Event event, TF_Status* status) {
  Set(status, stream->stream->Wait(event->event));
}

void BlockForEvent(const SP_Device*, SP_Event event, TF_Status* status) { Set(status, event->event.Wait()); }

void BlockUntilDone(const SP_Device*, SP_Stream stream, TF_Status* status) {
  Set(status, stream->stream->Synchronize());
}

void SynchronizeAll(const SP_Device* device, TF_Status* status) { Set(status, Chip(device)->Synchronize()); }

// A callback that TensorFlow waits for and that frees its own argument: it runs exactly once. A poisoned stream
// destroys its callbacks instead of running them; then it runs there.
class Callback {
 public:
  Callback(SE_StatusCallbackFn fn, void* argument) : fn_(fn), argument_(argument) {}
  ~Callback() {
    if (fn_ != nullptr) (void)Run();
  }
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;

  Status Run() {
    const SE_StatusCallbackFn fn = std::exchange(fn_, nullptr);
    TF_Status* status = TF_NewStatus();
    fn(argument_, status);
    Status result(static_cast<Code>(TF_GetCode(status)), TF_Message(status));
    TF_DeleteStatus(status);
    return result;
  }

 private:
  SE_StatusCallbackFn fn_;
  void* argument_;
};

TF_Bool HostCallback(const SP_Device*, SP_Stream stream, SE_StatusCallbackFn fn, void* argument) {
  auto callback = std::make_shared<Callback>(fn, argument);
  return stream->stream->HostCallback([callback] { return callback->Run(); }).ok();
}

}  // namespace

void FillExecutor(SP_StreamExecutor* executor) {
  FillMemory(executor);
  FillTimer(executor);
  executor->create_stream = CreateStream;
  executor->destroy_stream = DestroyStream;
  executor->create_stream_dependency = StreamDependency;
  executor->get_stream_status = StreamStatus;
  executor->create_event = CreateEvent;
  executor->destroy_event = DestroyEvent;
  executor->get_event_status = EventStatus;
  executor->record_event = RecordEvent;
  executor->wait_for_event = WaitForEvent;
  executor->block_host_for_event = BlockForEvent;
  executor->block_host_until_done = BlockUntilDone;
  executor->synchronize_all_activity = SynchronizeAll;
  executor->host_callback = HostCallback;
}

}  // namespace mychip::device
