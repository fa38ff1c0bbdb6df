#include "mychip/runtime/config.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>

namespace mychip {
namespace {

struct Row {
  const char *name, *default_value, *meaning;
};

// Every environment variable of the project. One row each; read through EnvString, EnvInt or EnvBool.
constexpr Row kRows[] = {
    {"MYCHIP_NUM_DEVICES", "1", "number of emulated chips in this process (1 to 64)"},
    {"MYCHIP_MEMORY_MB", "4096", "memory of each chip in MiB; committed when first written"},
    {"MYCHIP_CORES", "0", "host threads that run the chip's cores; 0: one per host processor. Never changes a result"},
    {"MYCHIP_JIT", "1", "0: vector programs are interpreted, not translated to host code. Never changes a result"},
    {"MYCHIP_SYNC", "0", "1: every call that enqueues returns only after its command ran (debugging)"},
    {"MYCHIP_LOG", "1", "0: errors, 1: and warnings, 2: and information, on stderr"},
    {"MYCHIP_FAULT", "", "inject failures: launch:N, copy:N, alloc:N (the N-th from start fails), comma separated"},
    {"MYCHIP_VALIDATE", "0", "1: validate every program again at each launch"},
    {"MYCHIP_DUMP_TO", "", "folder that receives the stages, assembly and costs of everything compiled"},
    {"MYCHIP_NATIVE", "1",
     "0: no native TensorFlow kernel for ops that have an XLA lowering (tests of on-demand kernels)"},
    {"MYCHIP_STRICT", "0", "1: an op that would fall to the CPU in silence is an error that names it"},
    {"MYCHIP_PROGRAM_CACHE", "4096", "how many programs of TensorFlow ops are kept, by op, dtypes and shapes"},
    {"MYCHIP_PRETEND_NO_CPU_FEATURE", "", "AVX2, FMA or F16C: the loader acts as on a processor without it (tests)"},
    {"MYCHIP_PASSES", "", "which passes of the pipeline run; see xla_backend/README.md"},
};

std::vector<EnvVar> ReadEnvironment() {
  std::vector<EnvVar> table;
  for (const Row& row : kRows) {
    EnvVar var{row.name, row.default_value, row.meaning, row.default_value, false};
    if (const char* value = std::getenv(row.name); value != nullptr && *value != '\0') {
      var.value = value;
      var.set = true;
    }
    table.push_back(std::move(var));
  }
  return table;
}

const EnvVar& Find(const char* name) {
  for (const EnvVar& var : Environment()) {
    if (var.name == name) return var;
  }
  std::fprintf(stderr, "error mychip: environment variable %s has no row in runtime/config.cc\n", name);
  std::abort();
}

bool ParseInt(const std::string& text, int64_t* value) {
  char* end = nullptr;
  errno = 0;
  *value = std::strtoll(text.c_str(), &end, 10);
  return errno == 0 && end != text.c_str() && *end == '\0';
}

bool FirstTime(const char* name) {
  static std::mutex* const mutex = new std::mutex;
  static auto* const seen = new std::set<std::string>;
  std::lock_guard<std::mutex> lock(*mutex);
  return seen->insert(name).second;
}

// Not through EnvInt, which logs.
int LogLevel() {
  static const int level = [] {
    int64_t value = 1;
    return ParseInt(Find("MYCHIP_LOG").value, &value) && value >= 0 ? static_cast<int>(value > 9 ? 9 : value) : 1;
  }();
  return level;
}

}  // namespace

const std::vector<EnvVar>& Environment() {
  static const auto* const table = new std::vector<EnvVar>(ReadEnvironment());
  return *table;
}

const std::string& EnvString(const char* name) { return Find(name).value; }

int64_t EnvInt(const char* name, int64_t low, int64_t high) {
  const EnvVar& var = Find(name);
  int64_t value = 0;
  if (ParseInt(var.value, &value) && value >= low && value <= high) return value;
  if (var.set && FirstTime(name)) {
    Log(1, "%s=%s is not an integer from %lld to %lld; using %s", name, var.value.c_str(), static_cast<long long>(low),
        static_cast<long long>(high), var.default_value.c_str());
  }
  if (!ParseInt(var.default_value, &value)) value = low;
  return value;
}

bool EnvBool(const char* name) {
  const std::string& value = EnvString(name);
  return !value.empty() && value != "0" && value != "false" && value != "off" && value != "no";
}

void Log(int level, const char* format, ...) {
  if (level > LogLevel()) return;
  static constexpr const char* kNames[] = {"error", "warning", "info"};
  char text[2048];
  int used = std::snprintf(text, sizeof(text), "%s mychip: ", kNames[level < 0 ? 0 : level > 2 ? 2 : level]);
  va_list args;
  va_start(args, format);
  used += std::vsnprintf(text + used, sizeof(text) - used - 1, format, args);
  va_end(args);
  if (used > static_cast<int>(sizeof(text)) - 2) used = sizeof(text) - 2;
  text[used] = '\n';
  std::fwrite(text, 1, used + 1, stderr);  // one call, so that lines of threads do not mix
}

const char* Version() { return MYCHIP_VERSION; }
const char* BuiltForTensorFlow() { return MYCHIP_TENSORFLOW; }

}  // namespace mychip
