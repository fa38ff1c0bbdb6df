#include <cstring>
#include <map>
#include <random>

#include "mychip/runtime/fault.h"
#include "range_allocator.h"
#include "runtime_testing.h"

namespace mychip {
namespace {

using testing::ExpectError;

std::unique_ptr<Memory> Make(int64_t bytes) { return std::move(Memory::Create(bytes, "test").value()); }

TEST(Memory, StatsFollowAllocations) {
  auto memory = Make(1 << 20);
  void* a = memory->Allocate(1000).value();
  void* b = memory->Allocate(0).value();
  EXPECT_NE(a, b);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a) % kMemoryAlignment, 0u);
  MemoryStats stats = memory->stats();
  EXPECT_EQ(stats.bytes_in_use, 1024 + 256);
  EXPECT_EQ(stats.peak_bytes_in_use, 1024 + 256);
  EXPECT_EQ(stats.bytes_limit, 1 << 20);
  EXPECT_EQ(stats.num_allocs, 2);
  EXPECT_EQ(stats.largest_alloc_size, 1024);
  EXPECT_EQ(stats.largest_free_block, (1 << 20) - 1280);
  EXPECT_OK(memory->Free(a));
  EXPECT_OK(memory->Free(nullptr));
  memory->ResetPeak();
  EXPECT_EQ(memory->stats().peak_bytes_in_use, 256);
  EXPECT_OK(memory->Free(b));
  EXPECT_EQ(memory->stats().bytes_in_use, 0);
  EXPECT_EQ(memory->stats().largest_free_block, 1 << 20);
}

TEST(Memory, ExhaustionNamesTheNumbers) {
  auto memory = Make(1 << 20);
  void* a = memory->Allocate(1 << 19).value();
  ExpectError(memory->Allocate((1 << 19) + 1).status(), Code::kResourceExhausted,
              {"test", "requested 524289 bytes", "free 524288", "largest block 524288", "limit 1048576"});
  ExpectError(memory->Allocate(INT64_MAX).status(), Code::kResourceExhausted, {"requested 9223372036854775807"});
  ExpectError(memory->Allocate(-1).status(), Code::kInvalidArgument, {"-1 bytes"});
  void* b = memory->Allocate(1 << 19).value();
  ExpectError(memory->Allocate(0).status(), Code::kResourceExhausted, {"requested 0 bytes, free 0"});
  EXPECT_OK(memory->Free(a));
  EXPECT_OK(memory->Free(b));
}

TEST(Memory, BadFreeIsAnError) {
  auto memory = Make(1 << 20);
  auto* a = static_cast<char*>(memory->Allocate(512).value());
  ExpectError(memory->Free(a + 256), Code::kInvalidArgument, {"not a live allocation"});
  EXPECT_OK(memory->Free(a));
  ExpectError(memory->Free(a), Code::kInvalidArgument, {"freed twice"});
  int local = 0;
  ExpectError(memory->Free(&local), Code::kInvalidArgument, {"not a live allocation"});
}

TEST(Memory, ContainsIsExact) {
  auto memory = Make(1 << 20);
  auto* a = static_cast<char*>(memory->Allocate(1 << 20).value());
  EXPECT_TRUE(memory->Contains(a, 1 << 20));
  EXPECT_FALSE(memory->Contains(a, (1 << 20) + 1));
  EXPECT_FALSE(memory->Contains(a - 1, 1));
  EXPECT_TRUE(memory->Contains(a + (1 << 20) - 1, 1));
  EXPECT_FALSE(memory->Contains(a + (1 << 20), 1));
  EXPECT_FALSE(memory->Contains(a, -1));
  EXPECT_FALSE(memory->Contains(nullptr, 0));
  EXPECT_FALSE(memory->Contains(a, INT64_MAX));
  EXPECT_OK(memory->Free(a));
}

TEST(Memory, RefusesImpossibleSizes) {
  ExpectError(Memory::Create(0, "x").status(), Code::kInvalidArgument, {"0 bytes"});
  ExpectError(Memory::Create(INT64_MAX, "x").status(), Code::kInvalidArgument, {"possible are"});
}

TEST(Memory, TrimGivesLargeFreeBlocksBack) {
  auto memory = Make(256 << 20);
  void* small = memory->Allocate(1 << 20).value();
  auto* large = static_cast<char*>(memory->Allocate(100 << 20).value());
  char* host = large + memory->ShadowOffset();
  std::memset(host, 7, 100 << 20);
  EXPECT_GE(memory->stats().bytes_committed, 100 << 20);
  EXPECT_OK(memory->Free(large));
  memory->Trim();
  EXPECT_LE(memory->stats().bytes_committed, 4 << 20);
  EXPECT_EQ(host[50 << 20], 0);  // fresh pages read as zero
  EXPECT_OK(memory->Free(small));
}

TEST(Memory, InjectedFailure) {
  auto memory = Make(1 << 20);
  EXPECT_OK(SetFaults("alloc:2"));
  void* a = memory->Allocate(1).value();
  ExpectError(memory->Allocate(1).status(), Code::kResourceExhausted, {"injected by MYCHIP_FAULT"});
  void* b = memory->Allocate(1).value();
  EXPECT_OK(memory->Free(a));
  EXPECT_OK(memory->Free(b));
  ExpectError(SetFaults("alloc:0"), Code::kInvalidArgument, {"alloc:0"});
  ExpectError(SetFaults("allocate:1"), Code::kInvalidArgument, {"allocate:1"});
  EXPECT_OK(SetFaults(""));
}

#if !defined(__SANITIZE_THREAD__)
TEST(MemoryDeathTest, HostAccessFaults) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto memory = Make(1 << 20);
  auto* a = static_cast<volatile char*>(memory->Allocate(16).value());
  EXPECT_DEATH(static_cast<void>(*a), "");
  EXPECT_DEATH(*a = 1, "");
}
#endif

// Against a model that knows every byte: no overlap, nothing lost, best fit, full coalescing.
TEST(RangeAllocator, Fuzz) {
  constexpr int64_t kSize = 4096;
  std::mt19937 random(1);
  RangeAllocator ranges(kSize);
  std::map<int64_t, int64_t> live;
  int64_t used = 0;
  for (int step = 0; step < 20000; ++step) {
    if (random() % 2 == 0) {
      const int64_t size = 1 + random() % (random() % 8 == 0 ? 1500 : 64);
      const auto offset = ranges.Allocate(size);
      if (!offset) {
        EXPECT_LT(ranges.largest_free(), size);
        continue;
      }
      ASSERT_LE(*offset + size, kSize);
      const auto next = live.lower_bound(*offset);
      if (next != live.end()) {
        ASSERT_LE(*offset + size, next->first);
      }
      if (next != live.begin()) {
        ASSERT_LE(std::prev(next)->first + std::prev(next)->second, *offset);
      }
      live[*offset] = size;
      used += size;
    } else if (!live.empty()) {
      auto piece = std::next(live.begin(), random() % live.size());
      EXPECT_FALSE(ranges.Free(kSize + 1));
      ASSERT_EQ(ranges.Free(piece->first), piece->second);
      ASSERT_FALSE(ranges.Free(piece->first));
      used -= piece->second;
      live.erase(piece);
    }
    int64_t free_bytes = 0, end = -1;
    for (const auto& [offset, size] : ranges.free_blocks()) {
      ASSERT_GT(offset, end) << "neighbouring free blocks are not merged";
      end = offset + size;
      free_bytes += size;
    }
    ASSERT_EQ(free_bytes + used, kSize);
  }
  for (const auto& [offset, size] : live) ASSERT_EQ(ranges.Free(offset), size);
  EXPECT_EQ(ranges.largest_free(), kSize);
}

TEST(Memory, ThreadsShareIt) {
  auto memory = Make(64 << 20);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&memory, t] {
      std::mt19937 random(t);
      std::vector<void*> mine;
      for (int i = 0; i < 2000; ++i) {
        if (random() % 2 == 0) {
          auto got = memory->Allocate(random() % 10000);
          ASSERT_TRUE(got.ok());
          mine.push_back(*got);
        } else if (!mine.empty()) {
          ASSERT_TRUE(memory->Free(mine.back()).ok());
          mine.pop_back();
        }
      }
      for (void* address : mine) ASSERT_TRUE(memory->Free(address).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory->stats().bytes_in_use, 0);
  EXPECT_EQ(memory->stats().largest_free_block, 64 << 20);
}

}  // namespace
}  // namespace mychip
