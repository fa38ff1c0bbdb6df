#include "api.h"
#include "compile_options.h"
#include "executable.h"

namespace mychip::pjrt {

Status LoadedExecutable_Destroy(PJRT_LoadedExecutable_Destroy_Args* args) {
  delete args->executable;  // programs still queued hold what they need
  return OkStatus();
}

Status LoadedExecutable_GetExecutable(PJRT_LoadedExecutable_GetExecutable_Args* args) {
  args->executable = new PJRT_Executable{args->loaded_executable->code};
  return OkStatus();
}

Status LoadedExecutable_AddressableDevices(PJRT_LoadedExecutable_AddressableDevices_Args* args) {
  args->addressable_devices = &args->executable->device;
  args->num_addressable_devices = 1;
  return OkStatus();
}

Status LoadedExecutable_GetDeviceAssignment(PJRT_LoadedExecutable_GetDeviceAssignment_Args* args) {
  auto* bytes = new std::string(SerializeDeviceAssignment(args->executable->device->id));
  args->serialized_bytes = bytes->data();
  args->serialized_bytes_size = bytes->size();
  args->serialized_device_assignment = reinterpret_cast<PJRT_DeviceAssignmentSerialized*>(bytes);
  args->serialized_device_assignment_deleter = [](PJRT_DeviceAssignmentSerialized* s) {
    delete reinterpret_cast<std::string*>(s);
  };
  return OkStatus();
}

Status LoadedExecutable_Delete(PJRT_LoadedExecutable_Delete_Args* args) {
  args->executable->deleted = true;
  return OkStatus();
}

Status LoadedExecutable_IsDeleted(PJRT_LoadedExecutable_IsDeleted_Args* args) {
  args->is_deleted = args->executable->deleted;
  return OkStatus();
}

Status LoadedExecutable_Fingerprint(PJRT_LoadedExecutable_Fingerprint_Args* args) {
  const std::string& fingerprint = args->executable->code->compiled.fingerprint;
  args->executable_fingerprint = fingerprint.data();
  args->executable_fingerprint_size = fingerprint.size();
  return OkStatus();
}

// A context carries the user data of custom-call handlers; the chip runs none.
Status ExecuteContext_Create(PJRT_ExecuteContext_Create_Args* args) {
  args->context = reinterpret_cast<PJRT_ExecuteContext*>(new char);
  return OkStatus();
}

Status ExecuteContext_Destroy(PJRT_ExecuteContext_Destroy_Args* args) {
  delete reinterpret_cast<char*>(args->context);
  return OkStatus();
}

}  // namespace mychip::pjrt
