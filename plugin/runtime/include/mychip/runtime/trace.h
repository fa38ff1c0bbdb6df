// Trace: every command's life, recorded when someone listens; one relaxed load when nobody does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mychip/runtime/export.h"
#include "mychip/runtime/program.h"

namespace mychip {

struct TraceRecord {
  std::string name;     // CommandName, or copy_h2d, copy_d2h, copy_d2d, fill, callback
  std::string program;  // Program::name, empty for copies
  Source source;
  Unit unit = Unit::kControl;
  int device = 0, stream = 0;
  int64_t enqueue_ns = 0, start_ns = 0, end_ns = 0;  // CLOCK_REALTIME
  Cost cost;
};

// Bounded: beyond `capacity` records are dropped and counted. Starting twice is FAILED_PRECONDITION.
MYCHIP_API Status StartTrace(int64_t capacity);
struct Trace {
  std::vector<TraceRecord> records;
  int64_t dropped = 0;
};
MYCHIP_API Result<Trace> StopTrace();
MYCHIP_API bool Tracing();

}  // namespace mychip
