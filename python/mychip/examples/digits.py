"""Trains a small convolutional network on scikit-learn's digits: on the CPU, and on the chip in three modes.

The four runs start from the same weights and see the same batches, so they must end at the same accuracy. Prints test
accuracy, steps per second, kernel launches and the chip's modelled cycles; exits with 1 when a run falls below 96 % or
the accuracies differ by more than one point.
"""

import argparse
import sys
import time
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import mychip

MIN_ACCURACY = 0.96
MAX_SPREAD = 0.01


@dataclass(frozen=True)
class Mode:
    """How one run executes."""

    name: str
    device: str
    compile_args: dict[str, bool]


MODES = (
    Mode("CPU", "CPU:0", {"jit_compile": False}),
    Mode("MYCHIP eager", "MYCHIP:0", {"run_eagerly": True, "jit_compile": False}),
    Mode("MYCHIP tf.function", "MYCHIP:0", {"jit_compile": False}),
    Mode("MYCHIP jit_compile", "MYCHIP:0", {"jit_compile": True}),
)


@dataclass(frozen=True)
class Result:
    """What one run showed. Launches and cycles are per training step; None on the CPU."""

    mode: Mode
    accuracy: float
    steps_per_second: float
    launches: float | None
    cycles: float | None


def load_data(seed: int) -> tuple[Any, Any, Any, Any]:
    """Images float32 [n, 8, 8, 1] in 0..1 and labels int32 [n]: train and test images, train and test labels."""
    images, labels = load_digits(return_X_y=True)
    images = (images / 16.0).astype(np.float32).reshape(-1, 8, 8, 1)
    return tuple(train_test_split(images, labels.astype(np.int32), test_size=0.25, random_state=seed, stratify=labels))


def build_model() -> keras.Model:
    """Convolutions with batch normalisation and pooling, no dropout: the runs must see the same arithmetic."""
    layers = keras.layers
    return keras.Sequential(
        [
            layers.Input((8, 8, 1)),
            layers.Conv2D(32, 3, padding="same", use_bias=False),
            layers.BatchNormalization(momentum=0.9),
            layers.ReLU(),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(64, activation="relu"),
            layers.Dense(10),
        ]
    )


class Bar(keras.callbacks.Callback):
    """Moves a progress bar, and measures from the second epoch on: the first one compiles."""

    def __init__(self, progress: Progress, task: Any, device: str):
        super().__init__()
        self.progress, self.task, self.device = progress, task, device
        self.steps = 0
        self.seconds = 0.0
        self.costs = {"launches": 0, "cycles": 0}

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.started = time.perf_counter()
        self.counters = self._counters()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.progress.advance(self.task)
        self.steps_in_epoch = batch + 1

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if epoch == 0:
            return
        counters = self._counters()  # waits for the chip
        self.seconds += time.perf_counter() - self.started
        self.steps += self.steps_in_epoch
        for key in self.costs:
            self.costs[key] += counters[key] - self.counters[key]

    def _counters(self) -> dict[str, int]:
        if not self.device.startswith("MYCHIP"):
            return dict.fromkeys(self.costs, 0)
        mychip.synchronize(0)
        return mychip.counters(0)


def run(mode: Mode, data: tuple[Any, Any, Any, Any], args: argparse.Namespace, progress: Progress) -> Result:
    """Trains and evaluates one model in ``mode``."""
    x_train, x_test, y_train, y_test = data
    steps = -(-len(x_train) // args.batch_size)
    task = progress.add_task(mode.name, total=args.epochs * steps)
    with tf.device(mode.device):
        keras.utils.set_random_seed(args.seed)
        model = build_model()
        model.set_weights(initial_weights(args.seed))
        model.compile(
            optimizer=keras.optimizers.Adam(1e-3),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
            **mode.compile_args,
        )
        bar = Bar(progress, task, mode.device)
        model.fit(
            x_train, y_train, batch_size=args.batch_size, epochs=args.epochs, shuffle=False, verbose=0, callbacks=[bar]
        )
        accuracy = model.evaluate(x_test, y_test, batch_size=args.batch_size, verbose=0, return_dict=True)["accuracy"]
    where = {variable.value.device.rsplit("device:", 1)[-1] for variable in model.variables}
    if where != {mode.device}:
        raise RuntimeError(f"{mode.name}: the variables lie on {sorted(where)}, not on {mode.device}")
    on_chip = mode.device.startswith("MYCHIP")
    return Result(
        mode,
        float(accuracy),
        bar.steps / bar.seconds,
        bar.costs["launches"] / bar.steps if on_chip else None,
        bar.costs["cycles"] / bar.steps if on_chip else None,
    )


def initial_weights(seed: int) -> list[Any]:
    """The same for every run: drawn on the CPU."""
    with tf.device("CPU:0"):
        keras.utils.set_random_seed(seed)
        return [np.array(weight) for weight in build_model().get_weights()]


def verdict(results: list[Result]) -> list[str]:
    """What is wrong with the results; empty when nothing is."""
    accuracies = [result.accuracy for result in results]
    problems = [
        f"{result.mode.name} reached {result.accuracy:.2%}, less than {MIN_ACCURACY:.0%}"
        for result in results
        if not result.accuracy >= MIN_ACCURACY
    ]
    spread = float(np.max(accuracies) - np.min(accuracies))  # NaN when one of them is
    if not spread <= MAX_SPREAD + 1e-9:
        problems.append(f"the accuracies differ by {spread:.2%}, more than one point")
    return problems


def main(argv: list[str] | None = None) -> int:
    """Runs the four modes; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m mychip.examples.digits", description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10, help="at least 2: the first is not timed (default 10)")
    parser.add_argument("--batch-size", type=int, default=32, help="default 32")
    parser.add_argument("--seed", type=int, default=1, help="of the split and the initial weights (default 1)")
    args = parser.parse_args(argv)
    if args.epochs < 2 or args.batch_size < 1:
        parser.error("--epochs must be at least 2 and --batch-size at least 1")
    console = Console()
    if not tf.config.list_physical_devices("MYCHIP"):
        console.print("TensorFlow offers no MYCHIP device. `python -m mychip` says what is missing.")
        return 1
    data = load_data(args.seed)
    columns = (TextColumn("{task.description:<24}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        results = [run(mode, data, args, progress) for mode in MODES]

    table = Table(title=f"Digits CNN, {len(data[0])} training and {len(data[1])} test images, {args.epochs} epochs")
    table.add_column("mode", no_wrap=True)
    for column in ("test accuracy", "steps/s", "launches/step", "chip cycles/step"):
        table.add_column(column, justify="right")
    for r in results:
        costs = ("-" if cost is None else f"{cost:,.0f}" for cost in (r.launches, r.cycles))
        table.add_row(r.mode.name, f"{r.accuracy:.2%}", f"{r.steps_per_second:.1f}", *costs)
    console.print(table)
    problems = verdict(results)
    for problem in problems:
        console.print(f"FAILED: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
