"""set_matmul_precision: products of float32 operands round their inputs, everywhere, and only when told to."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import mychip
from mychip import mixed_precision as mp

MODES = ("eager", "graph", "jit")
BITS = {"float32": 23, "tf32": 10, "bf16": 7}


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    yield
    mp.set_matmul_precision("float32")
    tf.config.experimental.enable_tensor_float_32_execution(True)


def rounded(x: np.ndarray, bits: int) -> np.ndarray:
    """To `bits` mantissa bits, nearest even."""
    drop = 23 - bits
    if drop == 0:
        return x
    raw = x.view(np.uint32).astype(np.uint64)
    raw += (1 << (drop - 1)) - 1 + ((raw >> drop) & 1)
    return ((raw >> drop) << drop).astype(np.uint32).view(np.float32)


def data(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


CASES: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, np.ndarray]]] = {
    "matmul": (tf.matmul, (data(8, 16), data(16, 8))),
    "batch": (tf.matmul, (data(2, 8, 16), data(2, 16, 8))),
    "einsum": (lambda a, b: tf.einsum("abc,cd->dab", a, b), (data(2, 8, 16), data(16, 4))),
    "conv": (lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"), (data(1, 6, 6, 4), data(3, 3, 4, 5))),
    "depthwise": (
        lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME"),
        (data(1, 6, 6, 4), data(3, 3, 4, 1)),
    ),
    "conv3d": (lambda x, w: tf.nn.conv3d(x, w, [1] * 5, "SAME"), (data(1, 4, 4, 4, 2), data(2, 2, 2, 2, 3))),
    "input gradient": (
        lambda g, w: tf.nn.conv2d_transpose(g, w, (1, 6, 6, 4), 1, "SAME"),
        (data(1, 6, 6, 5), data(3, 3, 4, 5)),
    ),
    "filter gradient": (
        lambda x, g: tf.raw_ops.Conv2DBackpropFilter(
            input=x, filter_sizes=[3, 3, 4, 5], out_backprop=g, strides=[1, 1, 1, 1], padding="SAME"
        ),
        (data(1, 6, 6, 4), data(1, 6, 6, 5)),
    ),
}


def expected(fn: Callable[..., Any], operands: tuple[np.ndarray, ...], bits: int) -> np.ndarray:
    with tf.device("CPU:0"):
        return np.asarray(fn(*(tf.constant(rounded(x, bits), tf.float64) for x in operands)))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", CASES)
def test_rounds_operands_and_nothing_else(name: str, mode: str, device: str) -> None:
    """One traced function under each setting, there and back: every cache is keyed by it."""
    fn, operands = CASES[name]
    call = fn if mode == "eager" else tf.function(fn, jit_compile=mode == "jit")
    with tf.device(device):
        inputs = [tf.constant(x) for x in operands]
        results = {}
        for precision in ("float32", "tf32", "bf16", "float32", "tf32"):
            mp.set_matmul_precision(precision)
            actual = call(*inputs).numpy()
            want = expected(fn, operands, BITS[precision])
            np.testing.assert_allclose(actual, want, rtol=0, atol=2e-6 * np.abs(want).max())
            assert results.setdefault(precision, actual).tobytes() == actual.tobytes()
    for low, high in (("tf32", "float32"), ("bf16", "tf32")):
        assert (results[low] != results[high]).any()


@pytest.mark.parametrize("mode", MODES)
def test_tensorflows_switch_forbids(mode: str, device: str) -> None:
    fn, operands = CASES["matmul"]
    call = fn if mode == "eager" else tf.function(fn, jit_compile=mode == "jit")
    with tf.device(device):
        inputs = [tf.constant(x) for x in operands]
        exact = call(*inputs).numpy()
        mp.set_matmul_precision("tf32")
        assert (call(*inputs).numpy() != exact).any()
        tf.config.experimental.enable_tensor_float_32_execution(False)
        assert mp.matmul_precision() == "float32"
        np.testing.assert_array_equal(call(*inputs).numpy(), exact)
        tf.config.experimental.enable_tensor_float_32_execution(True)
        assert mp.matmul_precision() == "tf32"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32"])
def test_other_dtypes_are_untouched(dtype: str, device: str) -> None:
    with tf.device(device):
        x = tf.cast(tf.constant(data(8, 8)) * 4, dtype)
        before = tf.matmul(x, x).numpy()
        mp.set_matmul_precision("bf16")
        np.testing.assert_array_equal(tf.matmul(x, x).numpy(), before)


@pytest.mark.parametrize("mode", ["eager", "jit"])
def test_modelled_rates(mode: str, device: str) -> None:
    """A large product: tf32 twice as fast; bf16 not four times, its float32 operands come from memory no faster."""
    ordinal = int(device.split(":")[1])
    call = tf.matmul if mode == "eager" else tf.function(tf.matmul, jit_compile=True)
    cycles = {}
    with tf.device(device):
        x = tf.ones((2048, 2048))
        for precision in BITS:
            mp.set_matmul_precision(precision)
            call(x, x)  # compiles
            mychip.synchronize(ordinal)
            before = mychip.counters(ordinal)["cycles"]
            call(x, x)
            mychip.synchronize(ordinal)
            cycles[precision] = mychip.counters(ordinal)["cycles"] - before
    assert cycles["float32"] / cycles["tf32"] > 1.9
    assert cycles["float32"] / cycles["bf16"] > 2.9


def test_wrong_name() -> None:
    with pytest.raises(ValueError, match="'fp8'"):
        mp.set_matmul_precision("fp8")
