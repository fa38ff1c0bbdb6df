// PJRT_Event: a runtime Event that the caller owns.
#pragma once

#include <vector>

#include "mychip/runtime/event.h"
#include "xla/pjrt/c/pjrt_c_api.h"

struct PJRT_Event {
  mychip::Event event;
  bool settable = false;  // made by PJRT_Event_Create
  bool set = false;
};

namespace mychip::pjrt {

inline PJRT_Event* MakeEvent(Event event) { return new PJRT_Event{std::move(event)}; }

// Done when all are; fails with the first failure in the order given. Events already done and ok are left out.
Event AllOf(std::vector<Event> events);

}  // namespace mychip::pjrt
