// Where the values of a resized dim come from.
#pragma once

#include <vector>

#include "mychip/ops/resize.h"

namespace mychip::ops {

// Result position i is made from positions index[k * out + i] of the source with weight[k * out + i]. kBilinear has two
// taps and weight[i] alone, the way from the first to the second; kNearest has one tap of weight 1.
struct Taps {
  int64_t count = 0, out = 0;
  std::vector<int32_t> index;
  std::vector<float> weight;
};
Taps MakeTaps(const ResizeSpec& spec, int64_t in, int64_t out);

}  // namespace mychip::ops
