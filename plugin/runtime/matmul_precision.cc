#include "mychip/runtime/matmul_precision.h"

#include <atomic>

namespace mychip {
namespace {

std::atomic<Precision> chosen{Precision::kF32};
std::atomic<bool (*)()> reduced_allowed{nullptr};

}  // namespace

Precision MatmulPrecision() {
  const Precision precision = chosen.load(std::memory_order_acquire);
  if (precision == Precision::kF32) return precision;
  bool (*const allowed)() = reduced_allowed.load(std::memory_order_acquire);
  return allowed == nullptr || allowed() ? precision : Precision::kF32;
}

Precision MatmulPrecision(DType dtype) { return dtype == DType::kF32 ? MatmulPrecision() : Precision::kF32; }

void SetMatmulPrecision(Precision precision) { chosen.store(precision, std::memory_order_release); }

void SetReducedPrecisionSwitch(bool (*allowed)()) { reduced_allowed.store(allowed, std::memory_order_release); }

}  // namespace mychip
