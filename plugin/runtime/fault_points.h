#pragma once

#include "mychip/runtime/fault.h"

namespace mychip {

enum class FaultPoint { kLaunch, kCopy, kAlloc };

// Counts one passage; true when this is the one that must fail. One relaxed load when nothing is injected.
bool FaultHits(FaultPoint point);
Status InjectedFault(const char* what);

}  // namespace mychip
