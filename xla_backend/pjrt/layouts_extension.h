// PJRT_Layouts_Extension: which order of memory buffers have. On the chip there is one: dense row-major.
#pragma once

#include <memory>
#include <string>

#include "xla/pjrt/c/pjrt_c_api_layouts_extension.h"

// XLA's text form, e.g. "{1,0}": minor to major.
struct PJRT_Layouts_MemoryLayout {
  std::string text;
};

namespace mychip::pjrt {

std::unique_ptr<PJRT_Layouts_MemoryLayout> RowMajorLayout(size_t rank);

// The head of the plugin's extension chain; static.
PJRT_Extension_Base* LayoutsExtension();

}  // namespace mychip::pjrt
