#include <array>
#include <atomic>
#include <cstdlib>

#include "fault_points.h"
#include "mychip/runtime/config.h"

namespace mychip {
namespace {

constexpr std::array<const char*, 3> kNames = {"launch", "copy", "alloc"};  // by FaultPoint
using Countdowns = std::array<std::atomic<int64_t>, 3>;                     // 0: nothing to fail

Status Parse(const std::string& spec, std::array<int64_t, 3>* counts) {
  counts->fill(0);
  for (size_t at = 0; at < spec.size();) {
    const size_t end = std::min(spec.find(',', at), spec.size());
    const std::string item = spec.substr(at, end - at);
    at = end + 1;
    bool known = false;
    for (size_t p = 0; p < kNames.size() && !known; ++p) {
      const std::string prefix = std::string(kNames[p]) + ":";
      if (item.rfind(prefix, 0) != 0) continue;
      char* tail = nullptr;
      (*counts)[p] = std::strtoll(item.c_str() + prefix.size(), &tail, 10);
      known = (*counts)[p] > 0 && *tail == '\0';
    }
    if (!known) return InvalidArgument("fault '%s' is not launch:N, copy:N or alloc:N with N from 1", item.c_str());
  }
  return OkStatus();
}

Countdowns& TheCountdowns() {
  static Countdowns* const countdowns = [] {
    auto* made = new Countdowns{};
    std::array<int64_t, 3> counts;
    if (Status s = Parse(EnvString("MYCHIP_FAULT"), &counts); !s.ok()) {
      Log(1, "MYCHIP_FAULT: %s; nothing is injected", s.message().c_str());
      counts.fill(0);
    }
    for (size_t p = 0; p < counts.size(); ++p) (*made)[p].store(counts[p]);
    return made;
  }();
  return *countdowns;
}

}  // namespace

bool FaultHits(FaultPoint point) {
  std::atomic<int64_t>& left = TheCountdowns()[static_cast<int>(point)];
  if (left.load(std::memory_order_relaxed) <= 0) return false;
  return left.fetch_sub(1, std::memory_order_relaxed) == 1;
}

Status InjectedFault(const char* what) { return Internal("%s failed: injected by MYCHIP_FAULT", what); }

Status SetFaults(const std::string& spec) {
  std::array<int64_t, 3> counts;
  MYCHIP_RETURN_IF_ERROR(Parse(spec, &counts));
  for (size_t p = 0; p < counts.size(); ++p) TheCountdowns()[p].store(counts[p]);
  return OkStatus();
}

}  // namespace mychip
