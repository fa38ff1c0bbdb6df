// What can be asked about compiled code. compile.cc makes it, execute.cc runs it.
#include "executable.h"

#include <algorithm>
#include <cstring>

#include "api.h"
#include "element_types.h"
#include "mychip/runtime/device.h"
#include "mychip/runtime/matmul_precision.h"

namespace mychip::pjrt {
namespace {

// Owns the bytes a query returned, until the caller's call of `Free`.
template <typename Handle>
struct OwnedBytes {
  static Handle* Make(std::string bytes, const char** data, size_t* size) {
    auto* owned = new std::string(std::move(bytes));
    *data = owned->data();
    *size = owned->size();
    return reinterpret_cast<Handle*>(owned);
  }
  static void Free(Handle* handle) { delete reinterpret_cast<std::string*>(handle); }
};

void AddCosts(const xla_backend::Compiled& compiled, NamedValues* costs) {
  const Cost& cost = compiled.static_cost;
  costs->Add("flops", static_cast<float>(cost.flops));
  costs->Add("bytes accessed", static_cast<float>(cost.bytes_read + cost.bytes_written));
  costs->Add("optimal_seconds", static_cast<float>(cost.cycles) / static_cast<float>(chip::kClockHz));
  costs->Add("cycles", static_cast<float>(cost.cycles));
  costs->Add("launches", static_cast<float>(cost.launches));
}

void NotePrecision(Code* code) {
  if (code->compiled.program == nullptr) return;
  const auto note = [code](DType dtype, Precision precision) {
    if (dtype != DType::kF32) return;
    code->has_f32_products = true;
    code->least_exact = std::max(code->least_exact, precision);
  };
  for (const auto& block : code->compiled.program->blocks) {
    for (const Command& command : block) {
      if (const auto* product = std::get_if<MatMulCmd>(&command.op)) note(product->a.dtype, product->precision);
      if (const auto* conv = std::get_if<ConvCmd>(&command.op)) note(conv->lhs.dtype, conv->precision);
    }
  }
}

Status CheckBindings(const xla_backend::Compiled& compiled) {
  std::vector<int> parameters(compiled.parameters.size(), 0), results(compiled.results.size(), 0);
  int generators = 0;
  for (const xla_backend::Binding& binding : compiled.bindings) {
    if (binding.parameter >= static_cast<int>(parameters.size()) ||
        binding.result >= static_cast<int>(results.size())) {
      return Internal("program %s binds a parameter or result it has not", compiled.name.c_str());
    }
    if (binding.parameter >= 0) ++parameters[binding.parameter];
    if (binding.result >= 0) ++results[binding.result];
    if (binding.parameter < 0 && binding.result < 0) ++generators;
  }
  if (generators > 1) return Internal("program %s has %d generators", compiled.name.c_str(), generators);
  for (int count : results) {
    if (count != 1) return Internal("program %s binds a result %d times", compiled.name.c_str(), count);
  }
  for (int count : parameters) {
    if (count > 1) return Internal("program %s binds a parameter %d times", compiled.name.c_str(), count);
  }
  return OkStatus();
}

}  // namespace

Result<std::shared_ptr<const Code>> Code::Make(xla_backend::Compiled compiled, std::string options, int device_id,
                                               std::unique_ptr<const Origin> origin) {
  MYCHIP_RETURN_IF_ERROR(CheckBindings(compiled));
  auto code = std::make_shared<Code>();
  code->compiled = std::move(compiled);
  code->options = std::move(options);
  code->device_id = device_id;
  code->aliased_result.assign(code->compiled.parameters.size(), -1);
  for (const xla_backend::Binding& binding : code->compiled.bindings) {
    if (binding.parameter >= 0) code->aliased_result[binding.parameter] = binding.result;
  }
  for (const xla_backend::ArrayType& result : code->compiled.results) {
    code->output_types.push_back(ToPjrt(result.dtype));
    code->output_dims.insert(code->output_dims.end(), result.dims.begin(), result.dims.end());
    code->output_ranks.push_back(result.dims.size());
    code->output_memory_kinds.push_back(kMemoryKind);
    code->output_memory_kind_sizes.push_back(std::strlen(kMemoryKind));
    code->output_layouts.push_back(RowMajorLayout(result.dims.size()));
    code->output_layout_list.push_back(code->output_layouts.back().get());
  }
  NotePrecision(code.get());
  if (code->has_f32_products) code->origin = std::move(origin);
  AddCosts(code->compiled, &code->costs);
  return std::shared_ptr<const Code>(std::move(code));
}

Result<std::shared_ptr<const xla_backend::Compiled>> Code::InForce() const {
  using Variant = std::shared_ptr<const xla_backend::Compiled>;
  const Variant as_compiled(std::shared_ptr<void>(), &compiled);  // no ownership: the caller holds this Code
  if (!has_f32_products) return as_compiled;
  const Precision wanted = MatmulPrecision();
  if (origin == nullptr) {
    if (least_exact <= wanted) return as_compiled;
    return FailedPrecondition(
        "executable %s was saved under a lower matrix precision than the one in force; choose that precision with "
        "mychip.mixed_precision.set_matmul_precision, or compile the program again",
        compiled.name.c_str());
  }
  if (wanted == origin->options.matmul_precision) return as_compiled;
  const std::lock_guard<std::mutex> lock(variants_mu);
  Variant& variant = variants[wanted];
  if (variant == nullptr) {
    xla_backend::CompileOptions with = origin->options;
    with.matmul_precision = wanted;
    MYCHIP_ASSIGN_OR_RETURN(xla_backend::Compiled made, xla_backend::Compile(origin->format, origin->program, with));
    variant = std::make_shared<const xla_backend::Compiled>(std::move(made));
  }
  return variant;
}

int64_t Code::CodeBytes() const {
  int64_t bytes = 0;
  if (compiled.program == nullptr) return bytes;
  for (const Buffer& buffer : compiled.program->buffers) bytes += static_cast<int64_t>(buffer.data.size());
  for (const auto& block : compiled.program->blocks) bytes += static_cast<int64_t>(block.size() * sizeof(Command));
  return bytes;
}

Status Executable_Destroy(PJRT_Executable_Destroy_Args* args) {
  delete args->executable;
  return OkStatus();
}

Status Executable_Name(PJRT_Executable_Name_Args* args) {
  const std::string& name = args->executable->code->compiled.name;
  args->executable_name = name.data();
  args->executable_name_size = name.size();
  return OkStatus();
}

Status Executable_NumReplicas(PJRT_Executable_NumReplicas_Args* args) {
  args->num_replicas = 1;
  return OkStatus();
}

Status Executable_NumPartitions(PJRT_Executable_NumPartitions_Args* args) {
  args->num_partitions = 1;
  return OkStatus();
}

Status Executable_NumOutputs(PJRT_Executable_NumOutputs_Args* args) {
  args->num_outputs = args->executable->code->output_types.size();
  return OkStatus();
}

Status Executable_SizeOfGeneratedCodeInBytes(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args* args) {
  args->size_in_bytes = args->executable->code->CodeBytes();
  return OkStatus();
}

Status Executable_GetCostAnalysis(PJRT_Executable_GetCostAnalysis_Args* args) {
  args->properties = args->executable->code->costs.data();
  args->num_properties = args->executable->code->costs.size();
  return OkStatus();
}

Status Executable_OutputMemoryKinds(PJRT_Executable_OutputMemoryKinds_Args* args) {
  const Code& code = *args->executable->code;
  args->num_outputs = code.output_types.size();
  args->memory_kinds = code.output_memory_kinds.data();
  args->memory_kind_sizes = code.output_memory_kind_sizes.data();
  return OkStatus();
}

Status Executable_OutputElementTypes(PJRT_Executable_OutputElementTypes_Args* args) {
  const Code& code = *args->executable->code;
  args->num_output_types = code.output_types.size();
  args->output_types = const_cast<PJRT_Buffer_Type*>(code.output_types.data());
  return OkStatus();
}

Status Executable_OutputDimensions(PJRT_Executable_OutputDimensions_Args* args) {
  const Code& code = *args->executable->code;
  args->num_outputs = code.output_types.size();
  args->dims = code.output_dims.data();
  args->dim_sizes = code.output_ranks.data();
  return OkStatus();
}

// Called twice: without `code` for the size, then with a buffer of that size.
Status Executable_OptimizedProgram(PJRT_Executable_OptimizedProgram_Args* args) {
  static constexpr char kFormat[] = "hlo_with_config";
  const std::string& bytes = args->executable->code->compiled.optimized_hlo_with_config;
  if (args->program == nullptr) return InvalidArgument("program is null");
  args->program->format = kFormat;
  args->program->format_size = sizeof(kFormat) - 1;
  if (args->program->code != nullptr) {
    if (args->program->code_size < bytes.size()) {
      return InvalidArgument("code_size is %zu, the optimized program has %zu bytes", args->program->code_size,
                             bytes.size());
    }
    std::memcpy(args->program->code, bytes.data(), bytes.size());
  }
  args->program->code_size = bytes.size();
  return OkStatus();
}

Status Executable_Fingerprint(PJRT_Executable_Fingerprint_Args* args) {
  const std::string& fingerprint = args->executable->code->compiled.fingerprint;
  args->executable_fingerprint = fingerprint.data();
  args->executable_fingerprint_size = fingerprint.size();
  return OkStatus();
}

Status Executable_GetCompiledMemoryStats(PJRT_Executable_GetCompiledMemoryStats_Args* args) {
  const Code& code = *args->executable->code;
  int64_t arguments = 0, outputs = 0, aliased = 0;
  for (const auto& parameter : code.compiled.parameters) arguments += parameter.bytes;
  for (const auto& result : code.compiled.results) outputs += result.bytes;
  for (int result : code.aliased_result) aliased += result < 0 ? 0 : code.compiled.results[result].bytes;
  args->generated_code_size_in_bytes = code.CodeBytes();
  args->argument_size_in_bytes = arguments;
  args->output_size_in_bytes = outputs;
  args->alias_size_in_bytes = aliased;
  args->temp_size_in_bytes = code.compiled.temp_bytes;
  args->host_generated_code_size_in_bytes = 0;
  args->host_argument_size_in_bytes = 0;
  args->host_output_size_in_bytes = 0;
  args->host_alias_size_in_bytes = 0;
  args->host_temp_size_in_bytes = 0;
  const int64_t total = arguments + outputs - aliased + code.compiled.temp_bytes;
  if (MYCHIP_PJRT_HAS(args, PJRT_Executable_GetCompiledMemoryStats_Args, peak_memory_in_bytes)) {
    args->peak_memory_in_bytes = total;
  }
  if (MYCHIP_PJRT_HAS(args, PJRT_Executable_GetCompiledMemoryStats_Args, total_size_in_bytes)) {
    args->total_size_in_bytes = total + code.CodeBytes();
  }
  return OkStatus();
}

Status Executable_GetCompileOptions(PJRT_Executable_GetCompileOptions_Args* args) {
  using Owned = OwnedBytes<PJRT_SerializedCompileOptions>;
  args->serialized_compile_options =
      Owned::Make(args->executable->code->options, &args->serialized_bytes, &args->serialized_bytes_size);
  args->serialized_compile_options_deleter = Owned::Free;
  return OkStatus();
}

}  // namespace mychip::pjrt
