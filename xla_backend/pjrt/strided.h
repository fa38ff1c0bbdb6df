// Host arrays in any order of memory.
#pragma once

#include "element_types.h"

namespace mychip::pjrt {

// Byte strides of a dense row-major array.
Dims DenseByteStrides(const Shape& shape);
// Byte strides that `layout` (null: dense row-major) asks for. INVALID_ARGUMENT when it does not fit the shape.
Result<Dims> HostByteStrides(const PJRT_Buffer_MemoryLayout* layout, const Shape& shape);
bool SameElements(const Shape& shape, const Dims& a, const Dims& b);  // dims of size 1 may differ
// Bytes from the first to behind the last element. INVALID_ARGUMENT for negative strides (they reach below the start)
// and for an overflow.
Result<int64_t> HostExtent(const Shape& shape, const Dims& byte_strides);
void CopyStrided(const Shape& shape, void* dst, const Dims& dst_strides, const void* src, const Dims& src_strides);

}  // namespace mychip::pjrt
