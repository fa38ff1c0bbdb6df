"""Runs a row of the op table: eager, as a graph, jitted; and says what the right answer is."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf
from compare import mismatch
from registry import native_kernels
from rows import In, Row, is_float, numpy_dtype


@dataclass
class Arguments:
    """A case's arguments with the arrays apart from the attributes."""

    arrays: list[np.ndarray]
    build: Callable[[list[Any]], dict[str, Any]]  # puts tensors where the arrays were
    differentiable: list[int]


@dataclass
class Outcome:
    """Outputs and gradients of one case, as arrays (a gradient may be None)."""

    outputs: list[Any]
    gradients: list[Any] = field(default_factory=list)


def arguments(row: Row, case: int, dtype: str) -> Arguments:
    arrays: list[np.ndarray] = []

    def take(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            arrays.append(value)
            return ("array", len(arrays) - 1)
        if isinstance(value, list) and any(isinstance(item, np.ndarray) for item in value):
            return ("list", [take(item) for item in value])
        return ("attribute", value)

    def put(entry: Any, tensors: list[Any]) -> Any:
        kind, value = entry
        if kind == "array":
            return tensors[value]
        return [put(item, tensors) for item in value] if kind == "list" else value

    taken = {name: take(value) for name, value in row.inputs(case, dtype).items()}
    wanted = numpy_dtype(dtype)
    differentiable = [i for i, array in enumerate(arrays) if is_float(array.dtype) and array.dtype == wanted]
    return Arguments(arrays, lambda tensors: {n: put(e, tensors) for n, e in taken.items()}, differentiable)


def wants_gradient(row: Row, case: int, dtype: str) -> bool:
    if not row.grad or dtype not in ("float32", "float16", "bfloat16"):
        return False
    values = [v for value in row.cases[case].values() for v in (value if isinstance(value, list) else [value])]
    return not any(isinstance(v, In) and v.domain == "edges" for v in values)


def flatten(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def upstream(shape: tuple[int, ...], index: int, dtype: Any) -> np.ndarray:
    rng = np.random.default_rng(zlib.crc32(f"{shape}/{index}".encode()))
    return np.asarray(rng.normal(size=shape)).astype(dtype)


def body(row: Row, args: Arguments, gradient: bool) -> Callable[[list[Any], list[Any]], tuple[list[Any], list[Any]]]:
    """(tensors, upstream gradients of the float outputs) -> (outputs, gradients)."""
    call = row.call or getattr(tf.raw_ops, row.op)

    def run(tensors: list[Any], upstreams: list[Any]) -> tuple[list[Any], list[Any]]:
        if not gradient:
            return flatten(call(**args.build(tensors))), []
        targets = [tensors[i] for i in args.differentiable]
        with tf.GradientTape() as tape:
            tape.watch(targets)
            outputs = flatten(call(**args.build(tensors)))
        floats = [y for y in outputs if y.dtype.is_floating]
        gradients = tape.gradient(floats, targets, output_gradients=upstreams)
        return outputs, [g if g is None else tf.convert_to_tensor(g) for g in gradients]

    return run


def numpy_outcome(outputs: list[Any], gradients: list[Any]) -> Outcome:
    return Outcome([y.numpy() for y in outputs], [g if g is None else g.numpy() for g in gradients])


def on_cpu(row: Row, case: int, dtype: str, compute: str, gradient: bool, magnitudes: bool = False) -> Outcome:
    """Eager on the CPU with the row's tensors (dtype) computed in `compute`; on their magnitudes if asked."""
    args = arguments(row, case, dtype)
    if compute != dtype:
        for name, value in row.cases[case].items():
            if value == "@T":
                raise AssertionError(f"{row.op}: attribute {name} follows the dtype, so the row must say exact=False")
        old, new = numpy_dtype(dtype), numpy_dtype(compute)
        args.arrays = [array.astype(new) if array.dtype == old else array for array in args.arrays]
    if magnitudes:
        args.arrays = [np.abs(array) if is_float(array.dtype) else array for array in args.arrays]
    with tf.device("CPU:0"):
        run = body(row, args, gradient)
        tensors = [tf.constant(array) for array in args.arrays]
        upstreams = upstreams_of(row, case, dtype, compute, tensors, magnitudes) if gradient else []
        return numpy_outcome(*run(tensors, upstreams))


def upstreams_of(
    row: Row, case: int, dtype: str, compute: str, tensors: list[Any], magnitudes: bool = False
) -> list[Any]:
    """Gradients flowing into the float outputs: values of `dtype`, held in `compute`."""
    outputs, _ = body(row, arguments(row, case, dtype), False)(tensors, [])
    floats = [y for y in outputs if y.dtype.is_floating]
    arrays = [upstream(tuple(y.shape), i, numpy_dtype(dtype)) for i, y in enumerate(floats)]
    return [tf.constant((np.abs(a) if magnitudes else a).astype(numpy_dtype(compute))) for a in arrays]


class Prepared:
    """All cases of a row in one dtype, ready to run on a device."""

    def __init__(self, row: Row, dtype: str, cases: list[int], gradients: bool):
        self.row, self.dtype, self.cases = row, dtype, cases
        self.args = {case: arguments(row, case, dtype) for case in cases}
        self.gradient = {case: gradients and wants_gradient(row, case, dtype) for case in cases}
        self.upstreams = {}
        for case in cases:
            if self.gradient[case]:
                with tf.device("CPU:0"):
                    tensors = [tf.constant(array) for array in self.args[case].arrays]
                    self.upstreams[case] = [y.numpy() for y in upstreams_of(row, case, dtype, dtype, tensors)]

    def tensors(self, case: int) -> tuple[list[Any], list[Any]]:
        return (
            [tf.constant(array) for array in self.args[case].arrays],
            [tf.constant(array) for array in self.upstreams.get(case, [])],
        )

    def run(self, device: str, path: str, cases: list[int]) -> dict[int, Outcome]:
        """path: eager, graph, jit. Every case in one function."""
        bodies = {case: body(self.row, self.args[case], self.gradient[case]) for case in cases}

        def all_cases(inputs: dict[int, Any]) -> dict[int, Any]:
            return {case: bodies[case](*inputs[case]) for case in cases}

        with tf.device(device):
            function = all_cases
            if path != "eager":
                function = tf.function(all_cases, jit_compile=path == "jit", autograph=False)
            results = function({case: self.tensors(case) for case in cases})
            return {case: numpy_outcome(*result) for case, result in results.items()}


def outcomes(prepared: Prepared, device: str, path: str) -> dict[int, Outcome | str]:
    """Runs all cases at once, and one by one when that fails: a message for each case that fails."""
    try:
        return dict(prepared.run(device, path, prepared.cases))
    except (tf.errors.OpError, ValueError, TypeError, NotImplementedError):
        found: dict[int, Outcome | str] = {}
        for case in prepared.cases:
            try:
                found.update(prepared.run(device, path, [case]))
            except (tf.errors.OpError, ValueError, TypeError, NotImplementedError) as error:
                found[case] = f"{type(error).__name__}: {str(error)[:600]}"
        return found


def compiled(row: Row, path: str) -> bool:
    """Whether XLA's lowering is what runs: an op without a native kernel is compiled when it is called."""
    return path in ("jit", "on_demand") or (row.jit and row.op not in native_kernels())


def check(prepared: Prepared, case: int, outcome: Outcome | str, path: str) -> str:
    """'' or what is wrong with the outcome of one case.

    Right is: within the tolerance of the exact result, or of what TensorFlow's own kernel (XLA:CPU for compiled paths)
    gives in the same dtype. The second is looked at only when the first fails: some ops are defined by their rounding
    steps, and compiled code by XLA's lowering.
    """
    if isinstance(outcome, str):
        return outcome
    row, dtype, gradient = prepared.row, prepared.dtype, prepared.gradient[case]
    compute = "float64" if row.exact and dtype in ("float32", "float16", "bfloat16") else dtype
    try:
        if row.golden is not None and not gradient:
            arrays = [a.astype(np.float64) if is_float(a.dtype) else a for a in prepared.args[case].arrays]
            with np.errstate(all="ignore"):
                return compare(row, case, dtype, outcome, Outcome([row.golden(*arrays)]), path)
        reference = on_cpu(row, case, dtype, compute, gradient)
    except tf.errors.OpError:  # no CPU kernel for this dtype
        reference = prepared.run("CPU:0", "jit", [case])[case]
    first = compare(row, case, dtype, outcome, reference, path)
    if not first:
        return ""
    try:
        if compiled(row, path):
            second_reference = prepared.run("CPU:0", "jit", [case])[case]
        elif compute != dtype:
            second_reference = on_cpu(row, case, dtype, dtype, gradient)
        else:
            return first
    except tf.errors.OpError as error:
        return f"{first}\n  (no second reference: {str(error)[:200]})"
    second = compare(row, case, dtype, outcome, second_reference, path)
    return second and f"against the exact result: {first}\nagainst TensorFlow: {second}"


def compare(row: Row, case: int, dtype: str, outcome: Outcome, expected: Outcome, path: str) -> str:
    if len(outcome.outputs) != len(expected.outputs):
        return f"{len(outcome.outputs)} outputs, expected {len(expected.outputs)}"
    scales = _scales(row, case, dtype, bool(outcome.gradients))
    found = []
    for i, (actual, wanted) in enumerate(zip(outcome.outputs, expected.outputs, strict=True)):
        if row.single and actual.dtype == np.float64:
            actual = actual.astype(np.float32)
        ulp = row.tolerance(actual.dtype, row.ulp) if is_float(actual.dtype) or actual.dtype.kind == "c" else 0
        scale = _scale(row.scale, scales.outputs, i, wanted)
        if row.compiled_scale is not None and compiled(row, path):
            scale = row.compiled_scale(*arguments(row, case, dtype).arrays)
        found.append(_named(f"output {i}", mismatch(actual, wanted, ulp, scale, row.zero_sign)))
    for i, (actual, wanted) in enumerate(zip(outcome.gradients, expected.gradients, strict=True)):
        if actual is None or wanted is None:
            found.append("" if actual is wanted else f"gradient {i}: one is None")
            continue
        scale = _scale(row.grad_scale, scales.gradients, i, wanted)
        ulp = row.tolerance(actual.dtype, row.grad_ulp)
        found.append(_named(f"gradient {i}", mismatch(actual, wanted, ulp, scale, zero_sign=False)))
    return "\n".join(filter(None, found))


def _named(name: str, text: str) -> str:
    return text and f"{name}: {text}"


def _scales(row: Row, case: int, dtype: str, gradient: bool) -> Outcome:
    if "last" in (row.scale, row.grad_scale):
        last = arguments(row, case, dtype).arrays[-1]
        return Outcome([last], [upstream(last.shape, 0, last.dtype)])
    if not is_float(numpy_dtype(dtype)) or "abs" not in (row.scale, row.grad_scale):
        return Outcome([], [])
    return on_cpu(row, case, dtype, "float64", gradient, magnitudes=True)


def _scale(kind: str | None, magnitudes: list[Any], index: int, expected: np.ndarray) -> Any:
    if kind is None or not (is_float(expected.dtype) or expected.dtype.kind == "c"):
        return None
    if kind in ("abs", "last"):
        return np.abs(magnitudes[index].astype(np.float64)) if is_float(expected.dtype) else None
    values = np.abs(expected.astype(np.float64) if is_float(expected.dtype) else expected)
    finite = values[np.isfinite(values)]
    return finite.max() if finite.size else None
