#include "async_transfer.h"

#include "api.h"
#include "client.h"
#include "error.h"
#include "event.h"
#include "mychip/runtime/device.h"
#include "strided.h"

namespace mychip::pjrt {
namespace {

using Manager = PJRT_AsyncHostToDeviceTransferManager;

Result<std::shared_ptr<IncomingBuffer>> At(const Manager& manager, int index) {
  if (index >= 0 && index < static_cast<int>(manager.buffers.size())) return manager.buffers[index];
  return InvalidArgument("buffer index %d, the transfer manager has %zu", index, manager.buffers.size());
}

// Signals `ready` when nothing is outstanding; call with mu held, then signal outside.
bool Finish(IncomingBuffer* buffer) {
  if (buffer->finished || buffer->copies > 0 || (!buffer->last && buffer->failure.ok())) return false;
  buffer->finished = true;
  return true;
}

// One copy has ended, or (copies == 0 before) something else has changed.
void Ended(const std::shared_ptr<IncomingBuffer>& buffer, const Status& status, int copies) {
  bool finished;
  {
    const std::lock_guard<std::mutex> lock(buffer->mu);
    buffer->copies -= copies;
    if (buffer->failure.ok()) buffer->failure = status;
    finished = Finish(buffer.get());
  }
  if (finished) buffer->ready.Signal(buffer->failure);
}

// Enqueues the piece once the memory's former users are done; `keep` lives until the copy is.
Result<Event> Transfer(const Manager& manager, const std::shared_ptr<IncomingBuffer>& buffer, const void* data,
                       int64_t offset, int64_t bytes, bool last, std::shared_ptr<void> keep) {
  if (offset < 0 || bytes < 0 || offset > buffer->shape.bytes || bytes > buffer->shape.bytes - offset) {
    return InvalidArgument("offset %lld with %lld bytes reaches outside a buffer of %lld bytes",
                           static_cast<long long>(offset), static_cast<long long>(bytes),
                           static_cast<long long>(buffer->shape.bytes));
  }
  if (bytes > 0 && data == nullptr) return InvalidArgument("data is null");
  {
    const std::lock_guard<std::mutex> lock(buffer->mu);
    if (buffer->last) return FailedPrecondition("the last piece of this buffer has been transferred already");
    if (!buffer->failure.ok()) return buffer->failure;
    buffer->last = last;
    ++buffer->copies;
  }
  const Event done = Event::Manual();
  manager.memory_free.OnDone([=, stream = manager.stream](const Status&) {
    const Status enqueued =
        bytes == 0 ? OkStatus()
                   : stream->CopyToDevice(static_cast<char*>(buffer->storage->address()) + offset, data, bytes);
    const Event copied = enqueued.ok() ? stream->Record() : Event::Failed(enqueued);
    copied.OnDone([buffer, done, keep](const Status& status) {
      Ended(buffer, status, 1);
      done.Signal(status);
    });
  });
  return done;
}

}  // namespace

Status Client_CreateBuffersForAsyncHostToDevice(PJRT_Client_CreateBuffersForAsyncHostToDevice_Args* args) {
  MYCHIP_ASSIGN_OR_RETURN(PJRT_Device* const device, args->client->Target(nullptr, args->memory));
  MYCHIP_ASSIGN_OR_RETURN(const ClientDevice chip, device->Chip());
  if (args->device_layouts != nullptr && args->num_device_layouts != args->num_shape_specs) {
    return InvalidArgument("%zu device layouts for %zu shapes", args->num_device_layouts, args->num_shape_specs);
  }
  auto manager = std::make_unique<Manager>();
  manager->device = device;
  for (size_t i = 0; i < args->num_shape_specs; ++i) {
    const PJRT_ShapeSpec& spec = args->shape_specs[i];
    auto buffer = std::make_shared<IncomingBuffer>();
    MYCHIP_ASSIGN_OR_RETURN(buffer->shape, MakeShape(spec.element_type, spec.dims, spec.num_dims));
    MYCHIP_RETURN_IF_ERROR(
        RequireRowMajor(args->device_layouts == nullptr ? nullptr : args->device_layouts[i], buffer->shape));
    MYCHIP_ASSIGN_OR_RETURN(buffer->storage, Storage::Allocate(chip, buffer->shape.bytes));
    manager->buffers.push_back(std::move(buffer));
  }
  manager->stream = device->TransferStream(chip.device);
  manager->memory_free = chip.device->compute_stream()->Record();
  args->transfer_manager = manager.release();
  return OkStatus();
}

// Buffers that never got their last piece fail, so that nobody waits for them for ever.
Status AsyncHostToDeviceTransferManager_Destroy(PJRT_AsyncHostToDeviceTransferManager_Destroy_Args* args) {
  const std::unique_ptr<Manager> manager(args->transfer_manager);
  if (manager == nullptr) return OkStatus();
  for (const auto& buffer : manager->buffers) {
    bool complete;
    {
      const std::lock_guard<std::mutex> lock(buffer->mu);
      complete = buffer->last;
    }
    if (!complete) Ended(buffer, Cancelled("the transfer manager was destroyed before all data had come"), 0);
  }
  return OkStatus();
}

Status AsyncHostToDeviceTransferManager_TransferData(PJRT_AsyncHostToDeviceTransferManager_TransferData_Args* args) {
  MYCHIP_ASSIGN_OR_RETURN(const auto buffer, At(*args->transfer_manager, args->buffer_index));
  MYCHIP_ASSIGN_OR_RETURN(const Event done, Transfer(*args->transfer_manager, buffer, args->data, args->offset,
                                                     args->transfer_size, args->is_last_transfer, nullptr));
  args->done_with_h2d_transfer = MakeEvent(done);
  return OkStatus();
}

Status AsyncHostToDeviceTransferManager_TransferLiteral(
    PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args* args) {
  MYCHIP_ASSIGN_OR_RETURN(const auto buffer, At(*args->transfer_manager, args->buffer_index));
  MYCHIP_ASSIGN_OR_RETURN(const Shape shape,
                          MakeShape(args->shape_element_type, args->shape_dims, args->shape_num_dims));
  if (shape.dtype != buffer->shape.dtype || shape.dims != buffer->shape.dims) {
    return InvalidArgument("a literal %s for a buffer %s", ToString(shape.dtype, shape.dims).c_str(),
                           ToString(buffer->shape.dtype, buffer->shape.dims).c_str());
  }
  MYCHIP_ASSIGN_OR_RETURN(const Dims strides, HostByteStrides(args->shape_layout, shape));
  if (shape.bytes > 0 && args->data == nullptr) return InvalidArgument("data is null");
  const void* data = args->data;
  std::shared_ptr<uint8_t[]> staging;
  if (!SameElements(shape, strides, DenseByteStrides(shape))) {
    staging.reset(new uint8_t[shape.bytes]);
    CopyStrided(shape, staging.get(), DenseByteStrides(shape), args->data, strides);
    data = staging.get();
  }
  MYCHIP_ASSIGN_OR_RETURN(const Event done,
                          Transfer(*args->transfer_manager, buffer, data, 0, shape.bytes, /*last=*/true, staging));
  args->done_with_h2d_transfer = MakeEvent(done);
  return OkStatus();
}

Status AsyncHostToDeviceTransferManager_RetrieveBuffer(
    PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args* args) {
  MYCHIP_ASSIGN_OR_RETURN(const auto buffer, At(*args->transfer_manager, args->buffer_index));
  const std::lock_guard<std::mutex> lock(buffer->mu);
  if (buffer->retrieved) return FailedPrecondition("buffer %d has been retrieved already", args->buffer_index);
  buffer->retrieved = true;
  auto* out = new PJRT_Buffer(args->transfer_manager->device, buffer->shape, buffer->storage, buffer->ready);
  out->stream_ordered = false;
  args->buffer_out = out;
  return OkStatus();
}

Status AsyncHostToDeviceTransferManager_Device(PJRT_AsyncHostToDeviceTransferManager_Device_Args* args) {
  args->device_out = args->transfer_manager->device;
  return OkStatus();
}

Status AsyncHostToDeviceTransferManager_BufferCount(PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args* args) {
  args->buffer_count = args->transfer_manager->buffers.size();
  return OkStatus();
}

Status AsyncHostToDeviceTransferManager_BufferSize(PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args* args) {
  MYCHIP_ASSIGN_OR_RETURN(const auto buffer, At(*args->transfer_manager, args->buffer_index));
  args->buffer_size = buffer->shape.bytes;
  return OkStatus();
}

Status AsyncHostToDeviceTransferManager_SetBufferError(
    PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args* args) {
  MYCHIP_ASSIGN_OR_RETURN(const auto buffer, At(*args->transfer_manager, args->buffer_index));
  const Status error = FromCaller(args->error_code, args->error_message, args->error_message_size);
  if (error.ok()) return InvalidArgument("a buffer error needs an error code other than OK");
  Ended(buffer, error, 0);
  return OkStatus();
}

// Metadata describes the transfer to the framework's own logs; the chip has no use for it.
Status AsyncHostToDeviceTransferManager_AddMetadata(PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args*) {
  return OkStatus();
}

}  // namespace mychip::pjrt
