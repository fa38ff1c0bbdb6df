#include "api.h"
#include "device.h"

PJRT_Memory::PJRT_Memory(PJRT_Device* owner)
    : device(owner),
      id(owner->id),
      name(mychip::pjrt::DeviceName(owner->id) + " " + mychip::pjrt::kMemoryKind + " memory"),
      debug_string(name) {}

namespace mychip::pjrt {

Status Memory_Id(PJRT_Memory_Id_Args* args) {
  args->id = args->memory->id;
  return OkStatus();
}

Status Memory_Kind(PJRT_Memory_Kind_Args* args) {
  args->kind = kMemoryKind;
  args->kind_size = sizeof(kMemoryKind) - 1;
  return OkStatus();
}

Status Memory_Kind_Id(PJRT_Memory_Kind_Id_Args* args) {
  args->kind_id = 0;
  return OkStatus();
}

Status Memory_DebugString(PJRT_Memory_DebugString_Args* args) {
  args->debug_string = args->memory->debug_string.data();
  args->debug_string_size = args->memory->debug_string.size();
  return OkStatus();
}

Status Memory_ToString(PJRT_Memory_ToString_Args* args) {
  args->to_string = args->memory->name.data();
  args->to_string_size = args->memory->name.size();
  return OkStatus();
}

Status Memory_AddressableByDevices(PJRT_Memory_AddressableByDevices_Args* args) {
  args->devices = &args->memory->device->self;
  args->num_devices = 1;
  return OkStatus();
}

}  // namespace mychip::pjrt
