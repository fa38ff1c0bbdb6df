// HLO in, Program out: passes/ and codegen/ behind one call. No XLA header: pjrt/ includes only this.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mychip/runtime/program.h"
#include "mychip/runtime/status.h"

namespace mychip::xla_backend {

struct CompileOptions {
  Precision matmul_precision = Precision::kF32;  // what HLO operand precision DEFAULT means for f32
  bool tuple_arguments = false;                  // the one parameter is a tuple; flatten it
  std::string client;                            // who asks: "tensorflow", "jax", "" ...; goes to the compile log
  // Serialized xla.ExecutableBuildOptionsProto / CompileOptionsProto fields stay in pjrt/.
};

struct ArrayType {
  DType dtype = DType::kF32;
  Dims dims;
  int xla_primitive_type = 0;  // xla::PrimitiveType's number
  int64_t bytes = 0;
};

constexpr int64_t kGeneratorBytes = 16;

// How the executable binds one program argument.
struct Binding {
  int parameter = -1;  // flattened parameter read through this argument, or -1
  int result = -1;     // flattened result found in this argument after the run, or -1
  // Both set: the result is written over the parameter (input_output_alias). When the parameter is not donated in this
  // call, the executable binds a fresh buffer that it fills with a copy of the parameter first.
  // Neither set: kGeneratorBytes of the executable's own on each device, zero before the first run and after a failed
  // one; the runs of an executable count in it how many random numbers they have drawn.
};

struct Compiled {
  std::string name;
  std::shared_ptr<const Program> program;
  std::vector<Binding> bindings;  // one per program argument, in order; every parameter and result occurs exactly once
  std::vector<ArrayType> parameters, results;  // flattened
  bool result_is_tuple = false;
  int64_t temp_bytes = 0;
  std::string optimized_hlo_with_config;  // serialized xla.HloModuleProtoWithConfig after the passes
  std::string optimized_hlo_text;
  std::string fingerprint;
  Cost static_cost;
};

// format "hlo": serialized HloModuleProto; "hlo_with_config": HloModuleProtoWithConfig; "mlir": StableHLO (text,
// bytecode or portable artifact). INVALID_ARGUMENT for bytes that are no valid module; UNIMPLEMENTED with the
// instruction's text and its TF op for what the chip cannot run. Thread-safe.
Result<Compiled> Compile(const std::string& format, const std::string& code, const CompileOptions& options);

// A compiled executable as bytes that LoadCompiled accepts again in a process of the same build; otherwise DATA_LOSS.
std::string SaveCompiled(const Compiled& compiled);
Result<Compiled> LoadCompiled(const std::string& bytes);

}  // namespace mychip::xla_backend
