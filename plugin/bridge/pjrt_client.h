// What pjrt_client.cc shares with the rest of the bridge. A header of its own: that file takes minutes to compile, so
// it must not depend on anything that changes.
#pragma once

#include <cstdint>

namespace tensorflow {
class OpKernel;
class OpKernelConstruction;
}  // namespace tensorflow

namespace mychip::bridge {

inline constexpr char kDevice[] = "MYCHIP";

// TensorFlow's PJRT client for MYCHIP is ours (pjrt_client.cc).
void RegisterPjrtClient();
// The kernel that compiles its op and runs the result (pjrt_client.cc).
tensorflow::OpKernel* NewOnDemandKernel(tensorflow::OpKernelConstruction* construction);
// The runtime's table of the devices inside TensorFlow: what the PJRT client sees (device_factory.cc).
int64_t DeviceTable();

}  // namespace mychip::bridge
