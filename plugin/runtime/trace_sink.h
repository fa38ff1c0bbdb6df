#pragma once

#include "mychip/emulator/chip.h"
#include "mychip/runtime/trace.h"

namespace mychip {

// Kept when a trace runs and has room.
void AddTraceRecord(TraceRecord record);
// Adds a record for each command of `program`, which must outlive the observer.
emulator::CommandObserver CommandTracer(const Program& program, int device, int stream, int64_t enqueue_ns);

}  // namespace mychip
