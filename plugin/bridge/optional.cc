// tf.experimental.Optional around values on the chip: Keras wraps every step's results in one. The kernels are
// TensorFlow's own, which only pass tensors on; it registers them for the CPU and for GPUs alone, so that without these
// rows each step would bring its results to the host and a program that forbids soft placement could not run fit().
#include "optional.h"

#include "bridge.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/kernels/data/optional_ops.h"

namespace mychip::bridge {
namespace {

using namespace tensorflow;

template <typename Kernel>
OpKernel* Create(OpKernelConstruction* c) {
  return new Kernel(c);
}

struct OptionalRow {
  const char* op;
  const char* host_argument;  // in host memory, or null
  OpKernel* (*create)(OpKernelConstruction*);
};

constexpr OptionalRow kRows[] = {
    {"OptionalNone", nullptr, Create<data::OptionalNoneOp>},
    {"OptionalFromValue", nullptr, Create<data::OptionalFromValueOp>},
    {"OptionalHasValue", "has_value", Create<data::OptionalHasValueOp>},
    {"OptionalGetValue", nullptr, Create<data::OptionalGetValueOp>},
};

}  // namespace

void RegisterOptionalKernels() {
  for (const OptionalRow& row : kRows) {
    KernelDefBuilder builder(row.op);
    builder.Device(kDevice).Priority(1);
    if (row.host_argument != nullptr) builder.HostMemory(row.host_argument);
    kernel_factory::OpKernelRegistrar(builder.Build(), row.op, row.create);
  }
}

}  // namespace mychip::bridge
