// Donation is decided per call, and a refused call loses nothing.
#include "harness.h"
#include "mychip/runtime/device.h"

namespace mychip::pjrt_test {
namespace {

const std::vector<float> kP = {1, 2, 3, 4}, kQ = {10, 10, 10, 10}, kSum = {11, 12, 13, 14}, kProduct = {10, 20, 30, 40};

void DonatedInputsAreUpdatedInPlace() {
  Client client;
  const Executable update(client, "update");
  const Buffer p = client.FromHost(kP), q = client.FromHost(kQ);
  void* const address = p.Address();
  const std::vector<Buffer> out = update.Outs({p.get(), q.get()});
  EXPECT(out[0].Address() == address);
  EXPECT(p.IsDeleted() && !q.IsDeleted());
  EXPECT(out[0].Values() == kSum && out[1].Values() == kProduct);
  EXPECT_FAILS(update.Run({p.get(), q.get()}).status(), kFailedPrecondition, "was donated");
}

void NonDonatableInputsAreKept() {
  Client client;
  const Executable update(client, "update");
  const Buffer p = client.FromHost(kP), q = client.FromHost(kQ);
  const std::vector<Buffer> out = update.Outs({p.get(), q.get()}, {0});
  EXPECT(out[0].Address() != p.Address());
  EXPECT(!p.IsDeleted() && p.Values() == kP);
  EXPECT(out[0].Values() == kSum && out[1].Values() == kProduct);
  // An index that names no aliased parameter changes nothing; the same buffer twice is fine when neither is donated.
  const std::vector<Buffer> twice = update.Outs({p.get(), p.get()}, {0, 1});
  EXPECT((twice[0].Values() == std::vector<float>{2, 4, 6, 8}));
  EXPECT(p.Values() == kP);
}

void ReferencedInputsAreKept() {
  Client client;
  const Executable update(client, "update");
  const Buffer p = client.FromHost(kP), q = client.FromHost(kQ);
  auto increase = New<PJRT_Buffer_IncreaseExternalReferenceCount_Args>();
  increase.buffer = p.get();
  EXPECT_OK(Take(api().PJRT_Buffer_IncreaseExternalReferenceCount(&increase)));
  EXPECT(update.Outs({p.get(), q.get()})[0].Values() == kSum);
  EXPECT(!p.IsDeleted() && p.Values() == kP);
  auto decrease = New<PJRT_Buffer_DecreaseExternalReferenceCount_Args>();
  decrease.buffer = p.get();
  EXPECT_OK(Take(api().PJRT_Buffer_DecreaseExternalReferenceCount(&decrease)));
  EXPECT_FAILS(Take(api().PJRT_Buffer_DecreaseExternalReferenceCount(&decrease)), kFailedPrecondition, "0 already");
  EXPECT(update.Outs({p.get(), q.get()})[0].Values() == kSum);
  EXPECT(p.IsDeleted());
}

void SharedMemoryIsNotDonated() {
  Client client;
  const Executable update(client, "update");
  const Buffer p = client.FromHost(kP);
  std::function<void()> nothing = [] {};
  EXPECT_FAILS(update.Run({p.get(), p.get()}).status(), kInvalidArgument, "arguments 0 and 1 share memory");
  // Two buffers over the same memory, and two that overlap.
  const Buffer big = client.FromHost({1, 2, 3, 4, 5, 6});
  auto* base = static_cast<char*>(big.Address());
  for (int64_t offset : {0, 4, 8}) {
    Result<Buffer> left = client.View(base, 4, &nothing), right = client.View(base + offset, 4, &nothing);
    EXPECT_OK(left.status());
    EXPECT_OK(right.status());
    for (auto pair : {std::make_pair(left->get(), right->get()), std::make_pair(right->get(), left->get())}) {
      EXPECT_FAILS(update.Run({pair.first, pair.second}).status(), kInvalidArgument, "share memory");
      EXPECT(update.Outs({pair.first, pair.second}, {0}).size() == 2);
    }
    EXPECT(!left->IsDeleted() && !right->IsDeleted());
  }
  EXPECT(!p.IsDeleted() && p.Values() == kP);
}

void RefusedCallsLoseNothing() {
  CountingAllocator allocator(DefaultAllocator(*mychip::Device::Get(0)));
  Client client(TableOf(&allocator));
  const Executable update(client, "update");
  const Buffer p = client.FromHost(kP), q = client.FromHost(kQ), wrong = client.FromHost({1, 2, 3});
  EXPECT_FAILS(update.Run({p.get(), wrong.get()}).status(), kInvalidArgument, "argument 1");
  EXPECT(!p.IsDeleted() && allocator.live == 3);
  for (int allowed : {0, 1}) {  // non-donatable: two outputs to allocate
    allocator.allowed = allowed;
    EXPECT_FAILS(update.Run({p.get(), q.get()}, {0}).status(), kResourceExhausted, "no more");
    EXPECT(!p.IsDeleted() && allocator.live == 3);
  }
  allocator.allowed = 0;
  EXPECT_FAILS(update.Run({p.get(), q.get()}).status(), kResourceExhausted, "no more");
  allocator.allowed = 1 << 30;
  EXPECT(!p.IsDeleted() && p.Values() == kP && allocator.live == 3);
  EXPECT(update.Outs({p.get(), q.get()})[0].Values() == kSum);
}

void ManyStepsInPlace() {
  CountingAllocator allocator(DefaultAllocator(*mychip::Device::Get(0)));
  Client client(TableOf(&allocator));
  const Executable update(client, "update");
  {
    Buffer weights = client.FromHost({0, 0, 0, 0});
    const Buffer step = client.FromHost({1, 2, 3, 4});
    void* const address = weights.Address();
    for (int i = 0; i < 1000; ++i) {
      Result<Outputs> out = update.Run({weights.get(), step.get()});
      EXPECT_OK(out.status());
      EXPECT_OK(Await(i % 100 == 0 ? out->complete : nullptr));
      if (i % 100 != 0) {
        auto destroy = New<PJRT_Event_Destroy_Args>();
        destroy.event = out->complete;
        EXPECT_OK(Take(api().PJRT_Event_Destroy(&destroy)));
      }
      weights = std::move(out->buffers[0]);
      EXPECT(weights.Address() == address);
    }
    EXPECT((weights.Values() == std::vector<float>{1000, 2000, 3000, 4000}));
    EXPECT(allocator.live == 2);
  }
  EXPECT(allocator.live == 0);
}

}  // namespace

std::vector<Test> DonationTests() {
  return {{"donated inputs are updated in place", DonatedInputsAreUpdatedInPlace},
          {"non-donatable inputs are kept", NonDonatableInputsAreKept},
          {"referenced inputs are kept", ReferencedInputsAreKept},
          {"shared memory is not donated", SharedMemoryIsNotDonated},
          {"refused calls lose nothing", RefusedCallsLoseNothing},
          {"many steps in place", ManyStepsInPlace}};
}

}  // namespace mychip::pjrt_test
