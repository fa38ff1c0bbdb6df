#include "resize_taps.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mychip::ops {
namespace {

constexpr int kTableSize = 1024;  // the cubic's argument is rounded to 1 / 1024, as TensorFlow does

float Scale(int64_t in, int64_t out, bool align_corners) {
  return align_corners && out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                                  : static_cast<float>(in) / static_cast<float>(out);
}

float Position(const ResizeSpec& spec, int64_t i, float scale) {
  const auto x = static_cast<float>(i);
  return spec.half_pixel_centers ? (x + 0.5f) * scale - 0.5f : x * scale;
}

int32_t Bound(int64_t i, int64_t size) { return static_cast<int32_t>(std::clamp<int64_t>(i, 0, size - 1)); }

Taps Nearest(const ResizeSpec& spec, int64_t in, int64_t out) {
  Taps taps{1, out, std::vector<int32_t>(out), std::vector<float>(out, 1)};
  const float scale = Scale(in, out, spec.align_corners);
  for (int64_t i = 0; i < out; ++i) {
    const float x = (static_cast<float>(i) + (spec.half_pixel_centers ? 0.5f : 0.0f)) * scale;
    taps.index[i] = Bound(static_cast<int64_t>(spec.align_corners ? std::round(x) : std::floor(x)), in);
  }
  return taps;
}

Taps Bilinear(const ResizeSpec& spec, int64_t in, int64_t out) {
  Taps taps{2, out, std::vector<int32_t>(2 * out), std::vector<float>(out)};
  const float scale = Scale(in, out, spec.align_corners);
  for (int64_t i = 0; i < out; ++i) {
    const float x = Position(spec, i, scale), below = std::floor(x);
    taps.index[i] = Bound(static_cast<int64_t>(below), in);
    taps.index[out + i] = Bound(static_cast<int64_t>(std::ceil(x)), in);
    taps.weight[i] = x - below;
  }
  return taps;
}

// Keys' cubic with parameter a: the near taps (distance x <= 1) and the far ones (distance x + 1).
float Near(float a, int step) {
  const float x = static_cast<float>(step) / kTableSize;
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}
float Far(float a, int step) {
  const float x = static_cast<float>(step) / kTableSize + 1;
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

// With half-pixel centres taps outside the image have no weight and the others are scaled up; otherwise the border
// repeats.
Taps Bicubic(const ResizeSpec& spec, int64_t in, int64_t out) {
  Taps taps{4, out, std::vector<int32_t>(4 * out), std::vector<float>(4 * out)};
  const float scale = Scale(in, out, spec.align_corners), a = spec.half_pixel_centers ? -0.5f : -0.75f;
  for (int64_t i = 0; i < out; ++i) {
    const float x = Position(spec, i, scale), below = std::floor(x);
    const auto first = static_cast<int64_t>(below) - 1;
    const int step = static_cast<int>(std::lrint((x - below) * kTableSize)), rest = kTableSize - step;
    float weight[] = {Far(a, step), Near(a, step), Near(a, rest), Far(a, rest)};
    float sum = 0;
    for (int k = 0; k < 4; ++k) {
      const int32_t at = taps.index[k * out + i] = Bound(first + k, in);
      if (spec.half_pixel_centers && at != first + k) weight[k] = 0;
      sum += weight[k];
    }
    const bool normalise = spec.half_pixel_centers && std::abs(sum) >= 1000 * std::numeric_limits<float>::min();
    for (int k = 0; k < 4; ++k) taps.weight[k * out + i] = normalise ? weight[k] * (1 / sum) : weight[k];
  }
  return taps;
}

// Each source pixel counts by the part of it that lies under the result's pixel.
Taps Area(const ResizeSpec& spec, int64_t in, int64_t out) {
  const float scale = Scale(in, out, spec.align_corners);
  const auto begin = [&](int64_t i) { return static_cast<float>(i) * scale; };
  Taps taps{1, out, {}, {}};
  for (int64_t i = 0; i < out; ++i) {
    const float first = std::floor(begin(i)), last = std::ceil(begin(i + 1));
    taps.count = std::max(taps.count, static_cast<int64_t>(last - first));
  }
  taps.index.resize(taps.count * out), taps.weight.resize(taps.count * out);
  for (int64_t i = 0; i < out; ++i) {
    const float low = begin(i), high = begin(i + 1);
    const auto first = static_cast<int64_t>(std::floor(low));
    const int64_t last = std::max(first + 1, static_cast<int64_t>(std::ceil(high)));  // aligned, one pixel: scale is 0
    for (int64_t k = 0; k < taps.count; ++k) {
      const auto at = static_cast<float>(first + k);
      const bool cut_low = at<low, cut_high = at + 1> high;
      const float part = cut_low ? (cut_high ? scale : at + 1 - low) : (cut_high ? high - at : 1.0f);
      taps.index[k * out + i] = Bound(std::min(first + k, last - 1), in);
      taps.weight[k * out + i] = first + k >= last ? 0 : scale == 0 ? 1 : part / scale;
    }
  }
  return taps;
}

}  // namespace

Taps MakeTaps(const ResizeSpec& spec, int64_t in, int64_t out) {
  switch (spec.kind) {
    case ResizeKind::kNearest:
      return Nearest(spec, in, out);
    case ResizeKind::kBilinear:
      return Bilinear(spec, in, out);
    case ResizeKind::kBicubic:
      return Bicubic(spec, in, out);
    default:
      return Area(spec, in, out);
  }
}

}  // namespace mychip::ops
