"""mychip's functions beside TensorFlow: dump_program, counters, the example's verdict."""

from typing import Any

import pytest
import tensorflow as tf

import mychip
from mychip.examples import digits


def test_dump_program(device: str) -> None:
    @tf.function(jit_compile=True)
    def dumped(x: Any, w: Any) -> Any:
        return tf.nn.relu(x @ w) + 1

    with tf.device(device):
        x, w = tf.ones((4, 8)), tf.ones((8, 3))
        text = mychip.dump_program(dumped, x, w)
        again = mychip.dump_program(dumped, x, w)
    assert "matmul" in text.lower()
    assert text == again
    assert text.count("// ") >= 1


def test_dump_program_tells_functions_apart(device: str) -> None:
    @tf.function(jit_compile=True)
    def first(x: Any) -> Any:
        return tf.exp(x)

    @tf.function(jit_compile=True)
    def first_1(x: Any) -> Any:
        return tf.linalg.matmul(x, x)

    with tf.device(device):
        x = tf.ones((4, 4))
        assert "matmul" not in mychip.dump_program(first, x).lower()
        assert "matmul" in mychip.dump_program(first_1, x).lower()


@pytest.mark.parametrize("fn", [lambda x: x, tf.function(lambda x: x), tf.function(lambda x: x, jit_compile=False), 3])
def test_dump_program_wants_a_jitted_function(fn: Any) -> None:
    with pytest.raises(TypeError, match="jit_compile=True"):
        mychip.dump_program(fn, 1.0)


def test_dump_program_of_a_function_that_ran_elsewhere() -> None:
    fn = tf.function(lambda x: x + 1, jit_compile=True)
    with tf.device("CPU:0"), pytest.raises(RuntimeError, match="MYCHIP"):
        mychip.dump_program(fn, tf.constant(1.0))


def test_counters_count(device: str) -> None:
    ordinal = int(device.split(":")[1])
    with tf.device(device):
        x = tf.ones((256, 256))
        x.numpy()
        mychip.synchronize(ordinal)
        mychip.reset_counters(ordinal)
        y = tf.matmul(x, x)
        y.numpy()
    mychip.synchronize(ordinal)
    counters = mychip.counters(ordinal)
    assert counters["programs"] == 1
    assert counters["launches"] >= 1
    assert counters["flops"] == 2 * 256**3
    assert counters["device_to_host_bytes"] == 256 * 256 * 4
    assert counters["bytes_written"] >= 256 * 256 * 4
    assert counters["cycles"] > 0


def results(*accuracies: float) -> list[digits.Result]:
    return [digits.Result(mode, a, 1.0, None, None) for mode, a in zip(digits.MODES, accuracies, strict=True)]


@pytest.mark.parametrize(
    ("accuracies", "problems"),
    [
        ((0.98, 0.98, 0.975, 0.985), 0),
        ((0.98, 0.98, 0.975, 0.9851), 1),
        ((0.965, 0.965, 0.965, 0.959), 1),
        ((0.98, 0.98, 0.98, 0.5), 2),
        ((0.98, 0.98, 0.98, float("nan")), 2),
    ],
)
def test_verdict_of_the_example(accuracies: tuple[float, ...], problems: int) -> None:
    assert len(digits.verdict(results(*accuracies))) == problems
