// absl::Status <-> mychip::Status: the same codes, the same sentence.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mychip/runtime/status.h"

namespace mychip::xla_backend {

inline Status FromAbsl(const absl::Status& status) {
  return status.ok() ? OkStatus() : Status(static_cast<Code>(status.code()), std::string(status.message()));
}

}  // namespace mychip::xla_backend

#define MYCHIP_RETURN_IF_ABSL_ERROR(expr) MYCHIP_RETURN_IF_ERROR(::mychip::xla_backend::FromAbsl(expr))
#define MYCHIP_ASSIGN_OR_RETURN_ABSL(lhs, expr) \
  MYCHIP_ASSIGN_OR_RETURN_ABSL_(MYCHIP_CONCAT(mychip_absl_, __LINE__), lhs, expr)
#define MYCHIP_ASSIGN_OR_RETURN_ABSL_(tmp, lhs, expr)                  \
  auto tmp = (expr);                                                   \
  if (!tmp.ok()) return ::mychip::xla_backend::FromAbsl(tmp.status()); \
  lhs = std::move(tmp).value()
