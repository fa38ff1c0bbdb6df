// What an SPMD or multi-replica program leaves behind when it is compiled for one device.
#pragma once

#include "xla/hlo/pass/hlo_pass_interface.h"

namespace mychip::xla_backend {

//   custom-call "Sharding" and its kin                 ->  operand
//   all-reduce, all-gather, ... on one replica          ->  operand (they are copies then)
//   replica-id, partition-id                            ->  0
// Must not fire when the module has more than one replica or partition: those stay and code generation refuses them.
class SingleDevice : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "single-device"; }

 protected:
  absl::StatusOr<bool> RunImpl(xla::HloModule* module,
                               const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace mychip::xla_backend
