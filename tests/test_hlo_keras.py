"""Real training steps: the HLO of Keras models, compiled for the chip, against XLA's evaluator."""

from typing import Any

import models
import numpy as np
import pytest
import tensorflow as tf
from hlo_harness import evaluate, hlo, pack, parameters, run, unpack

# Float32 sums in another order, through a dozen layers and back. Measured, as a share of each result's largest element:
# at most 1.1e-7 against the evaluator, 4e-8 between fused and unfused; nearly 5 times that for another machine's order.
TOLERANCE = 5e-7


def step_proto(name: str) -> bytes:
    trainer = models.Trainer(models.MODELS[name], "CPU:0", "jit")
    x, y = models.batches(1)[0]
    with tf.device("CPU:0"):
        return bytes(trainer.step.experimental_get_compiler_ir(tf.constant(x), tf.constant(y))(stage="hlo_serialized"))


def step_inputs(proto: bytes) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    arrays: list[np.ndarray] = []
    for dtype, dims in parameters(proto, "hlo"):
        if dtype[0] == "f":
            arrays.append((rng.random(dims) * 0.2 + 0.01).astype(np.float32))
        else:  # labels, the step's number
            arrays.append(np.asarray(rng.integers(1, 9, dims), np.int64 if dtype == "s64" else np.int32))
    return arrays


def worst(actual: list[np.ndarray], expected: list[np.ndarray]) -> float:
    """Largest difference over all results, relative to each result's largest element."""
    result = 0.0
    for a, e in zip(actual, expected, strict=True):
        if e.dtype.kind != "f":
            np.testing.assert_array_equal(a, e)
        elif e.size:
            assert np.isfinite(e).all()
            assert np.isfinite(a).all()
            result = max(result, float(np.abs(a.astype(np.float64) - e).max() / max(np.abs(e).max(), 1e-6)))
    return result


@pytest.mark.parametrize("name", sorted(models.MODELS))
def test_training_step(name: str) -> None:
    proto = step_proto(name)
    arrays = step_inputs(proto)
    fused, cost = run(proto, arrays, form="hlo")
    plain, plain_cost = run(proto, arrays, passes="-chip-fusion", form="hlo")
    assert worst(fused, evaluate(proto, arrays, passes=True, form="hlo")) < TOLERANCE
    assert worst(fused, evaluate(proto, arrays, passes=False, form="hlo")) < TOLERANCE
    assert worst(fused, plain) < TOLERANCE
    assert cost["launches"] < plain_cost["launches"] / 2
    donated, _ = run(proto, arrays, donate=True, form="hlo")
    for d, f in zip(donated, fused, strict=True):
        np.testing.assert_array_equal(d, f)


@pytest.mark.parametrize("passes", ["none", "algebraic-simplifier", "-cse,-tuple-simplifier", "-algebraic-simplifier"])
def test_any_selection_of_passes(passes: str) -> None:
    proto = step_proto("mlp")
    arrays = step_inputs(proto)
    assert worst(run(proto, arrays, passes=passes, form="hlo")[0], run(proto, arrays, form="hlo")[0]) < TOLERANCE


def test_dropout_bits_match_xla_cpu() -> None:
    """Stateless random numbers: key derivation as scalar programs, and the generator's bits."""

    def draw(x: Any, seed: Any) -> Any:
        return tf.where(tf.random.stateless_uniform((64, 33), seed) < 0.3, 0.0, x)

    jitted = tf.function(draw, jit_compile=True)
    x = np.arange(64 * 33, dtype=np.float32).reshape(64, 33)
    seed = np.array([5, 99], np.int32)
    with tf.device("CPU:0"):
        expected = jitted(tf.constant(x), tf.constant(seed)).numpy()
        proto = bytes(jitted.experimental_get_compiler_ir(tf.constant(x), tf.constant(seed))(stage="hlo_serialized"))
    types = hlo.signature("hlo", proto)[1]
    parts, cost = hlo.compile_and_run("hlo", proto, pack([x, seed]))
    np.testing.assert_array_equal(unpack(parts, types)[0], expected)
    assert cost["launches"] < 20
