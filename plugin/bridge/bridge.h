// The bridge's parts, in the order mychip_InitBridge calls them. This folder alone uses TensorFlow's C++ ABI.
#pragma once

#include "pjrt_client.h"

namespace mychip::bridge {

inline constexpr char kJitDevice[] = "XLA_MYCHIP_JIT";

// jit_compile=True and auto-clustering know MYCHIP (xla_registration.cc).
void RegisterXlaBackend();
// Its random ops are lowered as the CPU's, so that one seed gives the same numbers (random_lowering.cc).
void RegisterRandomLowerings();
// MYCHIP devices are TensorFlow's PluggableDevices, completed (device_factory.cc).
void RegisterDeviceFactory();
// TensorFlow's TF32 switch can forbid reduced matrix precisions (precision.cc).
void FollowTensorFloat32Switch();
// Copies between two MYCHIP devices (copies.cc).
void RegisterCopies();
// Ops that have an XLA lowering and no kernel run by compiling them alone (on_demand.cc).
void RegisterOnDemandKernels();
// Ops on resource variables (variable_*.cc).
void RegisterVariableKernels();

}  // namespace mychip::bridge
