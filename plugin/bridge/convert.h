// Between the runtime's types and TensorFlow's C++ ones.
#pragma once

#include "mychip/runtime/dtype.h"
#include "mychip/runtime/status.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/types.h"

namespace mychip::bridge {

// The codes are numbered alike.
inline absl::Status ToAbsl(const Status& status) {
  return status.ok() ? absl::OkStatus() : absl::Status(static_cast<absl::StatusCode>(status.code()), status.message());
}

// INVALID_ARGUMENT whose message is the arguments, one after the other.
template <typename... Args>
absl::Status Invalid(const Args&... args) {
  return absl::InvalidArgumentError(absl::StrCat(args...));
}

inline int64_t Bytes(const tensorflow::Tensor& tensor) { return static_cast<int64_t>(tensor.TotalBytes()); }

inline void* Address(const tensorflow::Tensor& tensor) { return tensor.data(); }

// INVALID_ARGUMENT names a dtype the chip has no form of.
Result<DType> ToChip(tensorflow::DataType dtype);

}  // namespace mychip::bridge
