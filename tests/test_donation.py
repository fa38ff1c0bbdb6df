"""A jitted step updates variables in place: whoever else holds their value must not see it."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

REPEATS = 4  # the first update finds a tensor of TensorFlow's, the later ones a buffer that can be donated


@pytest.fixture
def start() -> np.ndarray:
    return np.arange(512, dtype=np.float32).reshape(16, 32)


def variable(device: str, value: Any) -> tf.Variable:
    with tf.device(device):
        return tf.Variable(value)


def test_variables_that_share_a_buffer(device: str, start: np.ndarray) -> None:
    """w.assign(v) makes both point at one buffer; updating one leaves the other."""
    v, w = variable(device, start), variable(device, np.zeros_like(start))

    @tf.function(jit_compile=True)
    def step() -> None:
        w.assign_add(tf.ones_like(w))

    with tf.device(device):
        for _ in range(REPEATS):
            w.assign(v)
            step()
            np.testing.assert_array_equal(v.numpy(), start)
            np.testing.assert_array_equal(w.numpy(), start + 1)
        for i in range(REPEATS):
            step()
            np.testing.assert_array_equal(w.numpy(), start + 2 + i)
    np.testing.assert_array_equal(v.numpy(), start)


def test_both_sharing_variables_updated_in_one_step(device: str, start: np.ndarray) -> None:
    v, w = variable(device, start), variable(device, np.zeros_like(start))

    @tf.function(jit_compile=True)
    def step() -> None:
        v.assign_add(tf.ones_like(v))
        w.assign_sub(tf.ones_like(w))

    with tf.device(device):
        w.assign(v)
        for i in range(1, REPEATS + 1):
            step()
            np.testing.assert_array_equal(v.numpy(), start + i)
            np.testing.assert_array_equal(w.numpy(), start - i)


def test_value_held_over_an_update(device: str, start: np.ndarray) -> None:
    """A tensor read before a jitted update keeps what it read, in the first step and in the steady state."""
    v = variable(device, start)

    @tf.function(jit_compile=True)
    def step(x: Any) -> Any:
        v.assign(v * 2 + x)
        return tf.reduce_sum(v)

    expected = start
    with tf.device(device):
        for _ in range(REPEATS):
            held = v.read_value()
            total = step(tf.constant(1.0))
            np.testing.assert_array_equal(held.numpy(), expected)
            expected = expected * 2 + 1
            np.testing.assert_array_equal(v.numpy(), expected)
            np.testing.assert_allclose(total.numpy(), expected.sum(dtype=np.float64), rtol=1e-6)


def test_value_returned_and_assigned(device: str, start: np.ndarray) -> None:
    """One result is both the variable's new value and an output."""
    v = variable(device, start)

    @tf.function(jit_compile=True)
    def step() -> Any:
        new = v + 1
        v.assign(new)
        return new

    outputs = []
    with tf.device(device):
        outputs = [step() for _ in range(REPEATS)]
        for i, output in enumerate(outputs):
            np.testing.assert_array_equal(output.numpy(), start + i + 1)


def test_swap(device: str, start: np.ndarray) -> None:
    """Two variables exchange their values: no copy may overwrite what the other still needs."""
    v, w = variable(device, start), variable(device, -start)

    @tf.function(jit_compile=True)
    def step() -> None:
        new_v, new_w = tf.identity(w), tf.identity(v)
        v.assign(new_v)
        w.assign(new_w)

    with tf.device(device):
        for i in range(REPEATS):
            step()
            sign = -1 if i % 2 == 0 else 1
            np.testing.assert_array_equal(v.numpy(), sign * start)
            np.testing.assert_array_equal(w.numpy(), -sign * start)


def test_tied_weights(device: str) -> None:
    """One matrix embeds and projects, and is updated in place: equal to the CPU's steps."""
    rng = np.random.default_rng(1)
    table = rng.normal(size=(16, 8)).astype(np.float32)
    tokens = rng.integers(0, 16, (4, 6))

    def train(where: str) -> tuple[list[float], np.ndarray]:
        w = variable(where, table)

        @tf.function(jit_compile=True)
        def step(ids: Any) -> Any:
            with tf.GradientTape() as tape:
                hidden = tf.nn.tanh(tf.gather(w, ids))
                logits = tf.einsum("bth,vh->btv", hidden, w)
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(ids, logits))
            w.assign_sub(0.1 * tf.convert_to_tensor(tape.gradient(loss, w)))
            return loss

        with tf.device(where):
            losses = [float(step(tf.constant(tokens))) for _ in range(8)]
        return losses, w.numpy()

    losses, weights = train(device)
    cpu_losses, cpu_weights = train("CPU:0")
    np.testing.assert_allclose(losses, cpu_losses, rtol=1e-4)
    np.testing.assert_allclose(weights, cpu_weights, atol=1e-4 * np.abs(cpu_weights).max())


def test_failed_step_leaves_variables(device: str, start: np.ndarray) -> None:
    """A jitted function that does not compile changes nothing."""
    v = variable(device, start)

    @tf.function(jit_compile=True)
    def step(x: Any) -> None:
        v.assign_add(tf.ones_like(v))
        v.assign_add(tf.where(x > 0)[:1, 0] * tf.strings.length("a"))  # a string op has no lowering

    with tf.device(device), pytest.raises((tf.errors.InvalidArgumentError, ValueError, TypeError)):
        step(tf.constant([1.0]))
    np.testing.assert_array_equal(v.numpy(), start)
