#include "pipeline.h"

#include <chrono>
#include <fstream>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "fusion.h"
#include "layouts.h"
#include "mychip/runtime/config.h"
#include "single_device.h"
#include "status_bridge.h"
#include "xla/hlo/pass/hlo_pass_fix.h"
#include "xla/hlo/transforms/expanders/bitcast_dtypes_expander.h"
#include "xla/hlo/transforms/expanders/cholesky_expander.h"
#include "xla/hlo/transforms/expanders/dynamic_index_splitter.h"
#include "xla/hlo/transforms/expanders/eigh_expander.h"
#include "xla/hlo/transforms/expanders/optimization_barrier_expander.h"
#include "xla/hlo/transforms/expanders/qr_expander.h"
#include "xla/hlo/transforms/expanders/rng_expander.h"
#include "xla/hlo/transforms/expanders/stochastic_convert_decomposer.h"
#include "xla/hlo/transforms/simplifiers/algebraic_simplifier.h"
#include "xla/hlo/transforms/simplifiers/flatten_call_graph.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/hlo/transforms/simplifiers/hlo_memory_scheduler.h"
#include "xla/hlo/transforms/simplifiers/sort_simplifier.h"
#include "xla/hlo/transforms/simplifiers/tuple_simplifier.h"
#include "xla/hlo/transforms/simplifiers/zero_sized_hlo_elimination.h"
#include "xla/service/batchnorm_expander.h"
#include "xla/service/call_inliner.h"
#include "xla/service/conditional_simplifier.h"
#include "xla/service/copy_insertion.h"
#include "xla/service/dynamic_padder.h"
#include "xla/service/hlo_cse.h"
#include "xla/service/hlo_verifier.h"
#include "xla/service/topk_rewriter.h"
#include "xla/service/triangular_solve_expander.h"
#include "xla/service/while_loop_simplifier.h"
#include "xla_headers.h"

namespace mychip::xla_backend {
namespace {

using PassPtr = std::unique_ptr<xla::HloPassInterface>;

template <typename Pass, typename... Args>
PassPtr Make(Args... args) {
  return std::make_unique<Pass>(args...);
}

const ChipAliasInfo* Aliases() {
  static const ChipAliasInfo* const info = new ChipAliasInfo;
  return info;
}

PassPtr MakeSimplifier() {
  xla::AlgebraicSimplifierOptions options;
  options.set_supports_non_canonical_dots(true);  // a MatMulCmd takes any strides
  options.set_enable_conv_operand_swap(false);    // keeps activations on the left, where the chip streams them
  options.set_enable_dot_strength_reduction(false);
  options.set_minmax_propagate_nan(true);
  options.set_enable_negative_padding_replacement(false);  // pads of any sign are copies here
  return std::make_unique<xla::HloPassFix<xla::AlgebraicSimplifier>>(options);
}

PassPtr MakeDynamicPadder() {
  xla::DynamicPadderOptions options;
  options.slice_dynamic_output = false;  // results keep their bounds
  return std::make_unique<xla::DynamicPadder>(options);
}

PassPtr MakeCopyInsertion() { return std::make_unique<xla::CopyInsertion>(Aliases()); }

PassPtr MakeScheduler() {
  return std::make_unique<xla::HloMemoryScheduler>(std::make_unique<xla::DFSMemoryScheduler>(
      Aliases(), [](const xla::BufferValue& value) { return ShapeBytes(value.shape()); }));
}

struct Row {
  const char* name;
  bool required;  // code generation cannot do without it
  std::function<PassPtr()> make;
};

// Order matters: expanders may add calls and tuples, so inlining and simplification follow them; layouts are reset once
// nothing assigns new ones; after fusion only passes run that keep fusions intact.
const std::vector<Row>& Table() {
  static const auto* const table = new std::vector<Row>{
      {"single-device", true, [] { return Make<SingleDevice>(); }},
      {"bitcast-dtypes-expander", true, [] { return Make<xla::BitcastDtypesExpander>(); }},
      {"topk-decomposer", true, [] { return Make<xla::TopkDecomposer>(); }},
      {"eigh-expander", true, [] { return Make<xla::EighExpander>(); }},
      {"qr-expander", true, [] { return Make<xla::QrExpander>(); }},
      {"cholesky-expander", true, [] { return Make<xla::CholeskyExpander>(); }},
      {"triangular-solve-expander", true, [] { return Make<xla::TriangularSolveExpander>(); }},
      {"stochastic-convert-decomposer", true, [] { return Make<xla::StochasticConvertDecomposer>(); }},
      {"rng-expander", true, [] { return Make<xla::RngExpander>(); }},
      {"batchnorm-expander", true, [] { return Make<xla::BatchNormExpander>(true, true, true); }},
      {"call-inliner", true, [] { return Make<xla::CallInliner>(); }},
      {"dynamic-index-splitter", true, [] { return Make<xla::DynamicIndexSplitter>(); }},
      {"dynamic-padder", true, MakeDynamicPadder},
      {"zero-sized-elimination", false, [] { return Make<xla::ZeroSizedHloElimination>(); }},
      {"tuple-simplifier", false, [] { return Make<xla::TupleSimplifier>(); }},
      {"while-simplifier", false, [] { return Make<xla::WhileLoopSimplifier>(); }},
      {"conditional-simplifier", false, [] { return Make<xla::ConditionalSimplifier>(); }},
      {"sort-simplifier", false, [] { return Make<xla::SortSimplifier>(); }},
      {"algebraic-simplifier", false, MakeSimplifier},
      {"cse", false, [] { return Make<xla::HloCSE>(false); }},
      {"dce", true, [] { return Make<xla::HloDCE>(); }},
      {"reset-layouts", true, [] { return Make<ResetLayouts>(); }},
      {"chip-fusion", false, [] { return Make<ChipFusion>(); }},
      {"dce-after-fusion", true, [] { return Make<xla::HloDCE>(); }},
      {"reshape-to-bitcast", true, [] { return Make<ReshapeToBitcast>(); }},
      {"barrier-expander", true, [] { return Make<xla::OptimizationBarrierExpander>(); }},
      {"flatten-call-graph", true, [] { return Make<xla::FlattenCallGraph>(); }},
      {"copy-insertion", true, MakeCopyInsertion},
      {"dce-after-copies", true, [] { return Make<xla::HloDCE>(); }},
      {"schedule", true, MakeScheduler},
  };
  return *table;
}

// Which optional passes run: see PipelineOptions::passes.
class Selection {
 public:
  explicit Selection(const std::string& text) {
    for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
      if (part[0] == '-') {
        without_.insert(std::string(part.substr(1)));
      } else {
        only_.insert(std::string(part));
      }
    }
  }
  bool Runs(const Row& row) const {
    return row.required || ((only_.empty() || only_.contains(row.name)) && !without_.contains(row.name));
  }
  Status Check() const {
    for (const auto* names : {&only_, &without_}) {
      for (const std::string& name : *names) {
        const bool known = name == "none" || std::any_of(Table().begin(), Table().end(),
                                                         [&](const Row& row) { return name == row.name; });
        if (!known) return InvalidArgument("MYCHIP_PASSES names no pass of this build: \"%s\"", name.c_str());
      }
    }
    return OkStatus();
  }

 private:
  absl::flat_hash_set<std::string> only_, without_;
};

Status Verify(xla::HloModule* module, const std::string& after) {
  xla::HloVerifier verifier(/*layout_sensitive=*/false, /*allow_mixed_precision=*/true);
  return FromAbsl(verifier.Run(module).status()).WithContext("HLO verifier " + after);
}

void Dump(const xla::HloModule& module, const PipelineOptions& options, int step, const std::string& name) {
  const std::string path = absl::StrFormat("%s/%s.%02d.%s.hlo", options.dump_to, options.dump_name, step, name);
  std::ofstream out(path);
  out << module.ToString();
  if (!out) Log(1, "cannot write %s", path.c_str());
}

}  // namespace

int64_t ShapeBytes(const xla::Shape& shape) {
  return shape.IsArray() ? xla::ShapeUtil::ByteSizeOf(shape) : 0;  // tuples, tokens: no device memory
}

std::optional<bool> ChipAliasInfo::MayAlias(const xla::HloInstruction*, const xla::ShapeIndex&,
                                            const xla::HloInstruction*, const xla::ShapeIndex&) const {
  return std::nullopt;  // XLA's default rules fit: elementwise uses coincide exactly
}

std::vector<std::string> PassNames() {
  std::vector<std::string> names;
  for (const Row& row : Table()) names.push_back(std::string(row.name) + (row.required ? "*" : ""));
  return names;
}

Status RunPipeline(xla::HloModule* module, const PipelineOptions& options, std::vector<PassRecord>* records) {
  const std::string& chosen = options.passes.empty() ? EnvString("MYCHIP_PASSES") : options.passes;
  const Selection selection(chosen);
  MYCHIP_RETURN_IF_ERROR(selection.Check());
  const bool verify = options.verify || !chosen.empty();
  // Bytes from outside: a module that the verifier refuses would crash the passes.
  const Status valid = Verify(module, "on the input");
  if (!valid.ok()) return Status(Code::kInvalidArgument, valid.message());
  int step = 0;
  if (!options.dump_to.empty()) Dump(*module, options, step, "before");
  for (const Row& row : Table()) {
    ++step;
    PassRecord record{row.name};
    if (selection.Runs(row)) {
      const auto start = std::chrono::steady_clock::now();
      absl::StatusOr<bool> changed = row.make()->Run(module);
      if (!changed.ok()) return FromAbsl(changed.status()).WithContext(std::string("pass ") + row.name);
      record.ran = true;
      record.changed = *changed;
      record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (verify) MYCHIP_RETURN_IF_ERROR(Verify(module, std::string("after ") + row.name));
      if (*changed && options.on_change) options.on_change(row.name, *module);
      if (*changed && !options.dump_to.empty()) Dump(*module, options, step, row.name);
    }
    record.instructions = module->instruction_count();
    if (records != nullptr) records->push_back(record);
  }
  return OkStatus();
}

}  // namespace mychip::xla_backend
