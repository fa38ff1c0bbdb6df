"""Ops whose shape, error or numbers depend on values or on a generator: where XLA's lowering of the op would not do."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

WHERE: tuple[np.ndarray, ...] = (
    np.array([[1, 0], [0, 2], [1, 3]], np.float32),
    np.zeros((3, 4), np.int64),
    np.ones((2, 3, 2), bool),
    np.zeros((0, 3), np.float32),
    np.array([np.nan, 0.0, -0.0, np.inf]),
    np.array([0, 1j], np.complex64),
    np.arange(5000).astype(np.int8) % 3,
)


@pytest.mark.parametrize("mode", [lambda fn: fn, tf.function], ids=["eager", "graph"])
@pytest.mark.parametrize("value", WHERE, ids=lambda value: f"{value.dtype}{list(value.shape)}")
def test_where(device: str, mode: Callable[..., Any], value: np.ndarray) -> None:
    with tf.device(device):
        found = mode(tf.where)(tf.constant(value))
    assert device in found.device
    np.testing.assert_array_equal(found.numpy(), np.argwhere(value))


def test_boolean_mask_gradient(device: str) -> None:
    with tf.device(device), tf.GradientTape() as tape:
        x = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        kept = tf.boolean_mask(x, x[:, 0] != 3.0)
        loss = tf.reduce_sum(kept * kept)
    np.testing.assert_array_equal(kept.numpy(), [[1, 2], [5, 6]])
    np.testing.assert_array_equal(tf.convert_to_tensor(tape.gradient(loss, x)).numpy(), [[2, 4], [0, 0], [10, 12]])


def test_jit_refuses_a_result_of_unknown_size(device: str) -> None:
    """Where would come back padded to its bound."""
    with tf.device(device):
        x = tf.constant([1.0, 0.0, 2.0])
        with pytest.raises(tf.errors.UnimplementedError, match="shape depends on values"):
            tf.function(tf.where, jit_compile=True)(x)
        assert tf.function(lambda x: tf.reduce_sum(tf.where(x)), jit_compile=True)(x).numpy() == 2


NUMERICS = (
    ("CheckNumerics", [1.0, np.nan, np.inf], "Inf and NaN"),
    ("CheckNumerics", [-np.inf], "Inf"),
    ("CheckNumericsV2", [np.nan, np.inf, -np.inf], "-Inf, \\+Inf, and NaN"),
    ("CheckNumericsV2", [0.0, np.inf, np.nan], "\\+Inf and NaN"),
)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(("op", "values", "found"), NUMERICS)
def test_check_numerics(device: str, op: str, values: list[float], found: str, dtype: str) -> None:
    check = getattr(tf.raw_ops, op)
    with tf.device(device):
        for mode in (lambda fn: fn, tf.function):
            with pytest.raises(tf.errors.InvalidArgumentError, match=f"loss : Tensor had {found} values"):
                mode(lambda x: check(tensor=x, message="loss"))(tf.constant(values, dtype)).numpy()
        good = tf.constant([1.0, -2.0, 0.0], dtype)
        np.testing.assert_array_equal(check(tensor=good, message="loss").numpy(), good.numpy())
        assert check(tensor=tf.zeros((0, 2), dtype), message="").shape == (0, 2)


DRAWS: dict[str, Callable[[], Any]] = {
    "RandomUniform f32": lambda: tf.random.uniform((1001,)),
    "RandomUniform f64": lambda: tf.random.uniform((3, 7), dtype=tf.float64),
    "RandomUniform f16": lambda: tf.random.uniform((33,), dtype=tf.float16),
    "RandomStandardNormal": lambda: tf.random.normal((1001,)),
    "TruncatedNormal": lambda: tf.random.truncated_normal((501,)),
    "RandomUniformInt s32": lambda: tf.random.uniform((77,), -5, 10, tf.int32),
    "RandomUniformInt s64": lambda: tf.random.uniform((77,), 0, 10**12, tf.int64),
    "RandomUniform empty": lambda: tf.random.uniform((0, 3)),
}


@pytest.mark.parametrize("mode", [lambda fn: fn, tf.function], ids=["eager", "graph"])
@pytest.mark.parametrize("name", DRAWS)
def test_stateful_random_draws_the_cpu_s_numbers(device: str, mode: Callable[..., Any], name: str) -> None:
    def draws(place: str) -> np.ndarray:
        tf.random.set_seed(7)
        with tf.device(place):
            draw = mode(lambda: DRAWS[name]())
            return np.stack([draw().numpy() for _ in range(3)])

    actual, expected = draws(device), draws("/CPU:0")
    if "Normal" in name:
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6)
    else:
        np.testing.assert_array_equal(actual, expected)


def test_stateful_random_without_a_seed_and_out_of_range(device: str) -> None:
    code = tf.raw_ops.RandomUniform
    with tf.device(device):
        shape = tf.constant([64])
        assert (code(shape=shape, dtype=tf.float32).numpy() != code(shape=shape, dtype=tf.float32).numpy()).any()
        with pytest.raises(tf.errors.InvalidArgumentError, match="Need minval < maxval, got 5 >= 5"):
            tf.random.uniform((3,), 5, 5, tf.int32)
