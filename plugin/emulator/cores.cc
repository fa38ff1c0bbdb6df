#include "cores.h"

#include <immintrin.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "float_environment.h"
#include "mychip/runtime/config.h"

namespace mychip::emulator {
namespace {

constexpr int kSpins = 2000;       // pauses of a worker before it sleeps (tens of microseconds)
constexpr int kMaxCores = 256;     // also the bound of MYCHIP_CORES
constexpr int kChunksPerCore = 4;  // so that a core that loses its processor holds up little work

int HostProcessors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// One job at a time. Workers join an open job if they wake in time; the caller never waits for one that did not, so a
// worker without a processor costs nothing. `state_`: generation << 32 | open << 16 | workers inside.
class Gang {
 public:
  explicit Gang(int cores) {
    for (int i = 1; i < cores; ++i) workers_.emplace_back([this] { Work(); });
  }
  ~Gang() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stop_.store(true);
    }
    wake_.notify_all();
    for (std::thread& t : workers_) t.join();
  }
  int cores() const { return static_cast<int>(workers_.size()) + 1; }

  // False when another stream uses the gang: the caller then does the work itself.
  bool TryRun(int64_t n, int64_t chunk, const std::function<void(int64_t, int64_t)>& fn) {
    std::unique_lock<std::mutex> owner(owner_, std::try_to_lock);
    if (!owner.owns_lock()) return false;
    fn_ = &fn, n_ = n, chunk_ = chunk, error_ = nullptr;
    next_.store(0, std::memory_order_relaxed);
    const uint64_t generation = (state_.load(std::memory_order_relaxed) >> 32) + 1;
    state_.store(generation << 32 | kOpen);
    if (sleepers_.load() > 0) {
      { std::lock_guard<std::mutex> lock(mutex_); }
      wake_.notify_all();
    }
    TakeChunks();
    uint64_t inside = state_.fetch_and(~kOpen) & kInside;
    for (int spin = 0; inside != 0 && spin < kSpins; ++spin) {
      _mm_pause();
      inside = state_.load(std::memory_order_acquire) & kInside;
    }
    if (inside != 0) {
      std::unique_lock<std::mutex> lock(mutex_);
      done_.wait(lock, [this] { return (state_.load() & kInside) == 0; });
    }
    if (error_ != nullptr) std::rethrow_exception(error_);
    return true;
  }

 private:
  static constexpr uint64_t kOpen = 1u << 16, kInside = kOpen - 1;

  void TakeChunks() {
    try {
      for (;;) {
        const int64_t begin = next_.fetch_add(chunk_, std::memory_order_relaxed);
        if (begin >= n_) return;
        (*fn_)(begin, std::min(n_, begin + chunk_));
      }
    } catch (...) {
      next_.store(n_, std::memory_order_relaxed);
      std::lock_guard<std::mutex> lock(mutex_);
      error_ = std::current_exception();
    }
  }

  static bool IsNew(uint64_t state, uint64_t seen) { return (state & kOpen) != 0 && state >> 32 != seen; }

  uint64_t WaitForJob(uint64_t seen) {
    for (int spin = 0; spin < kSpins; ++spin) {
      const uint64_t state = state_.load(std::memory_order_acquire);
      if (IsNew(state, seen)) return state;
      _mm_pause();
    }
    std::unique_lock<std::mutex> lock(mutex_);
    sleepers_.fetch_add(1);
    uint64_t state = 0;
    wake_.wait(lock, [&] { return stop_.load() || IsNew(state = state_.load(), seen); });
    sleepers_.fetch_sub(1);
    return state;
  }

  void Work();

  std::vector<std::thread> workers_;
  std::mutex owner_;  // held by the caller whose job runs
  std::atomic<uint64_t> state_{0};
  std::atomic<int64_t> next_{0};
  const std::function<void(int64_t, int64_t)>* fn_ = nullptr;
  int64_t n_ = 0, chunk_ = 1;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false};
  std::exception_ptr error_;  // guarded by mutex_ while the job runs
};

thread_local bool t_inside_job = false;

void Gang::Work() {
  const FloatEnvironment environment;
  t_inside_job = true;
  uint64_t seen = 0;
  for (;;) {
    uint64_t state = WaitForJob(seen);
    if (stop_.load()) return;
    seen = state >> 32;
    if (!state_.compare_exchange_strong(state, state + 1)) {
      if (!IsNew(state, 0) || state >> 32 != seen) continue;
      // Another worker entered or left: try again while this job is open.
      bool joined = false;
      while (!joined && (state & kOpen) != 0 && state >> 32 == seen) {
        joined = state_.compare_exchange_weak(state, state + 1);
      }
      if (!joined) continue;
    }
    TakeChunks();
    const uint64_t left = state_.fetch_sub(1) - 1;
    if ((left & (kOpen | kInside)) == 0) {
      { std::lock_guard<std::mutex> lock(mutex_); }
      done_.notify_all();
    }
  }
}

std::atomic<bool> g_forked{false};
std::atomic<Gang*> g_gang{nullptr};

// Leaked on purpose: workers sleep through process exit, and streams may still run in other threads' destructors.
Gang& TheGang() {
  static std::once_flag once;
  std::call_once(once, [] {
    int cores = static_cast<int>(EnvInt("MYCHIP_CORES", 0, kMaxCores));
    if (cores == 0) cores = HostProcessors();
    g_gang.store(new Gang(cores));
    pthread_atfork(nullptr, nullptr, [] { g_forked.store(true); });
  });
  return *g_gang.load(std::memory_order_acquire);
}

}  // namespace

Status CheckCores() {
  if (!g_forked.load(std::memory_order_relaxed)) return OkStatus();
  return FailedPrecondition(
      "the process was forked after MYCHIP had started its cores, and threads do not survive a fork; start child "
      "processes with the 'spawn' method, or before the first use of the device");
}

int NumCores() { return TheGang().cores(); }

void SetNumCores(int cores) {
  TheGang();
  delete g_gang.exchange(new Gang(std::clamp(cores, 1, kMaxCores)));
}

void ParallelFor(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& fn) {
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  if (n <= grain || t_inside_job || g_forked.load(std::memory_order_relaxed)) return fn(0, n);
  Gang& gang = TheGang();
  if (gang.cores() == 1) return fn(0, n);
  const int64_t grains = (n + grain - 1) / grain;
  const int64_t per_chunk = std::max<int64_t>(1, grains / (gang.cores() * kChunksPerCore));
  t_inside_job = true;
  struct Reset {
    ~Reset() { t_inside_job = false; }
  } reset;
  if (!gang.TryRun(n, per_chunk * grain, fn)) fn(0, n);
}

}  // namespace mychip::emulator
