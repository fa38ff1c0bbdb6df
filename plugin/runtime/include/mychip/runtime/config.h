// Environment variables: one table, read once per process, printed by `python -m mychip`.
#pragma once

#include <string>
#include <vector>

#include "mychip/runtime/export.h"

namespace mychip {

struct EnvVar {
  std::string name, default_value, meaning;
  std::string value;  // in force
  bool set = false;   // found in the environment
};

// name, default, meaning. Every variable the project reads stands here, and nothing calls getenv anywhere else.
MYCHIP_API const std::vector<EnvVar>& Environment();
// The value in force of a row of the table; aborts in tests when the row does not exist.
MYCHIP_API const std::string& EnvString(const char* name);
// The default, with one log line, when the value is not an integer in [low, high].
MYCHIP_API int64_t EnvInt(const char* name, int64_t low, int64_t high);
MYCHIP_API bool EnvBool(const char* name);

// One line on stderr: "<level> mychip: <text>". MYCHIP_LOG: 0 errors, 1 warnings (default), 2 info.
MYCHIP_API void Log(int level, const char* format, ...) __attribute__((format(printf, 2, 3)));

// "0.1.0" and the TensorFlow version this build is tied to ("2.21.0").
MYCHIP_API const char* Version();
MYCHIP_API const char* BuiltForTensorFlow();

}  // namespace mychip
