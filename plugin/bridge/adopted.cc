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

// TensorFlow's list kernels for any device leave out some dtypes (bool: the mask of a recurrent layer) for which the
// CPU has the very same classes, which know pluggable devices.
constexpr const char* kListOps[] = {
    "TensorListFromTensor", "TensorListGather",    "TensorListGetItem", "TensorListPopBack",
    "TensorListPushBack",   "TensorListScatterV2", "TensorListSetItem", "TensorListStack",
};
constexpr DataType kListTypes[] = {DT_BOOL,   DT_INT8, DT_UINT8,    DT_INT16, DT_UINT16, DT_UINT32,    DT_INT64,
                                   DT_UINT64, DT_HALF, DT_BFLOAT16, DT_FLOAT, DT_DOUBLE, DT_COMPLEX64, DT_COMPLEX128};

constexpr const char* kGpu = "GPU";
constexpr const char* kCpu = "CPU";

template <const char* const* kFrom>
OpKernel* CreateAdopted(OpKernelConstruction* c) {
  std::shared_ptr<const NodeProperties> properties;
  absl::Status status = NodeProperties::CreateFromNodeDef(c->def(), OpRegistry::Global(), &properties);
  OpKernel* kernel = nullptr;
  if (status.ok()) {
    status = CreateOpKernel(DeviceType(*kFrom), c->device(), c->device()->GetAllocator({}), c->function_library(),
                            c->resource_manager(), properties, c->graph_def_version(), &kernel);
  }
  if (!status.ok()) c->CtxFailure(status);
  return kernel;
}

// Whether a kernel of the op for `device` takes `type` as its element_dtype; `def` is that kernel, or any other one.
bool Takes(const KernelList& kernels, const char* device, DataType type, KernelDef* def) {
  for (const KernelDef& kernel : kernels.kernel()) {
    if (kernel.device_type() != device) continue;
    bool takes = kernel.constraint().empty();
    for (const auto& constraint : kernel.constraint()) {
      for (int allowed : constraint.allowed_values().list().type()) takes = takes || allowed == type;
    }
    *def = kernel;
    if (takes) return true;
  }
  return false;
}

void RegisterListKernels() {
  for (const char* op : kListOps) {
    const KernelList registered = GetRegisteredKernelsForOp(op);
    for (DataType type : kListTypes) {
      KernelDef cpu, any;
      if (Takes(registered, DEVICE_DEFAULT, type, &any) || !Takes(registered, DEVICE_CPU, type, &cpu)) continue;
      if (any.constraint_size() != 1) continue;
      auto* ours = new KernelDef(any);  // its arguments in host memory; the registry keeps it
      ours->set_device_type(kDevice);
      ours->set_priority(1);
      auto* types = ours->mutable_constraint(0)->mutable_allowed_values()->mutable_list();
      types->clear_type();
      types->add_type(type);
      static_cast<void>(kernel_factory::OpKernelRegistrar(ours, op, CreateAdopted<&kCpu>));
    }
  }
}

}  // namespace

void RegisterAdoptedKernels() {
  RegisterListKernels();
  for (const char* op : kOps) {
    int found = 0;
    const KernelList registered = GetRegisteredKernelsForOp(op);
    for (const KernelDef& def : registered.kernel()) {
      if (def.device_type() != DEVICE_GPU) continue;
      auto* ours = new KernelDef(def);  // the registry keeps it
      ours->set_device_type(kDevice);
      static_cast<void>(kernel_factory::OpKernelRegistrar(ours, op, CreateAdopted<&kGpu>));
      ++found;
    }
    if (found == 0) Log(1, "TensorFlow has no kernel of %s to adopt: it stays on the host", op);
  }
}

}  // namespace mychip::bridge
