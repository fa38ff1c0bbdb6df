"""The models the training tests share, on scikit-learn's digits, and one way to train them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

layers = keras.layers
BATCH = 32


def mlp() -> keras.Model:
    return keras.Sequential(
        [layers.Input((8, 8)), layers.Flatten(), layers.Dense(64, activation="relu"), layers.Dense(10)]
    )


def cnn() -> keras.Model:
    # No bias before the normalisation: its gradient is rounding noise, which Adam turns into steps.
    return keras.Sequential(
        [
            layers.Input((8, 8)),
            layers.Reshape((8, 8, 1)),
            layers.Conv2D(8, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.MaxPooling2D(),
            layers.Conv2D(16, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(10),
        ]
    )


def lstm() -> keras.Model:
    return keras.Sequential([layers.Input((8, 8)), layers.LSTM(16), layers.Dense(10)])


def transformer() -> keras.Model:
    # As for the bias before a normalisation: the attention's key bias has no gradient but noise.
    x = inputs = layers.Input((8, 8))
    x = layers.Dense(16)(x)
    for _ in range(2):
        y = layers.MultiHeadAttention(2, 8, use_bias=False)(x, x)
        x = layers.LayerNormalization()(x + y)
        y = layers.Dense(16)(layers.Dense(32, activation="gelu")(x))
        x = layers.LayerNormalization()(x + y)
    return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling1D()(x)))


MODELS: dict[str, Callable[[], keras.Model]] = {"mlp": mlp, "cnn": cnn, "lstm": lstm, "transformer": transformer}


def batches(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """`count` batches of images float32 [32, 8, 8] in 0..1 and labels int64 [32], round and round the data."""
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32).reshape(-1, 8, 8)
    per_epoch = len(images) // BATCH
    slices = [slice(i % per_epoch * BATCH, (i % per_epoch + 1) * BATCH) for i in range(count)]
    return [(images[s], labels[s].astype(np.int64)) for s in slices]


@dataclass
class Trained:
    losses: np.ndarray
    weights: list[np.ndarray]


class Trainer:
    """A model with its optimizer on `device`, and its training step: mode is eager, graph or jit."""

    def __init__(self, build: Callable[[], keras.Model], device: str, mode: str, seed: int = 1):
        self.device = device
        with tf.device("CPU:0"):
            keras.utils.set_random_seed(seed)
            initial = [weight.copy() for weight in build().get_weights()]
        with tf.device(device):
            self.model = build()
            self.model.set_weights(initial)
            self.optimizer = keras.optimizers.Adam(1e-3)
            self.optimizer.build(self.model.trainable_variables)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model, optimizer = self.model, self.optimizer

        def step(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                value = loss(y, model(x, training=True))
            variables = model.trainable_variables
            optimizer.apply(tape.gradient(value, variables), variables)
            return value

        self.step = step if mode == "eager" else tf.function(step, jit_compile=mode == "jit")

    def train(self, steps: int) -> Trained:
        with tf.device(self.device):
            losses = [self.step(tf.constant(x), tf.constant(y)) for x, y in batches(steps)]
            return Trained(np.array([float(loss) for loss in losses]), self.weights())

    def weights(self) -> list[np.ndarray]:
        return [variable.numpy() for variable in self.model.variables]

    def devices(self) -> set[str]:
        """Where the variables of model and optimizer lie, as MYCHIP:0."""
        variables = [*self.model.variables, *self.optimizer.variables]
        return {variable.value.device.rsplit("device:", 1)[-1] for variable in variables}
