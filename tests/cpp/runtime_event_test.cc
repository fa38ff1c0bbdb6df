// Events: what they report, when callbacks run, how they outlive their stream.
#include "runtime_testing.h"

namespace mychip {
namespace {

using testing::ExpectError;
using testing::Gate;
using testing::TheDevice;

Status Ok() { return OkStatus(); }

TEST(Event, DefaultAndFailed) {
  EXPECT_TRUE(Event().Done());
  EXPECT_OK(Event().Wait());
  const Event failed = Event::Failed(NotFound("gone"));
  EXPECT_TRUE(failed.Done());
  ExpectError(failed.Wait(), Code::kNotFound, {"gone"});
  ExpectError(failed.status(), Code::kNotFound, {"gone"});
  bool called = false;
  failed.OnDone([&](const Status& s) { called = s.code() == Code::kNotFound; });
  EXPECT_TRUE(called);
  called = false;
  Event().OnDone([&](const Status& s) { called = s.ok(); });
  EXPECT_TRUE(called);
}

TEST(Event, ManualSignalsOnceAndRunsCallbacks) {
  const Event event = Event::Manual(), copy = event;
  EXPECT_FALSE(copy.Done());
  int calls = 0;
  event.OnDone([&](const Status& s) { calls += s.ok() ? 1 : 100; });
  std::thread waiter([&] { EXPECT_OK(copy.Wait()); });
  event.Signal(OkStatus());
  waiter.join();
  EXPECT_EQ(calls, 1);
  event.Signal(Internal("too late"));  // ignored, logged
  EXPECT_OK(copy.status());
}

TEST(Event, SignalOfAStreamEventIsIgnored) {
  auto stream = TheDevice()->CreateStream();
  Gate gate;
  EXPECT_OK(stream->HostCallback([&] { return gate.Pass(), OkStatus(); }));
  const Event event = stream->Record();
  event.Signal(OkStatus());
  EXPECT_FALSE(event.Done());
  gate.Open();
  EXPECT_OK(event.Wait());
}

TEST(Event, OutlivesItsStream) {
  Event good, bad;
  {
    auto stream = TheDevice()->CreateStream();
    EXPECT_OK(stream->HostCallback(Ok));
    good = stream->Record();
    EXPECT_OK(stream->HostCallback([] { return Internal("late"); }));
    bad = stream->Record();
  }
  EXPECT_OK(good.Wait());
  ExpectError(bad.Wait(), Code::kInternal, {"late"});
  bool called = false;
  bad.OnDone([&](const Status& s) { called = !s.ok(); });
  EXPECT_TRUE(called);
}

TEST(Event, CallbacksRunOnceOffTheWorker) {
  auto stream = TheDevice()->CreateStream();
  Gate gate;
  std::thread::id worker, caller;
  std::atomic<int> calls{0};
  EXPECT_OK(stream->HostCallback([&] { return worker = std::this_thread::get_id(), gate.Pass(), OkStatus(); }));
  for (int i = 0; i < 10; ++i) {
    stream->Record().OnDone([&](const Status& s) { caller = std::this_thread::get_id(), calls += s.ok(); });
  }
  gate.Open();
  EXPECT_OK(stream->Synchronize());
  stream.reset();
  EXPECT_EQ(calls, 10);
  EXPECT_NE(caller, worker);
  EXPECT_NE(caller, std::this_thread::get_id());
}

TEST(Event, ResourcesOfACommandAreGoneWhenItIsDone) {
  auto stream = TheDevice()->CreateStream();
  auto token = std::make_shared<int>(1);
  EXPECT_OK(stream->HostCallback([token] { return OkStatus(); }));
  EXPECT_OK(stream->Record().Wait());
  EXPECT_EQ(token.use_count(), 1);
}

}  // namespace
}  // namespace mychip
