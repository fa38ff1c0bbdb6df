// What was compiled in this process, and why: the compile log behind mychip.dump_program and the fallback report.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mychip/runtime/export.h"
#include "mychip/runtime/program.h"

namespace mychip {

struct CompileRecord {
  int64_t serial = 0;  // from 1, in order of compilation
  std::string name;    // HLO module name
  std::string client;  // "tensorflow", "jax", "" ...
  double seconds = 0;  // inside the compiler
  int instructions_before = 0, instructions_after = 0;
  int64_t temp_bytes = 0;
  std::shared_ptr<const Program> program;
};

// Keeps the latest 512 records. Thread-safe.
MYCHIP_API void RecordCompile(CompileRecord record);
MYCHIP_API std::vector<CompileRecord> CompileRecords();
MYCHIP_API int64_t CompileCount();  // ever, in this process

}  // namespace mychip
