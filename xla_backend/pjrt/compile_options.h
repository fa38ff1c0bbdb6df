// CompileOptionsProto, as far as the chip honours it.
#pragma once

#include <string>

#include "mychip/runtime/status.h"
#include "mychip/xla/compiler.h"

namespace mychip::pjrt {

struct ParsedOptions {
  xla_backend::CompileOptions compile;
  int device_id = -1;  // where the program runs unless Execute says otherwise; -1: not said
};

// UNIMPLEMENTED, with a sentence, for what would change the program's meaning and is not built (several replicas or
// partitions, layouts other than row-major). INVALID_ARGUMENT when the bytes are no CompileOptionsProto.
Result<ParsedOptions> ParseCompileOptions(const std::string& serialized);
// A serialized DeviceAssignmentProto of one device.
std::string SerializeDeviceAssignment(int device_id);

}  // namespace mychip::pjrt
