// What convolutions and pools share: strides, dilations, padding and data_format attributes.
#pragma once

#include <string>
#include <vector>

#include "context.h"

namespace mychip::kernels {

// The attributes of one node. `spatial` counts the dims between batch and channels.
struct WindowAttrs {
  explicit WindowAttrs(Construction& c);
  int spatial = 0;
  bool channels_first = false;
  std::string padding;  // VALID, SAME, EXPLICIT
  // Per spatial dim:
  std::vector<int64_t> strides, dilations, explicit_low, explicit_high;
  int64_t batch_stride = 1, channel_stride = 1;

  int channel_dim() const { return channels_first ? 1 : spatial + 1; }
  int spatial_dim(int d) const { return d + (channels_first ? 2 : 1); }
  // Element d of a list attribute that has one entry per dim of the data (ksize).
  std::vector<int64_t> Spatial(const std::vector<int64_t>& per_dim) const;
};

// Padding and result size along spatial dim d. INVALID_ARGUMENT when the window does not fit.
struct WindowSize {
  int64_t output = 0, pad_low = 0, pad_high = 0;
};
Result<WindowSize> PlaceWindow(const WindowAttrs& attrs, int d, int64_t input, int64_t window);

}  // namespace mychip::kernels
