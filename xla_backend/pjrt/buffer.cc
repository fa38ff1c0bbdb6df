// Queries, deletion, references. Transfers stand in to_host.cc, from_host.cc and copy.cc.
#include "buffer.h"

#include "api.h"
#include "client.h"
#include "event.h"
#include "mychip/runtime/device.h"

namespace {

std::vector<int64_t> Descending(size_t rank) {
  std::vector<int64_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(rank - 1 - i);
  return order;
}

}  // namespace

PJRT_Buffer::PJRT_Buffer(PJRT_Device* owner, mychip::pjrt::Shape array, std::shared_ptr<mychip::pjrt::Storage> memory,
                         mychip::Event when_ready)
    : device(owner),
      shape(std::move(array)),
      minor_to_major(Descending(shape.dims.size())),
      storage(std::move(memory)),
      ready(std::move(when_ready)) {}

namespace mychip::pjrt {
namespace {

Status Gone(const PJRT_Buffer& buffer) {
  return FailedPrecondition("buffer %s on %s was %s and cannot be used again",
                            ToString(buffer.shape.dtype, buffer.shape.dims).c_str(),
                            buffer.device->description.name.c_str(), buffer.gone);
}

}  // namespace

Result<Access> Acquire(const PJRT_Buffer& buffer) {
  const std::lock_guard<std::mutex> lock(buffer.mu);
  if (buffer.gone != nullptr) return Gone(buffer);
  if (buffer.ready.Done()) MYCHIP_RETURN_IF_ERROR(buffer.ready.status());
  if (buffer.storage == nullptr) return Internal("a buffer without memory and without an error");
  return Access{buffer.storage, buffer.ready, buffer.ready_id, buffer.failure_seen, buffer.stream_ordered};
}

Status Order(const Access& access, Stream* stream) {
  if (access.stream_ordered || access.ready.Done()) return OkStatus();
  return stream->Wait(access.ready);
}

void Release(PJRT_Buffer* buffer, const char* why) {
  std::shared_ptr<Storage> storage;  // let go outside the lock: it may run the owner's callback
  const std::lock_guard<std::mutex> lock(buffer->mu);
  if (buffer->gone == nullptr) buffer->gone = why;
  storage.swap(buffer->storage);
}

Status Buffer_Destroy(PJRT_Buffer_Destroy_Args* args) {
  delete args->buffer;
  return OkStatus();
}

Status Buffer_ElementType(PJRT_Buffer_ElementType_Args* args) {
  args->type = ToPjrt(args->buffer->shape.dtype);
  return OkStatus();
}

Status Buffer_Dimensions(PJRT_Buffer_Dimensions_Args* args) {
  args->dims = args->buffer->shape.dims.data();
  args->num_dims = args->buffer->shape.dims.size();
  return OkStatus();
}

Status Buffer_UnpaddedDimensions(PJRT_Buffer_UnpaddedDimensions_Args* args) {
  args->unpadded_dims = args->buffer->shape.dims.data();
  args->num_dims = args->buffer->shape.dims.size();
  return OkStatus();
}

// Shapes on the chip are static: dynamic dimensions are padded away by the passes.
Status Buffer_DynamicDimensionIndices(PJRT_Buffer_DynamicDimensionIndices_Args* args) {
  args->dynamic_dim_indices = nullptr;
  args->num_dynamic_dims = 0;
  return OkStatus();
}

Status Buffer_GetMemoryLayout(PJRT_Buffer_GetMemoryLayout_Args* args) {
  args->layout = {};
  args->layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
  args->layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  args->layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
  args->layout.tiled.minor_to_major = args->buffer->minor_to_major.data();
  args->layout.tiled.minor_to_major_size = args->buffer->minor_to_major.size();
  return OkStatus();
}

Status Buffer_OnDeviceSizeInBytes(PJRT_Buffer_OnDeviceSizeInBytes_Args* args) {
  args->on_device_size_in_bytes = args->buffer->shape.bytes;
  return OkStatus();
}

Status Buffer_Device(PJRT_Buffer_Device_Args* args) {
  args->device = args->buffer->device;
  return OkStatus();
}

Status Buffer_Memory(PJRT_Buffer_Memory_Args* args) {
  args->memory = &args->buffer->device->memory;
  return OkStatus();
}

Status Buffer_IsOnCpu(PJRT_Buffer_IsOnCpu_Args* args) {
  args->is_on_cpu = false;
  return OkStatus();
}

Status Buffer_Delete(PJRT_Buffer_Delete_Args* args) {
  Release(args->buffer, "deleted");
  return OkStatus();
}

Status Buffer_IsDeleted(PJRT_Buffer_IsDeleted_Args* args) {
  const std::lock_guard<std::mutex> lock(args->buffer->mu);
  args->is_deleted = args->buffer->gone != nullptr;
  return OkStatus();
}

Status Buffer_ReadyEvent(PJRT_Buffer_ReadyEvent_Args* args) {
  const std::lock_guard<std::mutex> lock(args->buffer->mu);
  if (args->buffer->gone != nullptr) {
    args->event = MakeEvent(Event::Failed(Gone(*args->buffer)));
  } else if (args->buffer->is_view) {
    args->event = MakeEvent(args->buffer->storage->device()->compute_stream()->Record());
  } else {
    args->event = MakeEvent(args->buffer->ready);
  }
  return OkStatus();
}

Status Buffer_UnsafePointer(PJRT_Buffer_UnsafePointer_Args* args) {
  PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args opaque{};
  opaque.buffer = args->buffer;
  MYCHIP_RETURN_IF_ERROR(Buffer_OpaqueDeviceMemoryDataPointer(&opaque));
  args->buffer_pointer = reinterpret_cast<uintptr_t>(opaque.device_memory_ptr);
  return OkStatus();
}

// Still answers for a deleted buffer that is referenced from outside: that is what the reference is for.
Status Buffer_OpaqueDeviceMemoryDataPointer(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args* args) {
  const std::lock_guard<std::mutex> lock(args->buffer->mu);
  const Storage* storage = args->buffer->referenced ? args->buffer->referenced.get() : args->buffer->storage.get();
  if (storage == nullptr) {
    if (args->buffer->gone != nullptr) return Gone(*args->buffer);
    return args->buffer->ready.status();
  }
  args->device_memory_ptr = storage->address();
  return OkStatus();
}

Status Buffer_IncreaseExternalReferenceCount(PJRT_Buffer_IncreaseExternalReferenceCount_Args* args) {
  const std::lock_guard<std::mutex> lock(args->buffer->mu);
  if (args->buffer->gone != nullptr) return Gone(*args->buffer);
  if (args->buffer->storage == nullptr) return args->buffer->ready.status();
  if (args->buffer->external_references++ == 0) args->buffer->referenced = args->buffer->storage;
  return OkStatus();
}

Status Buffer_DecreaseExternalReferenceCount(PJRT_Buffer_DecreaseExternalReferenceCount_Args* args) {
  std::shared_ptr<Storage> last;
  const std::lock_guard<std::mutex> lock(args->buffer->mu);
  if (args->buffer->external_references == 0) {
    return FailedPrecondition("the external reference count of this buffer is 0 already");
  }
  if (--args->buffer->external_references == 0) last.swap(args->buffer->referenced);
  return OkStatus();
}

}  // namespace mychip::pjrt
