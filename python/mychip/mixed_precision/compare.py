"""One forward and backward pass of a model under a policy, against the same in float32, layer by layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

from mychip.mixed_precision.names import name_of
from mychip.mixed_precision.watch import watch

Loss = Callable[[Any, Any], Any]


@dataclass
class Tensors:
    """Of each layer, in the order of its first call: its outputs and the gradients of them, as float32 arrays."""

    outputs: dict[str, list[np.ndarray]] = field(default_factory=dict)
    gradients: dict[str, list[np.ndarray]] = field(default_factory=dict)
    weights: dict[str, np.ndarray] = field(default_factory=dict)  # gradients of the weights, by path


def run(model: Any, x: Any, y: Any, loss: Loss, scale: float = 1.0) -> Tensors:
    """Runs ``model`` (built) once eagerly, without updating; gradients are divided by the loss scale again."""
    seen = Tensors()
    state = [(v, v.numpy()) for v in model.non_trainable_variables]

    def output(layer: Any, tensor: Any) -> None:
        seen.outputs.setdefault(name_of(layer), []).append(tf.cast(tensor, tf.float32).numpy())

    def gradient(layer: Any, tensor: Any) -> None:
        seen.gradients.setdefault(name_of(layer), []).append(tf.cast(tensor, tf.float32).numpy() / np.float32(scale))

    variables = model.trainable_variables
    with watch(on_output=output, on_gradient=gradient) as watcher, tf.GradientTape() as tape:
        value = loss(y, model(x, training=False))
        value = value * tf.cast(scale, value.dtype)
        watcher.phase = "backward"
        gradients = tape.gradient(value, [getattr(v, "value", v) for v in variables])
    for variable, g in zip(variables, gradients, strict=True):
        if g is not None:
            dense = tf.cast(tf.convert_to_tensor(g), tf.float32).numpy()
            seen.weights[variable.path] = dense / np.float32(scale)
    for variable, before in state:
        variable.assign(before)
    return seen


@dataclass(frozen=True)
class Difference:
    """Of one tensor (or several of one layer) to float32's."""

    max_error: float  # largest difference, relative to float32's largest magnitude
    mean_error: float  # mean difference, relative to float32's mean magnitude
    underflow: float  # share of elements that are 0 and are not in float32
    overflow: float  # share that is not finite and is in float32


def difference(actual: list[np.ndarray], reference: list[np.ndarray]) -> Difference:
    """NaN and infinity count as overflow and as an infinite error where float32 is finite."""
    a = np.concatenate([np.ravel(v) for v in actual]).astype(np.float64)
    r = np.concatenate([np.ravel(v) for v in reference]).astype(np.float64)
    if a.size != r.size:
        raise ValueError(f"{a.size} elements against {r.size}: the model does not do the same under both policies")
    if a.size == 0:
        return Difference(0.0, 0.0, 0.0, 0.0)
    finite = np.isfinite(r)
    broken = finite & ~np.isfinite(a)
    error = np.where(finite, np.abs(np.where(broken, np.inf, a) - np.where(finite, r, 0)), 0.0)
    magnitude = np.abs(r[finite])
    largest, mean = (float(magnitude.max()), float(magnitude.mean())) if magnitude.size else (0.0, 0.0)

    def relative(value: float, to: float) -> float:
        return value / to if to > 0 else (0.0 if value == 0 else float("inf"))

    return Difference(
        relative(float(error.max()), largest),
        relative(float(error.mean()), mean),
        float(np.mean((a == 0) & (r != 0))),
        float(np.mean(broken)),
    )
