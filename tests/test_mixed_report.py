"""report, auto, and the list of what is promoted."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from models import MODELS

from mychip import mixed_precision as mp

RAW = tf.raw_ops


def near(scale: float = 1.0, *shape: int) -> np.ndarray:
    return np.random.default_rng(5).normal(size=shape or (64, 64)).astype(np.float32) * np.float32(scale)


def unary(name: str) -> Callable[..., Any]:
    argument = "features" if name in ("Elu", "Selu", "Softplus") else "x"
    return lambda x: getattr(RAW, name)(**{argument: x})


LONG = np.full((4, 8192), 0.1, np.float32)  # a sum in 16 bits stalls long before its end
# One call an op whose intermediate results 16 bits would spoil.
CALLS: dict[str, tuple[Callable[..., Any], list[np.ndarray]]] = {
    **{
        name: (unary(name), [np.abs(near(0.5)) + np.float32(0.01)])
        for name in ("Exp", "Expm1", "Log", "Log1p", "Tanh", "Sigmoid", "Softplus", "Erf", "Erfc", "Rsqrt", "Sqrt")
        + ("Elu", "Selu")
    },
    "Pow": (lambda x: RAW.Pow(x=x, y=x), [np.abs(near(0.5)) + np.float32(0.01)]),
    "Sum": (lambda x: RAW.Sum(input=x, axis=1), [LONG]),
    "Mean": (lambda x: RAW.Mean(input=x, axis=1), [LONG]),
    "Prod": (lambda x: RAW.Prod(input=x, axis=1), [np.full((4, 512), 1.01, np.float32)]),
    "Cumsum": (lambda x: RAW.Cumsum(x=x, axis=1), [LONG[:, :2048]]),
    "L2Loss": (lambda x: RAW.L2Loss(t=x), [LONG]),
    "BiasAddGrad": (lambda x: RAW.BiasAddGrad(out_backprop=x), [LONG.T.copy()]),
    "MatMul": (lambda x, y: RAW.MatMul(a=x, b=y), [LONG, LONG.T.copy()]),
    "BatchMatMulV2": (lambda x, y: RAW.BatchMatMulV2(x=x, y=y), [LONG[None], LONG.T[None].copy()]),
    "Einsum": (lambda x, y: RAW.Einsum(inputs=[x, y], equation="ab,bc->ac"), [LONG, LONG.T.copy()]),
    "Conv2D": (
        lambda x, w: RAW.Conv2D(input=x, filter=w, strides=[1] * 4, padding="VALID"),
        [np.full((2, 16, 16, 16), 0.1, np.float32), np.full((9, 9, 16, 3), 0.1, np.float32)],
    ),
    "Softmax": (lambda x: RAW.Softmax(logits=x), [near(4.0, 4, 2000)]),
    "LogSoftmax": (lambda x: RAW.LogSoftmax(logits=x), [near(4.0, 4, 2000)]),
    "SparseSoftmaxCrossEntropyWithLogits": (
        lambda x: RAW.SparseSoftmaxCrossEntropyWithLogits(features=x, labels=[1, 2, 3, 4]).loss,
        [near(4.0, 4, 2000)],
    ),
    "UnsortedSegmentSum": (
        lambda x: RAW.UnsortedSegmentSum(data=x, segment_ids=[0] * 8192, num_segments=1),
        [LONG.T.copy()],
    ),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", CALLS)
def test_promoted_ops_round_once(name: str, dtype: str, device: str) -> None:
    """Within 1 ULP of 16 bits of the float64 result on the same operands."""
    assert name in mp.PROMOTED
    fn, operands = CALLS[name]
    kind = tf.as_dtype(dtype).as_numpy_dtype
    rounded = [x.astype(kind) for x in operands]
    with tf.device(device):
        actual = tf.cast(fn(*(tf.constant(x) for x in rounded)), tf.float64).numpy()
    with tf.device("CPU:0"):
        expected = np.asarray(fn(*(tf.constant(x.astype(np.float64)) for x in rounded)))
    bits, least = {"float16": (10, 2.0**-24), "bfloat16": (7, 2.0**-133)}[dtype]
    ulp = np.maximum(2.0 ** (np.floor(np.log2(np.maximum(np.abs(expected), 1e-45))) - bits), least)
    finite = np.abs(expected) < float(np.finfo(np.float16).max) if dtype == "float16" else np.isfinite(expected)
    assert finite.any()
    assert (np.abs(actual - expected)[finite] <= ulp[finite]).all()


def test_report_of_a_model(device: str) -> None:
    with tf.device(device):
        model = mp.with_policy(MODELS["mlp"](), "mixed_float16")
        found = mp.report(model, tf.ones((4, 8, 8)))
        assert found.matrix_share_16_bit == 1.0
        assert found.speedup == 4.0
        assert any(key.startswith("MatMul float16") for key in found.promoted)
        assert found.fell_back == {}
        last = model.layers[-1].name
        half = mp.report(mp.with_policy(MODELS["mlp"](), "float32"), tf.ones((4, 8, 8)))
        assert half.matrix_share_16_bit == 0.0
        assert half.speedup == 1.0
        kept = mp.report(mp.with_policy(model, "mixed_float16", [last]), tf.ones((4, 8, 8)))
        assert kept.matrix_share_16_bit == pytest.approx(64 * 64 / (64 * 64 + 64 * 10))
        assert "in 16 bits" in kept.text()
        assert '"speedup"' in kept.to_json()


def test_report_counts_convolutions_and_einsum(device: str) -> None:
    with tf.device(device):
        x, w = tf.ones((1, 6, 6, 4), tf.bfloat16), tf.ones((3, 3, 4, 5), tf.bfloat16)
        found = mp.report(lambda: tf.nn.conv2d(x, w, 1, "VALID"))
        assert [v.multiply_adds for v in found.layers] == [{"bfloat16": 4 * 4 * 5 * 9 * 4}]
        found = mp.report(lambda: tf.einsum("...ab,cb->...ac", tf.ones((2, 3, 4, 5)), tf.ones((6, 5))))
        assert sum(v.multiply_adds.get("float32", 0) for v in found.layers) == 2 * 3 * 4 * 6 * 5


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_auto(dtype: str, jit: bool, device: str) -> None:
    """16-bit products between float32 inputs, weights and results; gradients flow."""
    with tf.device(device):
        w, b = tf.Variable(near(0.2, 16, 8)), tf.Variable(near(0.2, 8))
        x = tf.constant(near(1.0, 4, 16))

        def fn(x: Any) -> Any:
            hidden = tf.nn.relu(tf.matmul(x, w) + b)
            return {"mean": tf.reduce_mean(tf.nn.softmax(hidden)[:, :3], axis=1), "hidden": hidden}

        wrapped = mp.auto(fn, dtype)

        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                out = wrapped(x)
                loss = tf.reduce_sum(out["mean"])
            return out, tape.gradient(loss, [w, b])

        out, gradients = (tf.function(step, jit_compile=True) if jit else step)(x)
        with tf.GradientTape() as tape:
            exact = fn(x)
            loss = tf.reduce_sum(exact["mean"])
        expected = tape.gradient(loss, [w, b])
        assert out["hidden"].dtype == tf.float32
        low = tf.cast(tf.nn.relu(tf.matmul(tf.cast(x, dtype), tf.cast(w, dtype)) + tf.cast(b, dtype)), tf.float32)
        np.testing.assert_array_equal(out["hidden"].numpy(), low.numpy())
        assert (out["hidden"].numpy() != exact["hidden"].numpy()).any()
        for a, e in zip(gradients, expected, strict=True):
            np.testing.assert_allclose(a.numpy(), e.numpy(), atol=0.02 * np.abs(e.numpy()).max())
    assert wrapped.changes() == {"MatMul": 1, "AddV2": 1, "Relu": 1}
    assert wrapped.kept()["Softmax"] == 1


def test_auto_updates_a_variable_once(device: str) -> None:
    with tf.device(device):
        count = tf.Variable(0.0)

        def fn(x: Any) -> Any:
            count.assign_add(1.0)
            return tf.matmul(x, x) * count

        wrapped = mp.auto(fn)
        for expected in (1.0, 2.0):
            assert float(wrapped(tf.ones((2, 2)))[0, 0]) == 2 * expected
            assert float(count) == expected


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="not 'float32'"):
        mp.auto(lambda x: x, "float32")
    with pytest.raises(TypeError, match="not 3"):
        mp.report(3)
    assert keras.config.dtype_policy().name == "float32"
