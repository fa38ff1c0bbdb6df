"""Loss scaling: Keras' scale dies, ours and a guarded one do not; skipped steps change nothing; the alarm."""

import pathlib
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from mychip import mixed_precision as mp

MODES = ("eager", "graph", "jit")
KERAS = keras.mixed_precision.LossScaleOptimizer
INF = float("inf")


def wrapped(mode: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    return fn if mode == "eager" else tf.function(fn, jit_compile=mode == "jit")


class Stepper:
    """Two weights and an optimizer; `step(g)` applies the gradient g (scaled as given)."""

    def __init__(self, optimizer: Any, mode: str, device: str):
        self.device = device
        with tf.device(device):
            self.weights = keras.Variable([1.0, 2.0])
            self.optimizer = optimizer
            optimizer.build([self.weights])
        self.run = wrapped(mode, lambda g: optimizer.apply([g], [self.weights]))

    def step(self, *gradient: float, times: int = 1) -> None:
        with tf.device(self.device):
            g = tf.constant(gradient or (INF, 0.0))
            for _ in range(times):
                self.run(g)

    def values(self) -> list[np.ndarray]:
        return [v.numpy() for v in (self.weights, *self.optimizer.inner_optimizer.variables)]

    def scale(self) -> float:
        return float(self.optimizer.dynamic_scale)


def skips_until_zero(s: Stepper) -> int:
    for count in range(1, 200):
        s.step()
        if s.scale() == 0:
            return count
    raise AssertionError(f"the scale is {s.scale()} after 199 skipped steps")


def test_keras_scale_reaches_zero_and_destroys_the_weights(device: str) -> None:
    """TensorFlow's CPU kernels flush subnormals; the chip keeps them and takes 23 steps more."""
    for where, steps in (("CPU:0", 142), (device, 165)):
        s = Stepper(KERAS(keras.optimizers.SGD(0.1)), "graph", where)
        assert skips_until_zero(s) == steps
        s.step(0.0, 0.0)
        assert np.isnan(s.weights.numpy()).all()


@pytest.mark.parametrize("mode", MODES)
def test_ours_survives(mode: str, device: str) -> None:
    s = Stepper(mp.LossScaleOptimizer(keras.optimizers.SGD(0.5), floor=2.0), mode, device)
    s.step(times=200)
    assert s.scale() == 2.0
    assert s.optimizer.state() == {"scale": 2.0, "steps": 200, "skipped": 200, "consecutive_skips": 200}
    s.step(2.0, 4.0)
    np.testing.assert_array_equal(s.weights.numpy(), [0.5, 1.0])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("one", [True, False], ids=["instance", "class"])
def test_guarded_keras_survives(mode: str, one: bool, device: str) -> None:
    optimizer = KERAS(keras.optimizers.SGD(0.5), dynamic_growth_steps=1)
    undo = mp.guard_loss_scale(optimizer if one else None, floor=2.0, ceiling=8.0)
    try:
        s = Stepper(optimizer, mode, device)
        s.step(times=170)
        assert s.scale() == 2.0
        s.step(2.0, 4.0)
        np.testing.assert_array_equal(s.weights.numpy(), [0.5, 1.0])
        s.step(0.0, 0.0, times=5)
        assert s.scale() == 8.0
    finally:
        undo()
    assert KERAS._stateful_handle_non_finite_grads.__module__.startswith("keras")
    assert "_stateful_handle_non_finite_grads" not in optimizer.__dict__


@pytest.mark.parametrize("mode", MODES)
def test_scale_follows_its_rules(mode: str, device: str) -> None:
    inner = keras.optimizers.SGD(1.0)
    optimizer = mp.LossScaleOptimizer(
        inner, 8.0, growth_interval=3, growth_factor=4.0, backoff_factor=0.25, ceiling=40.0
    )
    s = Stepper(optimizer, mode, device)
    seen = []
    for finite in (1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 1, 1, 1):
        s.step(*((0.0, 0.0) if finite else (INF, 0.0)))
        seen.append(s.scale())
    assert seen == [8, 8, 32, 32, 32, 40, 40, 10, 2.5, 2.5, 2.5, 1, 1, 1, 4]
    assert optimizer.state() == {"scale": 4.0, "steps": 15, "skipped": 3, "consecutive_skips": 0}


INNER = {
    "sgd": lambda: keras.optimizers.SGD(0.1, momentum=0.9),
    "adamw": lambda: keras.optimizers.AdamW(0.1, weight_decay=0.1),
    "rmsprop": lambda: keras.optimizers.RMSprop(0.1, centered=True, momentum=0.5),
    "clipped": lambda: keras.optimizers.Adam(0.1, global_clipnorm=0.5),
    "ema": lambda: keras.optimizers.Adam(0.1, use_ema=True, ema_overwrite_frequency=2),
    "lion": lambda: keras.optimizers.Lion(0.1),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", INNER)
def test_steps_equal_the_inner_optimizers_and_skipped_ones_change_nothing(name: str, mode: str, device: str) -> None:
    s = Stepper(mp.LossScaleOptimizer(INNER[name](), 4.0), mode, device)
    with tf.device(device):
        alone, weights = INNER[name](), keras.Variable([1.0, 2.0])
        alone.build([weights])
    plain = wrapped(mode, lambda g: alone.apply([g], [weights]))
    for gradient in ((0.5, -1.0), (3.0, 0.25), (-1.0, 1.0)):
        s.step(*(4 * g for g in gradient))
        with tf.device(device):
            plain(tf.constant(gradient))
        before = s.values()
        for bad in ((INF, 0.0), (0.0, float("nan"))):
            s.step(*bad)
            s.step(*bad)
            for a, b in zip(before, s.values(), strict=True):
                np.testing.assert_array_equal(a, b)
        s.optimizer.dynamic_scale.assign(4.0)
    for a, b in zip(s.values(), [v.numpy() for v in (weights, *alone.variables)], strict=True):
        np.testing.assert_array_equal(a, b)


def test_sparse_gradients(device: str) -> None:
    with tf.device(device):
        table = keras.Variable(np.ones((4, 2), np.float32))
        optimizer = mp.LossScaleOptimizer(keras.optimizers.SGD(1.0), 2.0)
        optimizer.build([table])
        for value, expected in ((2.0, 0.0), (INF, 0.0)):
            optimizer.apply([tf.IndexedSlices(tf.fill((1, 2), value), tf.constant([1]), tf.constant([4, 2]))], [table])
            np.testing.assert_array_equal(table.numpy(), [[1, 1], [expected, expected], [1, 1], [1, 1]])


def test_no_conditional_in_the_graph(device: str) -> None:
    s = Stepper(mp.LossScaleOptimizer(keras.optimizers.Adam()), "graph", device)
    with tf.device(device):
        graph = s.run.get_concrete_function(tf.constant([1.0, 1.0])).graph
    kinds = {op.type for op in graph.get_operations()}
    assert not kinds & {"If", "StatelessIf", "Switch"}, kinds


def model(policy: str = "mixed_float16") -> keras.Model:
    keras.utils.set_random_seed(1)
    layers = [keras.layers.Input((4,)), keras.layers.Dense(8, activation="relu", name="first", dtype=policy)]
    return keras.Sequential([*layers, keras.layers.Dense(1, name="second", dtype=policy)])


def batch(n: int = 32) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).normal(size=(n, 4)).astype(np.float32)
    return x, x.sum(1, keepdims=True)


@pytest.mark.parametrize("jit", [False, True])
def test_fit_logs_and_saves(jit: bool, tmp_path: pathlib.Path) -> None:
    m = model()
    m.compile(
        mp.LossScaleOptimizer(keras.optimizers.Adam(0.01), growth_interval=3, initial_scale=16.0),
        "mse",
        jit_compile=jit,
    )
    history = m.fit(*batch(), batch_size=8, epochs=2, verbose=0, callbacks=[mp.LossScaleMonitor(every=1)]).history
    assert history["steps"] == [4, 8]
    assert history["loss_scale"] == [32.0, 64.0]
    m.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    assert type(loaded.optimizer) is mp.LossScaleOptimizer
    assert loaded.optimizer.get_config() == m.optimizer.get_config()
    assert loaded.optimizer.state() == m.optimizer.state()
    tf.train.Checkpoint(optimizer=m.optimizer).write(str(tmp_path / "c"))
    m.optimizer.steps.assign(0)
    tf.train.Checkpoint(optimizer=m.optimizer).read(str(tmp_path / "c"))
    assert m.optimizer.state()["steps"] == 8


@pytest.mark.parametrize("jit", [False, True])
def test_alarm_names_layer_and_op(jit: bool) -> None:
    """First layer's product is 4 * 200 * 200 * 30 = 4.8 million, too large for float16."""
    m = model()
    m.get_layer("first").kernel.assign(np.full((4, 8), 200.0 * 30))
    optimizer = mp.LossScaleOptimizer(keras.optimizers.SGD(0.01), max_consecutive_skips=3)
    m.compile(optimizer, "mse", jit_compile=jit)
    before = m.get_weights()
    x = np.full((24, 4), 200.0, np.float32)
    with pytest.raises(mp.LossScaleOverflowError, match=r"MatMul in layer \S*first: 4\.8e\+06 in float16"):
        m.fit(x, x[:, :1], batch_size=8, verbose=0, callbacks=[mp.LossScaleMonitor()])
    for a, b in zip(before, m.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    assert optimizer.state()["skipped"] == 3


def test_overflow_of_a_gradient() -> None:
    """The value is small, the gradient times the scale is not."""
    m = model()
    x, y = batch()
    m.compile(loss="mse")
    found = mp.find_overflow(m, x, y + 1000, scale=2.0**15)
    assert found is not None
    assert found.phase == "backward"
    assert found.layer.endswith("second") or found.layer == ""
    assert found.magnitude > 65504
    assert mp.find_overflow(m, x, y) is None


def test_distributed(device: str) -> None:
    strategy = tf.distribute.MirroredStrategy(["MYCHIP:0", "MYCHIP:1"])
    tf.config.set_soft_device_placement(True)
    with strategy.scope():
        weights = keras.Variable([1.0, 2.0])
        optimizer = mp.LossScaleOptimizer(keras.optimizers.SGD(0.5, momentum=0.9), 2.0)
        optimizer.build([weights])

    @tf.function
    def run(bad: Any) -> None:
        def step() -> None:
            replica = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
            g = tf.constant([1.0, 1.0])
            optimizer.apply([tf.where(tf.logical_and(bad, replica == 1.0), INF, g)], [weights])

        strategy.run(step)

    run(tf.constant(True))
    np.testing.assert_array_equal(weights.numpy(), [1.0, 2.0])
    assert optimizer.state() == {"scale": 1.0, "steps": 1, "skipped": 1, "consecutive_skips": 1}
    run(tf.constant(False))
    np.testing.assert_array_equal(weights.numpy(), [0.0, 1.0])


@pytest.mark.parametrize(
    "wrong",
    [{"floor": 0.0}, {"floor": 4.0, "initial_scale": 2.0}, {"ceiling": INF}, {"growth_factor": 1.0}]
    + [{"backoff_factor": 1.0}, {"growth_interval": 0}, {"max_consecutive_skips": 0}],
)
def test_bad_arguments(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="wanted"):
        mp.LossScaleOptimizer(keras.optimizers.SGD(), **wrong)


def test_wrong_optimizers() -> None:
    with pytest.raises(ValueError, match="already"):
        mp.LossScaleOptimizer(KERAS(keras.optimizers.SGD()))
    with pytest.raises(TypeError, match="guards"):
        mp.guard_loss_scale(keras.optimizers.SGD())
    m = model()
    m.compile("sgd", "mse")
    with pytest.raises(TypeError, match="needs mychip"):
        m.fit(*batch(), verbose=0, callbacks=[mp.LossScaleMonitor()])
