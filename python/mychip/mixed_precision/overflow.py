"""Which layer and op is the first to overflow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import execute

from mychip.mixed_precision.watch import Op, watch

_NARROW = (tf.float16, tf.bfloat16)


@dataclass(frozen=True)
class Overflow:
    """The first value that was finite before an op and not after it."""

    layer: str  # path of the layer, "" outside of any (the loss)
    phase: str  # "forward" or "backward"
    op: str  # TensorFlow's op type
    dtype: str  # of the result
    magnitude: float  # the largest the result would have been in float32; the largest operand when that is not finite

    def __str__(self) -> str:
        where = f"layer {self.layer}" if self.layer else "the loss"
        what = "gradient" if self.phase == "backward" else "output"
        return f"The first {what} to overflow is that of op {self.op} in {where}: {self.magnitude:.3g} in {self.dtype}."


def find_overflow(
    model: Any, x: Any, y: Any, loss: Callable[[Any, Any], Any] | None = None, scale: float = 1.0
) -> Overflow | None:
    """Runs one training step of ``model`` on ``(x, y)`` eagerly, without updating, up to the first overflow.

    ``loss(y, prediction)`` defaults to what the model was compiled with; it is multiplied by ``scale``, the loss scale.
    None when every value and gradient is finite. A NaN or infinity in the data itself is reported as the loss of op
    "input". Layers with state (batch normalisation's moving averages) are put back as they were.

    Raises ValueError when the model has no loss and none is given.
    """
    compute = loss or _compiled_loss(model)
    state = [(v, v.numpy()) for v in model.non_trainable_variables]

    found: list[Overflow] = []

    def check(op: Op) -> None:
        if not found and (overflow := _overflow(op)):
            found.append(overflow)  # the run goes on: Keras would rewrite an exception on its way out of a layer

    for value in tf.nest.flatten(x):
        array = np.asarray(value)
        if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
            return Overflow("", "forward", "input", str(array.dtype), float("nan"))
    try:
        with watch(on_op=check) as watcher, tf.GradientTape() as tape:
            scaled = compute(y, model(x, training=True))
            scaled = scaled * tf.cast(scale, scaled.dtype)
            watcher.phase = "backward"
            tape.gradient(scaled, [_native(v) for v in model.trainable_variables])
    finally:
        for variable, value in state:
            variable.assign(value)
    return found[0] if found else None


def _native(variable: Any) -> Any:
    return getattr(variable, "value", variable)


def _compiled_loss(model: Any) -> Callable[[Any, Any], Any]:
    if getattr(model, "loss", None) is None:
        raise ValueError("the model was compiled without a loss; pass loss=")
    return lambda y, prediction: model.compute_loss(y=y, y_pred=prediction, training=True)


def _is_finite(tensor: Any) -> bool:
    return not tensor.dtype.is_floating or bool(tf.reduce_all(tf.math.is_finite(tensor)))


def _tensors(values: Any) -> list[Any]:
    return [t for t in values if isinstance(t, tf.Tensor) and hasattr(t, "numpy") and t.dtype.is_floating]


def _overflow(op: Op) -> Overflow | None:
    inputs = _tensors(op.inputs)
    for output in _tensors(op.outputs):
        if _is_finite(output) or not all(map(_is_finite, inputs)):
            continue
        return Overflow(op.layer, op.phase, op.type, output.dtype.name, _magnitude(op, inputs))
    return None


def _largest(tensors: list[Any]) -> float:
    return max(
        (float(tf.reduce_max(tf.abs(tf.cast(t, tf.float32)))) for t in tensors if t.shape.num_elements()), default=0.0
    )


def _magnitude(op: Op, inputs: list[Any]) -> float:
    if op.type == "Cast":
        return _largest(inputs)
    try:
        wide = _largest(_again_in_float32(op))
    except (tf.errors.OpError, ValueError, TypeError):
        wide = float("inf")
    return wide if np.isfinite(wide) else _largest(inputs)


def _again_in_float32(op: Op) -> list[Any]:
    inputs = [tf.cast(t, tf.float32) if getattr(t, "dtype", None) in _NARROW else t for t in op.inputs]
    narrow = {t.as_datatype_enum for t in _NARROW}
    attrs: list[Any] = []
    for name, value in op.attrs.items():
        attrs += [name, tf.float32.as_datatype_enum if value in narrow and name.startswith("T") else value]
    name = op.type
    results = execute.execute(name.encode(), len(op.outputs), inputs=inputs, attrs=tuple(attrs), ctx=_context())
    return _tensors(results)


def _context() -> Any:
    from tensorflow.python.eager import context

    ctx = context.context()
    ctx.ensure_initialized()
    return ctx
