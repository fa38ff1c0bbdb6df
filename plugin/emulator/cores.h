// The gang of host threads that plays the chip's cores. ParallelFor and NumCores are declared in chip.h.
#pragma once

#include "mychip/emulator/chip.h"

namespace mychip::emulator {

// FAILED_PRECONDITION in a child forked after the worker threads started: they do not exist there.
Status CheckCores();

// Overrides MYCHIP_CORES from now on; waits for running work. For tests and benchmarks.
void SetNumCores(int cores);

// Work below this many elements of simple arithmetic is not worth a second core.
constexpr int64_t kParallelElements = 32 * 1024;

}  // namespace mychip::emulator
