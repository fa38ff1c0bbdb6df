// The pass pipeline: a flat table of (name, pass), run in order.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mychip/runtime/status.h"
#include "pipeline_names.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/ir/hlo_module.h"

namespace mychip::xla_backend {

// Which values may share memory on this chip: what XLA's buffer assignment and copy insertion ask.
class ChipAliasInfo : public xla::AliasInfo {
 public:
  std::optional<bool> MayAlias(const xla::HloInstruction* operand, const xla::ShapeIndex& operand_index,
                               const xla::HloInstruction* user, const xla::ShapeIndex& user_index) const override;
};

struct PassRecord {
  std::string name;
  bool ran = false, changed = false;
  double seconds = 0;
  int64_t instructions = 0;  // after the pass
};

struct PipelineOptions {
  // Passes by name: "a,b" runs only these of the optional ones, "-a,-b" all but these. Empty: the value of
  // MYCHIP_PASSES.
  std::string passes;
  bool verify = false;    // HloVerifier after each pass
  std::string dump_to;    // folder, empty: none
  std::string dump_name;  // file name prefix inside it
  // Called after each pass that changed the module.
  std::function<void(const std::string& pass, const xla::HloModule& module)> on_change;
};

// Turns any valid module into one that code generation accepts: only opcodes the chip has, default layouts, fused,
// copies inserted, scheduled. Required passes run whatever `passes` says.
Status RunPipeline(xla::HloModule* module, const PipelineOptions& options, std::vector<PassRecord>* records);

// Bytes a value of this shape takes in device memory; tuples take none (the host keeps the tables).
int64_t ShapeBytes(const xla::Shape& shape);

}  // namespace mychip::xla_backend
