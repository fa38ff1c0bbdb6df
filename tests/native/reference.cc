#include "reference.h"

#include <cstring>

#include "compiler_internal.h"
#include "mychip/runtime/device.h"
#include "status_bridge.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/literal.h"
#include "xla/shape_util.h"

namespace mychip::testing {
namespace {

using xla_backend::Compiled;
using xla_backend::PipelineOptions;

Result<xla::Literal> LiteralOf(const xla::Shape& shape, const std::vector<std::string>& inputs, size_t* next) {
  MYCHIP_ASSIGN_OR_RETURN_ABSL(xla::Literal literal, xla::Literal::Make(shape));
  for (const auto& leaf : xla::ShapeUtil::GetLeafShapes(shape)) {
    if (!leaf.shape.IsArray()) continue;
    if (*next >= inputs.size()) return InvalidArgument("%zu inputs are too few", inputs.size());
    const std::string& bytes = inputs[(*next)++];
    if (static_cast<int64_t>(bytes.size()) != literal.size_bytes(leaf.index)) {
      return InvalidArgument("input %zu has %zu bytes instead of %lld", *next - 1, bytes.size(),
                             static_cast<long long>(literal.size_bytes(leaf.index)));
    }
    std::memcpy(literal.untyped_data(leaf.index), bytes.data(), bytes.size());
  }
  return literal;
}

xla::Shape Plain(xla::Shape shape) {
  xla::ShapeUtil::ForEachMutableSubshape(&shape, [](xla::Shape* part, const xla::ShapeIndex&) {
    if (part->IsArray()) *part->mutable_layout() = xla::LayoutUtil::GetDefaultLayoutForShape(*part);
  });
  return shape;
}

// Device memory of one call; freed when the call is over.
class Spans {
 public:
  explicit Spans(Device* device) : device_(device) {}
  ~Spans() {
    for (void* address : addresses_) (void)device_->memory().Free(address);
  }
  Result<DeviceSpan> Make(int64_t bytes) {
    MYCHIP_ASSIGN_OR_RETURN(void* address, device_->memory().Allocate(bytes));
    addresses_.push_back(address);
    return DeviceSpan{address, bytes};
  }

 private:
  Device* device_;
  std::vector<void*> addresses_;
};

PipelineOptions Options(const std::string& passes) {
  PipelineOptions options;
  options.passes = passes;
  options.verify = true;
  return options;
}

}  // namespace

Result<Signature> SignatureOf(const std::string& format, const std::string& code) {
  MYCHIP_ASSIGN_OR_RETURN(Compiled compiled, CompileOnly(format, code, ""));
  return Signature{compiled.parameters, compiled.results};
}

Result<std::string> ToProto(const std::string& format, const std::string& code) {
  MYCHIP_ASSIGN_OR_RETURN(std::unique_ptr<xla::HloModule> module, xla_backend::ParseModule(format, code));
  return module->ToProto().SerializeAsString();
}

Result<std::vector<std::string>> Evaluate(const std::string& format, const std::string& code,
                                          const std::vector<std::string>& inputs, bool passes) {
  MYCHIP_ASSIGN_OR_RETURN(std::unique_ptr<xla::HloModule> module, xla_backend::ParseModule(format, code));
  if (passes) {
    // The evaluator knows no in-place update, so copies and the schedule do no harm.
    MYCHIP_RETURN_IF_ERROR(xla_backend::RunPipeline(module.get(), Options("-chip-fusion"), nullptr));
  }
  std::vector<xla::Literal> literals;
  size_t next = 0;
  for (const xla::HloInstruction* parameter : module->entry_computation()->parameter_instructions()) {
    MYCHIP_ASSIGN_OR_RETURN(xla::Literal literal, LiteralOf(Plain(parameter->shape()), inputs, &next));
    literals.push_back(std::move(literal));
  }
  std::vector<const xla::Literal*> arguments;
  for (const xla::Literal& literal : literals) arguments.push_back(&literal);
  xla::HloEvaluator evaluator(/*max_loop_iterations=*/-1);
  MYCHIP_ASSIGN_OR_RETURN_ABSL(xla::Literal result, evaluator.Evaluate(*module, arguments));
  std::vector<std::string> outputs;
  for (const auto& leaf : xla::ShapeUtil::GetLeafShapes(result.shape())) {
    if (!leaf.shape.IsArray()) continue;
    // The evaluator may leave another layout.
    const xla::Literal part =
        xla::LiteralSlice(result, leaf.index).Relayout(xla::LayoutUtil::GetDefaultLayoutForShape(leaf.shape));
    outputs.emplace_back(static_cast<const char*>(part.untyped_data()), part.size_bytes());
  }
  return outputs;
}

Result<Compiled> CompileOnly(const std::string& format, const std::string& code, const std::string& passes) {
  MYCHIP_ASSIGN_OR_RETURN(std::unique_ptr<xla::HloModule> module, xla_backend::ParseModule(format, code));
  return xla_backend::CompileModule(std::move(module), {}, Options(passes));
}

Result<Ran> CompileAndRun(const std::string& format, const std::string& code, const std::vector<std::string>& inputs,
                          const std::string& passes, bool donate) {
  MYCHIP_ASSIGN_OR_RETURN(Compiled compiled, CompileOnly(format, code, passes));
  if (inputs.size() != compiled.parameters.size()) {
    return InvalidArgument("%zu inputs for %zu parameters", inputs.size(), compiled.parameters.size());
  }
  MYCHIP_ASSIGN_OR_RETURN(Device * device, Device::Get(0));
  Spans spans(device);
  std::vector<DeviceSpan> parameters, arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (static_cast<int64_t>(inputs[i].size()) != compiled.parameters[i].bytes) {
      return InvalidArgument("input %zu has %zu bytes instead of %lld", i, inputs[i].size(),
                             static_cast<long long>(compiled.parameters[i].bytes));
    }
    MYCHIP_ASSIGN_OR_RETURN(const DeviceSpan span, spans.Make(compiled.parameters[i].bytes));
    MYCHIP_RETURN_IF_ERROR(Device::CopySync(span.address, inputs[i].data(), span.bytes));
    parameters.push_back(span);
  }
  for (size_t a = 0; a < compiled.bindings.size(); ++a) {
    const auto& binding = compiled.bindings[a];
    if (binding.parameter >= 0 && (binding.result < 0 || donate)) {
      arguments.push_back(parameters[binding.parameter]);
      continue;
    }
    MYCHIP_ASSIGN_OR_RETURN(const DeviceSpan span, spans.Make(compiled.program->buffers[a].size));
    if (binding.parameter >= 0) {
      MYCHIP_RETURN_IF_ERROR(Device::CopySync(span.address, inputs[binding.parameter].data(), span.bytes));
    }
    if (binding.parameter < 0 && binding.result < 0) {
      MYCHIP_RETURN_IF_ERROR(device->compute_stream()->Fill8(span.address, 0, span.bytes));
    }
    arguments.push_back(span);
  }
  MYCHIP_ASSIGN_OR_RETURN(const DeviceSpan temp, spans.Make(compiled.temp_bytes));
  const Cost before = device->counters().cost;
  MYCHIP_RETURN_IF_ERROR(device->compute_stream()->Launch(compiled.program, arguments, temp));
  MYCHIP_RETURN_IF_ERROR(device->compute_stream()->Synchronize());
  const Cost after = device->counters().cost;
  Ran ran;
  ran.cost = {after.launches - before.launches, after.cycles - before.cycles, after.bytes_read - before.bytes_read,
              after.bytes_written - before.bytes_written, after.flops - before.flops};
  ran.outputs.resize(compiled.results.size());
  for (size_t a = 0; a < compiled.bindings.size(); ++a) {
    const int result = compiled.bindings[a].result;
    if (result < 0) continue;
    ran.outputs[result].resize(compiled.results[result].bytes);
    MYCHIP_RETURN_IF_ERROR(
        Device::CopySync(ran.outputs[result].data(), arguments[a].address, compiled.results[result].bytes));
  }
  for (size_t i = 0; i < inputs.size() && !donate; ++i) {
    std::string now(inputs[i].size(), '\0');
    MYCHIP_RETURN_IF_ERROR(Device::CopySync(now.data(), parameters[i].address, parameters[i].bytes));
    if (now != inputs[i]) return Internal("the program overwrote input %zu", i);
  }
  return ran;
}

Result<std::vector<Text>> PassByPass(const std::string& format, const std::string& code, const std::string& passes) {
  MYCHIP_ASSIGN_OR_RETURN(std::unique_ptr<xla::HloModule> module, xla_backend::ParseModule(format, code));
  PipelineOptions options = Options(passes);
  std::vector<Text> texts{{"before", module->ToString()}};
  options.on_change = [&](const std::string& pass, const xla::HloModule& now) {
    texts.push_back({pass, now.ToString()});
  };
  MYCHIP_RETURN_IF_ERROR(xla_backend::RunPipeline(module.get(), options, nullptr));
  return texts;
}

}  // namespace mychip::testing
