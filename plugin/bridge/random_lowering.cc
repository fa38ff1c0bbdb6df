// Random ops under jit_compile=True and on demand draw what XLA:CPU draws.
//
// TensorFlow's lowerings choose the generator by the name of the JIT backend: Philox with a scrambled seed for
// XLA_CPU_JIT and XLA_GPU_JIT, XLA's default generator with the seed as its key for every other backend. One seed would
// then give other numbers on MYCHIP than on the CPU. So MYCHIP's lowering of these ops is the CPU's, made under its
// name.
#include <memory>
#include <string>

#include "bridge.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow/core/framework/kernel_def.pb.h"

namespace mychip::bridge {
namespace {

using namespace tensorflow;  // NOLINT: the registry's types

// StatelessRandom*, StatelessRandom*V2, StatelessMultinomial ..., and the ops on a generator's state.
constexpr const char* kPrefixes[] = {"Stateless",         "StatefulUniform", "StatefulStandardNormal",
                                     "StatefulTruncated", "RngSkip",         "RngReadAndSkip"};
// These only carry the word: calls of functions.
constexpr const char* kNotRandom[] = {"StatelessIf", "StatelessWhile", "StatelessCase"};

bool IsRandom(const std::string& op) {
  for (const char* name : kNotRandom) {
    if (op == name) return false;
  }
  for (const char* prefix : kPrefixes) {
    if (op.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

OpKernel* NewCpuLowering(OpKernelConstruction* construction) {
  std::shared_ptr<const NodeProperties> properties;
  absl::Status status = NodeProperties::CreateFromNodeDef(construction->def(), OpRegistry::Global(), &properties);
  OpKernel* kernel = nullptr;
  if (status.ok()) {
    DeviceBase* device = construction->device();
    status = CreateOpKernel(DeviceType(DEVICE_CPU_XLA_JIT), device, device->GetAllocator(AllocatorAttributes()),
                            construction->function_library(), construction->resource_manager(), properties,
                            construction->graph_def_version(), &kernel);
  }
  if (!status.ok()) construction->CtxFailure(status);
  return kernel;
}

}  // namespace

void RegisterRandomLowerings() {
  for (const KernelDef* lowering :
       XlaOpRegistry::DeviceKernels(kJitDevice, /*include_compilation_only_kernels=*/true)) {
    if (!IsRandom(lowering->op())) continue;
    auto* def = new KernelDef(*lowering);  // the registry keeps it
    def->set_priority(lowering->priority() + 1);
    static_cast<void>(kernel_factory::OpKernelRegistrar(def, "MychipRandomLowering", NewCpuLowering));
  }
}

}  // namespace mychip::bridge
