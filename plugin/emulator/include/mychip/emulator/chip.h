// The emulated chip as the runtime sees it: one entry point. runtime/ resolves buffers, emulator/ runs the commands.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "mychip/runtime/program.h"
#include "mychip/runtime/status.h"

namespace mychip::emulator {

// Called after each command issued to a unit; null when nobody counts.
using CommandObserver = std::function<void(const Command& command, const Cost& cost, int64_t start_ns, int64_t end_ns)>;

// Runs block 0 of a validated program. buffers[i] is the host (shadow) address of Program::buffers[i]; constants point
// at their data. `total` receives the cost of all commands issued, loops and branches counted as they ran. Errors name
// the command and its source. Safe to call from several stream workers at once: the cores are shared.
Status Run(const Program& program, const std::vector<uint8_t*>& buffers, const CommandObserver& observer, Cost* total);

// The program is decoded and takes less time than waking another thread would (a few microseconds): a stream whose
// worker sleeps runs it on the thread that launches it.
bool IsLight(const Program& program);

// Worker threads in use (MYCHIP_CORES, default: the host's processors).
int NumCores();

// fn(begin, end) over [0, n) in chunks that are multiples of `grain`; returns when all are done. Results must never
// depend on the chunk boundaries. Runs inline when n <= grain or one core.
void ParallelFor(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& fn);

}  // namespace mychip::emulator
