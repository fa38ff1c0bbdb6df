// When memory is given back: views, temporaries, queued work, many threads.
#include <atomic>
#include <thread>

#include "harness.h"
#include "mychip/runtime/device.h"
#include "mychip/runtime/stream.h"

namespace mychip::pjrt_test {
namespace {

const std::vector<float> kP = {1, 2, 3, 4};

void ViewsAreHandedBackAfterTheirLastUse() {
  Client client;
  const Executable add(client, "add"), slow(client, "slow");
  const Buffer memory = client.FromHost(kP);
  std::atomic<int> deleted{0};
  std::function<void()> on_delete = [&] { ++deleted; };
  Result<Buffer> view = client.View(memory.Address(), 4, &on_delete);
  EXPECT_OK(view.status());
  EXPECT(view->Address() == memory.Address());
  Result<Outputs> busy = slow.Run({memory.get()});
  EXPECT_OK(busy.status());
  Result<Outputs> use = add.Run({view->get(), view->get()});
  EXPECT_OK(use.status());
  view->Reset();
  auto is_ready = New<PJRT_Event_IsReady_Args>();
  is_ready.event = busy->complete;
  EXPECT_OK(Take(api().PJRT_Event_IsReady(&is_ready)));
  if (!is_ready.is_ready) EXPECT(deleted == 0);
  EXPECT_OK(Await(busy->complete));
  EXPECT_OK(Await(use->complete));
  EXPECT_OK((*mychip::Device::Get(0))->Synchronize());
  for (int i = 0; i < 1000 && deleted == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT(deleted == 1);
  EXPECT((use->buffers[0].Values() == std::vector<float>{2, 4, 6, 8}));

  view = client.View(memory.Address(), 4, &on_delete);  // never used
  view->Reset();
  EXPECT(deleted == 2);
}

void DonatedViewsLiveOnInTheOutput() {
  Client client;
  const Executable update(client, "update");
  const Buffer memory = client.FromHost(kP), one = client.FromHost({1, 1, 1, 1});
  std::atomic<int> deleted{0};
  std::function<void()> on_delete = [&] { ++deleted; };
  Result<Buffer> view = client.View(memory.Address(), 4, &on_delete);
  std::vector<Buffer> out = update.Outs({view->get(), one.get()});
  view->Reset();
  EXPECT(deleted == 0);
  EXPECT(out[0].Address() == memory.Address());
  EXPECT((out[0].Values() == std::vector<float>{2, 3, 4, 5}));
  out.clear();
  EXPECT_OK((*mychip::Device::Get(0))->Synchronize());
  for (int i = 0; i < 1000 && deleted == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT(deleted == 1);
}

void ViewsOutsideTheChipAreRefused() {
  Client client;
  float host[4] = {};
  int deleted = 0;
  std::function<void()> on_delete = [&] { ++deleted; };
  EXPECT_FAILS(client.View(host, 4, &on_delete).status(), kInvalidArgument, "does not lie in the memory of MYCHIP:0");
  EXPECT(deleted == 0);
  // Empty arrays need no memory, and programs take them.
  const Executable add(client, "add_empty");
  {
    Result<Buffer> empty = client.View(nullptr, 0, &on_delete);
    EXPECT_OK(empty.status());
    EXPECT(add.Outs({empty->get(), empty->get()})[0].Values().empty());
  }
  EXPECT_OK((*mychip::Device::Get(0))->Synchronize());
  for (int i = 0; i < 1000 && deleted == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT(deleted == 1);
}

void MemoryReturnsAtOnce() {
  CountingAllocator allocator(DefaultAllocator(*mychip::Device::Get(0)));
  Client client(TableOf(&allocator));
  const Executable slow(client, "slow");
  Buffer p = client.FromHost(kP);
  Result<Outputs> out = slow.Run({p.get()});
  EXPECT_OK(out.status());
  EXPECT(allocator.live == 2);  // the scratch is back before the program has run
  p.Reset();
  EXPECT(allocator.live == 1);
  EXPECT(out->buffers[0].Values() == kP);
  out->buffers.clear();
  EXPECT(allocator.live == 0);
  EXPECT_OK(Await(out->complete));
}

void FreedMemoryIsReusedInOrder() {
  Client client;
  const Executable add(client, "add"), slow(client, "slow");
  Buffer p = client.FromHost(kP);
  Result<Outputs> busy = slow.Run({p.get()});
  EXPECT_OK(busy.status());
  Result<Outputs> sum = add.Run({p.get(), p.get()});
  EXPECT_OK(sum.status());
  p.Reset();                                                           // while the sum is queued
  const Buffer next = client.FromHost(std::vector<float>(4, 100.0f));  // likely the same memory
  EXPECT((sum->buffers[0].Values() == std::vector<float>{2, 4, 6, 8}));
  EXPECT(next.Values() == std::vector<float>(4, 100.0f));
  EXPECT_OK(Await(busy->complete));
  EXPECT_OK(Await(sum->complete));
}

void ManyThreads() {
  CountingAllocator allocator(DefaultAllocator(*mychip::Device::Get(0)));
  Client client(TableOf(&allocator));
  const Executable update(client, "update"), add(client, "add");
  {
    const Buffer one = client.FromHost({1, 1, 1, 1});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        const auto start = static_cast<float>(t * 1000);
        Buffer mine = client.FromHost({start, start, start, start});
        for (int i = 1; i <= 200; ++i) {
          std::vector<Buffer> out = update.Outs({mine.get(), one.get()});
          mine = std::move(out[0]);
          const std::vector<Buffer> twice = add.Outs({mine.get(), mine.get()});
          EXPECT(twice[0].Values() == std::vector<float>(4, 2 * (start + i)));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT(allocator.live == 0);
}

// One buffer, donated by several threads at once: exactly one gets it.
void OnlyOneDonorWins() {
  Client client;
  const Executable update(client, "update");
  const Buffer one = client.FromHost({1, 1, 1, 1});
  for (int round = 0; round < 50; ++round) {
    const Buffer p = client.FromHost(kP);
    std::atomic<int> won{0}, lost{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        Result<Outputs> out = update.Run({p.get(), one.get()});
        if (out.ok()) {
          EXPECT_OK(Await(out->complete));
          EXPECT((out->buffers[0].Values() == std::vector<float>{2, 3, 4, 5}));
          ++won;
        } else {
          EXPECT_FAILS(out.status(), kFailedPrecondition, "donated");
          ++lost;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT(won == 1 && lost == 3);
  }
}

}  // namespace

std::vector<Test> LifetimeTests() {
  return {{"views are handed back after their last use", ViewsAreHandedBackAfterTheirLastUse},
          {"donated views live on in the output", DonatedViewsLiveOnInTheOutput},
          {"views outside the chip are refused", ViewsOutsideTheChipAreRefused},
          {"memory returns at once", MemoryReturnsAtOnce},
          {"freed memory is reused in order", FreedMemoryIsReusedInOrder},
          {"many threads", ManyThreads},
          {"only one donor wins", OnlyOneDonorWins}};
}

}  // namespace mychip::pjrt_test
