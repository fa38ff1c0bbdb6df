#include "element_types.h"

namespace mychip::pjrt {
namespace {

struct Row {
  PJRT_Buffer_Type type;
  DType dtype;
};
constexpr Row kRows[] = {
    {PJRT_Buffer_Type_PRED, DType::kPred}, {PJRT_Buffer_Type_S8, DType::kS8},   {PJRT_Buffer_Type_S16, DType::kS16},
    {PJRT_Buffer_Type_S32, DType::kS32},   {PJRT_Buffer_Type_S64, DType::kS64}, {PJRT_Buffer_Type_U8, DType::kU8},
    {PJRT_Buffer_Type_U16, DType::kU16},   {PJRT_Buffer_Type_U32, DType::kU32}, {PJRT_Buffer_Type_U64, DType::kU64},
    {PJRT_Buffer_Type_F16, DType::kF16},   {PJRT_Buffer_Type_F32, DType::kF32}, {PJRT_Buffer_Type_F64, DType::kF64},
    {PJRT_Buffer_Type_BF16, DType::kBF16}, {PJRT_Buffer_Type_C64, DType::kC64}, {PJRT_Buffer_Type_C128, DType::kC128},
};
static_assert(sizeof(kRows) / sizeof(kRows[0]) == kNumDTypes);

// What else a caller may name.
struct Foreign {
  PJRT_Buffer_Type type;
  const char* name;
};
constexpr Foreign kForeign[] = {
    {PJRT_Buffer_Type_F8E5M2, "f8e5m2"},
    {PJRT_Buffer_Type_F8E4M3FN, "f8e4m3fn"},
    {PJRT_Buffer_Type_F8E4M3B11FNUZ, "f8e4m3b11fnuz"},
    {PJRT_Buffer_Type_F8E5M2FNUZ, "f8e5m2fnuz"},
    {PJRT_Buffer_Type_F8E4M3FNUZ, "f8e4m3fnuz"},
    {PJRT_Buffer_Type_S4, "s4"},
    {PJRT_Buffer_Type_U4, "u4"},
    {PJRT_Buffer_Type_TOKEN, "token"},
    {PJRT_Buffer_Type_S2, "s2"},
    {PJRT_Buffer_Type_U2, "u2"},
    {PJRT_Buffer_Type_F8E4M3, "f8e4m3"},
    {PJRT_Buffer_Type_F8E3M4, "f8e3m4"},
    {PJRT_Buffer_Type_F8E8M0FNU, "f8e8m0fnu"},
    {PJRT_Buffer_Type_F4E2M1FN, "f4e2m1fn"},
};

constexpr size_t kMaxRank = 64;
constexpr int64_t kMaxBytes = int64_t{1} << 46;  // far beyond any chip; keeps sums of sizes from overflowing

}  // namespace

PJRT_Buffer_Type ToPjrt(DType dtype) {
  for (const Row& row : kRows) {
    if (row.dtype == dtype) return row.type;
  }
  return PJRT_Buffer_Type_INVALID;
}

Result<DType> FromPjrt(PJRT_Buffer_Type type) {
  for (const Row& row : kRows) {
    if (row.type == type) return row.dtype;
  }
  for (const Foreign& row : kForeign) {
    if (row.type == type) return Unimplemented("the chip has no element type %s", row.name);
  }
  return InvalidArgument("%d is no PJRT element type", static_cast<int>(type));
}

std::string ToString(DType dtype, const Dims& dims) {
  std::string text = std::string(Name(dtype)) + "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(dims[i]);
  return text + "]";
}

Result<Shape> MakeShape(PJRT_Buffer_Type type, const int64_t* dims, size_t num_dims) {
  MYCHIP_ASSIGN_OR_RETURN(const DType dtype, FromPjrt(type));
  if (num_dims > kMaxRank) return InvalidArgument("rank %zu is above the limit of %zu", num_dims, kMaxRank);
  if (num_dims > 0 && dims == nullptr) return InvalidArgument("dims is null, num_dims %zu", num_dims);
  Shape shape{dtype, Dims(dims, dims + num_dims), ByteSize(dtype)};
  for (int64_t dim : shape.dims) {
    if (dim < 0) return InvalidArgument("%s has a negative dimension", ToString(dtype, shape.dims).c_str());
  }
  for (int64_t dim : shape.dims) {
    if (__builtin_mul_overflow(shape.bytes, dim, &shape.bytes) || shape.bytes > kMaxBytes) {
      return InvalidArgument("%s is too large: more than %lld bytes", ToString(dtype, shape.dims).c_str(),
                             static_cast<long long>(kMaxBytes));
    }
  }
  return shape;
}

Status RequireRowMajor(const PJRT_Buffer_MemoryLayout* layout, const Shape& shape) {
  if (layout == nullptr) return OkStatus();
  const size_t rank = shape.dims.size();
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Strides) {
    int64_t dense = ByteSize(shape.dtype);
    bool same = layout->strides.num_byte_strides == rank;
    for (size_t d = rank; same && d-- > 0; dense *= shape.dims[d]) {
      same = shape.dims[d] == 1 || layout->strides.byte_strides[d] == dense;
    }
    if (same || shape.bytes == 0) return OkStatus();
  } else {
    bool same = layout->tiled.num_tiles == 0 && layout->tiled.minor_to_major_size == rank;
    for (size_t d = 0; same && d < rank; ++d) {
      same = layout->tiled.minor_to_major[d] == static_cast<int64_t>(rank - 1 - d);
    }
    if (same) return OkStatus();
  }
  return Unimplemented("%s in a device layout other than dense row-major: buffers of the chip have no other order",
                       ToString(shape.dtype, shape.dims).c_str());
}

}  // namespace mychip::pjrt
