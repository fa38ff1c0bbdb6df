"""Runs a model eagerly and shows each op and each layer's gradient to whoever watches."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf
from tensorflow.python.framework import op_callbacks

from mychip.mixed_precision.names import name_of


@dataclass(frozen=True)
class Op:
    """One op that ran eagerly."""

    layer: str  # path of the innermost layer, "" outside of any
    phase: str  # "forward" or "backward"
    type: str  # TensorFlow's op type: MatMul
    attrs: dict[str, Any]
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


class Watcher:
    """Where the run is: the stack of layers forward, the layer whose gradient arrived last backward."""

    def __init__(self) -> None:
        self.phase = "forward"
        self.stack: list[str] = []
        self.backward_layer = ""

    @property
    def layer(self) -> str:
        """Path of the layer that is running."""
        if self.phase == "backward":
            return self.backward_layer
        return self.stack[-1] if self.stack else ""


@contextlib.contextmanager
def watch(
    on_op: Callable[[Op], None] | None = None,
    on_output: Callable[[Any, Any], Any] | None = None,
    on_gradient: Callable[[Any, Any], None] | None = None,
) -> Iterator[Watcher]:
    """Within the context, for what runs eagerly in this process:

    ``on_op(op)`` after each op; ``on_output(layer, tensor)`` after each layer, which may return another tensor in its
    place (None: unchanged); ``on_gradient(layer, gradient)`` when the gradient of a layer's output arrives.
    Set ``watcher.phase = "backward"`` before ``tape.gradient``. Functions that are traced inside are seen as one op.
    """
    watcher = Watcher()
    original = keras.Layer.__call__

    def probe(layer: Any, tensor: Any) -> Any:
        if not isinstance(tensor, tf.Tensor) or not hasattr(tensor, "numpy") or not tensor.dtype.is_floating:
            return tensor
        if on_output is not None:
            replaced = on_output(layer, tensor)
            tensor = tensor if replaced is None else replaced

        def passed(x: Any) -> Any:
            def gradient(dy: Any) -> Any:
                watcher.backward_layer = name_of(layer)
                if on_gradient is not None:
                    on_gradient(layer, dy)
                return dy

            return tf.identity(x), gradient

        return tf.custom_gradient(passed)(tensor)

    def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
        watcher.stack.append(name_of(layer))
        try:
            result = original(layer, *args, **kwargs)
        finally:
            watcher.stack.pop()
        watcher.stack.append(name_of(layer))
        try:
            return tf.nest.map_structure(lambda t: probe(layer, t), result)
        finally:
            watcher.stack.pop()

    busy = False

    def callback(op_type: Any, inputs: Any, attrs: Any, outputs: Any, op_name: Any = None, graph: Any = None) -> None:
        nonlocal busy
        if graph is not None or busy or on_op is None:
            return
        busy = True  # what on_op computes is not watched
        try:
            pairs = dict(zip(attrs[::2], attrs[1::2], strict=True)) if attrs else {}
            kind = op_type.decode() if isinstance(op_type, bytes) else op_type
            on_op(Op(watcher.layer, watcher.phase, kind, pairs, tuple(inputs), tuple(outputs)))
        finally:
            busy = False

    keras.Layer.__call__ = call
    op_callbacks.add_op_callback(callback)
    try:
        yield watcher
    finally:
        op_callbacks.remove_op_callback(callback)
        keras.Layer.__call__ = original
