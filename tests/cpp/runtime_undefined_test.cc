// What a failure left undefined is never read silently, also after the failure was reported.
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

constexpr int64_t kCount = 256, kBytes = kCount * 4;

class Undefined : public ::testing::Test {
 protected:
  void SetUp() override {
    std::iota(host_.begin(), host_.end(), 0.f);
    ASSERT_OK(stream_->CopyToDevice(x_.address(), host_.data(), kBytes));
    ASSERT_OK(stream_->Synchronize());
  }
  void TearDown() override { EXPECT_OK(SetFaults("")); }

  // y = x + 1 fails, z = y + 1 behind it is skipped, and the failure is reported.
  void FailAndReport() {
    ASSERT_OK(SetFaults("launch:1"));
    Gate gate;
    ASSERT_OK(stream_->HostCallback([&gate] { return gate.Pass(), OkStatus(); }));
    ASSERT_OK(stream_->Launch(AddOne(kCount), {x_.span(), y_.span()}, {}));
    ASSERT_OK(stream_->Launch(AddOne(kCount), {y_.span(), z_.span()}, {}));
    gate.Open();
    ExpectError(stream_->Synchronize(), Code::kInternal, {"injected"});
  }
  Status Read(const Block& block, int64_t offset = 0, int64_t bytes = kBytes) {
    MYCHIP_RETURN_IF_ERROR(stream_->CopyToHost(host_.data(), static_cast<char*>(block.address()) + offset, bytes));
    return stream_->Synchronize();
  }

  Device* const device_ = TheDevice();
  const std::unique_ptr<Stream> stream_ = device_->CreateStream();
  Block x_{device_, kBytes}, y_{device_, kBytes}, z_{device_, kBytes};
  std::vector<float> host_ = std::vector<float>(kCount);
};

TEST_F(Undefined, ResultsOfFailedAndSkippedCommands) {
  FailAndReport();
  EXPECT_OK(Read(x_));
  for (int i = 0; i < 2; ++i) {
    ExpectError(Read(y_), Code::kInternal, {"injected"});
    ExpectError(Read(z_, 128, 4), Code::kInternal, {"injected"});
  }
  ExpectError(Device::CopySync(host_.data(), z_.address(), 4), Code::kInternal, {"injected"});
}

TEST_F(Undefined, SpreadsThroughWhatReadsThem) {
  FailAndReport();
  Block w(device_, kBytes);
  EXPECT_OK(stream_->Launch(AddOne(kCount), {z_.span(), w.span()}, {}));
  ExpectError(stream_->Synchronize(), Code::kInternal, {"injected"});
  EXPECT_OK(stream_->CopyOnDevice(x_.address(), w.address(), kBytes));
  ExpectError(stream_->Synchronize(), Code::kInternal, {"injected"});
  ExpectError(Read(x_), Code::kInternal, {"injected"});
}

TEST_F(Undefined, WritingDefines) {
  FailAndReport();
  EXPECT_OK(stream_->Launch(AddOne(kCount), {x_.span(), y_.span()}, {}));
  EXPECT_OK(Read(y_));
  EXPECT_EQ(host_[5], 6.f);
  EXPECT_OK(stream_->Fill8(z_.address(), 0, 512));  // the first half
  EXPECT_OK(Read(z_, 0, 512));
  ExpectError(Read(z_, 512, 4), Code::kInternal, {"injected"});
  EXPECT_OK(Device::CopySync(static_cast<char*>(z_.address()) + 512, host_.data(), 512));
  EXPECT_OK(Read(z_));
}

TEST_F(Undefined, FreeingForgets) {
  void* address = device_->memory().Allocate(kBytes).value();
  ASSERT_OK(SetFaults("copy:1"));
  EXPECT_OK(stream_->CopyToDevice(address, host_.data(), kBytes));
  ExpectError(stream_->Synchronize(), Code::kInternal, {"injected"});
  EXPECT_OK(device_->memory().Free(address));
  Block again(device_, kBytes);
  ASSERT_EQ(again.address(), address) << "best fit gives the same block";
  EXPECT_OK(Read(again));
}

TEST_F(Undefined, IsolatedProgramsMarkNothing) {
  ASSERT_OK(SetFaults("launch:1"));
  Event failed = Event::Manual();
  EXPECT_OK(stream_->LaunchIsolated(AddOne(kCount), {x_.span(), y_.span()}, {},
                                    [failed](const Status& status) { failed.Signal(status); }));
  ExpectError(failed.Wait(), Code::kInternal, {"injected"});
  EXPECT_OK(Read(y_));
}

}  // namespace
}  // namespace mychip
