#include "strided.h"

#include <cstring>

namespace mychip::pjrt {
namespace {

template <typename Unit>
void CopyRow(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(dst + i * dst_stride, src + i * src_stride, sizeof(Unit));
}

struct Unit16 {
  char bytes[16];
};

void CopyRow(int64_t element, char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) {
  if (dst_stride == element && src_stride == element) {
    std::memcpy(dst, src, n * element);
    return;
  }
  switch (element) {
    case 1:
      return CopyRow<uint8_t>(dst, dst_stride, src, src_stride, n);
    case 2:
      return CopyRow<uint16_t>(dst, dst_stride, src, src_stride, n);
    case 4:
      return CopyRow<uint32_t>(dst, dst_stride, src, src_stride, n);
    case 8:
      return CopyRow<uint64_t>(dst, dst_stride, src, src_stride, n);
    default:
      return CopyRow<Unit16>(dst, dst_stride, src, src_stride, n);
  }
}

}  // namespace

Dims DenseByteStrides(const Shape& shape) {
  Dims strides(shape.dims.size());
  int64_t stride = ByteSize(shape.dtype);
  for (size_t d = strides.size(); d-- > 0; stride *= shape.dims[d]) strides[d] = stride;
  return strides;
}

Result<Dims> HostByteStrides(const PJRT_Buffer_MemoryLayout* layout, const Shape& shape) {
  const size_t rank = shape.dims.size();
  if (layout == nullptr) return DenseByteStrides(shape);
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Strides) {
    if (layout->strides.num_byte_strides != rank) {
      return InvalidArgument("the host layout has %zu strides for %s", layout->strides.num_byte_strides,
                             ToString(shape.dtype, shape.dims).c_str());
    }
    return Dims(layout->strides.byte_strides, layout->strides.byte_strides + rank);
  }
  if (layout->tiled.num_tiles != 0) return Unimplemented("tiled host layouts are not supported");
  if (layout->tiled.minor_to_major_size != rank) {
    return InvalidArgument("the host layout orders %zu dimensions, %s has %zu", layout->tiled.minor_to_major_size,
                           ToString(shape.dtype, shape.dims).c_str(), rank);
  }
  Dims strides(rank, -1);
  int64_t stride = ByteSize(shape.dtype);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t d = layout->tiled.minor_to_major[i];
    if (d < 0 || d >= static_cast<int64_t>(rank) || strides[d] != -1) {
      return InvalidArgument("minor_to_major of the host layout is no permutation of %zu dimensions", rank);
    }
    strides[d] = stride;
    stride *= shape.dims[d];
  }
  return strides;
}

bool SameElements(const Shape& shape, const Dims& a, const Dims& b) {
  if (shape.bytes == 0) return true;
  for (size_t d = 0; d < shape.dims.size(); ++d) {
    if (shape.dims[d] != 1 && a[d] != b[d]) return false;
  }
  return true;
}

Result<int64_t> HostExtent(const Shape& shape, const Dims& byte_strides) {
  if (shape.bytes == 0) return int64_t{0};
  int64_t extent = ByteSize(shape.dtype);
  for (size_t d = 0; d < shape.dims.size(); ++d) {
    if (shape.dims[d] == 1) continue;
    if (byte_strides[d] < 0) return InvalidArgument("a host layout with negative strides cannot be written");
    int64_t reach = 0;
    if (__builtin_mul_overflow(shape.dims[d] - 1, byte_strides[d], &reach) ||
        __builtin_add_overflow(extent, reach, &extent)) {
      return InvalidArgument("the strides of the host layout overflow");
    }
  }
  return extent;
}

void CopyStrided(const Shape& shape, void* dst, const Dims& dst_strides, const void* src, const Dims& src_strides) {
  if (shape.bytes == 0) return;
  const int64_t element = ByteSize(shape.dtype);
  const size_t rank = shape.dims.size();
  if (SameElements(shape, dst_strides, src_strides) && SameElements(shape, dst_strides, DenseByteStrides(shape))) {
    std::memcpy(dst, src, shape.bytes);
    return;
  }
  auto* to = static_cast<char*>(dst);
  auto* from = static_cast<const char*>(src);
  Dims index(rank, 0);
  for (;;) {  // an odometer over all but the last dimension; rank 0 never comes here
    CopyRow(element, to, dst_strides[rank - 1], from, src_strides[rank - 1], shape.dims[rank - 1]);
    size_t d = rank - 1;
    for (;; --d) {
      if (d == 0) return;
      to += dst_strides[d - 1], from += src_strides[d - 1];
      if (++index[d - 1] < shape.dims[d - 1]) break;
      to -= index[d - 1] * dst_strides[d - 1], from -= index[d - 1] * src_strides[d - 1];
      index[d - 1] = 0;
    }
  }
}

}  // namespace mychip::pjrt
