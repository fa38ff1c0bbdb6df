"""float32 functions computed in 16 bits, for users without Keras' policies: a rewrite of the traced graph."""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from mychip.mixed_precision.promotion import MATRIX_OPS

# Always in 16 bits: the matrix unit's work.
ALLOW = MATRIX_OPS
# In 16 bits when an operand already is, and the others are parameters or constants: cheap, and safe element by element.
INFER = frozenset(
    ("AddV2", "Add", "Sub", "Mul", "BiasAdd", "Maximum", "Minimum", "Neg", "Relu", "Relu6", "LeakyRelu", "Reshape")
    + (
        "Transpose",
        "Squeeze",
        "ExpandDims",
        "Identity",
        "StopGradient",
        "MaxPool",
        "AvgPool",
        "ConcatV2",
        "Pack",
        "Pad",
    )
    + ("PadV2", "Slice", "StridedSlice", "Tile", "Tanh", "Sigmoid", "Elu", "Selu", "SpaceToDepth", "DepthToSpace")
)
# Everything else, by rule: stays in float32, its operands are converted back. Reductions, softmax, losses,
# exponentials, statistics, and ops with a body of their own (loops, branches, calls).

_PARAMETERS = frozenset(("Placeholder", "Const", "ReadVariableOp"))


class AutoMixedPrecision:
    """A function whose graph is rewritten at its first call for each signature. What it changed: ``changes()``."""

    def __init__(self, fn: Callable[..., Any], dtype: Any, allow: frozenset[str], infer: frozenset[str]):
        functools.update_wrapper(self, fn, updated=())
        self._fn = tf.function(getattr(fn, "python_function", fn))
        self._dtype, self._allow, self._infer = tf.as_dtype(dtype), allow, infer
        self._changes: collections.Counter[str] = collections.Counter()
        self._kept: collections.Counter[str] = collections.Counter()
        self._call = tf.function(self._replay)

    def __call__(self, *args: Any) -> Any:
        return self._call(*args)

    def changes(self) -> dict[str, int]:
        """How many nodes of each op type compute in 16 bits now, over all signatures traced so far."""
        return dict(self._changes)

    def kept(self) -> dict[str, int]:
        """How many float32 nodes of each op type stayed, conversions not counted."""
        return dict(self._kept)

    def _replay(self, *args: Any) -> Any:
        traced = self._fn.get_concrete_function(*args)
        flat = [a for a in tf.nest.flatten(args) if isinstance(a, tf.Tensor)]
        graph = traced.graph
        explicit = graph.inputs[: len(graph.inputs) - len(traced.captured_inputs)]
        new = {id(old): tensor for old, tensor in zip(explicit, flat, strict=True)}
        captured = graph.inputs[len(explicit) :]
        new |= {id(old): tensor for old, tensor in zip(captured, traced.captured_inputs, strict=True)}
        parameters = {id(old) for old in graph.inputs}
        operations: dict[str, Any] = {}
        for op in graph.get_operations():
            if op.type in _PARAMETERS:
                parameters |= {id(t) for t in op.outputs}
            if op.type == "Placeholder" and id(op.outputs[0]) in new:
                continue
            control = [operations[c.name] for c in op.control_inputs if c.name in operations]
            with tf.control_dependencies(control):
                operations[op.name] = copy = self._copy(op, new, parameters)
            new |= {id(old): tensor for old, tensor in zip(op.outputs, copy.outputs, strict=True)}

        def result(old: Any) -> Any:
            return tf.cast(new[id(old)], old.dtype) if isinstance(old, tf.Tensor) else old

        return tf.nest.map_structure(result, graph.structured_outputs)

    def _copy(self, op: Any, new: dict[int, Any], parameters: set[int]) -> Any:
        inputs = [new[id(t)] for t in op.inputs]
        is_float32 = "T" in op.node_def.attr and op.get_attr("T") == tf.float32
        narrow = is_float32 and self._goes_narrow(op, inputs, parameters)
        if is_float32 and op.type != "Identity":
            (self._changes if narrow else self._kept)[op.type] += 1
        wanted = self._dtype if narrow else tf.float32
        converted = [
            tf.cast(t, wanted) if old.dtype == tf.float32 and t.dtype != wanted else t
            for old, t in zip(op.inputs, inputs, strict=True)
        ]
        attrs = dict(op.node_def.attr)
        if narrow:
            attrs["T"] = tf.compat.v1.AttrValue(type=self._dtype.as_datatype_enum)
        attrs.pop("_output_shapes", None)
        graph = tf.compat.v1.get_default_graph()
        return graph._create_op_internal(op.type, converted, name=op.name, attrs=attrs, op_def=op.op_def)

    def _goes_narrow(self, op: Any, inputs: list[Any], parameters: set[int]) -> bool:
        if op.type in self._allow:
            return True
        if op.type not in self._infer:
            return False
        floats = [(old, t) for old, t in zip(op.inputs, inputs, strict=True) if old.dtype == tf.float32]
        any_narrow = any(t.dtype == self._dtype for _, t in floats)
        return any_narrow and all(t.dtype == self._dtype or id(old) in parameters for old, t in floats)


def auto(
    fn: Callable[..., Any],
    dtype: Any = "float16",
    *,
    allow: frozenset[str] = ALLOW,
    infer: frozenset[str] = INFER,
) -> AutoMixedPrecision:
    """``fn``, a function of tensors (or a tf.function), with its float32 matrix work in ``dtype``.

    The traced graph is rewritten: ops of ``allow`` run in 16 bits, those of ``infer`` when they follow one, all others
    in float32; results have the dtypes they had. Variables stay float32, and gradients flow through the conversions:
    scale the loss when ``dtype`` is float16. Loops, branches and called functions are left as they are inside. Call it
    within a ``tf.function(jit_compile=True)`` to compile it.

    Raises ValueError for a dtype other than float16 and bfloat16.
    """
    if tf.as_dtype(dtype) not in (tf.float16, tf.bfloat16):
        raise ValueError(f"auto computes in float16 or bfloat16, not {dtype!r}")
    return AutoMixedPrecision(fn, dtype, allow, infer)
