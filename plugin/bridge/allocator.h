// The runtime's view of a TensorFlow allocator.
#pragma once

#include "mychip/runtime/allocator.h"
#include "tensorflow/core/framework/allocator.h"

namespace mychip::bridge {

// One adapter per allocator, made on first use. TensorFlow keeps device allocators until the process ends; so do we.
DeviceAllocator* Adapt(Device* chip, tensorflow::Allocator* allocator);

}  // namespace mychip::bridge
