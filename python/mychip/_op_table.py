"""The table of ops and tiers: plugin/kernels/OPS.md."""

from __future__ import annotations

import functools
import itertools
from typing import Any

HEADER = """# Ops and tiers

Made by `python -m mychip ops`; a test compares it. Native: a kernel of this project, on the chip (host: over int32 in
host memory). On demand: its XLA lowering, compiled at the first run of each shape. Dtypes are those of the op's first
constrained attribute; - means the op has none. Everything else that TensorFlow has a kernel for on any device
(Identity, Reshape, control flow ...) runs with that one; what is in neither runs on the CPU.

| op | native | on demand |
| --- | --- | --- |
"""


def markdown() -> str:
    """One row per op that MYCHIP has a kernel for, from TensorFlow's registry. Imports TensorFlow."""
    table: dict[str, dict[str, set[str]]] = {}
    for kernel in _kernels():
        tier = "native" if kernel.priority > 0 else "on demand"
        table.setdefault(kernel.op, {}).setdefault(tier, set()).update(_dtypes(kernel))
    lines = []
    for op, tiers in sorted(table.items()):
        cells = (" ".join(sorted(tiers.get(tier, ()), key=_order)) for tier in ("native", "on demand"))
        lines.append(f"| {op} | {' | '.join(cells)} |\n")
    return HEADER + "".join(lines)


def _kernels() -> list[Any]:
    from tensorflow.python.framework import kernels

    return [k for k in kernels.get_all_registered_kernels().kernel if k.device_type == "MYCHIP"]


def _dtypes(kernel: Any) -> list[str]:
    import tensorflow as tf

    if not kernel.constraint:
        return ["-"]
    return [tf.dtypes.as_dtype(t).name for t in kernel.constraint[0].allowed_values.list.type]


@functools.cache
def _order(dtype: str) -> tuple[int, str]:
    names = itertools.chain(("float32", "float16", "bfloat16", "float64"), ("int8", "int16", "int32", "int64"))
    return {name: i for i, name in enumerate(names)}.get(dtype, 99), dtype
