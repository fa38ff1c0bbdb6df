// What a launch costs, from PJRT_LoadedExecutable_Execute to its completion event. The times are printed, never
// checked: a shared machine would fail them. What is computed is checked.
#include <algorithm>
#include <chrono>

#include "harness.h"

namespace mychip::pjrt_test {
namespace {

using Clock = std::chrono::steady_clock;

double Microseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::micro>(to - from).count();
}

struct Completion {
  std::atomic<bool> done{false};
  Clock::time_point when;
};

void Completed(PJRT_Error* error, void* argument) {
  EXPECT_OK(Take(error));
  auto* completion = static_cast<Completion*>(argument);
  completion->when = Clock::now();
  completion->done.store(true);
}

// Runs `code` again and again and prints medians and the best: until Execute returns, and until the event fires.
void Time(const char* code, float factor) {
  constexpr int kRuns = 300;
  Client client;
  Executable executable(client, code);
  const Buffer a = client.FromHost({1, 2, 3, 4}), b = client.FromHost({10, 20, 30, 40});
  const std::vector<float> expected{1 + factor * 10, 2 + factor * 20, 3 + factor * 30, 4 + factor * 40};
  EXPECT(executable.Outs({a.get(), b.get()})[0].Values() == expected);
  std::vector<double> enqueued, completed;
  for (int i = 0; i < kRuns; ++i) {
    Completion completion;
    const Clock::time_point start = Clock::now();
    Result<Outputs> outputs = executable.Run({a.get(), b.get()});
    const Clock::time_point returned = Clock::now();
    EXPECT_OK(outputs.status());
    auto args = New<PJRT_Event_OnReady_Args>();
    args.event = outputs->complete;
    args.callback = Completed;
    args.user_arg = &completion;
    EXPECT_OK(Take(api().PJRT_Event_OnReady(&args)));
    EXPECT_OK(Await(outputs->complete));
    while (!completion.done.load()) {
    }
    enqueued.push_back(Microseconds(start, returned));
    completed.push_back(Microseconds(start, completion.when));
    EXPECT(outputs->buffers[0].Values() == expected);
  }
  std::sort(enqueued.begin(), enqueued.end()), std::sort(completed.begin(), completed.end());
  std::printf("  %-8s Execute returns after %.1f us (best %.1f), completes after %.1f us (best %.1f)\n", code,
              enqueued[kRuns / 2], enqueued[0], completed[kRuns / 2], completed[0]);
}

void OneCommand() { Time("add", 1); }
void HundredCommands() { Time("hundred", 100); }

}  // namespace

std::vector<Test> LaunchTests() {
  return {{"Launch.OneCommand", OneCommand}, {"Launch.HundredCommandsThatDependOnEachOther", HundredCommands}};
}

}  // namespace mychip::pjrt_test
