// What the kernels on resource variables share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mychip/ops/program_cache.h"
#include "mychip/ops/variables.h"
#include "mychip/runtime/device.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/framework/resource_var.h"

namespace mychip::bridge {

using VarPtr = tensorflow::core::RefCountPtr<tensorflow::Var>;

// The chip this kernel runs on.
Device* Chip(tensorflow::OpKernelContext* context);

// Input 0's variable; FAILED_PRECONDITION when it has no value yet is the caller's check (CheckInitialized, locked).
absl::Status Lookup(tensorflow::OpKernelContext* context, VarPtr* variable);
absl::Status CheckInitialized(tensorflow::OpKernelContext* context, tensorflow::Var* variable);

// Device memory for a value; a failure names what was requested, free and the limit.
absl::Status AllocateTemp(tensorflow::OpKernelContext* context, tensorflow::DataType dtype,
                          const tensorflow::TensorShape& shape, tensorflow::Tensor* out);

// With the variable's lock held: a buffer nobody else sees, with the same contents. Readers hold references, so a
// buffer with one reference is the variable's alone; work of former readers is ahead of ours in the chip's order. In
// copy-on-read mode nobody aliases the buffer at all.
absl::Status OwnBuffer(tensorflow::OpKernelContext* context, tensorflow::Var* variable);

// Rank and dtype for the op library. INVALID_ARGUMENT for a dtype the chip has no form of.
absl::Status TypeOf(const tensorflow::Tensor& tensor, ops::TensorType* type);

// The cached program of `key`, enqueued with the tensors as its arguments; scratch memory comes from the context.
absl::Status Run(tensorflow::OpKernelContext* context, const ops::CacheKey& key,
                 const std::function<Result<ops::ProgramPtr>()>& build,
                 const std::vector<const tensorflow::Tensor*>& arguments);

// First words of the cache keys.
enum class KeyKind : int64_t {
  kUpdate,
  kGatherRows,
  kGatherSlices,
  kScatterRows,
  kScatterSlices,
  kAssignSlice,
  kDenseApply,
  kSparseApply
};
inline ops::CacheKey Key(KeyKind kind, int64_t variant) {
  return ops::CacheKey().Add(static_cast<int64_t>(kind)).Add(variant);
}

// The dtypes a kernel takes.
extern const std::vector<tensorflow::DataType> kAllTypes, kNumericTypes, kRealTypes, kFloatTypes, kFloatComplexTypes,
    kIndexTypes;

struct KernelRow {
  const char* op;
  const char* value_attribute;                     // "dtype" or "T"
  const std::vector<tensorflow::DataType>* types;  // of that attribute
  bool indexed;                                    // has Tindices: int32 or int64
  std::vector<const char*> host_arguments;         // in host memory
  tensorflow::OpKernel* (*create)(tensorflow::OpKernelConstruction*);
};
void Register(const std::vector<KernelRow>& rows);

// The rows of each file.
std::vector<KernelRow> AssignRows();
std::vector<KernelRow> GatherRows();
std::vector<KernelRow> ScatterRows();
void RegisterOptimizerKernels();

}  // namespace mychip::bridge
