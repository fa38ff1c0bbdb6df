// The table of passes by name, for readers without XLA headers.
#pragma once

#include <string>
#include <vector>

namespace mychip::xla_backend {

// Names of all passes in order; required ones carry a trailing '*'.
std::vector<std::string> PassNames();

}  // namespace mychip::xla_backend
