#include "cpu.h"

#include <cpuid.h>

#include <cstdint>
#include <cstdlib>

namespace mychip::loader {
namespace {

struct Registers {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers Cpuid(uint32_t leaf) {
  Registers r;
  if (!__get_cpuid_count(leaf, 0, &r.eax, &r.ebx, &r.ecx, &r.edx)) return Registers();
  return r;
}

// Inline assembly, since the intrinsic would need -mxsave and this file must run on any x86-64.
uint64_t EnabledStates() {
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

constexpr uint64_t kSseAndAvxStates = 6;

}  // namespace

std::string MissingCpuFeatures() {
  const Registers one = Cpuid(1), seven = Cpuid(7);
  const bool osxsave = one.ecx & bit_OSXSAVE;
  const bool os_saves_avx = osxsave && (EnabledStates() & kSseAndAvxStates) == kSseAndAvxStates;
  const struct {
    const char* name;
    bool present;
  } features[] = {
      {"AVX2", (seven.ebx & bit_AVX2) != 0},
      {"FMA", (one.ecx & bit_FMA) != 0},
      {"F16C", (one.ecx & bit_F16C) != 0},
      {"AVX state saved by the operating system", os_saves_avx},
  };
  // A row of runtime/config.h's table, which this library cannot link: the test of the message needs a poor processor.
  const char* pretend = getenv("MYCHIP_PRETEND_NO_CPU_FEATURE");
  std::string missing;
  for (const auto& feature : features) {
    const bool hidden = pretend != nullptr && std::string(pretend) == feature.name;
    if (feature.present && !hidden) continue;
    if (!missing.empty()) missing += ", ";
    missing += feature.name;
  }
  return missing;
}

}  // namespace mychip::loader
