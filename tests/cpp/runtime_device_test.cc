// Devices, blocking copies, injected faults, counters, traces.
#include <numeric>

#include "mychip/runtime/fault.h"
#include "mychip/runtime/trace.h"
#include "runtime_testing.h"

namespace mychip {
namespace {

using testing::AddOne;
using testing::Block;
using testing::ExpectError;
using testing::TheDevice;

Status Ok() { return OkStatus(); }

TEST(Device, OrdinalsAndOwners) {
  ASSERT_EQ(Device::Count(), 2);
  ExpectError(Device::Get(2).status(), Code::kInvalidArgument, {"no MYCHIP:2", "has 2"});
  ExpectError(Device::Get(-1).status(), Code::kInvalidArgument, {"no MYCHIP:-1"});
  Device *zero = TheDevice(0), *one = TheDevice(1);
  EXPECT_EQ(zero, TheDevice(0));
  EXPECT_NE(zero, one);
  Block a(zero, 16), b(one, 16);
  EXPECT_EQ(Device::Owner(a.address()), zero);
  EXPECT_EQ(Device::Owner(b.address()), one);
  int local = 0;
  EXPECT_EQ(Device::Owner(&local), nullptr);
  EXPECT_EQ(Device::Owner(nullptr), nullptr);
  EXPECT_EQ(zero->compute_stream()->id(), 0);
  EXPECT_EQ(zero->compute_stream()->device(), zero);
}

TEST(Device, CopySyncInAllDirections) {
  Block a(TheDevice(0), 1000), b(TheDevice(1), 1000);
  std::vector<uint8_t> in(1000), out(1000);
  std::iota(in.begin(), in.end(), 0);
  TheDevice(0)->ResetCounters();
  EXPECT_OK(Device::CopySync(a.address(), in.data(), 1000));
  EXPECT_OK(Device::CopySync(b.address(), a.address(), 1000));
  EXPECT_OK(Device::CopySync(out.data(), b.address(), 1000));
  EXPECT_EQ(in, out);
  EXPECT_EQ(TheDevice(0)->counters().host_to_device_bytes, 1000);
  ExpectError(Device::CopySync(out.data(), in.data(), 1), Code::kInvalidArgument, {"neither"});
  ExpectError(Device::CopySync(a.address(), in.data(), -1), Code::kInvalidArgument, {"-1 bytes"});
  ExpectError(Device::CopySync(a.address(), nullptr, 1), Code::kInvalidArgument, {"source is null"});
  ExpectError(Device::CopySync(a.address(), in.data(), int64_t{1} << 40), Code::kInvalidArgument, {"reach beyond"});
  EXPECT_OK(Device::CopySync(nullptr, nullptr, 0));
}

TEST(Fault, LaunchAndCopy) {
  Device* device = TheDevice();
  auto stream = device->CreateStream();
  Block x(device, 4096), y(device, 4096);
  EXPECT_OK(SetFaults("launch:2,copy:1"));
  EXPECT_OK(stream->Launch(AddOne(1024), {x.span(), y.span()}, {}));
  EXPECT_OK(stream->Synchronize());
  EXPECT_OK(stream->Launch(AddOne(1024), {x.span(), y.span()}, {}));
  ExpectError(stream->Synchronize(), Code::kInternal, {"add_one failed: injected by MYCHIP_FAULT"});
  EXPECT_OK(stream->CopyOnDevice(y.address(), x.address(), 16));
  ExpectError(stream->Synchronize(), Code::kInternal, {"copy_d2d failed: injected"});
  EXPECT_OK(stream->CopyOnDevice(y.address(), x.address(), 16));
  EXPECT_OK(stream->Launch(AddOne(1024), {x.span(), y.span()}, {}));
  EXPECT_OK(stream->Synchronize());
  EXPECT_OK(SetFaults(""));
}

TEST(Counters, CountCommandsDeterministically) {
  Device* device = TheDevice();
  auto stream = device->CreateStream();
  Block x(device, 4096), y(device, 4096);
  std::vector<float> host(1024);
  Cost previous;
  for (int run = 0; run < 2; ++run) {
    device->ResetCounters();
    EXPECT_OK(stream->CopyToDevice(x.address(), host.data(), 4096));
    for (int i = 0; i < 3; ++i) EXPECT_OK(stream->Launch(AddOne(1024), {x.span(), y.span()}, {}));
    EXPECT_OK(stream->CopyToHost(host.data(), y.address(), 4096));
    EXPECT_OK(stream->Synchronize());
    const Counters counters = device->counters();
    EXPECT_EQ(counters.programs, 3);
    EXPECT_EQ(counters.cost.launches, 5);
    EXPECT_EQ(counters.host_to_device_bytes, 4096);
    EXPECT_EQ(counters.device_to_host_bytes, 4096);
    EXPECT_EQ(counters.cost.flops, 3 * 1024);
    if (run == 1) {
      EXPECT_EQ(counters.cost.cycles, previous.cycles);
    }
    previous = counters.cost;
  }
}

TEST(Trace, RecordsEveryCommand) {
  Device* device = TheDevice();
  auto stream = device->CreateStream();
  Block x(device, 4096), y(device, 4096);
  std::vector<float> host(1024);
  EXPECT_FALSE(Tracing());
  ExpectError(StopTrace().status(), Code::kFailedPrecondition, {"no trace"});
  ExpectError(StartTrace(0), Code::kInvalidArgument, {"capacity 0"});
  EXPECT_OK(StartTrace(100));
  ExpectError(StartTrace(100), Code::kFailedPrecondition, {"already"});
  EXPECT_OK(stream->CopyToDevice(x.address(), host.data(), 4096));
  EXPECT_OK(stream->Launch(AddOne(1024), {x.span(), y.span()}, {}));
  EXPECT_OK(stream->HostCallback(Ok));
  EXPECT_OK(stream->Synchronize());
  const Trace trace = StopTrace().value();
  ASSERT_EQ(trace.records.size(), 3u);
  EXPECT_EQ(trace.dropped, 0);
  EXPECT_EQ(trace.records[0].name, "copy_h2d");
  EXPECT_EQ(trace.records[2].name, "callback");
  const TraceRecord& launch = trace.records[1];
  EXPECT_EQ(launch.name, "vector");
  EXPECT_EQ(launch.program, "add_one");
  EXPECT_EQ(launch.source.tf_op, "AddV2");
  EXPECT_EQ(launch.unit, Unit::kVector);
  EXPECT_EQ(launch.stream, stream->id());
  EXPECT_LE(launch.enqueue_ns, launch.start_ns);
  EXPECT_LE(launch.start_ns, launch.end_ns);
  EXPECT_GT(launch.cost.cycles, 500);
}

TEST(Trace, IsBounded) {
  auto stream = TheDevice()->CreateStream();
  EXPECT_OK(StartTrace(5));
  for (int i = 0; i < 20; ++i) EXPECT_OK(stream->HostCallback(Ok));
  EXPECT_OK(stream->Synchronize());
  const Trace trace = StopTrace().value();
  EXPECT_EQ(trace.records.size(), 5u);
  EXPECT_EQ(trace.dropped, 15);
}

}  // namespace
}  // namespace mychip
