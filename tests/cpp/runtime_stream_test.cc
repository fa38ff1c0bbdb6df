// Streams: order, idleness, failures, waits across streams and devices.
#include <cstring>
#include <numeric>

#include "mychip/runtime/fault.h"
#include "runtime_testing.h"

namespace mychip {
namespace {

using testing::AddOne;
using testing::Block;
using testing::ExpectError;
using testing::Gate;
using testing::TheDevice;

Status Ok() { return OkStatus(); }

TEST(Stream, CommandsRunInOrder) {
  Device* device = TheDevice();
  auto stream = device->CreateStream();
  Block x(device, 4096), y(device, 4096);
  std::vector<float> in(1024), out(1024);
  std::iota(in.begin(), in.end(), 0.f);
  EXPECT_OK(stream->CopyToDevice(x.address(), in.data(), 4096));
  for (int i = 0; i < 10; ++i) {
    EXPECT_OK(stream->Launch(AddOne(1024), {x.span(), y.span()}, {}));
    EXPECT_OK(stream->CopyOnDevice(x.address(), y.address(), 4096));
  }
  EXPECT_OK(stream->CopyToHost(out.data(), x.address(), 4096));
  EXPECT_OK(stream->Synchronize());
  for (int i = 0; i < 1024; ++i) ASSERT_EQ(out[i], i + 10.f);
}

TEST(Stream, Fills) {
  Device* device = TheDevice();
  auto stream = device->CreateStream();
  Block x(device, 64);
  std::vector<uint32_t> out(16);
  EXPECT_OK(stream->Fill8(x.address(), 0xab, 64));
  EXPECT_OK(stream->Fill32(static_cast<char*>(x.address()) + 8, 0x01020304, 12));
  EXPECT_OK(stream->CopyToHost(out.data(), x.address(), 64));
  EXPECT_OK(stream->Synchronize());
  EXPECT_EQ(out[1], 0xababababu);
  EXPECT_EQ(out[2], 0x01020304u);
  EXPECT_EQ(out[4], 0x01020304u);
  EXPECT_EQ(out[5], 0xababababu);
  ExpectError(stream->Fill32(x.address(), 0, 6), Code::kInvalidArgument, {"multiple of 4"});
}

TEST(Stream, BadArgumentsEnqueueNothing) {
  Device* device = TheDevice();
  auto stream = device->CreateStream();
  Block x(device, 4096), y(device, 4096), small(device, 256), other(TheDevice(1), 4096);
  const auto program = AddOne(1024);
  int host = 0;
  ExpectError(stream->Launch(nullptr, {}, {}), Code::kInvalidArgument, {"no program"});
  ExpectError(stream->Launch(program, {x.span()}, {}), Code::kInvalidArgument, {"add_one takes 2 arguments, got 1"});
  ExpectError(stream->Launch(program, {x.span(), small.span()}, {}), Code::kInvalidArgument,
              {"argument 1 has 256 bytes, needs 4096"});
  ExpectError(stream->Launch(program, {x.span(), other.span()}, {}), Code::kInvalidArgument,
              {"not memory of MYCHIP:0"});
  ExpectError(stream->Launch(program, {x.span(), {&host, 4096}}, {}), Code::kInvalidArgument, {"argument 1"});
  ExpectError(stream->Launch(program, {x.span(), {y.address(), INT64_MAX}}, {}), Code::kInvalidArgument,
              {"argument 1"});
  ExpectError(stream->CopyToDevice(&host, &host, 4), Code::kInvalidArgument, {"destination"});
  ExpectError(stream->CopyToDevice(x.address(), y.address(), 4), Code::kInvalidArgument,
              {"memory of MYCHIP:0, not of"});
  ExpectError(stream->CopyToHost(nullptr, x.address(), 4), Code::kInvalidArgument, {"destination is null"});
  ExpectError(stream->CopyOnDevice(x.address(), &host, 4), Code::kInvalidArgument, {"source"});
  ExpectError(stream->Fill8(x.address(), 0, -4), Code::kInvalidArgument, {"-4 bytes"});
  ExpectError(stream->HostCallback(nullptr), Code::kInvalidArgument, {"no function"});
  EXPECT_OK(stream->CopyToDevice(nullptr, nullptr, 0));
  EXPECT_OK(stream->Synchronize());
}

TEST(Stream, EmptySpansMayLieAnywhere) {
  auto stream = TheDevice()->CreateStream();
  ProgramBuilder builder("empty");
  const int a = builder.Argument(0), b = builder.Argument(0);
  builder.Add(CopyCmd{DenseView(a, 0, DType::kF32, {0}), DenseView(b, 0, DType::kF32, {0}), {}, {}});
  int host = 0;
  EXPECT_OK(stream->Launch(builder.Build().value(), {{nullptr, 0}, {&host, 0}}, {}));
  EXPECT_OK(stream->Synchronize());
}

TEST(Stream, IdleMeansNothingRuns) {
  auto stream = TheDevice()->CreateStream();
  EXPECT_TRUE(stream->Idle());
  Gate gate;
  EXPECT_OK(stream->HostCallback([&] { return gate.Pass(), OkStatus(); }));
  gate.WaitUntilArrived();  // the queue is empty now, and the command runs
  EXPECT_FALSE(stream->Idle());
  const Event event = stream->Record();
  EXPECT_FALSE(event.Done());
  EXPECT_OK(event.status());
  gate.Open();
  EXPECT_OK(event.Wait());
  EXPECT_TRUE(event.Done());
  EXPECT_TRUE(stream->Idle());
}

TEST(Stream, NothingBlocksWhileACommandRuns) {
  Device* device = TheDevice();
  auto stream = device->CreateStream();
  Block x(device, 4096), y(device, 4096);
  Gate gate;
  EXPECT_OK(stream->HostCallback([&] { return gate.Pass(), OkStatus(); }));
  for (int i = 0; i < 1000; ++i) EXPECT_OK(stream->Launch(AddOne(1024), {x.span(), y.span()}, {}));
  EXPECT_FALSE(stream->Record().Done());
  gate.Open();
  EXPECT_OK(stream->Synchronize());
}

TEST(Stream, FailurePoisonsUntilReported) {
  auto stream = TheDevice()->CreateStream();
  std::atomic<int> ran{0};
  const Event before = stream->Record();
  EXPECT_OK(stream->HostCallback([&] { return ++ran, OkStatus(); }));
  const Event good = stream->Record();
  EXPECT_OK(stream->HostCallback([] { return DataLoss("bad command"); }));
  const Event bad = stream->Record();
  EXPECT_OK(stream->HostCallback([&] { return ++ran, OkStatus(); }));
  EXPECT_OK(stream->HostCallback([] { return Internal("never runs"); }));
  const Event skipped = stream->Record();
  ExpectError(skipped.Wait(), Code::kDataLoss, {"bad command"});
  ExpectError(bad.status(), Code::kDataLoss, {"bad command"});
  EXPECT_OK(good.status());
  EXPECT_OK(before.status());
  EXPECT_EQ(ran, 1);
  ExpectError(stream->status(), Code::kDataLoss, {"bad command"});
  ExpectError(stream->status(), Code::kDataLoss, {"bad command"});  // looking does not clear

  ExpectError(stream->Synchronize(), Code::kDataLoss, {"bad command"});
  EXPECT_OK(stream->status());
  EXPECT_OK(stream->Synchronize());
  EXPECT_OK(stream->Record().Wait());
  EXPECT_OK(stream->HostCallback([&] { return ++ran, OkStatus(); }));
  EXPECT_OK(stream->Record().Wait());
  EXPECT_EQ(ran, 2);
  ExpectError(bad.status(), Code::kDataLoss, {"bad command"});  // the past stays as it was
}

// What was enqueued before the report belongs to the failure, even if it runs after it.
TEST(Stream, WorkEnqueuedBeforeTheReportIsSkipped) {
  auto stream = TheDevice()->CreateStream();
  Gate failed, later;
  std::atomic<bool> ran{false};
  const Event go = Event::Manual();
  EXPECT_OK(stream->HostCallback([] { return Internal("first"); }));
  const Event first = stream->Record();
  ExpectError(first.Wait(), Code::kInternal, {"first"});
  std::thread reporter;
  EXPECT_OK(stream->HostCallback([&] { return ran = true, OkStatus(); }));
  const Event second = stream->Record();
  ExpectError(stream->Synchronize(), Code::kInternal, {"first"});
  ExpectError(second.Wait(), Code::kInternal, {"first"});
  EXPECT_FALSE(ran);
}

TEST(Stream, OtherStreamsLiveOn) {
  Device* device = TheDevice();
  auto a = device->CreateStream(), b = device->CreateStream();
  EXPECT_OK(a->HostCallback([] { return Internal("a fails"); }));
  ExpectError(a->Record().Wait(), Code::kInternal, {"a fails"});
  std::atomic<bool> ran{false};
  EXPECT_OK(b->Wait(a->Record()));  // a failed event does not poison
  EXPECT_OK(b->HostCallback([&] { return ran = true, OkStatus(); }));
  EXPECT_OK(b->Synchronize());
  EXPECT_TRUE(ran);
  ExpectError(device->Synchronize(), Code::kInternal, {"a fails"});
  EXPECT_OK(device->Synchronize());
}

TEST(Stream, DeviceSynchronizeReportsOneFailureAtATime) {
  Device* device = TheDevice();
  auto a = device->CreateStream(), b = device->CreateStream();
  EXPECT_OK(a->HostCallback([] { return Internal("from a"); }));
  EXPECT_OK(b->HostCallback([] { return Internal("from b"); }));
  ExpectError(device->Synchronize(), Code::kInternal, {"from a"});
  ExpectError(device->Synchronize(), Code::kInternal, {"from b"});
  EXPECT_OK(device->Synchronize());
}

TEST(Stream, ThrowingCallbackIsAFailure) {
  auto stream = TheDevice()->CreateStream();
  EXPECT_OK(stream->HostCallback([]() -> Status { throw std::runtime_error("oops"); }));
  ExpectError(stream->Synchronize(), Code::kInternal, {"host callback: oops"});
}

TEST(Stream, FailingProgramNamesItsSource) {
  Device* device = TheDevice();
  auto stream = device->CreateStream();
  ProgramBuilder builder("lookup");
  const int table = builder.Argument(40), index = builder.Argument(4), out = builder.Argument(4);
  GatherCmd gather;
  gather.operand = DenseView(table, 0, DType::kF32, {10});
  gather.indices = DenseView(index, 0, DType::kS32, {1});
  gather.out = DenseView(out, 0, DType::kF32, {1});
  gather.collapsed_dims = {0}, gather.start_index_map = {0}, gather.slice_sizes = {1};
  gather.index_vector_dim = 1;
  gather.bounds = Bounds::kError;
  builder.SetSource(builder.AddSource({"gather.3", "GatherV2", ""}));
  builder.Add(gather);
  const auto program = builder.Build().value();
  Block t(device, 40), i(device, 4), o(device, 4);
  const int32_t outside = 10;
  EXPECT_OK(stream->CopyToDevice(i.address(), &outside, 4));
  EXPECT_OK(stream->Launch(program, {t.span(), i.span(), o.span()}, {}));
  const Status status = stream->Synchronize();
  EXPECT_FALSE(status.ok());
  for (const char* piece : {"lookup", "gather.3", "GatherV2"}) {
    EXPECT_NE(status.message().find(piece), std::string::npos) << status.message();
  }
}

TEST(Stream, IsolatedLaunchDoesNotPoison) {
  Device* device = TheDevice();
  auto stream = device->CreateStream();
  Block x(device, 4096), y(device, 4096);
  EXPECT_OK(SetFaults("launch:1"));
  std::mutex mutex;
  std::vector<Status> got;
  const auto note = [&](const Status& status) {
    std::lock_guard<std::mutex> lock(mutex);
    got.push_back(status);
  };
  for (int i = 0; i < 2; ++i) EXPECT_OK(stream->LaunchIsolated(AddOne(1024), {x.span(), y.span()}, {}, note));
  EXPECT_OK(stream->Synchronize());
  EXPECT_OK(stream->HostCallback([] { return Internal("poison"); }));
  EXPECT_OK(stream->LaunchIsolated(AddOne(1024), {x.span(), y.span()}, {}, note));
  ExpectError(stream->Synchronize(), Code::kInternal, {"poison"});
  ExpectError(stream->LaunchIsolated(AddOne(1024), {x.span()}, {}, note), Code::kInvalidArgument, {"takes 2"});
  stream.reset();  // joins the thread that calls back
  ASSERT_EQ(got.size(), 3u);
  ExpectError(got[0], Code::kInternal, {"add_one", "injected"});
  EXPECT_OK(got[1]);
  ExpectError(got[2], Code::kInternal, {"poison"});
}

TEST(Stream, WaitOrdersStreamsOfTwoDevices) {
  Device *zero = TheDevice(0), *one = TheDevice(1);
  auto a = zero->CreateStream(), b = one->CreateStream(), unrelated = one->CreateStream();
  Block x(zero, 4096), y(one, 4096);
  std::vector<float> in(1024, 3.f), out(1024, 0.f);
  Gate gate;
  EXPECT_OK(a->HostCallback([&] { return gate.Pass(), OkStatus(); }));
  EXPECT_OK(a->CopyToDevice(x.address(), in.data(), 4096));
  EXPECT_OK(b->Wait(a->Record()));
  EXPECT_OK(b->CopyOnDevice(y.address(), x.address(), 4096));
  EXPECT_OK(b->CopyToHost(out.data(), y.address(), 4096));
  EXPECT_OK(unrelated->HostCallback(Ok));
  EXPECT_OK(unrelated->Synchronize());  // waits for nobody
  EXPECT_FALSE(b->Idle());
  gate.Open();
  EXPECT_OK(b->Synchronize());
  EXPECT_EQ(in, out);
}

TEST(Stream, WaitsForAManualEvent) {
  auto stream = TheDevice()->CreateStream();
  const Event event = Event::Manual();
  std::atomic<bool> ran{false};
  EXPECT_OK(stream->Wait(event));
  EXPECT_OK(stream->HostCallback([&] { return ran = true, OkStatus(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(ran);
  event.Signal(Internal("the host gave up"));
  EXPECT_OK(stream->Synchronize());
  EXPECT_TRUE(ran);
}

TEST(Stream, CallbacksMustNotWaitForTheirOwnStream) {
  auto stream = TheDevice()->CreateStream();
  Stream* s = stream.get();
  EXPECT_OK(stream->HostCallback([s] { return s->Synchronize(); }));
  ExpectError(stream->Synchronize(), Code::kFailedPrecondition, {"same stream"});
  EXPECT_OK(stream->HostCallback([s] { return s->device()->Synchronize(); }));
  ExpectError(stream->Synchronize(), Code::kFailedPrecondition, {"its own device"});
  EXPECT_OK(stream->HostCallback([s] { return s->Record().Wait(); }));
  ExpectError(stream->Synchronize(), Code::kFailedPrecondition, {"same stream"});
}

TEST(Stream, CallbacksMayEnqueueOnTheirOwnStream) {
  auto stream = TheDevice()->CreateStream();
  std::atomic<int> count{0};
  std::function<Status()> again = [&] { return ++count < 100 ? stream->HostCallback(again) : OkStatus(); };
  EXPECT_OK(stream->HostCallback(again));
  while (count < 100) std::this_thread::yield();
  EXPECT_OK(stream->Synchronize());
}

TEST(Stream, DestructionDrains) {
  std::atomic<int> ran{0};
  {
    auto stream = TheDevice()->CreateStream();
    for (int i = 0; i < 100; ++i) EXPECT_OK(stream->HostCallback([&] { return ++ran, OkStatus(); }));
  }
  EXPECT_EQ(ran, 100);
}

TEST(Stream, MayBeDestroyedByItsOwnCallbacks) {
  std::atomic<int> done{0};
  {
    auto stream = TheDevice()->CreateStream();
    auto* s = stream.get();
    auto holder = std::make_shared<std::unique_ptr<Stream>>(std::move(stream));
    EXPECT_OK(s->HostCallback([holder, &done] { return holder->reset(), ++done, OkStatus(); }));
  }
  auto stream = TheDevice()->CreateStream();
  Gate gate;
  EXPECT_OK(stream->HostCallback([&] { return gate.Pass(), OkStatus(); }));
  auto* s = stream.get();
  auto holder = std::make_shared<std::unique_ptr<Stream>>(std::move(stream));
  s->Record().OnDone([holder, &done](const Status&) { holder->reset(), ++done; });
  holder.reset();
  gate.Open();
  while (done < 2) std::this_thread::yield();
}

TEST(Stream, ManyThreadsEnqueue) {
  auto stream = TheDevice()->CreateStream();
  std::atomic<int> ran{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        ASSERT_TRUE(stream->HostCallback([&] { return ++ran, OkStatus(); }).ok());
        if (i % 100 == 0) {
          ASSERT_TRUE(stream->Record().Wait().ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_OK(stream->Synchronize());
  EXPECT_EQ(ran, 4000);
}

}  // namespace
}  // namespace mychip
