// Device to host: whole arrays in any host order, and raw bytes.
#include "api.h"
#include "buffer.h"
#include "error.h"
#include "event.h"
#include "failure.h"
#include "mychip/runtime/device.h"
#include "strided.h"

namespace mychip::pjrt {
namespace {

// Acquire, whose error is the caller's report of a failure that is known already.
Result<Access> AcquireToRead(const PJRT_Buffer& buffer) {
  Result<Access> access = Acquire(buffer);
  if (access.ok() || !FailuresPoison(buffer.device->client)) return access;
  MYCHIP_ASSIGN_OR_RETURN(const ClientDevice chip, buffer.device->Chip());
  Stream* const stream = chip.device->compute_stream();
  if (stream->status().message() == access.status().message()) FailureReported(stream);
  return access;
}

// Enqueues dst <- bytes [offset, offset + bytes) of the buffer; dst must stay until the event is done. The event fails
// when the buffer does.
Result<Event> CopyToHost(PJRT_Buffer* buffer, void* dst, int64_t offset, int64_t bytes) {
  Access access;  // let go outside the lock: that may run the owner's callback
  const std::lock_guard<std::mutex> lock(buffer->device->enqueue_mu);
  MYCHIP_ASSIGN_OR_RETURN(access, AcquireToRead(*buffer));
  if (bytes == 0) return access.ready;
  Stream* const stream = access.storage->device()->compute_stream();
  MYCHIP_RETURN_IF_ERROR(Order(access, stream));
  MYCHIP_RETURN_IF_ERROR(stream->CopyToHost(dst, static_cast<const char*>(access.storage->address()) + offset, bytes));
  const Event copied = stream->Record();
  access.storage->UsedUntil(copied);
  const Event done = AllOf({access.ready, copied});
  if (FailuresPoison(buffer->device->client)) {
    done.OnDone([stream](const Status& status) {
      if (!status.ok()) FailureReported(stream);
    });
  }
  return done;
}

Status CheckRange(const PJRT_Buffer& buffer, int64_t offset, int64_t bytes) {
  if (offset >= 0 && bytes >= 0 && offset <= buffer.shape.bytes && bytes <= buffer.shape.bytes - offset) {
    return OkStatus();
  }
  return InvalidArgument("offset %lld with %lld bytes reaches outside a buffer of %lld bytes",
                         static_cast<long long>(offset), static_cast<long long>(bytes),
                         static_cast<long long>(buffer.shape.bytes));
}

}  // namespace

Status Buffer_ToHostBuffer(PJRT_Buffer_ToHostBuffer_Args* args) {
  PJRT_Buffer* const buffer = args->src;
  const Shape& shape = buffer->shape;
  MYCHIP_ASSIGN_OR_RETURN(const Dims strides, HostByteStrides(args->host_layout, shape));
  MYCHIP_ASSIGN_OR_RETURN(const int64_t extent, HostExtent(shape, strides));
  if (args->dst == nullptr) {
    args->dst_size = extent;
    args->event = nullptr;
    return OkStatus();
  }
  if (args->dst_size < static_cast<size_t>(extent)) {
    return InvalidArgument("dst_size is %zu, %s needs %lld bytes", args->dst_size,
                           ToString(shape.dtype, shape.dims).c_str(), static_cast<long long>(extent));
  }
  if (SameElements(shape, strides, DenseByteStrides(shape))) {
    MYCHIP_ASSIGN_OR_RETURN(const Event done, CopyToHost(buffer, args->dst, 0, shape.bytes));
    args->event = MakeEvent(done);
    return OkStatus();
  }
  std::shared_ptr<uint8_t[]> staging(new uint8_t[shape.bytes]);
  MYCHIP_ASSIGN_OR_RETURN(const Event copied, CopyToHost(buffer, staging.get(), 0, shape.bytes));
  const Event spread = Event::Manual();
  copied.OnDone([staging, spread, shape, strides, dst = args->dst](const Status& status) {
    if (status.ok()) CopyStrided(shape, dst, strides, staging.get(), DenseByteStrides(shape));
    spread.Signal(status);
  });
  args->event = MakeEvent(spread);
  return OkStatus();
}

Status Buffer_CopyRawToHost(PJRT_Buffer_CopyRawToHost_Args* args) {
  MYCHIP_RETURN_IF_ERROR(CheckRange(*args->buffer, args->offset, args->transfer_size));
  if (args->dst == nullptr && args->transfer_size > 0) return InvalidArgument("dst is null");
  MYCHIP_ASSIGN_OR_RETURN(const Event done, CopyToHost(args->buffer, args->dst, args->offset, args->transfer_size));
  args->event = MakeEvent(done);
  return OkStatus();
}

// The destination comes later, by the callback; the copy is enqueued then, from memory held until then.
Status Buffer_CopyRawToHostFuture(PJRT_Buffer_CopyRawToHostFuture_Args* args) {
  MYCHIP_RETURN_IF_ERROR(CheckRange(*args->buffer, args->offset, args->transfer_size));
  struct Pending {
    PJRT_Buffer source;  // shares the memory, so the caller may drop its buffer
    int64_t offset, bytes;
    Event done;
  };
  MYCHIP_ASSIGN_OR_RETURN(Access access, Acquire(*args->buffer));
  auto* pending = new Pending{{args->buffer->device, args->buffer->shape, std::move(access.storage), access.ready},
                              args->offset,
                              args->transfer_size,
                              Event::Manual()};
  pending->source.stream_ordered = access.stream_ordered;
  args->event = MakeEvent(pending->done);
  args->callback_data = pending;
  args->future_ready_callback = [](PJRT_Buffer_CopyRawToHostFuture_Callback_Args* reply) {
    std::unique_ptr<Pending> pending(static_cast<Pending*>(reply->callback_data));
    const Status status = FromCaller(reply->error_code, reply->error_message, reply->error_message_size);
    if (!status.ok()) return pending->done.Signal(status);
    const Result<Event> copied = CopyToHost(&pending->source, reply->dst, pending->offset, pending->bytes);
    if (!copied.ok()) return pending->done.Signal(copied.status());
    copied->OnDone([done = pending->done](const Status& s) { done.Signal(s); });
  };
  return OkStatus();
}

}  // namespace mychip::pjrt
