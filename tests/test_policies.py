"""Keras' dtype policies on the chip: masters, per-layer policies, custom loops, clipping, saving; against NumPy."""

import pathlib
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from models import MODELS, batches

from mychip import mixed_precision as mp

MODES = ("eager", "graph", "jit")
POLICIES = {"mixed_float16": "float16", "mixed_bfloat16": "bfloat16", "float16": "float16", "bfloat16": "bfloat16"}
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@pytest.mark.parametrize(("policy", "auto"), [("mixed_float16", False), *((p, True) for p in POLICIES)])
def test_fit_under_a_global_policy(policy: str, auto: bool, tmp_path: pathlib.Path, device: str) -> None:
    keras.utils.set_random_seed(1)
    keras.mixed_precision.set_global_policy(policy)
    try:
        model = MODELS["cnn"]()
        # Adam's epsilon is 0 in float16.
        model.compile(keras.optimizers.SGD(0.01, global_clipnorm=1.0), LOSS, auto_scale_loss=auto)
    finally:
        keras.mixed_precision.set_global_policy("float32")
    scales = isinstance(model.optimizer, keras.mixed_precision.LossScaleOptimizer)
    assert scales == (auto and policy == "mixed_float16")
    x, y = (np.concatenate(part) for part in zip(*batches(8), strict=True))
    history = model.fit(x, y, batch_size=32, epochs=3, verbose=0).history["loss"]
    assert np.isfinite(history).all()
    assert history[-1] < history[0]
    stored = {v.value.dtype.name for v in model.get_layer(index=1).trainable_variables}
    assert stored == {"float32" if policy.startswith("mixed") else POLICIES[policy]}
    assert {v.value.device.rsplit("device:", 1)[-1] for v in model.variables} == {device}
    prediction = model.predict(x[:8], verbose=0)
    assert prediction.dtype == np.dtype(tf.as_dtype(POLICIES[policy]).as_numpy_dtype)
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    assert loaded.get_layer(index=1).dtype_policy.name == policy  # the container itself takes the global one
    np.testing.assert_array_equal(loaded.predict(x[:8], verbose=0), prediction)


def test_per_layer_policies(device: str) -> None:
    with tf.device(device):
        layers = [keras.layers.Dense(4, dtype=p) for p in ("mixed_float16", "float32", "bfloat16")]
        x, seen = tf.ones((2, 4)), []
        for layer in layers:
            x = layer(x)
            seen.append((x.dtype.name, layer.kernel.dtype))
    assert seen == [("float16", "float32"), ("float32", "float32"), ("bfloat16", "bfloat16")]


@pytest.mark.parametrize("mode", MODES)
def test_updates_below_16_bits_survive_in_masters_and_only_there(mode: str, device: str) -> None:
    """A thousand steps of 1e-4 from 1: float16's steps at 1 are 1e-3, so a float16 weight never moves."""
    for policy, expected in (("mixed_float16", 0.9), ("float16", 1.0)):
        with tf.device(device):
            layer = keras.layers.Dense(1, use_bias=False, dtype=policy, kernel_initializer="ones")
            layer.build((1, 1))
            optimizer = keras.optimizers.SGD(1e-4)
            optimizer.build(layer.trainable_variables)

            def step(layer: Any = layer, optimizer: Any = optimizer) -> None:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum(layer(tf.ones((1, 1))))
                optimizer.apply(tape.gradient(loss, [layer.kernel.value]), layer.trainable_variables)

            call = step if mode == "eager" else tf.function(step, jit_compile=mode == "jit")
            for _ in range(1000):
                call()
        assert layer.kernel.value.dtype == (tf.float32 if policy == "mixed_float16" else tf.float16)
        assert float(layer.kernel.numpy()[0, 0]) == pytest.approx(expected, abs=1e-4)


class Emulation:
    """The MLP x -> relu(x W + b) V -> mean squared error, and its SGD step, in NumPy as the chip does it: operands
    rounded to 16 bits, products accumulated in float32, every result rounded once; float32 masters or none."""

    def __init__(self, weights: list[np.ndarray], dtype: Any, masters: bool, rate: float):
        self.dtype, self.masters, self.rate = dtype, masters, np.float32(rate)
        self.weights = [w if masters else w.astype(dtype) for w in weights]

    def product(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32).astype(self.dtype)

    def step(self, x: np.ndarray, y: np.ndarray, scale: float) -> None:
        t, (w, b, v) = self.dtype, (p.astype(self.dtype) for p in self.weights)
        x = x.astype(t)
        before = (self.product(x, w).astype(np.float32) + b.astype(np.float32)).astype(t)
        hidden = np.maximum(before, t(0))
        error = self.product(hidden, v).astype(np.float32) - y
        upstream = (error * np.float32(2 / y.size) * np.float32(scale)).astype(t)
        dv = self.product(hidden.T, upstream)
        dhidden = np.where(before > 0, self.product(upstream, v.T), t(0)).astype(t)
        dw, db = self.product(x.T, dhidden), dhidden.astype(np.float32).sum(0).astype(t)
        for i, g in enumerate((dw, db, dv)):
            update = g.astype(np.float32) / np.float32(scale)
            stored = self.weights[i].astype(np.float32)
            if self.masters:
                self.weights[i] = stored - update * self.rate
            else:
                step = (update.astype(t).astype(np.float32) * self.rate.astype(t).astype(np.float32)).astype(t)
                self.weights[i] = (stored - step.astype(np.float32)).astype(t)


def against_numpy(policy: str, steps: int, mode: str, device: str) -> tuple[list[np.ndarray], ...]:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(16, 8)).astype(np.float32), rng.normal(size=(16, 4)).astype(np.float32)
    start = [rng.normal(size=s).astype(np.float32) * np.float32(0.3) for s in ((8, 16), (16,), (16, 4))]
    dtype, scale = tf.as_dtype(POLICIES[policy]).as_numpy_dtype, 64.0
    with tf.device(device):
        first = keras.layers.Dense(16, activation="relu", dtype=policy)
        second = keras.layers.Dense(4, use_bias=False, dtype=policy)
        first.build((16, 8))
        second.build((16, 16))
        variables = [first.kernel, first.bias, second.kernel]
        for variable, value in zip(variables, start, strict=True):
            variable.assign(value)
        optimizer = mp.LossScaleOptimizer(keras.optimizers.SGD(0.01), scale, growth_interval=10**9)
        optimizer.build(variables)

        def step(x: Any, y: Any) -> None:
            with tf.GradientTape() as tape:
                error = tf.cast(second(first(x)), tf.float32) - y
                loss = optimizer.scale_loss(tf.reduce_mean(error * error))
            optimizer.apply(tape.gradient(loss, [v.value for v in variables]), variables)

        call = step if mode == "eager" else tf.function(step, jit_compile=mode == "jit")
        emulation = Emulation(start, dtype, policy.startswith("mixed"), 0.01)
        for _ in range(steps):
            call(tf.constant(x), tf.constant(y))
            emulation.step(x, y, scale)
        return (
            [v.numpy().astype(np.float64) for v in variables],
            [w.astype(np.float64) for w in emulation.weights],
            start,
        )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("policy", POLICIES)
def test_one_step_equals_numpy(policy: str, mode: str, device: str) -> None:
    """To 2 ULP of 16 bits, of the largest step of a variable with masters and of its largest weight without: sums in
    float32 may end on the other side of a rounding."""
    actual, expected, start = against_numpy(policy, 1, mode, device)
    bits = {"float16": 10, "bfloat16": 7}[POLICIES[policy]]
    for a, e, s in zip(actual, expected, start, strict=True):
        ulp = 2.0**-bits * np.abs(e - s if policy.startswith("mixed") else e).max()
        assert np.abs(a - e).max() <= 2 * ulp, f"{np.abs(a - e).max() / ulp:.2f} ULP"


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float16"])
def test_thousand_steps_stay_near_numpy(policy: str, device: str) -> None:
    actual, expected, _ = against_numpy(policy, 1000, "jit", device)
    norm = np.sqrt(sum(((a - e) ** 2).sum() for a, e in zip(actual, expected, strict=True)))
    assert norm / np.sqrt(sum((e**2).sum() for e in expected)) < 0.02


def underflowing(optimizer: Any, device: str) -> float:
    """One weight whose gradient, 2**-30 per row times 64 rows, is 0 in float16; how far the weight moved."""
    with tf.device(device):
        layer = keras.layers.Dense(1, use_bias=False, dtype="mixed_float16", kernel_initializer="zeros")
        layer.build((64, 1))
        optimizer.build(layer.trainable_variables)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.cast(layer(tf.ones((64, 1))), tf.float32)) * 2.0**-30
            loss = optimizer.scale_loss(loss)
        optimizer.apply(tape.gradient(loss, [layer.kernel.value]), layer.trainable_variables)
        return float(layer.kernel.numpy()[0, 0])


def test_underflow_without_a_loss_scale(device: str) -> None:
    sgd = lambda: keras.optimizers.SGD(2.0**20)  # noqa: E731
    assert underflowing(sgd(), device) == 0.0
    assert underflowing(mp.LossScaleOptimizer(sgd()), device) == -(2.0**-4)
