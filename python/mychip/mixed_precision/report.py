"""What of a function or model really runs in 16 bits."""

from __future__ import annotations

import collections
import dataclasses
import json
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from mychip.mixed_precision.promotion import MATRIX_OPS, PROMOTED
from mychip.mixed_precision.watch import Op, watch

_RATE = {"float32": 1, "float16": 4, "bfloat16": 4}  # of the matrix unit, relative to float32


@dataclass(frozen=True)
class LayerReport:
    """One layer's own ops, forward; "" is what runs outside of any layer."""

    layer: str
    ops: dict[str, int]  # by dtype of the op's operands
    multiply_adds: dict[str, int]  # of matrix products and convolutions, by dtype
    speedup: float  # modelled, of its matrix work against all of it in float32


@dataclass(frozen=True)
class Report:
    """What ran."""

    layers: tuple[LayerReport, ...]
    promoted: dict[str, int]  # "Softmax float16: maximum, exponentials and their sum" -> times
    fell_back: dict[str, int]  # "Op dtype on CPU:0" -> times
    matrix_share_16_bit: float  # of all multiply-adds; 0 without any
    speedup: float  # of the matrix work in total

    def text(self) -> str:
        """Some lines."""
        lines = [
            f"{self.matrix_share_16_bit:.1%} of the matrix work in 16 bits, {self.speedup:.2f} times float32's rate"
        ]
        for layer in self.layers:
            ops = ", ".join(f"{count} {dtype}" for dtype, count in sorted(layer.ops.items()))
            lines.append(f"{layer.layer or '(outside of layers)'}: {ops}; matrix work x{layer.speedup:.2f}")
        lines += [f"promoted to float32 inside: {what} ({count})" for what, count in sorted(self.promoted.items())]
        lines += [f"fell back: {what} ({count})" for what, count in sorted(self.fell_back.items())]
        return "\n".join(lines) + "\n"

    def to_json(self) -> str:
        """The fields, as JSON."""
        return json.dumps(dataclasses.asdict(self), indent=2)


def report(fn_or_model: Any, *args: Any) -> Report:
    """Runs ``fn_or_model(*args)`` once eagerly, forward, and reports what each op computed in.

    A ``tf.function`` runs as the Python function it was made of. Operands count, not results. Speed-ups are those of
    the matrix unit's documented rates, for matrix products and convolutions only; a whole step also moves memory and
    has vector work: measure it with ``mychip.counters``.

    Raises TypeError for what cannot be called.
    """
    fn = getattr(fn_or_model, "python_function", fn_or_model)
    if not callable(fn):
        raise TypeError(f"report needs a function or a model, not {fn_or_model!r}")
    ops: dict[str, collections.Counter[str]] = {}
    macs: dict[str, collections.Counter[str]] = {}
    promoted: collections.Counter[str] = collections.Counter()
    fell_back: collections.Counter[str] = collections.Counter()

    def count(op: Op) -> None:
        floats = [t for t in op.inputs if isinstance(t, tf.Tensor) and t.dtype.is_floating]
        if not floats or op.type in ("Identity", "ReadVariableOp"):
            return
        dtype = min(floats, key=lambda t: t.dtype.size).dtype.name
        ops.setdefault(op.layer, collections.Counter())[dtype] += 1
        if op.type in MATRIX_OPS:
            macs.setdefault(op.layer, collections.Counter())[dtype] += _multiply_adds(op)
        if dtype in ("float16", "bfloat16") and op.type in PROMOTED:
            promoted[f"{op.type} {dtype}: {PROMOTED[op.type]}"] += 1
        where = op.outputs[0].device.rsplit("device:", 1)[-1] if op.outputs else ""
        if where.startswith("CPU") and any("MYCHIP" in t.device for t in floats):
            fell_back[f"{op.type} {dtype} on {where}"] += 1

    with watch(on_op=count):
        fn(*args, **({"training": False} if isinstance(fn, keras.Model) else {}))
    layers = tuple(
        LayerReport(layer, dict(counts), dict(macs.get(layer, {})), _speedup(macs.get(layer, collections.Counter())))
        for layer, counts in ops.items()
    )
    total = sum(macs.values(), collections.Counter())
    narrow = sum(n for dtype, n in total.items() if dtype in ("float16", "bfloat16"))
    share = narrow / total.total() if total else 0.0
    return Report(layers, dict(promoted), dict(fell_back), share, _speedup(total))


def _speedup(macs: collections.Counter[str]) -> float:
    time = sum(n / _RATE.get(dtype, 1) for dtype, n in macs.items())
    return macs.total() / time if time else 1.0


def _multiply_adds(op: Op) -> int:
    """Of a matrix product from its dims; of a convolution from the tensor that holds positions and its filter."""
    a: list[int]
    b: list[int]
    a, b = (
        [int(n) for n in t.shape]
        for t in [t for t in op.inputs if isinstance(t, tf.Tensor) and t.dtype.is_floating][:2]
    )
    out = int(tf.size(op.outputs[0]))
    if op.type == "MatMul":
        return out * a[0 if op.attrs.get("transpose_a") else 1]
    if op.type.startswith("BatchMatMul"):
        return out * a[-2 if op.attrs.get("adj_x") else -1]
    if op.type == "Einsum":
        equation = op.attrs["equation"]
        text = equation.decode() if isinstance(equation, bytes) else str(equation)
        return _einsum_multiply_adds(text, a, b, out)
    if op.type == "DepthwiseConv2dNative":
        return out * b[0] * b[1]
    if op.type in ("Conv2D", "Conv3D"):
        size = 1
        for dim in b[:-1]:
            size *= dim
        return out * size
    raise NotImplementedError(f"report counts the forward pass; {op.type} is a gradient")


def _einsum_multiply_adds(equation: str, a: list[int], b: list[int], out: int) -> int:
    inputs, output = equation.split("->")
    left, right = (_sizes(term, dims) for term, dims in zip(inputs.split(","), (a, b), strict=True))
    for label in set(left) & set(right) - set(output):
        out *= left[label]
    return out


def _sizes(term: str, dims: list[int]) -> dict[str, int]:
    """Of the letters; the dims an ellipsis stands for are never contracted."""
    before, _, after = term.partition("...")
    tail = zip(reversed(after), reversed(dims), strict=False)
    return dict(zip(before, dims, strict=False)) | dict(tail)
