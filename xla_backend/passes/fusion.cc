#include "fusion.h"

#include "xla_headers.h"

namespace mychip::xla_backend {

absl::StatusOr<bool> ChipFusion::RunImpl(xla::HloModule*, const absl::flat_hash_set<absl::string_view>&) {
  return false;
}

}  // namespace mychip::xla_backend
