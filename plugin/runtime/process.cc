#include "process.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

namespace mychip {
namespace {

enum State : int { kRunning, kExiting, kForked };
std::atomic<int> g_state{kRunning};
void (*g_at_exit)() = nullptr;

void AtExit() {
  int running = kRunning;
  if (g_state.compare_exchange_strong(running, kExiting)) g_at_exit();
}

}  // namespace

Status CheckProcess() {
  switch (g_state.load(std::memory_order_relaxed)) {
    case kRunning:
      return OkStatus();
    case kExiting:
      return Cancelled("the process is exiting");
    default:
      return FailedPrecondition(
          "this process was forked after MYCHIP had started, and the chip's threads do not survive a fork; start child "
          "processes with the 'spawn' method, or before the first use of a MYCHIP device");
  }
}

bool Forked() { return g_state.load(std::memory_order_relaxed) == kForked; }
bool Exiting() { return g_state.load(std::memory_order_relaxed) == kExiting; }

void StartWatchingProcess(void (*at_exit)()) {
  static std::once_flag once;
  std::call_once(once, [at_exit] {
    g_at_exit = at_exit;
    pthread_atfork(nullptr, nullptr, [] { g_state.store(kForked, std::memory_order_relaxed); });
    std::atexit(AtExit);
  });
}

}  // namespace mychip
