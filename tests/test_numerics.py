"""The numerics contract of plugin/kernels/README.md: the same in every mode, and what XLA changes."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from compare import mismatch

MODES = ("eager", "graph", "jit")
NAN, INF = np.nan, np.inf


def run(function: Callable[..., Any], arrays: list[Any], device: str, mode: str) -> Any:
    with tf.device(device):
        tensors = [tf.constant(array) for array in arrays]
        if mode != "eager":
            function = tf.function(function, autograph=False, jit_compile=mode == "jit")
        return function(*tensors).numpy()


def same(actual: Any, expected: Any) -> bool:
    """Bit for bit, but for the payload of a NaN."""
    return not mismatch(actual, expected, 0)


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


# ----------------------------------------------------------------------------------------------------------------------
# NaN, infinities, zeros: as TensorFlow's CPU kernels when they run eagerly, in every mode.

SPECIALS = f32(NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 3.4e38, -3.4e38, 1.2e-38)
PAIRS = [np.repeat(SPECIALS, SPECIALS.size), np.tile(SPECIALS, SPECIALS.size)]
ROWS = np.stack([f32(1, NAN, 2), f32(NAN, NAN, NAN), f32(INF, -INF, 1), f32(-0.0, 0.0, -0.0), f32(-INF, -INF, -INF)])
NAN_FIRST, NAN_LAST = np.stack([f32(NAN, 1, 5)] * 40), np.stack([f32(1, 5, NAN)] * 40)

PROPAGATION: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "maximum": (tf.maximum, PAIRS),
    "minimum": (tf.minimum, PAIRS),
    "add": (tf.add, PAIRS),
    "subtract": (tf.subtract, PAIRS),
    "multiply": (tf.multiply, PAIRS),
    "divide": (tf.divide, PAIRS),
    "less": (tf.less, PAIRS),
    "equal": (tf.equal, PAIRS),
    "divide_no_nan": (tf.math.divide_no_nan, PAIRS),
    "relu": (tf.nn.relu, [SPECIALS]),
    "relu6": (tf.nn.relu6, [SPECIALS]),
    "abs": (tf.abs, [SPECIALS]),
    "sign": (tf.sign, [SPECIALS]),
    "sqrt": (tf.sqrt, [SPECIALS]),
    "floor": (tf.floor, [SPECIALS]),
    "reduce_max": (lambda x: tf.reduce_max(x, 1), [ROWS]),
    "reduce_min": (lambda x: tf.reduce_min(x, 1), [ROWS]),
    "reduce_max of the other axis": (lambda x: tf.reduce_max(x, 0), [ROWS]),
    "reduce_max, first": (lambda x: tf.reduce_max(x, 1), [NAN_FIRST]),
    "reduce_max, last": (lambda x: tf.reduce_max(x, 1), [NAN_LAST]),
    "reduce_min, first": (lambda x: tf.reduce_min(x, 1), [NAN_FIRST]),
    "reduce_min, last": (lambda x: tf.reduce_min(x, 1), [NAN_LAST]),
    "reduce_max of everything": (tf.reduce_max, [np.r_[NAN, np.ones(5000)].astype(np.float32)]),
    "reduce_min of everything": (tf.reduce_min, [np.r_[np.ones(5000), NAN].astype(np.float32)]),
    "reduce_sum": (lambda x: tf.reduce_sum(x, 1), [ROWS]),
    "reduce_mean": (lambda x: tf.reduce_mean(x, 1), [ROWS]),
    "reduce_prod": (lambda x: tf.reduce_prod(x, 1), [ROWS]),
    "cumsum": (lambda x: tf.cumsum(x, 1), [ROWS]),
    "where": (lambda x: tf.where(x > 0, x, -x), [SPECIALS]),
    "matmul": (tf.matmul, [f32(INF, 0, NAN, 1).reshape(2, 2), f32(0, 1, 1, 0).reshape(2, 2)]),
}


DECIDED_BY_THE_LOWERING = {"sign"}  # of -0: 0 in TensorFlow's kernels, -0 in XLA
# IEEE does not say which of 0 and -0 is larger; TensorFlow's scalar and vector code differ in it.
ZERO_SIGN_OPEN = {"maximum", "minimum", "relu", "relu6"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROPAGATION)
def test_special_values(device: str, name: str, mode: str) -> None:
    function, arrays = PROPAGATION[name]
    reference = mode if name in DECIDED_BY_THE_LOWERING else "eager"
    actual, expected = run(function, arrays, device, mode), run(function, arrays, "CPU:0", reference)
    problem = mismatch(actual, expected, 0, zero_sign=name not in ZERO_SIGN_OPEN)
    assert not problem, problem


def test_subnormals_do_not_depend_on_the_thread(device: str) -> None:
    """TensorFlow's executor threads flush them, the chip keeps them: eagerly, in graphs and on its own threads."""
    tiny = np.full(7, 1e-40, np.float32)
    for size in (1, 7, 100_000):
        values = np.resize(tiny, size)
        for mode in MODES:
            np.testing.assert_array_equal(run(lambda x: x + x, [values], device, mode), values + values)
            assert (run(tf.exp, [np.full(size, -100, np.float32)], device, mode) > 0).all()


@pytest.mark.parametrize("values", [[1, NAN, 5], [NAN, 1], [5, NAN, 1], [NAN, NAN], [NAN, -INF, 3], [1, NAN]], ids=str)
def test_argmax_of_nan(device: str, values: list[float]) -> None:
    """Eagerly NaN is never chosen; under jit the lowering decides. In each mode as on the CPU."""
    for function in (tf.argmax, tf.argmin):
        for repeats in (1, 500):  # one block of the reduction, and several
            x = f32(*values * repeats)
            for mode in MODES:
                if mode == "jit" and repeats > 1:
                    continue  # XLA's comparison with NaN depends on the order of the reduction
                assert same(run(function, [x], device, mode), run(function, [x], "CPU:0", mode)), (mode, repeats)


# ----------------------------------------------------------------------------------------------------------------------
# Integers.

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
SHIFTS = tf.bitwise.left_shift, tf.bitwise.right_shift


def edge_pairs(dtype: str, divisors: bool = False) -> list[np.ndarray]:
    info = np.iinfo(dtype)
    values = np.array([0, 1, 2, 7, info.max, info.max - 1, info.min, info.min + 1, -1 & info.max], dtype)
    others = values[values != 0] if divisors else values
    return [np.repeat(values, others.size), np.tile(others, values.size)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap(device: str, dtype: str, mode: str) -> None:
    for function in (tf.add, tf.subtract, tf.multiply, tf.maximum):
        x, y = edge_pairs(dtype)
        assert same(run(function, [x, y], device, mode), run(function, [x, y], "CPU:0", "eager")), function
    if dtype.startswith("i"):
        x = edge_pairs(dtype)[0]
        for function in (tf.negative, tf.abs):
            assert same(run(function, [x], device, mode), run(function, [x], "CPU:0", "eager")), function


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_division(device: str, dtype: str, mode: str) -> None:
    """The smallest number by -1 traps on the CPU; here it is the smallest number, remainder 0."""
    x, y = edge_pairs(dtype, divisors=True)
    trap = (x == np.iinfo(dtype).min) & (y.astype(np.int64) == -1)
    x, y = x[~trap], y[~trap]
    for function in (tf.math.floordiv, tf.math.floormod, tf.truncatediv):
        assert same(run(function, [x, y], device, mode), run(function, [x, y], "CPU:0", "eager")), function


@pytest.mark.parametrize("mode", ["eager", "graph"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts(device: str, dtype: str, mode: str) -> None:
    """The amount is clamped to the width minus one."""
    bits = 8 * np.dtype(dtype).itemsize
    amounts = np.array([0, 1, bits - 1, bits, min(100, np.iinfo(dtype).max)], dtype)
    x, y = np.repeat(edge_pairs(dtype)[0], amounts.size), np.tile(amounts, edge_pairs(dtype)[0].size)
    for function in SHIFTS:
        assert same(run(function, [x, y], device, mode), run(function, [x, y], "CPU:0", "eager")), function


def test_shifts_under_jit(device: str) -> None:
    """XLA shifts everything out where TensorFlow's kernels clamp; here as there."""
    x, y = np.array([-5, 5], np.int32), np.array([32, 40], np.int32)
    for function in SHIFTS:
        assert same(run(function, [x, y], device, "jit"), run(function, [x, y], "CPU:0", "jit"))


# ----------------------------------------------------------------------------------------------------------------------
# Random numbers.

SEED = [3, 2**31 - 5]
BITS: dict[str, Callable[..., Any]] = {
    "uniform": lambda: tf.random.stateless_uniform([1037], SEED),
    "uniform float64": lambda: tf.random.stateless_uniform([1037], SEED, dtype=tf.float64),
    "uniform float16": lambda: tf.random.stateless_uniform([1037], SEED, dtype=tf.float16),
    "integers": lambda: tf.random.stateless_uniform([1037], SEED, -3, 1000, tf.int32),
    "integers int64": lambda: tf.random.stateless_uniform([1037], SEED, -3, 2**40, tf.int64),
    "bits": lambda: tf.random.stateless_uniform([1037], SEED, None, None, tf.int32),
    "bits uint64": lambda: tf.random.stateless_uniform([1037], SEED, None, None, tf.uint64),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", BITS)
def test_random_bits(device: str, name: str, mode: str) -> None:
    """Eager and graphs as TensorFlow's CPU kernels; jit as XLA:CPU, whose words come in another order."""
    expected = run(BITS[name], [], "CPU:0", mode)
    np.testing.assert_array_equal(run(BITS[name], [], device, mode), expected)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["stateless_normal", "stateless_truncated_normal"])
def test_random_normals(device: str, name: str, mode: str) -> None:
    def draw() -> tf.Tensor:
        return getattr(tf.random, name)([4099], SEED)

    actual, expected = run(draw, [], device, mode), run(draw, [], "CPU:0", mode)
    close = np.abs(actual.astype(np.float64) - expected) <= 1e-6
    assert (close | (np.abs(actual - expected) <= 4 * np.spacing(np.abs(expected)))).all()


# TensorFlow has no lowering of the first three: placed by default, they run on the CPU.
DISTRIBUTIONS: dict[str, tuple[Callable[..., Any], float, float]] = {
    "gamma": (lambda n, seed: tf.random.stateless_gamma([n], seed, alpha=2.5), 2.5, 2.5),
    "poisson": (lambda n, seed: tf.random.stateless_poisson([n], seed, lam=4.0, dtype=tf.float32), 4.0, 4.0),
    "binomial": (
        lambda n, seed: tf.random.stateless_binomial([n], seed, counts=10.0, probs=0.3, output_dtype=tf.float32),
        3.0,
        2.1,
    ),
    "categorical": (
        lambda n, seed: tf.cast(tf.random.stateless_categorical(tf.math.log([[0.5, 0.25, 0.25]]), n, seed), tf.float32),
        0.75,
        0.6875,
    ),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions(device: str, name: str) -> None:
    """Mean and variance within five standard errors; the same seed gives the same numbers, another one others."""
    draw, mean, variance = DISTRIBUTIONS[name]
    n = 40_000
    with tf.device(device if name == "categorical" else None):
        first, again, other = (draw(n, seed).numpy().astype(np.float64).ravel() for seed in ([1, 2], [1, 2], [1, 3]))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert abs(first.mean() - mean) < 5 * np.sqrt(variance / n)
    assert abs(first.var() - variance) < 0.1 * variance


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_stateful_random_follows_the_global_seed(device: str, mode: str) -> None:
    def draw() -> tf.Tensor:
        return tf.concat([tf.random.normal([5]), tf.random.uniform([5]), tf.random.truncated_normal([5])], 0)

    drawn = []
    for seed in (7, 7, 8):
        tf.random.set_seed(seed)
        drawn.append(run(draw, [], device, mode))
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert (drawn[0] != drawn[2]).all()


# ----------------------------------------------------------------------------------------------------------------------
# 16-bit floats: one rounding per op.

ONE_ROUNDING: dict[str, Callable[..., Any]] = {
    "tanh": tf.tanh,
    "softplus": tf.nn.softplus,
    "elu": tf.nn.elu,
    "sigmoid": tf.sigmoid,
    "softmax": tf.nn.softmax,
    "log_softmax": tf.nn.log_softmax,
    "squared_difference": lambda x: tf.math.squared_difference(x, x[:, ::-1]),
    "xlogy": lambda x: tf.math.xlogy(x, tf.abs(x)),
    "reduce_sum": lambda x: tf.reduce_sum(x, 1),
    "reduce_mean": lambda x: tf.reduce_mean(x, 0),
    "reduce_prod": lambda x: tf.reduce_prod(x, 1),
    "cumsum": lambda x: tf.cumsum(x, 1),
    "matmul": lambda x: tf.matmul(x, x, transpose_b=True),
    "l2_loss": lambda x: tf.nn.l2_loss(x[:3, :3]),
    "unsorted_segment_sum": lambda x: tf.math.unsorted_segment_sum(x, tf.range(64) % 5, 5),
    "tensor_scatter_nd_add": lambda x: tf.tensor_scatter_nd_add(x, tf.zeros([64, 1], tf.int32), x),
    "avg_pool": lambda x: tf.nn.avg_pool2d(x[None, :, :, None], 3, 1, "VALID"),
    "conv": lambda x: tf.nn.conv2d(x[None, :, :, None], x[:3, :3, None, None], 1, "SAME"),
    "fused_batch_norm": lambda x: (
        tf.raw_ops.FusedBatchNormV3(
            x=x[None, None],
            scale=tf.ones(48),
            offset=tf.zeros(48),
            mean=tf.zeros(0),
            variance=tf.zeros(0),
            is_training=True,
        ).y
    ),
    "segment_mean": lambda x: tf.math.segment_mean(x, tf.range(64) // 7),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ONE_ROUNDING)
def test_sixteen_bits_round_once(device: str, name: str, dtype: str) -> None:
    """The op in 16 bits is the op in float32 on the same values, rounded: bit for bit."""
    kind = np.float16 if dtype == "float16" else ml_dtypes.bfloat16
    x = np.random.default_rng(0).normal(size=(64, 48)).astype(kind)
    wide = run(ONE_ROUNDING[name], [x.astype(np.float32)], device, "eager")
    np.testing.assert_array_equal(run(ONE_ROUNDING[name], [x], device, "eager"), wide.astype(kind))


# ----------------------------------------------------------------------------------------------------------------------
# Reductions: an error that does not grow with the length.

LENGTHS = (1_000, 100_000, 3_000_000)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("length", LENGTHS)
def test_sums_do_not_lose_with_length(device: str, length: int, mode: str) -> None:
    x = np.random.default_rng(1).uniform(0.5, 1.5, length).astype(np.float32)
    wide = x.astype(np.float64)
    dot = lambda v: tf.tensordot(v, v, 1)  # noqa: E731
    for function, exact in ((tf.reduce_sum, wide.sum()), (tf.reduce_mean, wide.mean()), (dot, wide @ wide)):
        assert abs(run(function, [x], device, mode) / exact - 1) < 4e-7 * (4 if function is dot else 1), function


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sixteen_bit_means_of_long_rows(device: str, dtype: str) -> None:
    """Added up in 16 bits the mean of 65,536 ones would stop at 2,048 or 256 of them."""
    kind = np.float16 if dtype == "float16" else ml_dtypes.bfloat16
    for mode in MODES:
        assert run(tf.reduce_mean, [np.ones(65_536, kind)], device, mode) == 1


# ----------------------------------------------------------------------------------------------------------------------
# What optimisers change across ops. name: function of two scalars, the scalars. Grappler's changes show in graphs,
# XLA's under jit, both on stock TensorFlow's CPU.

CHANGES: dict[str, tuple[Callable[..., Any], tuple[float, float]]] = {
    "exp(a) * exp(b) is exp(a + b)": (lambda a, b: tf.exp(a) * tf.exp(b), (100.0, -180.0)),
    "exp(a) / exp(b) is exp(a - b)": (lambda a, b: tf.exp(a) / tf.exp(b), (100.0, 99.0)),
    "pow(exp(a), b) is exp(a * b)": (lambda a, b: tf.pow(tf.exp(a), b), (100.0, 0.5)),
    "log(exp(a)) is a": (lambda a, b: tf.math.log(tf.exp(a)), (100.0, 0.0)),
    "log(pow(a, b)) is b * log|a|": (lambda a, b: tf.math.log(tf.pow(a, b)), (1e30, 2.0)),
    "a / 3 is a * (1 / 3)": (lambda a, b: a / 3.0, (5.0, 0.0)),
    "a / sqrt(b) is a * rsqrt(b)": (lambda a, b: a / tf.sqrt(b), (5.0, 3.0)),
    "(a / b) / c is a / (b * c)": (lambda a, b: (a / b) / b, (1e30, 1e30)),
    "a / (b / c) is a * c / b": (lambda a, b: a / (b / a), (1e30, 1e30)),
    "1 / rsqrt(a) is sqrt(a)": (lambda a, b: 1.0 / tf.math.rsqrt(a), (3.0, 0.0)),
    "(a + 1e8) - 1e8 is a": (lambda a, b: (a + 1e8) + (-1e8), (1.0, 0.0)),
    "(a * 1e20) * 1e-20 is a": (lambda a, b: (a * 1e20) * 1e-20, (1e30, 0.0)),
    "a + 0 is a": (lambda a, b: a + 0.0, (-0.0, 0.0)),
    "a / 3 + b / 3 is (a + b) / 3": (lambda a, b: a / 3.0 + b / 3.0, (3e38, -2.9e38)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_optimisers_change(device: str, name: str) -> None:
    """Eager and graph are the CPU's. jit is XLA:CPU's or, where the chip does not follow it, what eager gives: the chip
    adds no change of its own."""
    function, scalars = CHANGES[name]
    arrays = [np.float32(v) for v in scalars]
    cpu, chip = ({mode: run(function, arrays, where, mode) for mode in MODES} for where in ("CPU:0", device))
    assert not same(cpu["jit"], cpu["eager"]), "stock TensorFlow does not change this: not an example"
    assert not mismatch(chip["eager"], cpu["eager"], 1)
    assert not mismatch(chip["graph"], cpu["graph"], 1)
    assert not mismatch(chip["jit"], cpu["jit"], 1) or not mismatch(chip["jit"], cpu["eager"], 1)


UNCHANGED: dict[str, tuple[Callable[..., Any], tuple[float, float]]] = {
    "a * 0": (lambda a, b: a * 0.0, (INF, 0.0)),
    "a - a": (lambda a, b: a - a, (INF, 0.0)),
    "a / a": (lambda a, b: a / a, (0.0, 0.0)),
    "sqrt(a) * sqrt(a)": (lambda a, b: tf.sqrt(a) * tf.sqrt(a), (-1.0, 0.0)),
    "a * b - a * c": (lambda a, b: a * b - a * 3e38, (2.0, 3e38)),
    "max(a, b)": (tf.maximum, (NAN, 1.0)),
    "through float16 and back": (lambda a, b: tf.cast(tf.cast(a, tf.float16), tf.float32), (1.0001, 0.0)),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", UNCHANGED)
def test_what_stays(device: str, name: str, mode: str) -> None:
    function, scalars = UNCHANGED[name]
    arrays = [np.float32(v) for v in scalars]
    assert same(run(function, arrays, device, mode), run(function, arrays, "CPU:0", "eager"))
