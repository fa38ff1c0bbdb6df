// Device memory whose contents a failure left undefined. A stream works again once its failure was reported, but what
// the failed and the skipped commands should have written is still missing: a later command that reads it fails with
// the same status instead of computing with old bytes. Writing the memory, or freeing it, makes it defined.
//
// Addresses are the emulator's (see Shadow). Costs one atomic load a command while nothing is undefined.
#pragma once

#include "stream_core.h"

namespace mychip {

// `command` failed or was skipped because of `why`: what it only writes is undefined from now on. What a program
// updates in place keeps what it held.
void MarkUndefined(const StreamCommand& command, const Status& why);

// Before `command` runs. The failure that `command` would inherit by its inputs; ok also means that its outputs are
// defined from now on.
Status CheckDefined(const StreamCommand& command);
Status CheckDefined(const uint8_t* src, int64_t bytes);
void MarkDefined(const uint8_t* dst, int64_t bytes);

}  // namespace mychip
