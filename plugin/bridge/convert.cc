#include "convert.h"

namespace mychip::bridge {

Result<DType> ToChip(tensorflow::DataType dtype) {
  using namespace tensorflow;
  switch (dtype) {
    case DT_BOOL:
      return DType::kPred;
    case DT_INT8:
    case DT_QINT8:
      return DType::kS8;
    case DT_INT16:
    case DT_QINT16:
      return DType::kS16;
    case DT_INT32:
    case DT_QINT32:
      return DType::kS32;
    case DT_INT64:
      return DType::kS64;
    case DT_UINT8:
    case DT_QUINT8:
      return DType::kU8;
    case DT_UINT16:
    case DT_QUINT16:
      return DType::kU16;
    case DT_UINT32:
      return DType::kU32;
    case DT_UINT64:
      return DType::kU64;
    case DT_HALF:
      return DType::kF16;
    case DT_BFLOAT16:
      return DType::kBF16;
    case DT_FLOAT:
      return DType::kF32;
    case DT_DOUBLE:
      return DType::kF64;
    case DT_COMPLEX64:
      return DType::kC64;
    case DT_COMPLEX128:
      return DType::kC128;
    default:
      return Status(Code::kInvalidArgument, "MYCHIP has no dtype " + DataTypeString(dtype));
  }
}

}  // namespace mychip::bridge
