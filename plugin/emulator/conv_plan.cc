#include "conv_plan.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

namespace mychip::emulator {
namespace {

int64_t Mod(int64_t a, int64_t b) { return (a % b + b) % b; }

// Leaves out taps at either end that meet only padding (coordinates outside lhs at every position).
void TrimTaps(ConvAxis* axis) {
  const auto useless = [&](int64_t t) {
    const int64_t first = axis->tap_first + t * axis->tap_step, last = first + (axis->rows - 1) * axis->row_step;
    return last < 0 || first >= axis->size;
  };
  while (axis->taps > 0 && useless(axis->taps - 1)) --axis->taps;
  while (axis->taps > 0 && useless(0)) {
    axis->tap_first += axis->tap_step, axis->rhs_first += axis->rhs_stride;
    --axis->taps;
  }
}

// The phases of one spatial dim. Output o and tap k meet at dilated coordinate o * stride + k * window_dilation - pad,
// an element of lhs where that is a multiple of the base dilation.
std::vector<ConvAxis> SpatialPhases(const WindowDim& w, int64_t lhs_size, int64_t lhs_stride, int64_t rhs_stride,
                                    int64_t out_size, int out_dim) {
  const int64_t base = w.base_dilation;
  const int64_t out_step = base / std::gcd(base, w.stride);
  const int64_t tap_stride = base / std::gcd(base, w.window_dilation);
  std::vector<ConvAxis> phases;
  for (int64_t first = 0; first < std::min(out_step, out_size); ++first) {
    ConvAxis axis;
    axis.size = lhs_size, axis.lhs_stride = lhs_stride;
    axis.rows = (out_size - first + out_step - 1) / out_step, axis.row_step = out_step * w.stride / base;
    axis.out_dim = out_dim, axis.out_first = first, axis.out_step = out_step;
    const int64_t origin = first * w.stride - w.pad_low;
    int64_t tap = 0;
    while (tap < std::min(tap_stride, w.size) && Mod(origin + tap * w.window_dilation, base) != 0) ++tap;
    axis.taps = tap < std::min(tap_stride, w.size) ? (w.size - tap + tap_stride - 1) / tap_stride : 0;
    if (axis.taps > 0) {
      axis.tap_first = (origin + tap * w.window_dilation) / base;
      axis.tap_step = tap_stride * w.window_dilation / base;
      axis.rhs_first = (w.reversal ? w.size - 1 - tap : tap) * rhs_stride;
      axis.rhs_stride = (w.reversal ? -tap_stride : tap_stride) * rhs_stride;
      TrimTaps(&axis);
    }
    phases.push_back(axis);
  }
  return phases;
}

}  // namespace

ConvPlan MakeConvPlan(const ConvCmd& cmd) {
  const int spatial = static_cast<int>(cmd.window.size());
  ConvPlan plan;
  plan.groups = std::max(cmd.feature_groups, cmd.batch_groups);
  plan.columns = cmd.rhs.dims.back() / plan.groups;
  plan.rhs_column_stride = cmd.rhs.strides.back();
  plan.rhs_group_stride = plan.columns * plan.rhs_column_stride;

  ConvAxis batch, features;
  batch.size = batch.rows = cmd.lhs.dims.front() / cmd.batch_groups;
  batch.lhs_stride = cmd.lhs.strides.front(), batch.out_dim = 0;
  features.size = features.taps = cmd.lhs.dims.back() / cmd.feature_groups;
  features.lhs_stride = cmd.lhs.strides.back(), features.rhs_stride = cmd.rhs.strides[spatial];
  plan.lhs_group_stride = cmd.feature_groups > 1 ? features.size * features.lhs_stride : batch.size * batch.lhs_stride;

  std::vector<ConvPhase> phases(1);
  phases[0].axes = {batch, features};
  for (int d = 0; d < spatial; ++d) {
    std::vector<ConvPhase> next;
    for (const ConvAxis& axis : SpatialPhases(cmd.window[d], cmd.lhs.dims[d + 1], cmd.lhs.strides[d + 1],
                                              cmd.rhs.strides[d], cmd.out.dims[d + 1], d + 1)) {
      for (ConvPhase phase : phases) {
        phase.axes.push_back(axis);
        next.push_back(std::move(phase));
      }
    }
    phases = std::move(next);
  }
  for (ConvPhase& phase : phases) {
    for (const ConvAxis& axis : phase.axes) phase.rows *= axis.rows, phase.depth *= axis.taps;
    // An axis that is not walked along goes outermost, whatever its stride.
    const auto key = [](const ConvAxis& a) {
      return a.rows <= 1 && a.taps <= 1 ? std::numeric_limits<int64_t>::max() : std::abs(a.lhs_stride);
    };
    std::stable_sort(phase.axes.begin(), phase.axes.end(),
                     [&](const ConvAxis& a, const ConvAxis& b) { return key(a) > key(b); });
    if (phase.rows > 0) plan.phases.push_back(std::move(phase));
  }
  return plan;
}

}  // namespace mychip::emulator
