// Buffers that do not come from an execution: from host data, over foreign memory, uninitialized, failed.
#include <cstring>

#include "api.h"
#include "buffer.h"
#include "client.h"
#include "error.h"
#include "event.h"
#include "mychip/runtime/device.h"
#include "strided.h"

namespace mychip::pjrt {
namespace {

struct HostArray {
  const void* data;
  bool copied;  // `data` is our staging copy
  std::shared_ptr<uint8_t[]> staging;
};

// The dense bytes to send: the caller's own when they are dense and stay, else a copy made now.
Result<HostArray> DenseHostData(const PJRT_Client_BufferFromHostBuffer_Args& args, const Shape& shape) {
  Dims strides = DenseByteStrides(shape);
  if (args.num_byte_strides != 0) {
    if (args.num_byte_strides != args.num_dims) {
      return InvalidArgument("%zu byte strides for %zu dimensions", args.num_byte_strides, args.num_dims);
    }
    if (args.byte_strides == nullptr) return InvalidArgument("byte_strides is null");
    strides.assign(args.byte_strides, args.byte_strides + args.num_byte_strides);
  }
  const bool dense = SameElements(shape, strides, DenseByteStrides(shape));
  if (dense && args.host_buffer_semantics != PJRT_HostBufferSemantics_kImmutableOnlyDuringCall) {
    return HostArray{args.data, false, nullptr};
  }
  std::shared_ptr<uint8_t[]> staging(new uint8_t[shape.bytes]);
  CopyStrided(shape, staging.get(), DenseByteStrides(shape), args.data, strides);
  return HostArray{staging.get(), true, staging};
}

}  // namespace

Status Client_BufferFromHostBuffer(PJRT_Client_BufferFromHostBuffer_Args* args) {
  MYCHIP_ASSIGN_OR_RETURN(PJRT_Device* const device, args->client->Target(args->device, args->memory));
  MYCHIP_ASSIGN_OR_RETURN(const Shape shape, MakeShape(args->type, args->dims, args->num_dims));
  MYCHIP_RETURN_IF_ERROR(RequireRowMajor(args->device_layout, shape));
  if (shape.bytes > 0 && args->data == nullptr) {
    return InvalidArgument("data is null for %s", ToString(shape.dtype, shape.dims).c_str());
  }
  MYCHIP_ASSIGN_OR_RETURN(const ClientDevice chip, device->Chip());
  MYCHIP_ASSIGN_OR_RETURN(const HostArray host, DenseHostData(*args, shape));
  MYCHIP_ASSIGN_OR_RETURN(std::shared_ptr<Storage> storage, Storage::Allocate(chip, shape.bytes));
  Event done;
  if (shape.bytes > 0) {
    Stream* const stream = chip.device->compute_stream();
    const std::lock_guard<std::mutex> lock(device->enqueue_mu);
    MYCHIP_RETURN_IF_ERROR(stream->CopyToDevice(storage->address(), host.data, shape.bytes));
    done = stream->Record();
  }
  if (host.copied) done.OnDone([staging = host.staging](const Status&) {});
  args->buffer = new PJRT_Buffer(device, shape, std::move(storage), done);
  args->buffer->failure_seen = FailureSeen::kByStream;
  args->done_with_host_buffer = MakeEvent(host.copied ? Event() : done);
  return OkStatus();
}

// `stream` is not waited for: work on SE memory and PJRT work share the device's compute stream.
Status Client_CreateViewOfDeviceBuffer(PJRT_Client_CreateViewOfDeviceBuffer_Args* args) {
  const bool has_memory = MYCHIP_PJRT_HAS(args, PJRT_Client_CreateViewOfDeviceBuffer_Args, memory);
  MYCHIP_ASSIGN_OR_RETURN(PJRT_Device* const device,
                          args->client->Target(args->device, has_memory ? args->memory : nullptr));
  MYCHIP_ASSIGN_OR_RETURN(const Shape shape, MakeShape(args->element_type, args->dims, args->num_dims));
  MYCHIP_RETURN_IF_ERROR(RequireRowMajor(args->layout, shape));
  MYCHIP_ASSIGN_OR_RETURN(const ClientDevice chip, device->Chip());
  std::function<void()> on_delete;
  if (args->on_delete_callback != nullptr) {
    on_delete = [callback = args->on_delete_callback, address = args->device_buffer_ptr,
                 arg = args->on_delete_callback_arg] { callback(address, arg); };
  }
  void* address = args->device_buffer_ptr;
  if (!chip.device->memory().Contains(address, shape.bytes)) {
    if (shape.bytes > 0) {
      return InvalidArgument("%p with %lld bytes does not lie in the memory of %s", address,
                             static_cast<long long>(shape.bytes), device->description.name.c_str());
    }
    // Empty arrays have no memory in some allocators; programs still want an address of the chip.
    MYCHIP_ASSIGN_OR_RETURN(auto stand_in, Storage::Allocate(chip, 0));
    address = stand_in->address();
    on_delete = [stand_in = std::move(stand_in), on_delete = std::move(on_delete)] {
      if (on_delete) on_delete();
    };
  }
  auto* buffer =
      new PJRT_Buffer(device, shape, Storage::Borrow(chip, address, shape.bytes, std::move(on_delete)), Event());
  buffer->is_view = true;
  args->buffer = buffer;
  return OkStatus();
}

Status Client_CreateUninitializedBuffer(PJRT_Client_CreateUninitializedBuffer_Args* args) {
  MYCHIP_ASSIGN_OR_RETURN(PJRT_Device* const device, args->client->Target(args->device, args->memory));
  MYCHIP_ASSIGN_OR_RETURN(const Shape shape,
                          MakeShape(args->shape_element_type, args->shape_dims, args->shape_num_dims));
  MYCHIP_RETURN_IF_ERROR(RequireRowMajor(args->shape_layout, shape));
  MYCHIP_ASSIGN_OR_RETURN(const ClientDevice chip, device->Chip());
  MYCHIP_ASSIGN_OR_RETURN(std::shared_ptr<Storage> storage, Storage::Allocate(chip, shape.bytes));
  args->buffer = new PJRT_Buffer(device, shape, std::move(storage), Event());
  return OkStatus();
}

Status Client_CreateErrorBuffer(PJRT_Client_CreateErrorBuffer_Args* args) {
  MYCHIP_ASSIGN_OR_RETURN(PJRT_Device* const device, args->client->Target(nullptr, args->memory));
  MYCHIP_ASSIGN_OR_RETURN(const Shape shape,
                          MakeShape(args->shape_element_type, args->shape_dims, args->shape_num_dims));
  const Status error = FromCaller(args->error_code, args->error_message, args->error_message_size);
  if (error.ok()) return InvalidArgument("an error buffer needs an error code other than OK");
  args->buffer = new PJRT_Buffer(device, shape, nullptr, Event::Failed(error));
  return OkStatus();
}

}  // namespace mychip::pjrt
