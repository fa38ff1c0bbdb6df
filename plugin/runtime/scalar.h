// Numbers as bit patterns of the chip's element types.
#pragma once

#include <cstdint>
#include <string>

#include "mychip/runtime/dtype.h"

namespace mychip {

struct ScalarBits {
  uint64_t low = 0, high = 0;  // high: imaginary part of c128 only
};

// One rounding, nearest even; integers truncate, saturate, and take NaN as 0; complex types get a zero imaginary part.
ScalarBits EncodeScalar(DType dtype, long double value);
// Integers modulo their width, other types rounded once.
ScalarBits EncodeInteger(DType dtype, int64_t value);
// Shortest decimal text that reads back as the same number; complex as "(re,im)".
std::string ScalarToString(DType dtype, ScalarBits bits);

}  // namespace mychip
