// Layouts: the chip's buffers are always dense and row-major.
#pragma once

#include "xla/hlo/pass/hlo_pass_interface.h"

namespace mychip::xla_backend {

// Sets every shape, inside and at the entry, to the default major-to-minor layout without tiles or memory spaces.
class ResetLayouts : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "reset-layouts"; }

 protected:
  absl::StatusOr<bool> RunImpl(xla::HloModule* module,
                               const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

// reshape, and transpose that moves only dims of size 1  ->  bitcast, which shares its operand's buffer and costs
// nothing. Runs after fusion, so what is left stands at the top level of a computation.
class ReshapeToBitcast : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "reshape-to-bitcast"; }

 protected:
  absl::StatusOr<bool> RunImpl(xla::HloModule* module,
                               const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace mychip::xla_backend
