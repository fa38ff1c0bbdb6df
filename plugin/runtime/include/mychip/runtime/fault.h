// Fault injection: makes the N-th command or allocation from now fail, to test how everything above copes.
#pragma once

#include <string>

#include "mychip/runtime/export.h"
#include "mychip/runtime/status.h"

namespace mychip {

// "launch:N,copy:N,alloc:N", N from 1 counted from this call over all devices; each fails once. A launch or copy fails
// when its turn comes on its stream (INTERNAL, which poisons it), an allocation with RESOURCE_EXHAUSTED. "" removes
// all. Starts from MYCHIP_FAULT. INVALID_ARGUMENT leaves things as they were. Thread-safe.
MYCHIP_API Status SetFaults(const std::string& spec);

}  // namespace mychip
