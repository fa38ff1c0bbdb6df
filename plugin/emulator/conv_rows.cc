#include "conv_rows.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace mychip::emulator {
namespace {

// offsets[i] = sum over axes of start[d] + index_d * step[d], last axis fastest.
struct Progression {
  int64_t start, step, count;
};
void Expand(const std::vector<Progression>& axes, int64_t* offsets) {
  int64_t filled = 1;
  offsets[0] = 0;
  for (const Progression& p : axes) offsets[0] += p.start;
  for (size_t d = axes.size(); d-- > 0;) {
    const Progression& p = axes[d];
    for (int64_t i = 1; i < p.count; ++i) {
      for (int64_t j = 0; j < filled; ++j) offsets[i * filled + j] = offsets[j] + i * p.step;
    }
    filled *= p.count;
  }
}

template <typename T>
void Zero(T* out, int64_t n) {
  std::memset(static_cast<void*>(out), 0, n * sizeof(T));
}

// Copies a slab axis by axis.
template <typename T>
struct SlabFiller {
  const ConvPhase& phase;
  const ConvAddress& slab;
  int64_t size, groups, group_stride;
  Loader<T> load;
  size_t merged_from;  // axes from here on (and the lanes) are one run of consecutive elements in lhs and slab

  // The part of axis d's extent that lies in lhs.
  void Valid(size_t d, int64_t* first, int64_t* last) const {
    const ConvAddress::Axis& a = slab.axes[d];
    const int64_t limit = phase.axes[d].size, base = a.base();
    *first = base >= 0 ? 0 : std::min(a.extent, (-base + a.step - 1) / a.step);
    *last = limit <= base ? 0 : std::min(a.extent, (limit - base + a.step - 1) / a.step);
    *last = std::max(*first, *last);
  }

  void Fill(size_t d, const uint8_t* source, T* out) const {
    if (d == slab.axes.size()) {
      load(source, group_stride, groups, out);
      return Zero(out + groups, slab.lanes - groups);
    }
    const ConvAddress::Axis& a = slab.axes[d];
    const int64_t lhs_stride = phase.axes[d].lhs_stride;
    int64_t first, last;
    Valid(d, &first, &last);
    Zero(out, first * a.stride);
    Zero(out + last * a.stride, (a.extent - last) * a.stride);
    if (first == last) return;
    const uint8_t* begin = source + (a.base() + first * a.step) * lhs_stride * size;
    T* to = out + first * a.stride;
    if (d >= merged_from) {
      for (size_t inner = d + 1; inner < slab.axes.size(); ++inner) {
        begin += slab.axes[inner].base() * phase.axes[inner].lhs_stride * size;
      }
      return load(begin, Innermost(), (last - first) * a.stride, to);
    }
    for (int64_t i = first; i < last; ++i, to += a.stride) {
      Fill(d + 1, begin + (i - first) * a.step * lhs_stride * size, to);
    }
  }

  // Stride of the innermost run in lhs.
  int64_t Innermost() const {
    if (slab.lanes > 1) return group_stride;
    const size_t last = slab.axes.size() - 1;
    return phase.axes[last].lhs_stride * slab.axes[last].step;
  }
};

}  // namespace

void ConvAddress::Rows(const ConvPhase& phase, const ConvBox& rows, int64_t* offsets) const {
  std::vector<Progression> steps;
  for (size_t d = 0; d < axes.size(); ++d) {
    const int64_t step = phase.axes[d].row_step;
    const int64_t start = rows.first[d] * step - axes[d].row_base;
    steps.push_back({start / axes[d].step * axes[d].stride, step / axes[d].step * axes[d].stride, rows.count[d]});
  }
  Expand(steps, offsets);
}

void ConvAddress::Taps(const ConvPhase& phase, const ConvBox& taps, int64_t* offsets) const {
  std::vector<Progression> steps;
  for (size_t d = 0; d < axes.size(); ++d) {
    const int64_t step = phase.axes[d].tap_step;
    const int64_t start = phase.axes[d].tap_first + taps.first[d] * step - axes[d].tap_base;
    steps.push_back({start / axes[d].step * axes[d].stride, step / axes[d].step * axes[d].stride, taps.count[d]});
  }
  Expand(steps, offsets);
}

ConvAddress SlabFor(const ConvPhase& phase, const ConvBox& rows, const ConvBox& taps, int64_t lanes) {
  ConvAddress address;
  address.lanes = address.elements = lanes;
  address.axes.resize(phase.axes.size());
  for (size_t d = phase.axes.size(); d-- > 0;) {
    const ConvAxis& axis = phase.axes[d];
    ConvAddress::Axis& a = address.axes[d];
    const int64_t row_span = (rows.count[d] - 1) * axis.row_step, tap_span = (taps.count[d] - 1) * axis.tap_step;
    a.step = std::gcd(rows.count[d] > 1 ? axis.row_step : 0, taps.count[d] > 1 ? axis.tap_step : 0);
    if (a.step == 0) a.step = 1;
    a.row_base = rows.first[d] * axis.row_step, a.tap_base = axis.tap_first + taps.first[d] * axis.tap_step;
    a.extent = (row_span + tap_span) / a.step + 1;
    a.stride = address.elements;
    address.elements *= a.extent;
    // Products that step over whole runs would fall on few cache sets when runs are a power of two long.
    if (d + 1 == phase.axes.size() && axis.rows > 1 && address.elements % 32 == 0) {
      address.pad = 16;
      address.elements += address.pad;
    }
    address.inside &= a.base() >= 0 && a.base() + row_span + tap_span < axis.size;
  }
  return address;
}

ConvAddress InPlace(const ConvPhase& phase) {
  ConvAddress address;
  for (const ConvAxis& axis : phase.axes) address.axes.push_back({0, 0, 1, axis.lhs_stride, axis.size});
  return address;
}

template <typename T>
void FillSlab(const ConvPhase& phase, const ConvAddress& slab, const uint8_t* lhs, int64_t size, int64_t groups,
              int64_t group_stride, Loader<T> load, T* out) {
  SlabFiller<T> filler{phase, slab, size, groups, group_stride, load, 0};
  // Merge inner axes while each covers what lies between two elements of the next. `run`: the distance in lhs that the
  // merged axes cover.
  size_t d = slab.axes.size();
  int64_t run = groups == slab.lanes ? slab.lanes * group_stride : 0;
  if (slab.lanes == 1) {
    --d;
    run = slab.axes[d].extent * slab.axes[d].step * phase.axes[d].lhs_stride;
  }
  filler.merged_from = d;
  while (d > 0 && run != 0) {
    if (d + 1 == slab.axes.size() && slab.pad != 0) break;  // a gap in the slab after each run of the innermost axis
    if (d < slab.axes.size()) {
      int64_t first, last;
      filler.Valid(d, &first, &last);
      if (first != 0 || last != slab.axes[d].extent) break;  // zeros inside the run
    }
    const ConvAddress::Axis& next = slab.axes[d - 1];
    const int64_t distance = phase.axes[d - 1].lhs_stride * next.step;
    if (next.extent > 1 && distance != run) break;
    --d;
    filler.merged_from = d;
    if (next.extent > 1) run = distance * next.extent;
  }
  filler.Fill(0, lhs, out);
}

void RhsOffsets(const ConvPhase& phase, const ConvBox& taps, int64_t* offsets) {
  std::vector<Progression> steps;
  for (size_t d = 0; d < phase.axes.size(); ++d) {
    const ConvAxis& axis = phase.axes[d];
    steps.push_back({axis.rhs_first + taps.first[d] * axis.rhs_stride, axis.rhs_stride, taps.count[d]});
  }
  Expand(steps, offsets);
}

#define INSTANTIATE(T)                                                                                       \
  template void FillSlab<T>(const ConvPhase&, const ConvAddress&, const uint8_t*, int64_t, int64_t, int64_t, \
                            Loader<T>, T*);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(uint32_t)
INSTANTIATE(uint64_t)
INSTANTIATE(Complex64)
INSTANTIATE(Complex128)
#undef INSTANTIATE

}  // namespace mychip::emulator
