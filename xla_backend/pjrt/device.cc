#include "device.h"

#include "api.h"
#include "client.h"
#include "mychip/runtime/device.h"

PJRT_DeviceDescription::PJRT_DeviceDescription(int id)
    : id(id),
      kind("MYCHIP"),
      name(mychip::pjrt::DeviceName(id)),
      debug_string(name + " (emulated chip, " + std::to_string(mychip::chip::kCores) + " cores)") {
  attributes.Add("num_cores", static_cast<int64_t>(mychip::chip::kCores));
  attributes.Add("clock_hz", mychip::chip::kClockHz);
  attributes.Add("scratchpad_bytes_per_core", mychip::chip::kScratchpadBytes);
  attributes.Add("memory_bytes_per_cycle", mychip::chip::kMemoryBytesPerCycle);
}

mychip::Result<mychip::ClientDevice> PJRT_Device::Chip() const { return client->Chip(id); }

mychip::Stream* PJRT_Device::TransferStream(mychip::Device* chip) {
  const std::lock_guard<std::mutex> lock(enqueue_mu);
  if (transfer_stream_ == nullptr) transfer_stream_ = chip->CreateStream();
  return transfer_stream_.get();
}

namespace mychip::pjrt {

std::string DeviceName(int id) { return "MYCHIP:" + std::to_string(id); }

Status DeviceDescription_Id(PJRT_DeviceDescription_Id_Args* args) {
  args->id = args->device_description->id;
  return OkStatus();
}

Status DeviceDescription_ProcessIndex(PJRT_DeviceDescription_ProcessIndex_Args* args) {
  args->process_index = 0;
  return OkStatus();
}

Status DeviceDescription_Attributes(PJRT_DeviceDescription_Attributes_Args* args) {
  args->attributes = args->device_description->attributes.data();
  args->num_attributes = args->device_description->attributes.size();
  return OkStatus();
}

Status DeviceDescription_Kind(PJRT_DeviceDescription_Kind_Args* args) {
  args->device_kind = args->device_description->kind.data();
  args->device_kind_size = args->device_description->kind.size();
  return OkStatus();
}

Status DeviceDescription_DebugString(PJRT_DeviceDescription_DebugString_Args* args) {
  args->debug_string = args->device_description->debug_string.data();
  args->debug_string_size = args->device_description->debug_string.size();
  return OkStatus();
}

Status DeviceDescription_ToString(PJRT_DeviceDescription_ToString_Args* args) {
  args->to_string = args->device_description->name.data();
  args->to_string_size = args->device_description->name.size();
  return OkStatus();
}

Status Device_GetDescription(PJRT_Device_GetDescription_Args* args) {
  args->device_description = &args->device->description;
  return OkStatus();
}

Status Device_IsAddressable(PJRT_Device_IsAddressable_Args* args) {
  args->is_addressable = true;
  return OkStatus();
}

Status Device_LocalHardwareId(PJRT_Device_LocalHardwareId_Args* args) {
  args->local_hardware_id = args->device->id;
  return OkStatus();
}

Status Device_AddressableMemories(PJRT_Device_AddressableMemories_Args* args) {
  args->memories = args->device->memories;
  args->num_memories = 1;
  return OkStatus();
}

Status Device_DefaultMemory(PJRT_Device_DefaultMemory_Args* args) {
  args->memory = &args->device->memory;
  return OkStatus();
}

Status Device_MemoryStats(PJRT_Device_MemoryStats_Args* args) {
  MYCHIP_ASSIGN_OR_RETURN(const ClientDevice chip, args->device->Chip());
  const MemoryStats stats = chip.allocator->stats();
  args->bytes_in_use = stats.bytes_in_use;
  args->peak_bytes_in_use = stats.peak_bytes_in_use;
  args->peak_bytes_in_use_is_set = true;
  args->num_allocs = stats.num_allocs;
  args->num_allocs_is_set = true;
  args->largest_alloc_size = stats.largest_alloc_size;
  args->largest_alloc_size_is_set = true;
  args->bytes_limit = stats.bytes_limit;
  args->bytes_limit_is_set = stats.bytes_limit > 0;
  args->bytes_reserved_is_set = false;
  args->peak_bytes_reserved_is_set = false;
  args->bytes_reservable_limit_is_set = false;
  args->largest_free_block_bytes = stats.largest_free_block;
  args->largest_free_block_bytes_is_set = stats.largest_free_block > 0;
  args->pool_bytes = stats.bytes_committed;
  args->pool_bytes_is_set = stats.bytes_committed > 0;
  args->peak_pool_bytes_is_set = false;
  return OkStatus();
}

// Names an interval in the framework's own logs; nothing of the chip depends on it.
Status Device_CreateAsyncTrackingEvent(PJRT_Device_CreateAsyncTrackingEvent_Args* args) {
  args->event = reinterpret_cast<PJRT_AsyncTrackingEvent*>(
      new std::string(args->description == nullptr ? "" : args->description, args->description_size));
  return OkStatus();
}

Status AsyncTrackingEvent_Destroy(PJRT_AsyncTrackingEvent_Destroy_Args* args) {
  delete reinterpret_cast<std::string*>(args->event);
  return OkStatus();
}

}  // namespace mychip::pjrt
