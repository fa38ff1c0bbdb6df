// What hlo_testing offers, without pybind or XLA types: arrays travel as dense row-major bytes.
#pragma once

#include <string>
#include <vector>

#include "mychip/runtime/status.h"
#include "mychip/xla/compiler.h"

namespace mychip::testing {

struct Text {
  std::string pass, hlo;
};

// `format` as Compile's, and "hlo_text". Parameters and results are flattened.
struct Signature {
  std::vector<xla_backend::ArrayType> parameters, results;
};
Result<Signature> SignatureOf(const std::string& format, const std::string& code);

// xla::HloEvaluator on the module as given (`passes` false) or after the pipeline without chip-fusion (true).
Result<std::vector<std::string>> Evaluate(const std::string& format, const std::string& code,
                                          const std::vector<std::string>& inputs, bool passes);

struct Ran {
  std::vector<std::string> outputs;
  Cost cost;  // as it ran
};
// Through the pipeline (passes as MYCHIP_PASSES), code generation and a stream of device 0. With `donate`, aliased
// parameters are written in place; otherwise into copies, and every input is checked to be unchanged.
Result<Ran> CompileAndRun(const std::string& format, const std::string& code, const std::vector<std::string>& inputs,
                          const std::string& passes, bool donate);

Result<xla_backend::Compiled> CompileOnly(const std::string& format, const std::string& code,
                                          const std::string& passes);
// The module before and after each pass that changed it.
Result<std::vector<Text>> PassByPass(const std::string& format, const std::string& code, const std::string& passes);
// "hlo_text" -> serialized HloModuleProto.
Result<std::string> ToProto(const std::string& format, const std::string& code);

}  // namespace mychip::testing
