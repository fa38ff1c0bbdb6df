// Compile: bytes -> module -> passes -> buffers -> Program.
#include "mychip/xla/compiler.h"

#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <fstream>

#include "absl/strings/str_format.h"
#include "compiler_internal.h"
#include "emitter.h"
#include "mychip/runtime/config.h"
#include "mychip/runtime/report.h"
#include "pipeline.h"
#include "status_bridge.h"
#include "xla/debug_options_flags.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/hlo/builder/xla_computation.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/service/buffer_assignment.h"
#include "xla_headers.h"

namespace xla {
// Exported by libtensorflow_cc; its own header needs MLIR headers that the wheel lacks.
absl::Status ParseMlirModuleStringAndConvertToXlaComputation(std::string_view mlir_module_str,
                                                             XlaComputation& xla_computation, bool use_tuple_args,
                                                             bool return_tuple);
}  // namespace xla

namespace mychip::xla_backend {
namespace {

constexpr int64_t kAlignment = 64;

Result<std::unique_ptr<xla::HloModule>> FromProto(const xla::HloModuleProto& proto) {
  if (proto.computations_size() == 0) return InvalidArgument("the HLO module has no computation");
  MYCHIP_ASSIGN_OR_RETURN_ABSL(xla::HloModuleConfig config, xla::HloModule::CreateModuleConfigFromProto(
                                                                proto, xla::DefaultDebugOptionsIgnoringFlags()));
  MYCHIP_ASSIGN_OR_RETURN_ABSL(std::unique_ptr<xla::HloModule> module, xla::HloModule::CreateFromProto(proto, config));
  return module;
}

template <typename Proto>
Status ParseProto(const std::string& code, Proto* proto) {
  if (!proto->ParseFromString(code)) {
    return InvalidArgument("the %zu bytes are no serialized %s", code.size(),
                           std::string(proto->GetTypeName()).c_str());
  }
  return OkStatus();
}

std::string Fingerprint(const std::string& code, const CompileOptions& options) {
  // FNV-1a twice with different seeds: 128 bits, stable across processes.
  uint64_t hash[2] = {14695981039346656037ull, 1099511628211ull ^ 0x9e3779b97f4a7c15ull};
  const auto add = [&](const std::string& text) {
    for (const unsigned char c : text) {
      for (uint64_t& h : hash) h = (h ^ c) * 1099511628211ull + (&h == hash ? 0 : 0x632be5ab);
    }
  };
  add(code);
  add(absl::StrCat(static_cast<int>(options.matmul_precision), options.tuple_arguments, Version()));
  return absl::StrFormat("%016x%016x", hash[0], hash[1]);
}

std::string DumpPrefix(const std::string& name) {
  static std::atomic<int> serial{0};
  std::string safe = name.substr(0, 80);
  for (char& c : safe) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.' && c != '-') c = '_';
  }
  return absl::StrFormat("%04d.%s", ++serial, safe);
}

void DumpText(const PipelineOptions& options, const char* suffix, const std::string& text) {
  const std::string path = absl::StrCat(options.dump_to, "/", options.dump_name, ".", suffix);
  std::ofstream out(path);
  out << text;
  if (!out) Log(1, "cannot write %s", path.c_str());
}

std::string CostText(const Program& program, const std::vector<PassRecord>& passes) {
  std::string text = "pass\tseconds\tinstructions\tchanged\n";
  for (const PassRecord& pass : passes) {
    absl::StrAppend(&text, pass.name, "\t", absl::StrFormat("%.6f", pass.seconds), "\t", pass.instructions, "\t",
                    pass.ran ? (pass.changed ? "yes" : "no") : "skipped", "\n");
  }
  absl::StrAppend(&text, "\nblock\tcommand\tunit\tcycles\tread\twritten\tflops\tsource\n");
  for (size_t b = 0; b < program.blocks.size(); ++b) {
    for (const Command& command : program.blocks[b]) {
      const Cost cost = CostOf(command.op);
      absl::StrAppend(&text, b, "\t", CommandName(command.op), "\t", static_cast<int>(UnitOf(command.op)), "\t",
                      cost.cycles, "\t", cost.bytes_read, "\t", cost.bytes_written, "\t", cost.flops, "\t",
                      command.source >= 0 ? program.sources[command.source].name : "", "\n");
    }
  }
  return text;
}

}  // namespace

Result<std::unique_ptr<xla::HloModule>> ParseModule(const std::string& format, const std::string& code) {
  if (format == "hlo") {
    xla::HloModuleProto proto;
    MYCHIP_RETURN_IF_ERROR(ParseProto(code, &proto));
    return FromProto(proto);
  }
  if (format == "hlo_with_config") {
    xla::HloModuleProtoWithConfig proto;
    MYCHIP_RETURN_IF_ERROR(ParseProto(code, &proto));
    if (proto.hlo_module().computations_size() == 0) return InvalidArgument("the HLO module has no computation");
    return FromProto(proto.hlo_module());
  }
  if (format == "hlo_text") {
    MYCHIP_ASSIGN_OR_RETURN_ABSL(std::unique_ptr<xla::HloModule> module, xla::ParseAndReturnUnverifiedModule(code));
    return module;
  }
  if (format == "mlir") {
    xla::XlaComputation computation;
    const Status converted =
        FromAbsl(xla::ParseMlirModuleStringAndConvertToXlaComputation(code, computation, false, false));
    // XLA says UNKNOWN or INTERNAL of modules it cannot read.
    if (converted.code() == Code::kUnknown || converted.code() == Code::kInternal) {
      return InvalidArgument("the MLIR module cannot be read: %s", converted.message().c_str());
    }
    MYCHIP_RETURN_IF_ERROR(converted);
    return FromProto(computation.proto());
  }
  return InvalidArgument("program format \"%s\" is none of hlo, hlo_with_config, hlo_text, mlir", format.c_str());
}

// A result whose size only the run knows would come back at its bound, padded: wrong without a word.
Status CheckResultShapes(const xla::HloModule& module) {
  const xla::HloInstruction* const root = module.entry_computation()->root_instruction();
  if (root->shape().is_static()) return OkStatus();
  const xla::HloInstruction* culprit = root;
  for (const xla::HloInstruction* operand : root->operands()) {
    if (root->opcode() == xla::HloOpcode::kTuple && !operand->shape().is_static()) culprit = operand;
  }
  return Unimplemented(
      "a result whose shape depends on values: %s (op %s). Return it from outside of the compiled "
      "function, or with a shape of its own",
      culprit->ToString().c_str(), culprit->metadata().op_name().c_str());
}

// Programs that draw random numbers of their own accord draw different ones, as XLA:CPU's do: no seed reaches them.
void SeedGenerator(xla::HloModule* module) {
  static std::atomic<uint64_t> next{1};
  for (const xla::HloComputation* computation : module->computations()) {
    for (const xla::HloInstruction* instruction : computation->instructions()) {
      if (instruction->opcode() == xla::HloOpcode::kRng) return module->mutable_config().set_seed(next.fetch_add(2));
    }
  }
}

Status Lower(const xla::HloModule& module, const CompileOptions& options, Compiled* compiled) {
  MYCHIP_RETURN_IF_ERROR(CheckSupported(module));
  static const ChipAliasInfo* const aliases = new ChipAliasInfo;
  xla::BufferAssigner::Options assigner_options;
  assigner_options.allocate_buffers_for_constants = true;
  MYCHIP_ASSIGN_OR_RETURN_ABSL(std::unique_ptr<xla::BufferAssignment> assignment,
                               xla::BufferAssigner::Run(
                                   &module, std::make_unique<xla::SequentialHloOrdering>(module.schedule()),
                                   [](const xla::BufferValue& value) { return ShapeBytes(value.shape()); }, aliases,
                                   [](xla::LogicalBuffer::Color) { return kAlignment; }, std::move(assigner_options)));
  Emitter emitter(module, *assignment, options);
  return emitter.Run(compiled);
}

Result<Compiled> CompileModule(std::unique_ptr<xla::HloModule> module, const CompileOptions& options,
                               const PipelineOptions& pipeline) {
  const auto start = std::chrono::steady_clock::now();
  Compiled compiled;
  compiled.name = std::string(module->name());
  CompileRecord record;
  record.name = compiled.name;
  record.client = options.client;
  record.instructions_before = static_cast<int>(module->instruction_count());
  MYCHIP_RETURN_IF_ERROR(CheckResultShapes(*module));
  SeedGenerator(module.get());
  std::vector<PassRecord> passes;
  MYCHIP_RETURN_IF_ERROR(RunPipeline(module.get(), pipeline, &passes));
  record.instructions_after = static_cast<int>(module->instruction_count());
  MYCHIP_RETURN_IF_ERROR(Lower(*module, options, &compiled));
  compiled.static_cost = StaticCost(*compiled.program);
  compiled.optimized_hlo_with_config = module->ToProtoWithConfig().SerializeAsString();
  compiled.optimized_hlo_text = module->ToString();
  record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  record.temp_bytes = compiled.temp_bytes;
  record.program = compiled.program;
  RecordCompile(std::move(record));
  if (!pipeline.dump_to.empty()) {
    DumpText(pipeline, "after.hlo", compiled.optimized_hlo_text);
    DumpText(pipeline, "asm", ToAssembly(*compiled.program));
    DumpText(pipeline, "cost", CostText(*compiled.program, passes));
  }
  return compiled;
}

Result<Compiled> Compile(const std::string& format, const std::string& code, const CompileOptions& options) {
  MYCHIP_ASSIGN_OR_RETURN(std::unique_ptr<xla::HloModule> module, ParseModule(format, code));
  PipelineOptions pipeline;
  pipeline.dump_to = EnvString("MYCHIP_DUMP_TO");
  if (!pipeline.dump_to.empty()) {
    mkdir(pipeline.dump_to.c_str(), 0777);  // its absence shows when the files are written
    pipeline.dump_name = DumpPrefix(std::string(module->name()));
  }
  const std::string fingerprint = Fingerprint(code, options);
  MYCHIP_ASSIGN_OR_RETURN(Compiled compiled, CompileModule(std::move(module), options, pipeline));
  compiled.fingerprint = fingerprint;
  return compiled;
}

}  // namespace mychip::xla_backend
