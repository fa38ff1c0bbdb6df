"""Whole trainings and modelled cycles in float32, tf32, mixed_bfloat16 and mixed_float16."""

import contextlib
import pydoc
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from models import MODELS
from sklearn.datasets import load_digits

import mychip
from mychip import mixed_precision as mp

SETTINGS = ("float32", "tf32", "mixed_bfloat16", "mixed_float16")
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
WORDS = 24  # of one text


@contextlib.contextmanager
def setting(name: str) -> Iterator[None]:
    mp.set_matmul_precision("tf32" if name == "tf32" else "float32")
    keras.mixed_precision.set_global_policy(name if name.startswith("mixed") else "float32")
    try:
        yield
    finally:
        mp.set_matmul_precision("float32")
        keras.mixed_precision.set_global_policy("float32")


def transformer(width: int, length: int, heads: int = 8) -> keras.Model:
    layers = keras.layers
    x = inputs = layers.Input((length, width))
    y = layers.MultiHeadAttention(heads, width // heads)(x, x)
    x = layers.LayerNormalization()(x + y)
    y = layers.Dense(width)(layers.Dense(4 * width, activation="gelu")(x))
    x = layers.LayerNormalization()(x + y)
    return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling1D()(x)))


def cycles_of_a_step(name: str, build: Callable[[], keras.Model], x: np.ndarray, device: str) -> int:
    ordinal = int(device.split(":")[1])
    with setting(name), tf.device(device):
        model = build()
        model.compile(keras.optimizers.SGD(0.01), LOSS, jit_compile=True)
        inputs, labels = tf.constant(x), tf.zeros(len(x), tf.int32)

        @tf.function(jit_compile=True)
        def step() -> None:
            with tf.GradientTape() as tape:
                loss = LOSS(labels, model(inputs, training=True))
                loss = model.optimizer.scale_loss(loss)
            variables = model.trainable_variables
            model.optimizer.apply(tape.gradient(loss, [v.value for v in variables]), variables)

        model.optimizer.build(model.trainable_variables)
        step()
        mychip.synchronize(ordinal)
        before = mychip.counters(ordinal)["cycles"]
        step()
        mychip.synchronize(ordinal)
        return mychip.counters(ordinal)["cycles"] - before


def test_modelled_step_of_a_transformer(device: str) -> None:
    """Width 512, forward, backward and update, as one jitted program."""
    x = np.random.default_rng(0).normal(size=(4, 128, 512)).astype(np.float32)
    cycles = {name: cycles_of_a_step(name, lambda: transformer(512, 128), x, device) for name in SETTINGS}
    speedup = {name: cycles["float32"] / count for name, count in cycles.items()}
    assert speedup["tf32"] > 1.2
    assert speedup["mixed_bfloat16"] >= 1.8, speedup
    assert speedup["mixed_float16"] >= 1.8, speedup


def texts() -> tuple[np.ndarray, np.ndarray]:
    """Pieces of WORDS words (hashed to 1..511) of what help() says of four modules, and of which one."""
    rows, labels = [], []
    for label, module in enumerate(("datetime", "decimal", "tarfile", "unittest")):
        words = re.findall(r"[a-z_]+", pydoc.plain(pydoc.render_doc(module)).lower())
        numbers = np.array([zlib.crc32(word.encode()) % 511 + 1 for word in words])
        pieces = numbers[: len(numbers) // WORDS * WORDS].reshape(-1, WORDS)[:400]
        rows.append(pieces)
        labels.append(np.full(len(pieces), label))
    return np.concatenate(rows), np.concatenate(labels)


def digits() -> tuple[np.ndarray, np.ndarray]:
    images, labels = load_digits(return_X_y=True)
    return (images / 16).astype(np.float32).reshape(-1, 8, 8), labels


def text_lstm() -> keras.Model:
    layers = keras.layers
    return keras.Sequential(
        [layers.Input((WORDS,), dtype="int32"), layers.Embedding(512, 16), layers.LSTM(32), layers.Dense(4)]
    )


# Model, data, epochs.
TRAININGS: dict[str, tuple[Callable[[], keras.Model], Callable[[], Any], int]] = {
    "mlp": (MODELS["mlp"], digits, 15),
    "cnn": (MODELS["cnn"], digits, 15),
    "transformer": (MODELS["transformer"], digits, 25),
    "lstm": (text_lstm, texts, 15),
}


def accuracy(name: str, policy: str, seed: int) -> float:
    """In percent, of the quarter of the data that is held out."""
    build, data, epochs = TRAININGS[name]
    x, y = data()
    order = np.random.default_rng(0).permutation(len(x))
    test, train = order[: len(x) // 4], order[len(x) // 4 :]
    with setting(policy):
        keras.utils.set_random_seed(seed)
        model = build()
        optimizer = keras.optimizers.Adam(3e-3)
        model.compile(
            mp.LossScaleOptimizer(optimizer) if policy == "mixed_float16" else optimizer, LOSS, metrics=["accuracy"]
        )
        model.fit(x[train], y[train], batch_size=64, epochs=epochs, verbose=0)
        return 100 * float(
            model.evaluate(x[test], y[test], batch_size=len(test), verbose=0, return_dict=True)["accuracy"]
        )


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", TRAININGS)
def test_final_accuracy_within_a_point_of_float32(name: str) -> None:
    """The mean of three seeds, after trainings that converge."""
    means = {policy: np.mean([accuracy(name, policy, seed) for seed in (1, 2, 3)]) for policy in SETTINGS}
    assert means["float32"] > 80
    for mean in means.values():
        assert mean >= means["float32"] - 1, means
