// The thin layer over TensorFlow's kernel C API: what a kernel sees of its node (Construction) and of one execution
// (Context). No kernel file calls a TF_ function itself.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dtypes.h"
#include "mychip/ops/program_cache.h"
#include "mychip/ops/tensor_type.h"
#include "mychip/runtime/stream.h"
#include "tensorflow/c/kernels.h"

namespace mychip::kernels {

using ops::CacheKey;
using ops::ProgramPtr;
using ops::TensorType;

// The node's attributes. The first failure sticks; status() is reported when the kernel's constructor returns.
class Construction {
 public:
  explicit Construction(TF_OpKernelConstruction* c) : c_(c) {}
  bool Has(const char* name);
  int64_t Int(const char* name);
  bool Bool(const char* name);
  double Float(const char* name);
  TF_DataType Type(const char* name);
  std::string String(const char* name);
  std::vector<int64_t> Ints(const char* name);
  void Fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  const Status& status() const { return status_; }

 private:
  template <typename T, typename F>
  T Read(const char* name, F read);
  TF_OpKernelConstruction* const c_;
  Status status_;
};

// One input as seen by this execution. `data` is a device address, or host memory when the row says so.
struct Input {
  TF_DataType tf_type = TF_FLOAT;
  TensorType type;
  void* data = nullptr;
  int rank() const { return static_cast<int>(type.dims.size()); }
  DeviceSpan span() const { return {data, type.bytes()}; }
};

struct Output {
  TensorType type;
  std::vector<int> forward = {};  // inputs whose buffer may become this output's, in order of preference
};

class Context {
 public:
  explicit Context(TF_OpKernelContext* c) : c_(c) {}
  int num_inputs() const { return TF_NumInputs(c_); }
  int num_outputs() const { return TF_NumOutputs(c_); }
  // Valid for the whole execution: TensorFlow keeps inputs until the kernel returns, and memory freed then is reused
  // only by later work on the same stream.
  Result<Input> In(int index);
  Result<std::vector<Input>> AllInputs();
  // An int32 or int64 tensor in host memory, as values.
  Result<std::vector<int64_t>> HostInts(int index);
  Result<int64_t> HostInt(int index);  // exactly one element
  TF_DataType OutputType(int index) const { return TF_ExpectedOutputDataType(c_, index); }
  Result<DType> OutputDType(int index) const;

  // The program of `key`, built when it is not cached.
  Result<ProgramPtr> Program(const CacheKey& key, const std::function<Result<ProgramPtr>()>& build) const;
  // Allocates the outputs and enqueues `program` with arguments: the inputs' spans in order, then the outputs'.
  Status Launch(const ProgramPtr& program, const std::vector<DeviceSpan>& inputs, const std::vector<Output>& outputs);
  // As Launch for one output, with one more argument at the end: a pred that the program sets when `failure` happened.
  // The stream is poisoned with it then, and the error surfaces at the next synchronisation.
  Status LaunchChecked(const ProgramPtr& program, const std::vector<DeviceSpan>& inputs, const Output& output,
                       const Status& failure);
  // The same for a program whose last argument is one byte that `judge` turns into a status, on the stream's thread.
  Status Check(const ProgramPtr& program, std::vector<DeviceSpan> arguments, std::function<Status(uint8_t)> judge);

  // Device memory for work enqueued while it lives (memory freed then is reused only by later work).
  struct Scratch {
    std::shared_ptr<TF_Tensor> owner;
    DeviceSpan span;
  };
  Result<Scratch> AllocateScratch(int64_t bytes);
  // Scratch that holds a copy of `bytes` of host memory.
  Result<Scratch> Upload(const void* data, int64_t bytes);
  Status Enqueue(const ProgramPtr& program, const std::vector<DeviceSpan>& arguments);
  Status CopyOnDevice(void* to, const void* from, int64_t bytes);
  // Waits for all work enqueued so far, and brings `bytes` to the host. The stream's failure, when it has one.
  Status Fetch(const void* from, void* to, int64_t bytes);
  // Memory of output `index` (device or host as the row says) for those who fill it themselves.
  Result<void*> Allocate(int index, const Output& output);
  // Output `index` is input `input`'s buffer with other dims, and another dtype of the same total size.
  Status Alias(int input, int index, TF_DataType type, const Dims& dims);

 private:
  // An allocation that failed for want of memory, with the numbers.
  Status Explain(Status failed, int64_t bytes);
  Result<Stream*> OpStream();
  TF_OpKernelContext* const c_;
};

// A kernel is one node's instance. Compute may be called from several threads at once.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual Status Compute(Context& ctx) const = 0;
};

ops::ProgramCache& Programs();

}  // namespace mychip::kernels
