// What every C entry does around its function: struct size, null handle, exceptions, Status to PJRT_Error.
#pragma once

#include <exception>
#include <new>

#include "error.h"

namespace mychip::pjrt {

// How long a caller's struct must be: as long as ours, up to tail padding ...
template <typename Args>
constexpr size_t kMinSize = sizeof(Args) - alignof(Args) + 1;
// ... but for those that have grown at their end: callers built with older headers (torch_xla 2.9) stay welcome.
template <>
constexpr size_t kMinSize<PJRT_Client_Create_Args> = PJRT_STRUCT_SIZE(PJRT_Client_Create_Args, client);
template <>
constexpr size_t kMinSize<PJRT_Executable_DeserializeAndLoad_Args> =
    PJRT_STRUCT_SIZE(PJRT_Executable_DeserializeAndLoad_Args, loaded_executable);
template <>
constexpr size_t kMinSize<PJRT_Executable_GetCompiledMemoryStats_Args> =
    PJRT_STRUCT_SIZE(PJRT_Executable_GetCompiledMemoryStats_Args, host_temp_size_in_bytes);
template <>
constexpr size_t kMinSize<PJRT_Client_CreateViewOfDeviceBuffer_Args> =
    PJRT_STRUCT_SIZE(PJRT_Client_CreateViewOfDeviceBuffer_Args, buffer);

template <typename Args>
Status CheckSize(const Args* args, const char* name) {
  if (args == nullptr) return InvalidArgument("%s: args is null", name);
  if (args->struct_size >= kMinSize<Args>) return OkStatus();
  return InvalidArgument(
      "%s: struct_size is %zu, this plugin (PJRT C API %d.%d) needs at least %zu; the caller was "
      "built with an older PJRT header",
      name, args->struct_size, PJRT_API_MAJOR, PJRT_API_MINOR, kMinSize<Args>);
}

// The C function of one slot. Nothing may be thrown across it.
template <typename Args, Status (*kFunction)(Args*), typename Has>
PJRT_Error* Call(Args* args, const char* name, Has has_handle) {
  try {
    Status status = CheckSize(args, name);
    if (status.ok() && !has_handle(args)) status = InvalidArgument("%s: the handle is null", name);
    if (status.ok()) status = kFunction(args);
    return MakeError(status);
  } catch (const std::bad_alloc&) {
    return MakeError(ResourceExhausted("%s: the host is out of memory", name));
  } catch (const std::exception& e) {
    return MakeError(Internal("%s: %s", name, e.what()));
  }
}

}  // namespace mychip::pjrt
