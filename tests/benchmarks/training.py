"""Keras training steps under jit on MYCHIP against the same steps as a TensorFlow graph on the CPU and under XLA:CPU.

python tests/benchmarks/training.py [--only NAME] [--repeats N] [--resnet]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time


def mlp(keras):
    layers = keras.layers
    model = keras.Sequential([layers.Dense(256, "relu"), layers.Dense(128, "relu"), layers.Dense(10)])
    return model, (32, 64)


def cnn(keras):
    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Conv2D(32, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dropout(0.3),
            layers.Dense(10),
        ]
    )
    return model, (32, 28, 28, 1)


def lstm(keras):
    return keras.Sequential([keras.layers.LSTM(64), keras.layers.Dense(10)]), (32, 28, 28)


def _encoder(keras, width, sequence, batch, heads):
    layers = keras.layers
    inputs = keras.Input((sequence, width), batch_size=batch)
    attended = layers.MultiHeadAttention(heads, width // heads)(inputs, inputs)
    x = layers.LayerNormalization()(inputs + attended)
    hidden = layers.Dense(4 * width, "gelu")(x)
    x = layers.LayerNormalization()(x + layers.Dense(width)(hidden))
    outputs = layers.Dense(10)(layers.GlobalAveragePooling1D()(x))
    return keras.Model(inputs, outputs), (batch, sequence, width)


def transformer(keras):
    return _encoder(keras, 64, 16, 32, 4)


def transformer512(keras):
    return _encoder(keras, 512, 64, 8, 8)


def resnet50(keras):
    return keras.applications.ResNet50(weights=None, input_shape=(64, 64, 3), classes=10), (8, 64, 64, 3)


MODELS = {m.__name__: m for m in (mlp, cnn, lstm, transformer, transformer512, resnet50)}


def build_step(name: str, device: str, jit: bool):
    import keras
    import numpy as np
    import tensorflow as tf

    keras.utils.set_random_seed(0)
    with tf.device(device):
        model, shape = MODELS[name](keras)
        random = np.random.default_rng(0)
        x = tf.constant(random.standard_normal(shape).astype("float32"))
        y = tf.constant(random.integers(0, 10, shape[0]))
        loss_function = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        optimizer = keras.optimizers.Adam()
        model(x)
        optimizer.build(model.trainable_variables)

        @tf.function(jit_compile=jit)
        def step(x, y):
            with tf.GradientTape() as tape:
                loss = loss_function(y, model(x, training=True))
            optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
            return loss

    def call():
        with tf.device(device):
            return step(x, y)

    return call


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="models whose name contains this")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--resnet", action="store_true", help="also ResNet50 at 64x64 (minutes of tracing)")
    arguments = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from mychip import _core

    contenders = {"mychip": ("/MYCHIP:0", True), "tf_cpu": ("/CPU:0", False), "xla_cpu": ("/CPU:0", True)}
    print(f"{'step':16}{'':9}{'first call s':>13}{'ms/step':>10}{'cpu ms':>9}{'x':>7}{'launches':>10}{'Mcycles':>9}")
    for name in MODELS:
        if arguments.only not in name or (name == "resnet50" and not arguments.resnet):
            continue
        calls, first, walls, cpus = {}, {}, {}, {}
        for contender, (device, jit) in contenders.items():
            calls[contender] = build_step(name, device, jit)
            start = time.perf_counter()
            float(calls[contender]())
            first[contender] = time.perf_counter() - start
            float(calls[contender]())
            walls[contender], cpus[contender] = [], []
        before = _core.counters(0)
        float(calls["mychip"]())
        _core.synchronize(0)
        after = _core.counters(0)
        steps = 2 if name == "resnet50" else 10
        for _ in range(max(9, arguments.repeats)):
            for contender, call in calls.items():
                wall, cpu = time.perf_counter(), time.process_time()
                for _ in range(steps):
                    loss = call()
                float(loss)
                walls[contender].append((time.perf_counter() - wall) / steps)
                cpus[contender].append((time.process_time() - cpu) / steps)
        mine = statistics.median(walls["mychip"])
        for contender in contenders:
            wall, cpu = statistics.median(walls[contender]), statistics.median(cpus[contender])
            chip = ""
            if contender == "mychip":
                launches, cycles = (after[key] - before[key] for key in ("launches", "cycles"))
                chip = f"{launches:10d}{cycles / 1e6:9.3f}"
            print(
                f"{name:16}{contender:9}{first[contender]:13.2f}{wall * 1e3:10.3f}"
                f"{cpu * 1e3:9.3f}{wall / mine:7.2f}{chip}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
