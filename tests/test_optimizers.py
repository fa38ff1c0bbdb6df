"""ResourceApply* and ResourceSparseApply*: every rule against TensorFlow's CPU kernels, eager and in graphs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from compare import mismatch
from ops import ELSEWHERE
from registry import native_kernels
from rows import numpy_dtype
from tensorflow.python.framework import op_def_registry

# Scalars by their input's name; what is not here is 0.1.
SCALARS = {
    "lr": 0.05,
    "alpha": 0.07,
    "rho": 0.9,
    "momentum": 0.8,
    "epsilon": 1e-3,
    "beta1": 0.9,
    "beta2": 0.99,
    "beta": 0.9,
    "beta1_power": 0.81,
    "beta2_power": 0.97,
    "l1": 0.01,
    "l2": 0.02,
    "l2_shrinkage": 0.03,
    "lr_power": -0.5,
    "logbase": 0.6931,
    "sign_decay": 0.9,
    "global_step": 3,
}
FLAGS = {"use_nesterov", "update_slots", "multiply_linear_by_lr"}
# Slots that hold squares, or differences of them that stay positive.
POSITIVE = {"v", "vhat", "accum", "accum_update", "ms", "gradient_squared_accumulator"}
MODES = ["eager", "graph"]
OPS = sorted(op for op, file in ELSEWHERE.items() if file == Path(__file__).name)
DENSE = [op for op in OPS if op.startswith("ResourceApply")]
SPARSE = [op for op in OPS if op.startswith("ResourceSparseApply")]


def states(op: str) -> list[str]:
    definition = op_def_registry.get(op)
    return [arg.name for arg in definition.input_arg if arg.type == tf.resource.as_datatype_enum]


def flag(op: str) -> str | None:
    names = {attr.name for attr in op_def_registry.get(op).attr} & FLAGS
    return names.pop() if names else None


def make(op: str, dtype: str, shape: tuple[int, ...], indices: list[int] | None) -> dict[str, np.ndarray]:
    """Arrays for every input."""
    rng = np.random.default_rng(7)
    kind, found = numpy_dtype(dtype), {}
    turn = 1 + 0.3j if kind.kind == "c" else 1
    for arg in op_def_registry.get(op).input_arg:
        if arg.name in states(op):
            values = rng.normal(size=shape)
            centered = arg.name == "mg"
            values = np.abs(values) + 0.5 if arg.name in POSITIVE else values * (0.1 if centered else 1)
            found[arg.name] = (values * turn).astype(kind)
        elif arg.name in ("grad", "delta"):
            rows = shape if indices is None else (len(indices), *shape[1:])
            found[arg.name] = (rng.normal(size=rows) * turn).astype(kind)
        elif arg.name == "indices":
            found[arg.name] = np.array(indices, np.int32)
        else:
            value = SCALARS.get(arg.name, 0.1)
            found[arg.name] = np.array(value, np.int64 if arg.name == "global_step" else kind)
    return found


def run(op: str, arrays: dict[str, np.ndarray], device: str, mode: str, attrs: dict[str, Any]) -> dict[str, np.ndarray]:
    """The states after one step."""
    with tf.device(device):
        variables = {name: tf.Variable(arrays[name]) for name in states(op)}

        def step(tensors: dict[str, tf.Tensor]) -> None:
            handles = {name: v.handle for name, v in variables.items()}
            getattr(tf.raw_ops, op)(**handles, **tensors, **attrs)

        tensors = {name: tf.constant(array) for name, array in arrays.items() if name not in variables}
        (tf.function(step, autograph=False) if mode == "graph" else step)(tensors)
        assert all(device in v.device for v in variables.values())
        return {name: v.numpy() for name, v in variables.items()}


def widen(arrays: dict[str, np.ndarray], dtype: str) -> dict[str, np.ndarray]:
    kind = numpy_dtype(dtype)
    wide = np.complex128 if kind.kind == "c" else np.float64
    return {n: a.astype(wide) if a.dtype == kind else a for n, a in arrays.items()}


def check(op: str, dtype: str, device: str, mode: str, indices: list[int] | None) -> None:
    name = flag(op)
    for attrs in [{}] if name is None else [{name: False}, {name: True}]:
        for shape in ((7, 5), (6,), (6, 2, 3)) if indices is not None else ((7, 5), (), (0, 3), (61, 67)):
            arrays = make(op, dtype, shape, indices)
            # With a row that comes twice the states between the two steps are rounded to the dtype.
            twice = indices is not None and len(set(indices)) < len(indices)
            exact = run(op, widen(arrays, dtype), "CPU:0", "eager", attrs)
            for state, actual in run(op, arrays, device, mode, attrs).items():
                ulp: float = 2 * (1 + twice) if numpy_dtype(dtype).itemsize == 2 else 8
                if "Ftrl" in op:  # a difference of nearly equal powers, divided by the rate
                    ulp /= SCALARS["lr"]
                scale = max(np.abs(value[state]).astype(np.float64).max(initial=0) for value in (exact, arrays))
                problem = mismatch(actual, exact[state], ulp, scale, zero_sign=False)
                assert not problem, f"{op} {dtype} {attrs} {shape} {state}: {problem}"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "complex64"])
def test_dense(device: str, mode: str, dtype: str) -> None:
    for op in DENSE:
        if dtype == "complex64" and dtype not in native_kernels()[op]:
            continue  # the rule compares numbers; test_coverage.py knows that the CPU has none either
        check(op, dtype, device, mode, None)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("indices", [[3, 0, 5], [4], [], [2, 5, 2, 2, 0]], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64"])
def test_sparse(device: str, mode: str, dtype: str, indices: list[int]) -> None:
    """Rows that come twice are stepped twice, one after the other."""
    for op in SPARSE:
        if dtype == "complex64" and dtype not in native_kernels()[op]:
            continue
        check(op, dtype, device, mode, indices)


def test_errors(device: str) -> None:
    """As the CPU kernels: shapes at once, a bad index at the next synchronisation and with nothing written."""
    op = "ResourceSparseApplyAdagradV2"
    arrays = make(op, "float32", (6, 2), [1, 2])
    for change in ({"grad": np.ones((2, 3), np.float32)}, {"lr": np.ones(2, np.float32)},
                   {"accum": np.ones((5, 2), np.float32)}):  # fmt: skip
        for where in ("CPU:0", device):
            with pytest.raises(tf.errors.InvalidArgumentError):
                run(op, {**arrays, **change}, where, "eager", {})
    with tf.device(device):
        var, accum = tf.Variable(arrays["var"]), tf.Variable(arrays["accum"])
        scalars = {"lr": 0.1, "epsilon": 0.1, "grad": arrays["grad"]}

        def step_and_read() -> None:
            tf.raw_ops.ResourceSparseApplyAdagradV2(var=var.handle, accum=accum.handle, indices=[1, 6], **scalars)
            var.numpy()

        with pytest.raises(tf.errors.InvalidArgumentError, match="6"):
            step_and_read()
        np.testing.assert_array_equal(var.numpy(), arrays["var"])


def test_a_value_read_before_keeps_its_numbers(device: str) -> None:
    with tf.device(device):
        var = tf.Variable([1.0, 2.0])
        before = var.read_value()
        tf.raw_ops.ResourceApplyGradientDescent(var=var.handle, alpha=1.0, delta=[1.0, 1.0])
        np.testing.assert_array_equal(before.numpy(), [1, 2])
        np.testing.assert_array_equal(var.numpy(), [0, 1])
