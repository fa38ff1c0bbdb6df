"""16-bit floats that are fast, safe and explained. Imports TensorFlow and Keras."""

from mychip.mixed_precision.auto import auto
from mychip.mixed_precision.guard import guard_loss_scale
from mychip.mixed_precision.loss_scale import LossScaleOptimizer, LossScaleOverflowError
from mychip.mixed_precision.monitor import LossScaleMonitor
from mychip.mixed_precision.overflow import Overflow, find_overflow
from mychip.mixed_precision.policies import dtype_policy_map, with_policy
from mychip.mixed_precision.precision import matmul_precision, set_matmul_precision
from mychip.mixed_precision.promotion import PROMOTED
from mychip.mixed_precision.report import Report, report
from mychip.mixed_precision.verification import Verification
from mychip.mixed_precision.verify import Criterion, verify

__all__ = [
    "PROMOTED",
    "Criterion",
    "LossScaleMonitor",
    "LossScaleOptimizer",
    "LossScaleOverflowError",
    "Overflow",
    "Report",
    "Verification",
    "auto",
    "dtype_policy_map",
    "find_overflow",
    "guard_loss_scale",
    "matmul_precision",
    "report",
    "set_matmul_precision",
    "verify",
    "with_policy",
]
