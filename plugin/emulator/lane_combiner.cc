#include "lane_combiner.h"

#include <algorithm>
#include <cstring>

namespace mychip::emulator {
namespace {

const uint8_t* At(const void* p, int64_t bytes) { return static_cast<const uint8_t*>(p) + bytes; }
uint8_t* At(void* p, int64_t bytes) { return static_cast<uint8_t*>(p) + bytes; }

}  // namespace

LaneCombiner::LaneCombiner(const Body& body) {
  const size_t n = body.results.size();
  vm_ = DecodeBody(body, std::vector<Access>(2 * n, Access::kLanes), std::vector<Access>(n, Access::kLanes));
  for (int32_t r : body.results) bytes_.push_back(LaneBytes(body.insts[r].dtype));
  VOp op;
  if (n != 1 || !MatchBinaryBody(body, &op)) return;
  const DType dtype = body.insts[body.results[0]].dtype;
  if (op != VOp::kAdd && op != VOp::kMul && op != VOp::kMax && op != VOp::kMin && op != VOp::kAnd && op != VOp::kOr)
    return;
  row_ = FindRowKernel(op, dtype);
  rows_ = FindRowsKernel(op, dtype);
  kernel_ = FindKernel(op, dtype, dtype).by_mask[0];
  if (op == VOp::kAdd || op == VOp::kMul) round_ = FindRound(dtype);
  if (round_ != nullptr) row_ = nullptr;
}

CombinerRun::CombinerRun(const LaneCombiner& combiner, Scratch* scratch)
    : combiner_(combiner), frame_(combiner.vm_, kTile, scratch) {
  for (int64_t bytes : combiner.bytes_) spare_.push_back(scratch->Allocate(static_cast<size_t>(bytes * kTile)));
}

void CombinerRun::RunTile(int64_t n, void* const* dst, const void* const* a, const void* const* b) {
  const VmProgram& vm = combiner_.vm_;
  const int count = combiner_.count();
  for (const VmParam& p : vm.params) {
    frame_.ptr(p.value) = const_cast<void*>(p.index < count ? a[p.index] : b[p.index - count]);
  }
  // Results are computed in the spare tiles: a later instruction may still read the accumulator a result replaces.
  for (int k = 0; k < count; ++k) {
    if (vm.results[k].direct) frame_.ptr(vm.results[k].value) = spare_[k];
  }
  frame_.Execute(n);
  for (int k = 0; k < count; ++k) StoreResult(vm.results[k], frame_.ptr(vm.results[k].value), n, dst[k]);
}

void CombinerRun::Run(int64_t n, void* const* dst, const void* const* a, const void* const* b) {
  if (combiner_.kernel_ != nullptr) {
    combiner_.kernel_(dst[0], a[0], b[0], nullptr, n, 0);
    if (combiner_.round_ != nullptr) combiner_.round_(dst[0], dst[0], nullptr, nullptr, n, 0);
    return;
  }
  const int count = combiner_.count();
  if (n <= kTile) return RunTile(n, dst, a, b);
  std::vector<void*> d(count);
  std::vector<const void*> x(count), y(count);
  for (int64_t at = 0; at < n; at += kTile) {
    for (int k = 0; k < count; ++k) {
      const int64_t bytes = at * combiner_.bytes(k);
      d[k] = At(dst[k], bytes), x[k] = At(a[k], bytes), y[k] = At(b[k], bytes);
    }
    RunTile(std::min(kTile, n - at), d.data(), x.data(), y.data());
  }
}

void CombinerRun::Fold(int64_t n, void* const* dst, const void* const* x) {
  if (combiner_.row_ != nullptr) return combiner_.row_(dst[0], x[0], n);
  FoldRows(n, 1, dst, x);
}

void CombinerRun::FoldRows(int64_t m, int64_t width, void* const* dst, const void* const* x) {
  const int count = combiner_.count();
  if (m == 1) {
    for (int k = 0; k < count; ++k) {
      if (dst[k] != x[k]) std::memcpy(dst[k], x[k], static_cast<size_t>(width * combiner_.bytes(k)));
    }
    return;
  }
  // Rows [0, h) take rows [m - h, m); a middle row is kept as it is.
  Scratch scope;
  std::vector<void*> work(count);
  std::vector<const void*> from(x, x + count), upper(count);
  for (int k = 0; k < count; ++k) {
    work[k] = scope.Allocate(static_cast<size_t>((m + 1) / 2 * width * combiner_.bytes(k)));
  }
  while (m > 1) {
    const int64_t half = m / 2, keep = m - half;
    for (int k = 0; k < count; ++k) upper[k] = At(from[k], keep * width * combiner_.bytes(k));
    if (keep > half && from[0] != work[0]) {
      for (int k = 0; k < count; ++k) {
        const int64_t row = width * combiner_.bytes(k);
        std::memcpy(At(work[k], half * row), At(from[k], half * row), static_cast<size_t>(row));
      }
    }
    Run(half * width, work.data(), from.data(), upper.data());
    for (int k = 0; k < count; ++k) from[k] = work[k];
    m = keep;
  }
  for (int k = 0; k < count; ++k) std::memcpy(dst[k], work[k], static_cast<size_t>(width * combiner_.bytes(k)));
}

}  // namespace mychip::emulator
