// Steps 1 and 2 of README.md: a JIT backend of our own, and TensorFlow's "device API" (PJRT) for it.
#include "bridge.h"
#include "tensorflow/compiler/jit/flags.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"

namespace mychip::bridge {
namespace {

using namespace tensorflow;  // NOLINT: enumerators

// The chip's dtypes, and nothing else: a float8 graph is refused with its op's name while it is lowered.
constexpr DataType kTypes[] = {DT_BOOL,   DT_INT8,      DT_INT16,      DT_INT32, DT_INT64,    DT_UINT8,
                               DT_UINT16, DT_UINT32,    DT_UINT64,     DT_HALF,  DT_BFLOAT16, DT_FLOAT,
                               DT_DOUBLE, DT_COMPLEX64, DT_COMPLEX128, DT_QINT8, DT_QUINT8,   DT_QINT32};

XlaOpRegistry::DeviceRegistration Registration() {
  XlaOpRegistry::DeviceRegistration r;
  r.compilation_device_name = kJitDevice;
  r.autoclustering_policy = XlaOpRegistry::AutoclusteringPolicy::kIfEnabledGlobally;
  r.cluster_resource_variable_ops_unsafely = true;
  r.cluster_stack_ops = false;
  r.cluster_tensor_array_ops = true;
  r.cluster_stateful_rng_ops = true;
  r.cluster_control_trigger = true;
  r.elide_assert_and_checknumerics = true;
  r.cluster_variant_ops = true;
  r.cluster_slow_ops = true;
  r.cluster_inaccurate_ops = true;
  return r;
}

}  // namespace

void RegisterXlaBackend() {
  XlaOpRegistry::RegisterBackend(kJitDevice, kTypes, [](KernelDef*) { return true; });
  XlaOpRegistry::RegisterCompilationDevice(kDevice, Registration());
  auto& rollout = GetXlaOpsCommonFlags()->tf_xla_use_device_api;
  const DeviceType type(kDevice);
  rollout.enabled_for_xla_launch_ = true;
  rollout.enabled_for_compile_on_demand_ = true;
  rollout.enabled_for_compile_and_run_ = true;
  rollout.AllowForDeviceInXlaLaunch(type);
  rollout.AllowForDeviceInXlaCompileOnDemand(type);
  rollout.AllowForDeviceInXlaCompileAndRun(type);
}

}  // namespace mychip::bridge
