// The functions behind the PJRT table. Each does the work of one slot and returns a Status; api.cc wraps it with the
// checks every C entry needs (struct size, null handle, exceptions) and converts the Status.
#pragma once

#include "mychip/runtime/status.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace mychip::pjrt {

// Named after the C functions, so that a search for one finds the other.
#define SLOT(name, handle) Status name(PJRT_##name##_Args* args);
#define SLOT_BARE(name) Status name(PJRT_##name##_Args* args);
#define SLOT_ERROR(name)
#define SLOT_NO(name)
#include "slots.def"
#undef SLOT
#undef SLOT_BARE
#undef SLOT_ERROR
#undef SLOT_NO

// True when the caller's struct reaches as far as `field`: a caller built with an older header has shorter structs.
#define MYCHIP_PJRT_HAS(args, type, field) ((args)->struct_size >= PJRT_STRUCT_SIZE(type, field))

}  // namespace mychip::pjrt
