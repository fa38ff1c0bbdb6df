#include "variable.h"

#include "bridge.h"
#include "convert.h"
#include "copies.h"
#include "mychip/runtime/allocator.h"
#include "mychip/runtime/config.h"

namespace mychip::bridge {

using namespace tensorflow;  // NOLINT: dtypes

const std::vector<DataType> kAllTypes = {DT_BOOL,   DT_INT8,      DT_INT16,      DT_INT32, DT_INT64,    DT_UINT8,
                                         DT_UINT16, DT_UINT32,    DT_UINT64,     DT_HALF,  DT_BFLOAT16, DT_FLOAT,
                                         DT_DOUBLE, DT_COMPLEX64, DT_COMPLEX128, DT_QINT8, DT_QUINT8,   DT_QINT32};
const std::vector<DataType> kNumericTypes = {DT_INT8,   DT_INT16,  DT_INT32,     DT_INT64,     DT_UINT8,
                                             DT_UINT16, DT_UINT32, DT_UINT64,    DT_HALF,      DT_BFLOAT16,
                                             DT_FLOAT,  DT_DOUBLE, DT_COMPLEX64, DT_COMPLEX128};
const std::vector<DataType> kRealTypes = {DT_INT8,   DT_INT16,  DT_INT32, DT_INT64,    DT_UINT8, DT_UINT16,
                                          DT_UINT32, DT_UINT64, DT_HALF,  DT_BFLOAT16, DT_FLOAT, DT_DOUBLE};
const std::vector<DataType> kFloatTypes = {DT_HALF, DT_BFLOAT16, DT_FLOAT, DT_DOUBLE};
const std::vector<DataType> kFloatComplexTypes = {DT_HALF,   DT_BFLOAT16,  DT_FLOAT,
                                                  DT_DOUBLE, DT_COMPLEX64, DT_COMPLEX128};
const std::vector<DataType> kIndexTypes = {DT_INT32, DT_INT64};

namespace {

ops::ProgramCache& Cache() {
  static auto* const cache = new ops::ProgramCache(static_cast<size_t>(EnvInt("MYCHIP_PROGRAM_CACHE", 16, 1 << 24)));
  return *cache;
}

int64_t ScratchBytes(const Program& program) {
  return program.temp_buffer < 0 ? 0 : program.buffers[program.temp_buffer].size;
}

}  // namespace

Device* Chip(OpKernelContext* context) {
  return static_cast<CopyContext*>(context->device()->tensorflow_accelerator_device_info()->default_context)->chip();
}

absl::Status Lookup(OpKernelContext* context, VarPtr* variable) {
  return LookupResource(context, HandleFromInput(context, 0), variable);
}

absl::Status CheckInitialized(OpKernelContext* context, Var* variable) {
  if (variable->is_initialized && variable->tensor()->IsInitialized()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("Variable ", HandleFromInput(context, 0).name(), " has no value yet: assign one first"));
}

absl::Status AllocateTemp(OpKernelContext* context, DataType dtype, const TensorShape& shape, Tensor* out) {
  absl::Status allocated = context->allocate_temp(dtype, shape, out);
  if (!absl::IsResourceExhausted(allocated)) return allocated;
  return absl::ResourceExhaustedError(absl::StrCat(
      allocated.message(), " (", DescribeShortage(Chip(context), shape.num_elements() * DataTypeSize(dtype)), ")"));
}

absl::Status OwnBuffer(OpKernelContext* context, Var* variable) {
  Tensor* current = variable->tensor();
  if (variable->copy_on_read_mode.load() || current->RefCountIsOne() || current->NumElements() == 0) {
    return absl::OkStatus();
  }
  Tensor copy;
  absl::Status allocated = AllocateTemp(context, current->dtype(), current->shape(), &copy);
  if (!allocated.ok()) return allocated;
  Status copied = Chip(context)->compute_stream()->CopyOnDevice(Address(copy), Address(*current), Bytes(*current));
  if (!copied.ok()) return ToAbsl(copied);
  *current = copy;
  return absl::OkStatus();
}

absl::Status TypeOf(const Tensor& tensor, ops::TensorType* type) {
  Result<DType> dtype = ToChip(tensor.dtype());
  if (!dtype.ok()) return ToAbsl(dtype.status());
  type->dtype = *dtype;
  type->dims.clear();
  for (int d = 0; d < tensor.dims(); ++d) type->dims.push_back(tensor.dim_size(d));
  return absl::OkStatus();
}

absl::Status Run(OpKernelContext* context, const ops::CacheKey& key,
                 const std::function<Result<ops::ProgramPtr>()>& build, const std::vector<const Tensor*>& arguments) {
  Result<ops::ProgramPtr> program = Cache().Get(key, build);
  if (!program.ok()) return ToAbsl(program.status().WithContext(context->op_kernel().type_string()));
  std::vector<DeviceSpan> spans;
  for (const Tensor* tensor : arguments) spans.push_back({Address(*tensor), Bytes(*tensor)});
  Tensor scratch;
  const int64_t bytes = ScratchBytes(**program);
  if (bytes > 0) {
    absl::Status allocated = AllocateTemp(context, DT_UINT8, TensorShape({bytes}), &scratch);
    if (!allocated.ok()) return allocated;
  }
  DeviceSpan temp;
  if (bytes > 0) temp = {Address(scratch), bytes};
  return ToAbsl(Chip(context)->compute_stream()->Launch(*program, spans, temp));
}

void Register(const std::vector<KernelRow>& rows) {
  constexpr int kPriority = 1;  // above the on-demand kernels
  for (const KernelRow& row : rows) {
    KernelDefBuilder builder(row.op);
    builder.Device(kDevice).Priority(kPriority).TypeConstraint(row.value_attribute, *row.types);
    if (row.indexed) builder.TypeConstraint("Tindices", kIndexTypes);
    for (const char* argument : row.host_arguments) builder.HostMemory(argument);
    kernel_factory::OpKernelRegistrar(builder.Build(), row.op, row.create);
  }
}

void RegisterVariableKernels() {
  Register(AssignRows());
  Register(GatherRows());
  Register(ScatterRows());
  RegisterOptimizerKernels();
}

}  // namespace mychip::bridge
