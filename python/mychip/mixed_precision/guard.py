"""A floor and a ceiling for the loss scale of Keras' own LossScaleOptimizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

_KERAS = keras.mixed_precision.LossScaleOptimizer
_FINITE, _NON_FINITE = "_stateful_handle_finite_grads", "_stateful_handle_non_finite_grads"


def guard_loss_scale(optimizer: Any = None, floor: float = 1.0, ceiling: float = 2.0**24) -> Callable[[], None]:
    """Keeps the scale of Keras' LossScaleOptimizer in ``[floor, ceiling]``; returns what takes the guard off again.

    Keras puts one around the optimizer in ``compile`` under ``mixed_float16``, and halves its scale at each step with a
    non-finite gradient: after 142 in a row it is exactly 0, and the next finite step divides by it and writes NaN into
    the weights. With ``optimizer`` None every such optimizer of the process is guarded, also those made later;
    functions traced before are not. Adds no wait for the host to Keras' own, and works in every mode. Guarding twice
    replaces the bounds. Prefer ``mychip.mixed_precision.LossScaleOptimizer``, which also counts and raises the alarm.

    Raises TypeError for an optimizer that is not Keras' LossScaleOptimizer (or is already ours), ValueError unless
    0 < floor <= ceiling <= 2**127.
    """
    if not 0 < floor <= ceiling <= 2.0**127:
        raise ValueError(f"wanted 0 < floor <= ceiling <= 2**127, got {floor}, {ceiling}")
    if optimizer is not None and type(optimizer) is not _KERAS:
        raise TypeError(f"guard_loss_scale guards keras.mixed_precision.LossScaleOptimizer, not {optimizer!r}")

    def finite(self: Any, grads: Any, trainable_variables: Any) -> None:
        _ORIGINAL[_FINITE](self, grads, trainable_variables)
        self.dynamic_scale.assign(ops.minimum(self.dynamic_scale, ceiling))

    def non_finite(self: Any) -> None:
        _ORIGINAL[_NON_FINITE](self)
        self.dynamic_scale.assign(ops.maximum(self.dynamic_scale, floor))

    for name, method in ((_FINITE, finite), (_NON_FINITE, non_finite)):
        if optimizer is None:
            setattr(_KERAS, name, method)
        else:
            object.__setattr__(optimizer, name, method.__get__(optimizer))
    return lambda: _take_off(optimizer)


def _take_off(optimizer: Any) -> None:
    for name, method in _ORIGINAL.items():
        if optimizer is None:
            setattr(_KERAS, name, method)
        else:
            optimizer.__dict__.pop(name, None)


_ORIGINAL = {name: getattr(_KERAS, name) for name in (_FINITE, _NON_FINITE)}
