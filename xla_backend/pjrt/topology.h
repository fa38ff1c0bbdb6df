// PJRT_TopologyDescription: how many chips, without holding any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device.h"

struct PJRT_TopologyDescription {
  explicit PJRT_TopologyDescription(const std::vector<int>& device_ids);

  std::vector<std::unique_ptr<PJRT_DeviceDescription>> owned;
  std::vector<PJRT_DeviceDescription*> descriptions;
  mychip::pjrt::NamedValues attributes;
};
