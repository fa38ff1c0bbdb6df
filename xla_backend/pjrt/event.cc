#include "event.h"

#include <atomic>

#include "api.h"
#include "error.h"

namespace mychip::pjrt {

Event AllOf(std::vector<Event> events) {
  std::vector<Event> open;
  for (Event& event : events) {
    if (!event.Done() || !event.status().ok()) open.push_back(std::move(event));
  }
  if (open.empty()) return Event();
  if (open.size() == 1) return open.front();
  struct Join {
    std::vector<Event> events;
    std::atomic<size_t> pending;
    Event all = Event::Manual();
  };
  auto join = std::make_shared<Join>();
  join->events = std::move(open);
  join->pending = join->events.size();
  for (const Event& event : join->events) {
    event.OnDone([join](const Status&) {
      if (join->pending.fetch_sub(1) != 1) return;
      for (const Event& e : join->events) {
        if (Status status = e.status(); !status.ok()) return join->all.Signal(status);
      }
      join->all.Signal(OkStatus());
    });
  }
  return join->all;
}

Status Event_Destroy(PJRT_Event_Destroy_Args* args) {
  delete args->event;
  return OkStatus();
}

Status Event_IsReady(PJRT_Event_IsReady_Args* args) {
  args->is_ready = args->event->event.Done();
  return OkStatus();
}

Status Event_Error(PJRT_Event_Error_Args* args) {
  if (!args->event->event.Done()) {
    return FailedPrecondition("PJRT_Event_Error: the event is not ready; ask PJRT_Event_IsReady or await it first");
  }
  return args->event->event.status();
}

Status Event_Await(PJRT_Event_Await_Args* args) { return args->event->event.Wait(); }

Status Event_OnReady(PJRT_Event_OnReady_Args* args) {
  if (args->callback == nullptr) return InvalidArgument("PJRT_Event_OnReady: callback is null");
  // The callback owns the error it is given.
  args->event->event.OnDone([callback = args->callback, user_arg = args->user_arg](const Status& status) {
    callback(MakeError(status), user_arg);
  });
  return OkStatus();
}

Status Event_Create(PJRT_Event_Create_Args* args) {
  args->event = new PJRT_Event{Event::Manual(), /*settable=*/true};
  return OkStatus();
}

Status Event_Set(PJRT_Event_Set_Args* args) {
  if (!args->event->settable) return FailedPrecondition("PJRT_Event_Set: the event was not made by PJRT_Event_Create");
  if (args->event->set) return FailedPrecondition("PJRT_Event_Set: the event has been set before");
  args->event->set = true;
  args->event->event.Signal(FromCaller(args->error_code, args->error_message, args->error_message_size));
  return OkStatus();
}

}  // namespace mychip::pjrt
