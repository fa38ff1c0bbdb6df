#include "window.h"

#include <algorithm>

namespace mychip::kernels {

WindowAttrs::WindowAttrs(Construction& c) {
  const std::vector<int64_t> all = c.Ints("strides");
  const std::string format = c.Has("data_format") ? c.String("data_format") : "NHWC";
  if (!c.status().ok()) return;
  if (all.size() < 3 || all.size() > 5) {
    c.Fail(InvalidArgument("Sliding window strides field must specify 4 (or 5) dimensions, got %zu", all.size()));
    return;
  }
  spatial = static_cast<int>(all.size()) - 2;
  channels_first = format.compare(0, 2, "NC") == 0;
  if (format == "NCHW_VECT_C" || format.size() != all.size()) {
    c.Fail(Unimplemented("data_format %s with %zu strides", format.c_str(), all.size()));
    return;
  }
  strides = Spatial(all);
  batch_stride = all[0], channel_stride = all[channel_dim()];
  dilations.assign(spatial, 1);
  if (c.Has("dilations")) {
    const std::vector<int64_t> values = c.Ints("dilations");
    if (values.size() == all.size()) dilations = Spatial(values);
  }
  for (int64_t s : strides) {
    if (s <= 0) c.Fail(InvalidArgument("Sliding window stride must be > 0, got %lld", static_cast<long long>(s)));
  }
  for (int64_t s : dilations) {
    if (s <= 0) c.Fail(InvalidArgument("Dilated rates should be larger than 0, got %lld", static_cast<long long>(s)));
  }
  padding = c.String("padding");
  explicit_low.assign(spatial, 0), explicit_high.assign(spatial, 0);
  if (padding != "EXPLICIT") return;
  const std::vector<int64_t> pads = c.Ints("explicit_paddings");
  if (pads.size() != 2 * all.size()) {
    c.Fail(InvalidArgument("explicit_paddings attribute must contain %zu values, but got: %zu", 2 * all.size(),
                           pads.size()));
    return;
  }
  for (int d = 0; d < spatial; ++d) {
    explicit_low[d] = pads[2 * spatial_dim(d)], explicit_high[d] = pads[2 * spatial_dim(d) + 1];
  }
}

std::vector<int64_t> WindowAttrs::Spatial(const std::vector<int64_t>& per_dim) const {
  std::vector<int64_t> values;
  for (int d = 0; d < spatial; ++d) values.push_back(per_dim[spatial_dim(d)]);
  return values;
}

Result<WindowSize> PlaceWindow(const WindowAttrs& attrs, int d, int64_t input, int64_t window) {
  const int64_t stride = attrs.strides[d], reach = window > 0 ? (window - 1) * attrs.dilations[d] + 1 : 0;
  WindowSize r;
  if (attrs.padding == "SAME") {
    r.output = (input + stride - 1) / stride;
    const int64_t total = std::max<int64_t>((r.output - 1) * stride + reach - input, 0);
    r.pad_low = total / 2, r.pad_high = total - total / 2;
    return r;
  }
  r.pad_low = attrs.explicit_low[d], r.pad_high = attrs.explicit_high[d];
  const int64_t room = input + r.pad_low + r.pad_high - reach;
  if (room + stride < 0 || (room < 0 && room + stride <= 0)) {
    return InvalidArgument(
        "Computed output size would be negative: %lld [input_size: %lld, effective_filter_size: "
        "%lld, stride: %lld]",
        static_cast<long long>((room + stride) / stride), static_cast<long long>(input), static_cast<long long>(reach),
        static_cast<long long>(stride));
  }
  r.output = room < 0 ? 0 : room / stride + 1;
  return r;
}

}  // namespace mychip::kernels
