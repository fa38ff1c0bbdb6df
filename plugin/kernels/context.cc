#include "context.h"

#include <memory>

#include "mychip/device/stream.h"
#include "mychip/runtime/allocator.h"
#include "mychip/runtime/config.h"

namespace mychip::kernels {
namespace {

struct DeleteStatus {
  void operator()(TF_Status* s) const { TF_DeleteStatus(s); }
};
struct DeleteTensor {
  void operator()(TF_Tensor* t) const { TF_DeleteTensor(t); }
};
using TensorPtr = std::unique_ptr<TF_Tensor, DeleteTensor>;

// One TF_Status per thread: the API wants one for every call.
TF_Status* ThreadStatus() {
  thread_local std::unique_ptr<TF_Status, DeleteStatus> status(TF_NewStatus());
  return status.get();
}

Status Take(TF_Status* s) {
  if (TF_GetCode(s) == TF_OK) return OkStatus();
  Status result(static_cast<Code>(TF_GetCode(s)), TF_Message(s));
  TF_SetStatus(s, TF_OK, "");
  return result;
}

}  // namespace

template <typename T, typename F>
T Construction::Read(const char* name, F read) {
  T value{};
  TF_Status* s = ThreadStatus();
  read(c_, name, &value, s);
  Fail(Take(s));
  return value;
}

bool Construction::Has(const char* name) {
  TF_Status* s = ThreadStatus();
  const bool has = TF_OpKernelConstruction_HasAttr(c_, name, s);
  return Take(s).ok() && has;
}
int64_t Construction::Int(const char* name) { return Read<int64_t>(name, TF_OpKernelConstruction_GetAttrInt64); }
bool Construction::Bool(const char* name) { return Read<TF_Bool>(name, TF_OpKernelConstruction_GetAttrBool) != 0; }
double Construction::Float(const char* name) { return Read<float>(name, TF_OpKernelConstruction_GetAttrFloat); }
TF_DataType Construction::Type(const char* name) {
  return Read<TF_DataType>(name, TF_OpKernelConstruction_GetAttrType);
}

std::string Construction::String(const char* name) {
  TF_Status* s = ThreadStatus();
  int32_t list = 0, size = 0;
  TF_OpKernelConstruction_GetAttrSize(c_, name, &list, &size, s);
  std::string value(size, '\0');
  if (TF_GetCode(s) == TF_OK && size > 0) TF_OpKernelConstruction_GetAttrString(c_, name, value.data(), size, s);
  Fail(Take(s));
  return value;
}

std::vector<int64_t> Construction::Ints(const char* name) {
  TF_Status* s = ThreadStatus();
  int32_t list = 0, size = 0;
  TF_OpKernelConstruction_GetAttrSize(c_, name, &list, &size, s);
  std::vector<int64_t> values(list > 0 ? list : 0);
  if (TF_GetCode(s) == TF_OK && list > 0) {
    TF_OpKernelConstruction_GetAttrInt64List(c_, name, values.data(), list, s);
  }
  Fail(Take(s));
  return values;
}

Result<Input> Context::In(int index) {
  TF_Status* s = ThreadStatus();
  TF_Tensor* raw = nullptr;
  TF_GetInput(c_, index, &raw, s);
  MYCHIP_RETURN_IF_ERROR(Take(s));
  // Released at once: a reference held here would forbid TensorFlow to forward the buffer.
  const TensorPtr tensor(raw);
  Input input;
  input.tf_type = TF_TensorType(raw);
  if (!FromTensorFlow(input.tf_type, &input.type.dtype)) {
    return Unimplemented("input %d has dtype %d, which the chip does not have", index, input.tf_type);
  }
  const int rank = TF_NumDims(raw);
  input.type.dims.resize(rank);
  for (int d = 0; d < rank; ++d) input.type.dims[d] = TF_Dim(raw, d);
  input.data = TF_TensorData(raw);
  return input;
}

Result<std::vector<Input>> Context::AllInputs() {
  std::vector<Input> inputs;
  const int n = num_inputs();
  inputs.reserve(n);
  for (int i = 0; i < n; ++i) {
    MYCHIP_ASSIGN_OR_RETURN(Input input, In(i));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

Result<std::vector<int64_t>> Context::HostInts(int index) {
  MYCHIP_ASSIGN_OR_RETURN(const Input input, In(index));
  const int64_t n = input.type.elements();
  std::vector<int64_t> values(n);
  if (input.type.dtype == DType::kS64) {
    for (int64_t i = 0; i < n; ++i) values[i] = static_cast<const int64_t*>(input.data)[i];
  } else if (input.type.dtype == DType::kS32) {
    for (int64_t i = 0; i < n; ++i) values[i] = static_cast<const int32_t*>(input.data)[i];
  } else if (input.type.dtype == DType::kS16) {
    for (int64_t i = 0; i < n; ++i) values[i] = static_cast<const int16_t*>(input.data)[i];
  } else {
    return InvalidArgument("input %d must be int32 or int64, is %s", index, TypeName(input.tf_type));
  }
  return values;
}

Result<int64_t> Context::HostInt(int index) {
  MYCHIP_ASSIGN_OR_RETURN(const std::vector<int64_t> values, HostInts(index));
  if (values.size() != 1) return InvalidArgument("input %d must be a scalar, has %zu elements", index, values.size());
  return values[0];
}

Result<DType> Context::OutputDType(int index) const {
  DType dtype;
  if (!FromTensorFlow(OutputType(index), &dtype)) {
    return Unimplemented("output %d has dtype %d, which the chip does not have", index, OutputType(index));
  }
  return dtype;
}

Result<ProgramPtr> Context::Program(const CacheKey& key, const std::function<Result<ProgramPtr>()>& build) const {
  return Programs().Get(key, build);
}

Result<void*> Context::Allocate(int index, const Output& output) {
  TF_Status* s = ThreadStatus();
  const Dims& dims = output.type.dims;
  const int rank = static_cast<int>(dims.size());
  TF_Tensor* raw = nullptr;
  if (output.forward.empty()) {
    raw = TF_AllocateOutput(c_, index, OutputType(index), dims.data(), rank, output.type.bytes(), s);
  } else {
    int forwarded = -1;
    raw = TF_ForwardInputOrAllocateOutput(c_, output.forward.data(), static_cast<int>(output.forward.size()), index,
                                          dims.data(), rank, &forwarded, s);
  }
  const TensorPtr tensor(raw);
  MYCHIP_RETURN_IF_ERROR(Explain(Take(s), output.type.bytes()));
  return TF_TensorData(raw);
}

Status Context::Explain(Status failed, int64_t bytes) {
  if (failed.code() != Code::kResourceExhausted) return failed;
  TF_Status* s = ThreadStatus();
  const SP_Stream handle = TF_GetStream(c_, s);
  if (!Take(s).ok()) return failed;
  return Status(failed.code(), failed.message() + " (" + DescribeShortage(handle->stream->device(), bytes) + ")");
}

Status Context::Launch(const ProgramPtr& program, const std::vector<DeviceSpan>& inputs,
                       const std::vector<Output>& outputs) {
  std::vector<DeviceSpan> arguments = inputs;
  int64_t elements = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    MYCHIP_ASSIGN_OR_RETURN(void* data, Allocate(static_cast<int>(i), outputs[i]));
    arguments.push_back({data, outputs[i].type.bytes()});
    elements += outputs[i].type.elements();
  }
  if (elements == 0) return OkStatus();
  return Enqueue(program, arguments);
}

Status Context::LaunchChecked(const ProgramPtr& program, const std::vector<DeviceSpan>& inputs, const Output& output,
                              const Status& failure) {
  MYCHIP_ASSIGN_OR_RETURN(void* data, Allocate(0, output));
  if (output.type.elements() == 0) return OkStatus();
  std::vector<DeviceSpan> arguments = inputs;
  arguments.push_back({data, output.type.bytes()});
  return Check(program, std::move(arguments), [failure](uint8_t happened) { return happened ? failure : OkStatus(); });
}

Status Context::Check(const ProgramPtr& program, std::vector<DeviceSpan> arguments,
                      std::function<Status(uint8_t)> judge) {
  MYCHIP_ASSIGN_OR_RETURN(Stream* const stream, OpStream());
  MYCHIP_ASSIGN_OR_RETURN(const Scratch flag, AllocateScratch(1));
  arguments.push_back(flag.span);
  MYCHIP_RETURN_IF_ERROR(Enqueue(program, arguments));
  auto value = std::make_shared<uint8_t>(0);
  MYCHIP_RETURN_IF_ERROR(stream->CopyToHost(value.get(), flag.span.address, 1));
  return stream->HostCallback([value, judge = std::move(judge)] { return judge(*value); });
}

Result<Context::Scratch> Context::AllocateScratch(int64_t bytes) {
  TF_AllocatorAttributes attributes{TF_ALLOCATOR_ATTRIBUTES_STRUCT_SIZE, 0};
  TF_Status* s = ThreadStatus();
  TensorPtr tensor(TF_AllocateTemp(c_, TF_UINT8, &bytes, 1, &attributes, s));
  MYCHIP_RETURN_IF_ERROR(Explain(Take(s), bytes));
  void* const address = TF_TensorData(tensor.get());
  return Scratch{std::move(tensor), {address, bytes}};
}

Result<Context::Scratch> Context::Upload(const void* data, int64_t bytes) {
  MYCHIP_ASSIGN_OR_RETURN(Stream* const stream, OpStream());
  MYCHIP_ASSIGN_OR_RETURN(Scratch scratch, AllocateScratch(bytes));
  const auto* const begin = static_cast<const uint8_t*>(data);
  auto staged = std::make_shared<std::vector<uint8_t>>(begin, begin + bytes);
  MYCHIP_RETURN_IF_ERROR(stream->CopyToDevice(scratch.span.address, staged->data(), bytes));
  // Holds the staged bytes until the copy is done.
  MYCHIP_RETURN_IF_ERROR(stream->HostCallback([staged] { return OkStatus(); }));
  return scratch;
}

Status Context::CopyOnDevice(void* to, const void* from, int64_t bytes) {
  if (bytes == 0) return OkStatus();
  MYCHIP_ASSIGN_OR_RETURN(Stream* const stream, OpStream());
  return stream->CopyOnDevice(to, from, bytes);
}

Status Context::Fetch(const void* from, void* to, int64_t bytes) {
  MYCHIP_ASSIGN_OR_RETURN(Stream* const stream, OpStream());
  MYCHIP_RETURN_IF_ERROR(stream->CopyToHost(to, from, bytes));
  return stream->Synchronize();
}

Result<Stream*> Context::OpStream() {
  TF_Status* s = ThreadStatus();
  const SP_Stream handle = TF_GetStream(c_, s);
  MYCHIP_RETURN_IF_ERROR(Take(s));
  return handle->stream;
}

Status Context::Enqueue(const ProgramPtr& program, const std::vector<DeviceSpan>& arguments) {
  MYCHIP_ASSIGN_OR_RETURN(Stream* const stream, OpStream());
  if (program->temp_buffer < 0) return stream->Launch(program, arguments, {});
  MYCHIP_ASSIGN_OR_RETURN(const Scratch temp, AllocateScratch(program->buffers[program->temp_buffer].size));
  return stream->Launch(program, arguments, temp.span);
}

Status Context::Alias(int input, int index, TF_DataType type, const Dims& dims) {
  TF_Status* s = ThreadStatus();
  TF_Tensor* raw = nullptr;
  TF_GetInput(c_, input, &raw, s);
  MYCHIP_RETURN_IF_ERROR(Take(s));
  const TensorPtr from(raw);
  const int64_t none = 0;
  const TensorPtr to(TF_AllocateTensor(type, &none, 1, 0));
  TF_TensorBitcastFrom(raw, type, to.get(), dims.data(), static_cast<int>(dims.size()), s);
  MYCHIP_RETURN_IF_ERROR(Take(s));
  TF_SetOutput(c_, index, to.get(), s);
  return Take(s);
}

ops::ProgramCache& Programs() {
  static auto* const cache = new ops::ProgramCache(static_cast<size_t>(EnvInt("MYCHIP_PROGRAM_CACHE", 16, 1 << 24)));
  return *cache;
}

}  // namespace mychip::kernels
