// What each vector operation takes and gives; shared by the builder and the validator.
#pragma once

#include <cstdint>

#include "mychip/runtime/body.h"

namespace mychip {

bool IsVOp(VOp op);  // a value of the enumeration

// The dtype an operation on operands of `operand` yields (kSelect: its second operand).
DType ResultDType(VOp op, DType operand);

// Largest number of bytes per lane that are live at once, running the instructions in order.
int64_t PeakLiveBytes(const Body& body);

}  // namespace mychip
