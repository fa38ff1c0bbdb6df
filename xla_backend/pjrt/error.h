// PJRT_Error: a Status that the caller owns.
#pragma once

#include <string>

#include "mychip/runtime/status.h"
#include "xla/pjrt/c/pjrt_c_api.h"

struct PJRT_Error {
  mychip::Status status;
};

namespace mychip::pjrt {

// Null when ok, as PJRT wants it.
PJRT_Error* MakeError(const Status& status);

// What a caller tells us about a failure of its own. Code OK gives an ok status.
Status FromCaller(PJRT_Error_Code code, const char* message, size_t message_size);

void Error_Destroy(PJRT_Error_Destroy_Args* args);
void Error_Message(PJRT_Error_Message_Args* args);
PJRT_Error* Error_GetCode(PJRT_Error_GetCode_Args* args);

}  // namespace mychip::pjrt
