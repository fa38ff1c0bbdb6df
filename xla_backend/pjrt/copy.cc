// Device to device, and donation from one buffer object to another.
#include "api.h"
#include "buffer.h"
#include "client.h"
#include "error.h"
#include "event.h"
#include "mychip/runtime/device.h"

namespace mychip::pjrt {
namespace {

// The copy runs on the destination's stream: the fresh memory is ordered there. The source's memory is held until it is
// done, since its own device's stream knows nothing of it.
Result<PJRT_Buffer*> CopyTo(PJRT_Buffer* source, PJRT_Device* target) {
  if (target->client != source->device->client) {
    return InvalidArgument("cannot copy to a device of another PJRT client; copy through the host");
  }
  MYCHIP_ASSIGN_OR_RETURN(const ClientDevice chip, target->Chip());
  MYCHIP_ASSIGN_OR_RETURN(std::shared_ptr<Storage> storage, Storage::Allocate(chip, source->shape.bytes));
  Stream* const stream = chip.device->compute_stream();
  Event ready;
  Access access;  // let go outside the lock: that may run the owner's callback
  {
    const std::lock_guard<std::mutex> lock(source->device->enqueue_mu);
    MYCHIP_ASSIGN_OR_RETURN(access, Acquire(*source));
    Device* const from = access.storage->device();
    if (from != chip.device) {
      MYCHIP_RETURN_IF_ERROR(Order(access, from->compute_stream()));
      MYCHIP_RETURN_IF_ERROR(stream->Wait(from->compute_stream()->Record()));
    } else {
      MYCHIP_RETURN_IF_ERROR(Order(access, stream));
    }
    if (source->shape.bytes > 0) {
      MYCHIP_RETURN_IF_ERROR(stream->CopyOnDevice(storage->address(), access.storage->address(), source->shape.bytes));
    }
    const Event copied = stream->Record();
    access.storage->UsedUntil(copied);
    if (from != chip.device) copied.OnDone([held = access.storage](const Status&) {});
    ready = AllOf({access.ready, copied});
  }
  return new PJRT_Buffer(target, source->shape, std::move(storage), ready);
}

}  // namespace

Status Buffer_CopyToDevice(PJRT_Buffer_CopyToDevice_Args* args) {
  if (args->dst_device == nullptr) return InvalidArgument("dst_device is null");
  MYCHIP_ASSIGN_OR_RETURN(args->dst_buffer, CopyTo(args->buffer, args->dst_device));
  return OkStatus();
}

Status Buffer_CopyToMemory(PJRT_Buffer_CopyToMemory_Args* args) {
  if (args->dst_memory == nullptr) return InvalidArgument("dst_memory is null");
  MYCHIP_ASSIGN_OR_RETURN(args->dst_buffer, CopyTo(args->buffer, args->dst_memory->device));
  return OkStatus();
}

// The new buffer takes the memory over and is ready when the old one was and the caller's dependency has come.
Status Buffer_DonateWithControlDependency(PJRT_Buffer_DonateWithControlDependency_Args* args) {
  const std::lock_guard<std::mutex> lock(args->buffer->device->enqueue_mu);
  MYCHIP_ASSIGN_OR_RETURN(Access access, Acquire(*args->buffer));
  {
    const std::lock_guard<std::mutex> buffer_lock(args->buffer->mu);
    if (args->buffer->external_references > 0) {
      return FailedPrecondition("a buffer with external references cannot be donated");
    }
  }
  auto* const dependency = new Event(Event::Manual());
  args->callback_data = dependency;
  args->dependency_ready_callback = [](PJRT_Buffer_DonateWithControlDependency_Callback_Args* reply) {
    std::unique_ptr<Event> event(static_cast<Event*>(reply->callback_data));
    event->Signal(FromCaller(reply->error_code, reply->error_message, reply->error_message_size));
  };
  auto* out =
      new PJRT_Buffer(args->buffer->device, args->buffer->shape, access.storage, AllOf({access.ready, *dependency}));
  out->stream_ordered = false;
  Release(args->buffer, "donated");
  args->out_buffer = out;
  return OkStatus();
}

}  // namespace mychip::pjrt
