// TensorFlow's TF32 switch, which can only forbid what mychip.mixed_precision.set_matmul_precision allows.
#include "bridge.h"
#include "mychip/runtime/matmul_precision.h"
#include "tsl/platform/tensor_float_32_utils.h"

namespace mychip::bridge {

void FollowTensorFloat32Switch() { SetReducedPrecisionSwitch(&tsl::tensor_float_32_execution_enabled); }

}  // namespace mychip::bridge
