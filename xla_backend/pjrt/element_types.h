// PJRT_Buffer_Type <-> DType, and the sizes of shapes a caller gives us.
#pragma once

#include "mychip/runtime/dtype.h"
#include "mychip/runtime/status.h"
#include "mychip/runtime/view.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace mychip::pjrt {

PJRT_Buffer_Type ToPjrt(DType dtype);
// UNIMPLEMENTED names a type the chip has not; INVALID_ARGUMENT a number that is no type.
Result<DType> FromPjrt(PJRT_Buffer_Type type);

// An array as buffers hold it: dense, row-major.
struct Shape {
  DType dtype = DType::kF32;
  Dims dims;
  int64_t bytes = 0;
};

// Checks type, dims and the product (no overflow).
Result<Shape> MakeShape(PJRT_Buffer_Type type, const int64_t* dims, size_t num_dims);
// "f32[2,3]"
std::string ToString(DType dtype, const Dims& dims);
// Ok when `layout` is null or says dense row-major for this shape: the only order in which buffers are kept.
Status RequireRowMajor(const PJRT_Buffer_MemoryLayout* layout, const Shape& shape);

}  // namespace mychip::pjrt
