#include "mychip/runtime/status.h"

#include <cstdarg>
#include <cstdio>

namespace mychip {
namespace {

std::string FormatV(const char* format, va_list args) {
  char small[512];
  va_list again;
  va_copy(again, args);
  const int length = std::vsnprintf(small, sizeof(small), format, args);
  std::string text;
  if (length < 0) {
    text = format;
  } else if (static_cast<size_t>(length) < sizeof(small)) {
    text.assign(small, length);
  } else {
    text.resize(length);
    std::vsnprintf(text.data(), text.size() + 1, format, again);
  }
  va_end(again);
  return text;
}

}  // namespace

#define X(name, code)                                 \
  Status name(const char* format, ...) {              \
    va_list args;                                     \
    va_start(args, format);                           \
    Status status(Code::code, FormatV(format, args)); \
    va_end(args);                                     \
    return status;                                    \
  }
MYCHIP_STATUS_KINDS(X)
#undef X

}  // namespace mychip
