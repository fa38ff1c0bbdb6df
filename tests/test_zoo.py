"""Whole models on the chip, inference and a step of training, as a graph and jitted, against the CPU in float32."""

import functools
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from zoo import ZOO, Outcome, Run

RELATIVE = 1e-3
SMALL = [name for name, entry in ZOO.items() if not entry.full]


@functools.cache
def on_cpu(name: str, mode: str) -> Outcome:
    return Run(name, "CPU:0", mode).outcome()


def reference(name: str, mode: str) -> Outcome:
    """Without jit; where numbers are drawn in the mode itself, since XLA draws others (also on the CPU)."""
    return on_cpu(name, mode if ZOO[name].random else "graph")


def assert_near(actual: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    """Each tensor within 1e-3 of its largest element. Below a thousandth of the largest of all tensors a tensor is
    rounding noise, such as the gradient of an attention's key bias, which is 0 in exact arithmetic."""
    assert actual.keys() == expected.keys()
    largest = max(np.abs(e).max() for e in expected.values())
    for name, e in expected.items():
        difference = np.abs(actual[name] - e).max()
        assert difference <= RELATIVE * max(np.abs(e).max(), 1e-3 * largest), f"{name} {e.shape}: {difference:.3e}"


@pytest.mark.parametrize("mode", ["graph", "jit"])
@pytest.mark.parametrize("name", SMALL)
def test_model_equals_cpu(name: str, mode: str, device: str) -> None:
    expected = reference(name, mode)
    actual = Run(name, device, mode).outcome()
    np.testing.assert_allclose(actual.outputs, expected.outputs, atol=RELATIVE * np.abs(expected.outputs).max())
    assert actual.loss == pytest.approx(expected.loss, rel=RELATIVE)
    assert_near(actual.gradients, expected.gradients)
    assert_near(actual.variables, expected.variables)


@pytest.mark.parametrize("jit", [False, True], ids=["graph", "jit"])
@pytest.mark.parametrize("channels", [8, 32, 48, 64])
def test_gradient_of_a_strided_depthwise_convolution(channels: int, jit: bool, device: str) -> None:
    """One of its four phases covers whole rows of the gradient it reads; the chip's copy of those has gaps."""

    @tf.function(jit_compile=jit)
    def gradients(x: Any, kernel: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([x, kernel])
            y = tf.nn.depthwise_conv2d(x, kernel, [1, 2, 2, 1], "VALID")
            loss = tf.reduce_sum(y * y)
        return tape.gradient(loss, [x, kernel])

    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 17, 17, channels)).astype(np.float32)
    kernel = rng.standard_normal((3, 3, channels, 1)).astype(np.float32)
    results = []
    for where in (device, "CPU:0"):
        with tf.device(where):
            results.append([g.numpy() for g in gradients(tf.constant(x), tf.constant(kernel))])
    for actual, expected in zip(*results, strict=True):
        np.testing.assert_allclose(actual, expected, atol=1e-5 * np.abs(expected).max())
