"""A loss scale that cannot die: Keras' LossScaleOptimizer with a floor, a ceiling, counters and an alarm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

_LARGEST_FLOAT32_POWER = 2.0**127


class LossScaleOverflowError(ArithmeticError):
    """Too many steps in a row were skipped; the message names the first layer and op that overflowed, if known."""


@keras.saving.register_keras_serializable(package="mychip")
class LossScaleOptimizer(keras.mixed_precision.LossScaleOptimizer):
    """Scales the loss, skips steps whose gradients are not finite, and keeps the scale between a floor and a ceiling.

    A drop-in for ``keras.mixed_precision.LossScaleOptimizer`` around any Keras optimizer. After ``growth_interval``
    finite steps the scale is multiplied by ``growth_factor``, after a step with a non-finite gradient by
    ``backoff_factor``, and then brought into ``[floor, ceiling]``. A skipped step leaves the weights and every variable
    of the inner optimizer bit for bit as they were.

    Updates are selects, not conditionals: nothing waits for the host, eagerly, as a graph, under ``jit_compile`` and in
    a replica of ``tf.distribute``. The price is that both the old and the new value of each variable are read.

    ``check()`` (or ``LossScaleMonitor`` in ``fit``) reads the counters and raises ``LossScaleOverflowError`` once
    ``max_consecutive_skips`` steps in a row were skipped; None never raises.

    Variables, saved with the optimizer: ``dynamic_scale`` (float32), ``step_counter`` (finite steps since the scale
    last changed), ``steps``, ``skipped``, ``consecutive_skips`` (int64 scalars).

    Raises ValueError for factors, bounds or intervals that make no sense.
    """

    def __init__(
        self,
        inner_optimizer: Any,
        initial_scale: float = 2.0**15,
        growth_interval: int = 2000,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        floor: float = 1.0,
        ceiling: float = 2.0**24,
        max_consecutive_skips: int | None = 50,
        name: str | None = None,
    ):
        if isinstance(inner_optimizer, keras.mixed_precision.LossScaleOptimizer):
            raise ValueError("inner_optimizer scales the loss already; pass the optimizer inside it")
        if growth_interval < 1 or not growth_factor > 1 or not 0 < backoff_factor < 1:
            raise ValueError(
                "wanted growth_interval >= 1, growth_factor > 1 and 0 < backoff_factor < 1, got "
                f"{growth_interval}, {growth_factor}, {backoff_factor}"
            )
        if not 0 < floor <= initial_scale <= ceiling <= _LARGEST_FLOAT32_POWER:
            raise ValueError(
                f"wanted 0 < floor <= initial_scale <= ceiling <= 2**127, got {floor}, {initial_scale}, {ceiling}"
            )
        if max_consecutive_skips is not None and max_consecutive_skips < 1:
            raise ValueError(f"max_consecutive_skips is {max_consecutive_skips}; wanted None or at least 1")
        super().__init__(inner_optimizer, initial_scale, growth_interval, name=name)
        self.growth_interval = growth_interval
        self.growth_factor = growth_factor
        self.backoff_factor = backoff_factor
        self.floor = floor
        self.ceiling = ceiling
        self.max_consecutive_skips = max_consecutive_skips

    def build(self, var_list: Sequence[Any]) -> None:
        """Creates the counters and the inner optimizer's variables for ``var_list``."""
        for counter in ("steps", "skipped", "consecutive_skips"):
            variable = self.add_variable(shape=(), dtype="int64", initializer="zeros", aggregation="none", name=counter)
            setattr(self, counter, variable)
        super().build(var_list)

    def apply(self, grads: Sequence[Any], trainable_variables: Sequence[Any] | None = None) -> None:
        """One step from the gradients of the scaled loss; in a replica context under ``tf.distribute``."""
        if tf.distribute.in_cross_replica_context():
            raise ValueError("apply() must be called in a replica context")
        if not getattr(self, "built", False):
            with keras.name_scope(self.name, caller=self):
                self.build(trainable_variables or ())
            self.built = True
        variables = list(trainable_variables) if trainable_variables is not None else self._trainable_variables
        finite = self._all_replicas_finite(grads)
        scale = self.dynamic_scale
        safe = [self._unscaled(g, v, scale, finite) for g, v in zip(grads, variables, strict=True)]
        # The inner optimizer runs always, on zeros when the step is skipped; then variables take their old values back.
        touched = [_native(v) for v in (*variables, *self.inner_optimizer.variables)]
        old = [tf.identity(v) for v in touched]
        self.inner_optimizer.apply(safe, variables)
        updates = [(v, tf.where(finite, tf.identity(v), o)) for v, o in zip(touched, old, strict=True)]
        _assign_in_each_replica(updates + self._next_counters(finite))

    def _all_replicas_finite(self, grads: Sequence[Any]) -> Any:
        finite = self.check_finite([g.values if isinstance(g, tf.IndexedSlices) else g for g in grads])
        replica = tf.distribute.get_replica_context()
        if replica.num_replicas_in_sync == 1:
            return finite
        broken = replica.all_reduce(tf.distribute.ReduceOp.SUM, tf.cast(tf.logical_not(finite), tf.float32))
        return tf.equal(broken, 0.0)

    def _unscaled(self, gradient: Any, variable: Any, scale: Any, finite: Any) -> Any:
        if gradient is None or self._overwrite_variable_with_gradient(variable):
            return gradient
        if isinstance(gradient, tf.IndexedSlices):
            values = self._unscaled(gradient.values, variable, scale, finite)
            return tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
        # Of a pure float16 policy: the scale itself may exceed float16.
        wide = tf.cast(gradient, tf.float32) if gradient.dtype.size < 4 else gradient
        unscaled = tf.cast(wide / tf.cast(scale, wide.dtype), gradient.dtype)
        return tf.where(finite, unscaled, tf.zeros_like(unscaled))

    def _next_counters(self, finite: Any) -> list[tuple[Any, Any]]:
        """The own variables and what they hold after this step."""
        scale, streak = tf.convert_to_tensor(self.dynamic_scale), tf.convert_to_tensor(self.step_counter)
        one = tf.ones_like(streak)
        grows = tf.logical_and(finite, tf.greater_equal(streak + one, tf.cast(self.growth_interval, streak.dtype)))
        grown = tf.minimum(scale * self.growth_factor, self.ceiling)
        shrunk = tf.maximum(scale * self.backoff_factor, self.floor)
        bad = tf.cast(tf.logical_not(finite), tf.int64)
        reset = tf.logical_or(grows, tf.logical_not(finite))
        return [
            (_native(self.dynamic_scale), tf.where(finite, tf.where(grows, grown, scale), shrunk)),
            (_native(self.step_counter), tf.where(reset, tf.zeros_like(streak), streak + one)),
            (_native(self.steps), tf.convert_to_tensor(self.steps) + 1),
            (_native(self.skipped), tf.convert_to_tensor(self.skipped) + bad),
            (_native(self.consecutive_skips), (tf.convert_to_tensor(self.consecutive_skips) + 1) * bad),
        ]

    def state(self) -> dict[str, float]:
        """``{"scale", "steps", "skipped", "consecutive_skips"}`` as Python numbers; waits for the device."""
        if not self.built:
            return {"scale": float(self.initial_scale), "steps": 0, "skipped": 0, "consecutive_skips": 0}
        counters = ("steps", "skipped", "consecutive_skips")
        return {"scale": float(self.dynamic_scale.numpy())} | {
            name: int(getattr(self, name).numpy()) for name in counters
        }

    def check(self, find: Any = None) -> dict[str, float]:
        """``state()``; raises LossScaleOverflowError when ``max_consecutive_skips`` was reached.

        ``find``: called without arguments before raising; what it returns, an ``overflow.Overflow`` or a sentence, ends
        the message. Waits for the device.
        """
        state = self.state()
        limit = self.max_consecutive_skips
        if limit is None or state["consecutive_skips"] < limit:
            return state
        where = None if find is None else find()
        raise LossScaleOverflowError(
            f"{state['consecutive_skips']} steps in a row had gradients that are not finite and were skipped "
            f"(max_consecutive_skips={limit}, {state['skipped']} of {state['steps']} steps skipped, loss scale "
            f"{state['scale']:g}). "
            + (str(where) if where is not None else "mychip.mixed_precision.find_overflow(...) says where it begins.")
        )

    def get_config(self) -> dict[str, Any]:
        """What ``from_config`` takes."""
        config: dict[str, Any] = super().get_config()
        del config["dynamic_growth_steps"]
        names = ("growth_interval", "growth_factor", "backoff_factor", "floor", "ceiling", "max_consecutive_skips")
        return config | {name: getattr(self, name) for name in names}


def _native(variable: Any) -> Any:
    return variable.value if isinstance(variable, keras.Variable) else variable


def _assign_in_each_replica(updates: list[tuple[Any, Any]]) -> None:
    """Assigns each (variable, value); mirrored variables take each replica's own value."""

    def assign(strategy: Any, updates: list[tuple[Any, Any]]) -> None:
        for variable, value in updates:
            strategy.extended.update(variable, lambda v, new: v.assign(new), args=(value,), group=False)

    tf.__internal__.distribute.interim.maybe_merge_call(assign, tf.distribute.get_strategy(), updates)
