// What happens to the process as a whole: fork and exit.
#pragma once

#include <functional>

#include "mychip/runtime/status.h"

namespace mychip {

// FAILED_PRECONDITION in a child forked after the first device was made (threads do not survive a fork), CANCELLED once
// the process is exiting. One relaxed load.
Status CheckProcess();
bool Forked();
bool Exiting();

// Called when the first device is made: from now on forked children are refused, and `at_exit` runs before the static
// destructors of everything loaded so far.
void StartWatchingProcess(void (*at_exit)());

}  // namespace mychip
