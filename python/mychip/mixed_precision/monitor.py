"""The loss scale's counters in the logs of ``fit``, and its alarm."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from mychip.mixed_precision.loss_scale import LossScaleOptimizer
from mychip.mixed_precision.overflow import find_overflow


class LossScaleMonitor(keras.callbacks.Callback):
    """For ``fit(callbacks=[LossScaleMonitor()])`` of a model whose optimizer is our ``LossScaleOptimizer``.

    Adds ``loss_scale``, ``steps``, ``skipped`` to the epoch's logs. Every ``every`` batches (0: never in between) and
    at each epoch's end it reads the counters, and raises ``LossScaleOverflowError`` when ``max_consecutive_skips``
    steps in a row were skipped: the last batch, which is kept, runs once more, eagerly, to find layer and op. Keeping
    it costs an assignment of host memory that is not copied. Of several replicas' data the first one's is kept.

    Raises TypeError in ``fit`` for any other optimizer.
    """

    def __init__(self, every: int = 0):
        super().__init__()
        self.every = every
        self._kept: Any = None

    def on_train_begin(self, logs: Any = None) -> None:
        """Arranges for the last batch to be kept."""
        if not isinstance(self.model.optimizer, LossScaleOptimizer):
            raise TypeError(f"LossScaleMonitor needs mychip's LossScaleOptimizer, not {self.model.optimizer!r}")
        model, wrap = self.model, type(self.model)._autoconvert_optionals

        def keeping(step: Any) -> Any:
            inner = wrap(model, step)

            def run(data: Any) -> Any:
                self._keep(data)
                return inner(data)

            return run

        object.__setattr__(model, "_autoconvert_optionals", keeping)
        try:
            model.make_train_function(force=True)
        finally:
            del model.__dict__["_autoconvert_optionals"]

    def on_train_end(self, logs: Any = None) -> None:
        """Lets the batch go."""
        self._kept = None
        self.model.make_train_function(force=True)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """The check in between."""
        if self.every and (batch + 1) % self.every == 0:
            self._check()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Logs and checks."""
        state = self._check()
        if logs is not None:
            logs.update(loss_scale=state["scale"], steps=state["steps"], skipped=state["skipped"])

    def _check(self) -> dict[str, float]:
        optimizer: LossScaleOptimizer = self.model.optimizer
        return optimizer.check(self._find)

    def _find(self) -> Any:
        if self._kept is None:
            return None
        data = tf.nest.map_structure(lambda v: v.value() if isinstance(v, tf.Variable) else v, self._kept)
        x, y, weights = keras.utils.unpack_x_y_sample_weight(data)
        model = self.model

        def loss(y: Any, prediction: Any) -> Any:
            return model.compute_loss(y=y, y_pred=prediction, sample_weight=weights, training=True)

        found = find_overflow(model, x, y, loss, float(model.optimizer.dynamic_scale))
        return (
            found or "Run once more, eagerly, the last batch gives finite gradients: the overflow is not in the model."
        )

    def _keep(self, data: Any) -> None:
        local = tf.nest.map_structure(lambda t: self.model.distribute_strategy.experimental_local_results(t)[0], data)
        if self._kept is None:

            def variable(t: Any) -> Any:
                if not isinstance(t, tf.Tensor):
                    return None
                with tf.init_scope(), tf.device("CPU:0"):
                    return tf.Variable(tf.zeros((), t.dtype), shape=tf.TensorShape(None), trainable=False)

            self._kept = tf.nest.map_structure(variable, local)
        for kept, t in zip(tf.nest.flatten(self._kept), tf.nest.flatten(local), strict=True):
            if kept is not None:
                kept.assign(t)
