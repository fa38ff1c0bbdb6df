// Fusion for the chip's units. See fusion.cc for the rules.
#pragma once

#include "xla/hlo/pass/hlo_pass_interface.h"

namespace mychip::xla_backend {

// Kinds it makes:  kLoop   elementwise chains with their movement folded into addressing -> one VectorCmd
//                  kInput  reduce with its elementwise producers and consumers           -> one ReduceCmd
//                  kOutput dot or convolution with its elementwise consumers             -> one MatMulCmd or ConvCmd
class ChipFusion : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "chip-fusion"; }

 protected:
  absl::StatusOr<bool> RunImpl(xla::HloModule* module,
                               const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace mychip::xla_backend
