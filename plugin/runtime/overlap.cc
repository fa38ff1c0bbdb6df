#include "overlap.h"

#include <algorithm>
#include <numeric>

namespace mychip {
namespace {

// sum(x_k * step_k) == target with 0 <= x_k <= limit_k, by depth-first search over steps in falling order. For strides
// that nest, as those of slices and transposes do, each level has one or two candidates.
struct Term {
  int64_t step, limit;
};

class Search {
 public:
  explicit Search(std::vector<Term> terms) : terms_(std::move(terms)) {
    std::sort(terms_.begin(), terms_.end(), [](const Term& a, const Term& b) { return a.step > b.step; });
    reach_.assign(terms_.size() + 1, 0);
    gcd_.assign(terms_.size() + 1, 0);
    for (size_t k = terms_.size(); k-- > 0;) {
      reach_[k] = reach_[k + 1] + terms_[k].step * terms_[k].limit;
      gcd_[k] = std::gcd(gcd_[k + 1], terms_[k].step);
    }
  }
  bool Solve(int64_t target) { return Solve(0, target); }

 private:
  bool Solve(size_t k, int64_t target) {
    if (target < 0 || target > reach_[k]) return false;
    if (target == 0) return true;
    if (gcd_[k] != 0 && target % gcd_[k] != 0) return false;
    if (k == terms_.size() || ++work_ > kMaxWork) return false;
    const Term& term = terms_[k];
    const int64_t rest = target - reach_[k + 1];
    const int64_t first = rest <= 0 ? 0 : (rest + term.step - 1) / term.step;
    const int64_t last = std::min(term.limit, target / term.step);
    for (int64_t x = last; x >= first && work_ <= kMaxWork; --x) {
      if (Solve(k + 1, target - x * term.step)) return true;
    }
    return false;
  }

  static constexpr int kMaxWork = 100'000;
  std::vector<Term> terms_;
  std::vector<int64_t> reach_, gcd_;
  int work_ = 0;
};

bool Accumulate(int64_t count, int64_t step, Extent* extent) {
  int64_t span = 0;
  if (__builtin_mul_overflow(count - 1, step, &span)) return false;
  int64_t* side = span < 0 ? &extent->low : &extent->high;
  if (__builtin_add_overflow(*side, span, side)) return false;
  if (count > 1 && step != 0) {
    extent->counts.push_back(count);
    extent->steps.push_back(step < 0 ? -step : step);
  }
  return true;
}

bool AccumulateAll(const Dims& counts, const Dims& steps, int64_t size, Extent* extent) {
  for (size_t d = 0; d < counts.size(); ++d) {
    int64_t bytes = 0;
    if (__builtin_mul_overflow(steps[d], size, &bytes) || bytes == INT64_MIN) return false;
    if (!Accumulate(counts[d], bytes, extent)) return false;
  }
  return true;
}

}  // namespace

bool ComputeExtent(const View& view, const Dims& extra_counts, const Dims& extra_steps, Extent* extent) {
  *extent = Extent();
  extent->size = ByteSize(view.dtype);
  extent->empty = NumElements(view.dims) == 0;
  if (extent->empty) return true;
  extent->low = view.offset;
  if (__builtin_add_overflow(view.offset, extent->size, &extent->high)) return false;
  return AccumulateAll(view.dims, view.strides, extent->size, extent) &&
         AccumulateAll(extra_counts, extra_steps, extent->size, extent);
}

bool Overlaps(const Extent& a, const Extent& b) {
  if (a.empty || b.empty || a.high <= b.low || b.high <= a.low) return false;
  // a.low + A + ea == b.low + B + eb; with B counted from its far end this is one sum of non-negative terms.
  std::vector<Term> terms;
  for (size_t d = 0; d < a.counts.size(); ++d) terms.push_back({a.steps[d], a.counts[d] - 1});
  for (size_t d = 0; d < b.counts.size(); ++d) terms.push_back({b.steps[d], b.counts[d] - 1});
  terms.push_back({1, a.size + b.size - 2});
  return Search(std::move(terms)).Solve(b.high - 1 - a.low);
}

bool OverlapsItself(const View& view, const Extent& extent) {
  if (extent.empty) return false;
  for (int d = 0; d < view.rank(); ++d) {
    if (view.dims[d] > 1 && view.strides[d] == 0) return true;
  }
  // Nested strides cannot meet; anything else is looked at as "is some non-zero index difference 0 bytes away".
  std::vector<size_t> order(extent.steps.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return extent.steps[a] < extent.steps[b]; });
  int64_t reach = extent.size;
  bool nested = true;
  for (size_t d : order) {
    nested = nested && extent.steps[d] >= reach;
    reach += (extent.counts[d] - 1) * extent.steps[d];
  }
  if (nested) return false;
  // Split at the first dim whose index differs: it is ahead by at least one step.
  for (size_t split = 0; split < extent.steps.size(); ++split) {
    std::vector<Term> terms;
    int64_t far = 0;
    for (size_t d = split + 1; d < extent.steps.size(); ++d) {
      terms.push_back({extent.steps[d], 2 * (extent.counts[d] - 1)});
      far += (extent.counts[d] - 1) * extent.steps[d];
    }
    terms.push_back({extent.steps[split], extent.counts[split] - 2});
    terms.push_back({1, 2 * (extent.size - 1)});
    if (Search(std::move(terms)).Solve(far + extent.size - 1 - extent.steps[split])) return true;
  }
  return false;
}

bool Coincides(const View& a, const View& b) {
  if (a.offset != b.offset || ByteSize(a.dtype) != ByteSize(b.dtype) || a.dims != b.dims) return false;
  for (int d = 0; d < a.rank(); ++d) {
    if (a.dims[d] > 1 && a.strides[d] != b.strides[d]) return false;
  }
  return true;
}

}  // namespace mychip
