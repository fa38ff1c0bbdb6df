// The stages of Compile one by one, for tests.
#pragma once

#include <memory>
#include <string>

#include "mychip/xla/compiler.h"
#include "pipeline.h"
#include "xla/hlo/ir/hlo_module.h"

namespace mychip::xla_backend {

// As Compile's formats, and "hlo_text". INVALID_ARGUMENT for bytes that are no valid module.
Result<std::unique_ptr<xla::HloModule>> ParseModule(const std::string& format, const std::string& code);
// Passes, buffers, code.
Result<Compiled> CompileModule(std::unique_ptr<xla::HloModule> module, const CompileOptions& options,
                               const PipelineOptions& pipeline);
// A module that went through the pipeline -> Program and bindings.
Status Lower(const xla::HloModule& module, const CompileOptions& options, Compiled* compiled);

}  // namespace mychip::xla_backend
