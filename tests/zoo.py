"""Whole models, with small inputs and random weights: what test_zoo.py runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

layers = keras.layers


@dataclass(frozen=True)
class Entry:
    """A model, its inputs and labels for one step, and its loss of (labels, outputs)."""

    build: Callable[[], keras.Model]
    inputs: Callable[[np.random.Generator], Any]
    loss: Callable[[Any, Any], Any]
    labels: Callable[[np.random.Generator], Any]
    random: bool = False  # draws numbers while training
    full: bool = False  # minutes


def images(*shape: int) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: rng.uniform(-1, 1, shape).astype(np.float32)


def classes(count: int, below: int) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: rng.integers(0, below, count)


def words(*shape: int, below: int = 50) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: rng.integers(1, below, shape).astype(np.int32)


def padded(rows: int, length: int, below: int = 50) -> Callable[[np.random.Generator], np.ndarray]:
    """Texts of different lengths, ended by zeros: what an Embedding with mask_zero masks."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        text = rng.integers(1, below, (rows, length)).astype(np.int32)
        text[np.arange(length) >= rng.integers(2, length + 1, (rows, 1))] = 0
        return text

    return draw


def cross_entropy(labels: Any, logits: Any) -> Any:
    return tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True))


def binary(labels: Any, logits: Any) -> Any:
    return tf.reduce_mean(keras.losses.binary_crossentropy(labels, logits, from_logits=True))


def application(name: str, size: int) -> Callable[[], keras.Model]:
    """A network of keras.applications with 10 classes and logits as outputs."""

    def build() -> keras.Model:
        network = getattr(keras.applications, name)
        return network(
            weights=None, classes=10, classifier_activation=None, input_shape=(size, size, 3), include_top=True
        )

    return build


def lstm_text() -> keras.Model:
    x = inputs = layers.Input((12,), dtype="int32")
    x = layers.Embedding(50, 16, mask_zero=True)(x)
    x = layers.Bidirectional(layers.LSTM(12, return_sequences=True))(x)
    return keras.Model(inputs, layers.Dense(3)(layers.GRU(10)(x)))


def block(x: Any, causal: bool, dropout: float) -> Any:
    """Pre-normalised attention and feed-forward layers."""
    y = layers.LayerNormalization()(x)
    x = x + layers.MultiHeadAttention(4, 8, dropout=dropout)(y, y, use_causal_mask=causal)
    y = layers.LayerNormalization()(x)
    return x + layers.Dropout(dropout)(layers.Dense(32)(layers.Dense(64, activation="gelu")(y)))


class Positions(layers.Layer):
    """Adds a learned vector per position."""

    def build(self, shape: Any) -> None:
        self.table = self.add_weight(shape=(shape[1], shape[2]), initializer="random_normal", name="positions")

    def call(self, x: Any) -> Any:
        return x + self.table


def transformer_encoder() -> keras.Model:
    x = inputs = layers.Input((16,), dtype="int32")
    x = Positions()(layers.Embedding(50, 32)(x))
    for _ in range(2):
        x = block(x, causal=False, dropout=0.1)
    return keras.Model(inputs, layers.Dense(5)(layers.GlobalAveragePooling1D()(x)))


def gpt_decoder() -> keras.Model:
    x = inputs = layers.Input((16,), dtype="int32")
    x = Positions()(layers.Embedding(50, 32)(x))
    for _ in range(2):
        x = block(x, causal=True, dropout=0.0)
    return keras.Model(inputs, layers.Dense(50)(layers.LayerNormalization()(x)))


def unet() -> keras.Model:
    def convolved(x: Any, filters: int) -> Any:
        for _ in range(2):
            x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)))
        return x

    x = inputs = layers.Input((32, 32, 3))
    skips = []
    for filters in (8, 16):
        x = convolved(x, filters)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = convolved(x, 32)
    for filters, skip in ((16, skips[1]), (8, skips[0])):
        x = layers.Conv2DTranspose(filters, 3, strides=2, padding="same")(x)
        x = convolved(layers.Concatenate()([x, skip]), filters)
    x = layers.UpSampling2D(interpolation="bilinear")(layers.AveragePooling2D(2)(x))
    return keras.Model(inputs, layers.Conv2D(1, 1)(x))


class Sampling(layers.Layer):
    """A normal number for each mean and logarithm of a variance; adds the KL divergence to the losses."""

    def __init__(self) -> None:
        super().__init__()
        self.seeds = keras.random.SeedGenerator(7)

    def call(self, parts: Any) -> Any:
        mean, log_variance = parts
        self.add_loss(-0.5 * keras.ops.mean(1 + log_variance - mean**2 - keras.ops.exp(log_variance)))
        return mean + keras.ops.exp(0.5 * log_variance) * keras.random.normal(keras.ops.shape(mean), seed=self.seeds)


def vae() -> keras.Model:
    x = inputs = layers.Input((16, 16, 1))
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(x)
    x = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(x)
    x = layers.Dense(16, activation="relu")(layers.Flatten()(x))
    x = Sampling()([layers.Dense(4)(x), layers.Dense(4)(x)])
    x = layers.Reshape((4, 4, 16))(layers.Dense(4 * 4 * 16, activation="relu")(x))
    for filters in (16, 8):
        x = layers.Conv2DTranspose(filters, 3, strides=2, padding="same", activation="relu")(x)
    return keras.Model(inputs, layers.Conv2D(1, 3, padding="same")(x))


class Dcgan(keras.Model):
    """Generator and discriminator; its output are the logits of real and made images, one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.generator = keras.Sequential(
            [
                layers.Dense(4 * 4 * 16, use_bias=False),
                layers.BatchNormalization(),
                layers.LeakyReLU(0.2),
                layers.Reshape((4, 4, 16)),
                layers.Conv2DTranspose(8, 5, strides=2, padding="same", use_bias=False),
                layers.BatchNormalization(),
                layers.LeakyReLU(0.2),
                layers.Conv2DTranspose(1, 5, strides=2, padding="same", activation="tanh"),
            ]
        )
        self.discriminator = keras.Sequential(
            [
                layers.Conv2D(8, 5, strides=2, padding="same"),
                layers.LeakyReLU(0.2),
                layers.Conv2D(16, 5, strides=2, padding="same"),
                layers.LeakyReLU(0.2),
                layers.Dropout(0.3),
                layers.Flatten(),
                layers.Dense(1),
            ]
        )

    def call(self, inputs: Any, training: bool = False) -> Any:
        real, noise = inputs
        made = self.generator(noise, training=training)
        return keras.ops.concatenate([self.discriminator(image, training=training) for image in (real, made)])


def dlrm() -> keras.Model:
    """Dense features and three categories, their pairwise products, a small network on top."""
    dense = layers.Input((13,))
    categories = [layers.Input((), dtype="int32") for _ in range(3)]
    vectors = [layers.Dense(8, activation="relu")(layers.Dense(16, activation="relu")(dense))]
    vectors += [layers.Embedding(size, 8)(c) for size, c in zip((20, 50, 30), categories, strict=True)]
    stacked = keras.ops.stack(vectors, axis=1)
    products = keras.ops.matmul(stacked, keras.ops.transpose(stacked, (0, 2, 1)))
    rows, columns = np.tril_indices(4, -1)
    pairs = keras.ops.take(keras.ops.reshape(products, (-1, 16)), rows * 4 + columns, axis=1)
    x = layers.Dense(16, activation="relu")(layers.Concatenate()([vectors[0], pairs]))
    return keras.Model([dense, *categories], layers.Dense(1)(x))


def _vision(name: str, size: int, batch: int = 4, random: bool = False) -> Entry:
    return Entry(
        application(name, size), images(batch, size, size, 3), cross_entropy, classes(batch, 10), random, full=True
    )


ZOO: dict[str, Entry] = {
    "ResNet50": _vision("ResNet50", 64),
    "MobileNetV2": _vision("MobileNetV2", 64),
    "EfficientNetB0": _vision("EfficientNetB0", 64, random=True),
    "DenseNet121": _vision("DenseNet121", 64),
    "ConvNeXtTiny": _vision("ConvNeXtTiny", 64),
    "InceptionV3": _vision("InceptionV3", 96),
    "lstm-text": Entry(lstm_text, padded(6, 12), cross_entropy, classes(6, 3)),
    "transformer-encoder": Entry(transformer_encoder, words(4, 16), cross_entropy, classes(4, 5), random=True),
    "gpt-decoder": Entry(gpt_decoder, words(4, 16), cross_entropy, words(4, 16)),
    "unet": Entry(unet, images(2, 32, 32, 3), binary, lambda rng: rng.integers(0, 2, (2, 32, 32, 1)) * 1.0),
    "vae": Entry(vae, images(4, 16, 16, 1), binary, lambda rng: rng.uniform(size=(4, 16, 16, 1)), random=True),
    "dcgan": Entry(
        Dcgan,
        lambda rng: (images(4, 16, 16, 1)(rng), rng.standard_normal((4, 12)).astype(np.float32)),
        binary,
        lambda rng: np.repeat([[1.0], [0.0]], 4, axis=0),
        random=True,
    ),
    "dlrm": Entry(
        dlrm,
        lambda rng: [rng.standard_normal((8, 13)).astype(np.float32), *(rng.integers(0, 20, (3, 8)).astype(np.int32))],
        binary,
        lambda rng: rng.integers(0, 2, (8, 1)) * 1.0,
    ),
}


@dataclass
class Outcome:
    """What a model computed: inference, and one step of training."""

    outputs: np.ndarray
    loss: float
    gradients: dict[str, np.ndarray]
    variables: dict[str, np.ndarray]  # after the step


class Run:
    """A model of the zoo on `device`; mode is eager, graph or jit. The same weights and seeds everywhere."""

    def __init__(self, name: str, device: str, mode: str):
        entry = ZOO[name]
        self.device, self.mode = device, mode
        rng = np.random.default_rng(3)
        self.x = tf.nest.map_structure(lambda a: a, entry.inputs(rng))
        self.y = entry.labels(rng)
        with tf.device("CPU:0"):
            initial = self._built(entry).get_weights()
        with tf.device(device):
            model = self.model = self._built(entry)
            model.set_weights(initial)
            self.optimizer = keras.optimizers.SGD(0.01, momentum=0.9)
            self.optimizer.build(model.trainable_variables)

        def infer(x: Any) -> Any:
            return model(x, training=False)

        def step(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                value = tf.add_n([entry.loss(y, model(x, training=True)), *(model.losses)])
            gradients = tape.gradient(value, [v.value for v in model.trainable_variables])
            self.optimizer.apply(gradients, model.trainable_variables)
            return value, [tf.convert_to_tensor(g) for g in gradients]

        self.infer, self.step = (
            f if mode == "eager" else tf.function(f, jit_compile=mode == "jit") for f in (infer, step)
        )

    def _built(self, entry: Entry) -> keras.Model:
        keras.utils.set_random_seed(1)
        keras.backend.clear_session()
        model = entry.build()
        model(self.x, training=False)
        return model

    def arguments(self) -> tuple[Any, Any]:
        """Inputs and labels as tensors on the device."""
        with tf.device(self.device):
            return tf.nest.map_structure(tf.constant, self.x), tf.constant(self.y)

    def outcome(self) -> Outcome:
        x, y = self.arguments()
        with tf.device(self.device):
            outputs = self.infer(x).numpy()
            loss, gradients = self.step(x, y)
        return Outcome(
            outputs,
            float(loss),
            {v.path: g.numpy() for v, g in zip(self.model.trainable_variables, gradients, strict=True)},
            {v.path: v.numpy() for v in self.model.variables},
        )
