// What the emulator's kernels need of the host's processor.
#pragma once

#include <string>

namespace mychip::loader {

// Names of the missing features, comma separated; empty when the processor and the operating system have them all.
std::string MissingCpuFeatures();

}  // namespace mychip::loader
