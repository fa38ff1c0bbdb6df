// Iterators, datasets that end on a device and tf.experimental.Optional around values on the chip. TensorFlow's kernels
// for these only pass tensors on; it registers them for the CPU and for GPUs alone, also in wheels without GPU code.
// Without them prefetch_to_device would yield tensors of the CPU, and fit(), in which Keras wraps every step's results
// in an Optional, would bring these to the host and need soft placement.
#include "adopted.h"

#include <string>

#include "bridge.h"
#include "mychip/runtime/config.h"
#include "tensorflow/core/framework/kernel_def.pb.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace mychip::bridge {
namespace {

using namespace tensorflow;

constexpr const char* kOps[] = {
    "AnonymousIteratorV3", "DeleteIterator",
    "GeneratorDataset",    "IteratorFromStringHandleV2",
    "IteratorGetNext",     "IteratorGetNextAsOptional",
    "IteratorGetNextSync", "IteratorToStringHandle",
    "IteratorV2",          "MakeIterator",
    "OptionalFromValue",   "OptionalGetValue",
    "OptionalHasValue",    "OptionalNone",
    "PrefetchDataset",     "UnwrapDatasetVariant",
    "WrapDatasetVariant",
};

OpKernel* CreateAdopted(OpKernelConstruction* c) {
  std::shared_ptr<const NodeProperties> properties;
  absl::Status status = NodeProperties::CreateFromNodeDef(c->def(), OpRegistry::Global(), &properties);
  OpKernel* kernel = nullptr;
  if (status.ok()) {
    status = CreateOpKernel(DeviceType(DEVICE_GPU), c->device(), c->device()->GetAllocator({}), c->function_library(),
                            c->resource_manager(), properties, c->graph_def_version(), &kernel);
  }
  if (!status.ok()) c->CtxFailure(status);
  return kernel;
}

}  // namespace

void RegisterAdoptedKernels() {
  for (const char* op : kOps) {
    int found = 0;
    const KernelList registered = GetRegisteredKernelsForOp(op);
    for (const KernelDef& def : registered.kernel()) {
      if (def.device_type() != DEVICE_GPU) continue;
      auto* ours = new KernelDef(def);  // the registry keeps it
      ours->set_device_type(kDevice);
      static_cast<void>(kernel_factory::OpKernelRegistrar(ours, op, CreateAdopted));
      ++found;
    }
    if (found == 0) Log(1, "TensorFlow has no kernel of %s to adopt: it stays on the host", op);
  }
}

}  // namespace mychip::bridge
