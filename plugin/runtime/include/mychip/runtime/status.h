// Status: a code and a sentence. Codes are numbered as in absl, TensorFlow and PJRT, so a conversion is a cast.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "mychip/runtime/export.h"

namespace mychip {

enum class Code : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
};

// Copies are cheap (one shared pointer). An OK status holds no memory.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message)
      : rep_(code == Code::kOk ? nullptr : std::make_shared<const Rep>(Rep{code, std::move(message)})) {}

  bool ok() const { return rep_ == nullptr; }
  Code code() const { return ok() ? Code::kOk : rep_->code; }
  // Empty when ok; lives as long as any copy of this status.
  const std::string& message() const {
    static const std::string* const kEmpty = new std::string;
    return ok() ? *kEmpty : rep_->message;
  }
  // The same code with `context` and ": " in front of the message.
  Status WithContext(const std::string& context) const {
    return ok() ? *this : Status(code(), context + ": " + message());
  }

 private:
  struct Rep {
    Code code;
    std::string message;
  };
  std::shared_ptr<const Rep> rep_;
};

inline Status OkStatus() { return Status(); }

// printf-style constructors, one per code in use: InvalidArgument("rank %d", r).
#define MYCHIP_STATUS_KINDS(X)               \
  X(InvalidArgument, kInvalidArgument)       \
  X(NotFound, kNotFound)                     \
  X(ResourceExhausted, kResourceExhausted)   \
  X(FailedPrecondition, kFailedPrecondition) \
  X(OutOfRange, kOutOfRange)                 \
  X(Unimplemented, kUnimplemented)           \
  X(Internal, kInternal)                     \
  X(Unavailable, kUnavailable)               \
  X(DataLoss, kDataLoss)                     \
  X(Cancelled, kCancelled)
#define X(name, code) MYCHIP_API Status name(const char* format, ...) __attribute__((format(printf, 1, 2)));
MYCHIP_STATUS_KINDS(X)
#undef X

// A value or the status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: implicit on purpose
  Result(T value) : value_(std::move(value)) {}          // NOLINT: implicit on purpose
  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

#define MYCHIP_CONCAT_(a, b) a##b
#define MYCHIP_CONCAT(a, b) MYCHIP_CONCAT_(a, b)
#define MYCHIP_RETURN_IF_ERROR(expr)                 \
  do {                                               \
    ::mychip::Status mychip_status_ = (expr);        \
    if (!mychip_status_.ok()) return mychip_status_; \
  } while (false)
#define MYCHIP_ASSIGN_OR_RETURN(lhs, expr) MYCHIP_ASSIGN_OR_RETURN_(MYCHIP_CONCAT(mychip_result_, __LINE__), lhs, expr)
#define MYCHIP_ASSIGN_OR_RETURN_(tmp, lhs, expr) \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return tmp.status();            \
  lhs = std::move(tmp).value()

}  // namespace mychip
