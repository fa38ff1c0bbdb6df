#include "dtypes.h"

namespace mychip::kernels {
namespace {

struct Row {
  TF_DataType tf;
  DType dtype;
  const char* name;
};
constexpr Row kRows[] = {
    {TF_BOOL, DType::kPred, "bool"},
    {TF_INT8, DType::kS8, "int8"},
    {TF_INT16, DType::kS16, "int16"},
    {TF_INT32, DType::kS32, "int32"},
    {TF_INT64, DType::kS64, "int64"},
    {TF_UINT8, DType::kU8, "uint8"},
    {TF_UINT16, DType::kU16, "uint16"},
    {TF_UINT32, DType::kU32, "uint32"},
    {TF_UINT64, DType::kU64, "uint64"},
    {TF_HALF, DType::kF16, "half"},
    {TF_BFLOAT16, DType::kBF16, "bfloat16"},
    {TF_FLOAT, DType::kF32, "float"},
    {TF_DOUBLE, DType::kF64, "double"},
    {TF_COMPLEX64, DType::kC64, "complex64"},
    {TF_COMPLEX128, DType::kC128, "complex128"},
};

}  // namespace

bool FromTensorFlow(TF_DataType t, DType* dtype) {
  for (const Row& row : kRows) {
    if (row.tf != t) continue;
    *dtype = row.dtype;
    return true;
  }
  return false;
}

const char* TypeName(TF_DataType t) {
  for (const Row& row : kRows) {
    if (row.tf == t) return row.name;
  }
  return "unknown";
}

}  // namespace mychip::kernels
