"""Whole training steps on the chip, nothing placed elsewhere: eager, as a graph, jitted."""

import contextlib
import functools
import gc
import threading
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from models import MODELS, Trained, Trainer, batches

STEPS = 20
MODES = ("eager", "graph", "jit")
RELATIVE = 1e-4


@functools.cache
def on_cpu(name: str) -> Trained:
    return Trainer(MODELS[name], "CPU:0", "graph").train(STEPS)


def assert_close(actual: Trained, expected: Trained) -> None:
    """Losses each, and weights per variable by its largest element, within 1e-4."""
    np.testing.assert_allclose(actual.losses, expected.losses, rtol=RELATIVE)
    for i, (a, e) in enumerate(zip(actual.weights, expected.weights, strict=True)):
        worst = np.abs(a - e).max() / max(np.abs(e).max(), 1e-30)
        assert worst <= RELATIVE, f"variable {i} {a.shape} differs by {worst:.2e} of its largest element"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", MODELS)
def test_training_equals_cpu(name: str, mode: str, device: str) -> None:
    trainer = Trainer(MODELS[name], device, mode)
    assert trainer.devices() == {device}
    trained = trainer.train(STEPS)
    assert trainer.devices() == {device}
    assert trained.losses[-1] < trained.losses[0]
    assert_close(trained, on_cpu(name))


def test_fit_turns_jit_on_and_equals_cpu(device: str) -> None:
    """model.fit, evaluate and predict with Keras' defaults."""
    data = batches(8)
    x, y = (np.concatenate(part) for part in zip(*data, strict=True))

    def fit(where: str) -> tuple[bool, list[float], Any, Any]:
        with tf.device("CPU:0"):
            keras.utils.set_random_seed(1)
            initial = [np.array(weight) for weight in MODELS["mlp"]().get_weights()]
        # No scope for the chip: TensorFlow places a program there by itself, and leaves tf.data on the CPU.
        with tf.device(where) if where == "CPU:0" else contextlib.nullcontext():
            model = MODELS["mlp"]()
            model.set_weights(initial)
            model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
            history = model.fit(x, y, batch_size=32, epochs=2, shuffle=False, verbose=0).history["loss"]
            score = model.evaluate(x, y, verbose=0, return_dict=True)
            assert {variable.value.device.rsplit("device:", 1)[-1] for variable in model.variables} == {where}
            return bool(model.jit_compile), history, score, model.predict(x[:40], verbose=0)

    jitted, losses, score, predictions = fit(device)
    assert jitted
    _, cpu_losses, cpu_score, cpu_predictions = fit("CPU:0")
    np.testing.assert_allclose(losses, cpu_losses, rtol=RELATIVE)
    assert score["accuracy"] == pytest.approx(cpu_score["accuracy"])
    np.testing.assert_allclose(predictions, cpu_predictions, atol=1e-4 * np.abs(cpu_predictions).max())


@pytest.mark.parametrize("mode", MODES)
def test_dropout_trains(mode: str, device: str) -> None:
    """Drops the share it should, scales what is left, and draws anew each step."""
    with tf.device(device):
        layer = keras.layers.Dropout(0.25, seed=3)

        def drop(x: Any) -> Any:
            return layer(x, training=True)

        call = drop if mode == "eager" else tf.function(drop, jit_compile=mode == "jit")
        first, second = (call(tf.ones((200, 200))).numpy() for _ in range(2))
    for values in (first, second):
        assert set(np.unique(values)) == {np.float32(0), np.float32(1) / np.float32(0.75)}
        assert np.mean(values == 0) == pytest.approx(0.25, abs=0.01)
    assert (first != second).any()


@pytest.mark.parametrize("mode", MODES)
def test_two_devices_from_two_threads(mode: str, device: str) -> None:
    """A model on each chip, trained at once: bit for bit what each does alone."""
    assert len(tf.config.list_logical_devices("MYCHIP")) >= 2, "the suite asks for two chips (MYCHIP_NUM_DEVICES)"
    jobs = (("mlp", "MYCHIP:0"), ("cnn", "MYCHIP:1"))
    alone = [Trainer(MODELS[name], where, mode).train(STEPS) for name, where in jobs]
    trainers = [Trainer(MODELS[name], where, mode) for name, where in jobs]
    together: list[Any] = [None, None]

    def work(i: int) -> None:
        tf.config.set_soft_device_placement(False)
        together[i] = trainers[i].train(STEPS)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=240)
    for both, single in zip(together, alone, strict=True):
        assert both is not None, "a thread did not finish"
        np.testing.assert_array_equal(both.losses, single.losses)
        for a, e in zip(both.weights, single.weights, strict=True):
            np.testing.assert_array_equal(a, e)


def in_use(device: str) -> int:
    gc.collect()
    return int(tf.config.experimental.get_memory_info(device)["current"])


def soak(device: str, mode: str, steps: int) -> None:
    trainer = Trainer(MODELS["cnn"], device, mode)
    data = batches(40)

    def run(count: int) -> None:
        with tf.device(device):
            for i in range(count):
                x, y = data[i % len(data)]
                trainer.step(tf.constant(x), tf.constant(y)).numpy()

    run(100)
    at_100 = in_use(device)
    run(steps - 100)
    assert in_use(device) == at_100


@pytest.mark.parametrize("mode", MODES)
def test_memory_stays_flat(mode: str, device: str) -> None:
    soak(device, mode, 200)


@pytest.mark.full
@pytest.mark.parametrize("mode", MODES)
def test_memory_stays_flat_for_10000_steps(mode: str, device: str) -> None:
    soak(device, mode, 10_000)


def everything_is_freed(device: str, train: Callable[[], None]) -> None:
    def once() -> None:
        train()
        keras.backend.clear_session()

    once()  # what TensorFlow caches for good (scalar constants) is made once
    start = in_use(device)
    for _ in range(2):
        once()
        assert in_use(device) == start


@pytest.mark.parametrize("mode", MODES)
def test_deleting_everything_frees_everything(mode: str, device: str) -> None:
    """Model, momenta and the traced step. The update is written out: a graph in which a Keras optimizer was traced
    stays alive for good, on any device, with every variable it captured (Keras 3.15, TensorFlow 2.21)."""

    def train() -> None:
        with tf.device(device):
            model = MODELS["mlp"]()
            momenta = [tf.Variable(tf.zeros_like(v)) for v in model.trainable_variables]
            loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

            def step(x: Any, y: Any) -> Any:
                with tf.GradientTape() as tape:
                    value = loss(y, model(x, training=True))
                variables = model.trainable_variables
                for v, m, g in zip(variables, momenta, tape.gradient(value, variables), strict=True):
                    m.assign(0.9 * m + g)
                    v.assign_sub(0.01 * m)
                return value

            call = step if mode == "eager" else tf.function(step, jit_compile=mode == "jit")
            for x, y in batches(3):
                call(tf.constant(x), tf.constant(y)).numpy()

    everything_is_freed(device, train)


def test_deleting_a_keras_optimizer_frees_everything(device: str) -> None:
    def train() -> None:
        Trainer(MODELS["mlp"], device, "eager").train(3)

    everything_is_freed(device, train)
