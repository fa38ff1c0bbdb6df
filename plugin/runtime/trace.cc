#include "mychip/runtime/trace.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "trace_sink.h"

namespace mychip {
namespace {

constexpr int64_t kMaxCapacity = int64_t{1} << 26;

std::atomic<bool> g_tracing{false};
std::mutex* const g_mutex = new std::mutex;
Trace* g_trace = nullptr;  // while tracing
int64_t g_capacity = 0;

}  // namespace

bool Tracing() { return g_tracing.load(std::memory_order_relaxed); }

Status StartTrace(int64_t capacity) {
  if (capacity < 1 || capacity > kMaxCapacity) {
    return InvalidArgument("trace capacity %lld; possible are 1 to %lld", static_cast<long long>(capacity),
                           static_cast<long long>(kMaxCapacity));
  }
  std::lock_guard<std::mutex> lock(*g_mutex);
  if (g_trace != nullptr) return FailedPrecondition("a trace is already running");
  g_trace = new Trace;
  g_trace->records.reserve(std::min<int64_t>(capacity, 4096));
  g_capacity = capacity;
  g_tracing.store(true);
  return OkStatus();
}

Result<Trace> StopTrace() {
  std::lock_guard<std::mutex> lock(*g_mutex);
  if (g_trace == nullptr) return FailedPrecondition("no trace is running");
  g_tracing.store(false);
  Trace trace = std::move(*g_trace);
  delete g_trace;
  g_trace = nullptr;
  return trace;
}

void AddTraceRecord(TraceRecord record) {
  std::lock_guard<std::mutex> lock(*g_mutex);
  if (g_trace == nullptr) return;
  if (static_cast<int64_t>(g_trace->records.size()) < g_capacity) {
    g_trace->records.push_back(std::move(record));
  } else {
    ++g_trace->dropped;
  }
}

emulator::CommandObserver CommandTracer(const Program& program, int device, int stream, int64_t enqueue_ns) {
  return [&program, device, stream, enqueue_ns](const Command& command, const Cost& cost, int64_t start_ns,
                                                int64_t end_ns) {
    TraceRecord record;
    record.name = CommandName(command.op);
    record.program = program.name;
    if (command.source >= 0) record.source = program.sources[command.source];
    record.unit = UnitOf(command.op);
    record.device = device;
    record.stream = stream;
    record.enqueue_ns = enqueue_ns != 0 ? enqueue_ns : start_ns;
    record.start_ns = start_ns;
    record.end_ns = end_ns;
    record.cost = cost;
    AddTraceRecord(std::move(record));
  };
}

}  // namespace mychip
