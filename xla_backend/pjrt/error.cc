#include "error.h"

namespace mychip::pjrt {

PJRT_Error* MakeError(const Status& status) { return status.ok() ? nullptr : new PJRT_Error{status}; }

Status FromCaller(PJRT_Error_Code code, const char* message, size_t message_size) {
  if (code == PJRT_Error_Code_OK) return OkStatus();
  return Status(static_cast<Code>(code), message == nullptr ? "" : std::string(message, message_size));
}

void Error_Destroy(PJRT_Error_Destroy_Args* args) {
  if (args != nullptr) delete args->error;
}

void Error_Message(PJRT_Error_Message_Args* args) {
  const std::string& message = args->error->status.message();
  args->message = message.data();
  args->message_size = message.size();
}

PJRT_Error* Error_GetCode(PJRT_Error_GetCode_Args* args) {
  if (args->error == nullptr) return MakeError(InvalidArgument("PJRT_Error_GetCode: error is null"));
  args->code = static_cast<PJRT_Error_Code>(args->error->status.code());
  return nullptr;
}

}  // namespace mychip::pjrt
