"""Wrong inputs made from the rows of the op table, and what TensorFlow's CPU says to them: in a process of its own,
since some of them abort it."""

import os
import pickle
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
from rows import Row
from tensorflow.python.framework import op_def_registry


def shapes(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """The array with a dim more, one less, one of its dims longer, and empty."""
    yield "rank + 1", array[None]
    if array.ndim:
        if array.shape[0]:
            yield "rank - 1", array[0]
            yield "longer", np.concatenate([array, array[:1]])
            yield "longer at the end", np.concatenate([array, array[..., :1]], -1) if array.shape[-1] else array
        yield "empty", array[:0]


def numbers(value: Any) -> Iterator[tuple[str, Any]]:
    """An axis, a shape, a list of them: out of range either way, and too long."""
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        yield "+ 100", value + 100
        yield "- 100", value - 100
    elif isinstance(value, list) and value and all(isinstance(v, int) and not isinstance(v, bool) for v in value):
        yield "+ 1000", [value[0] + 1000, *value[1:]]
        yield "- 1000", [value[0] - 1000, *value[1:]]
        yield "a number more", [*value, 1]
        yield "a number less", value[:-1] or np.zeros(0, np.int32)


def changes(row: Row, case: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """(description, changed arguments as arrays and attributes)."""
    given = row.inputs(case, row.dtypes[0])
    definition = op_def_registry.get(row.op)
    inputs = {arg.name for arg in definition.input_arg} if definition else set()
    for name, value in given.items():
        if isinstance(value, np.ndarray):
            for what, changed in shapes(value):
                yield f"{name}: {what}", {**given, name: changed}
        elif isinstance(value, list) and value and isinstance(value[0], np.ndarray):
            for what, changed in shapes(value[0]):
                yield f"{name}[0]: {what}", {**given, name: [changed, *value[1:]]}
        elif name in inputs:
            for what, changed in numbers(value):
                yield f"{name}: {what}", {**given, name: changed}


def convert(value: Any) -> Any:
    if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
        return [tf.constant(item) for item in value]
    return tf.constant(value) if isinstance(value, np.ndarray) else value


def answer(row: Row, given: dict[str, Any], device: str) -> tuple[str, str]:
    """("", "") or the class of the error and its message."""
    try:
        with tf.device(device):
            call = row.call or getattr(tf.raw_ops, row.op)
            tensors = {name: convert(value) for name, value in given.items()}
            result = call(**tensors)
            for tensor in result if isinstance(result, (list, tuple)) else [result]:
                tensor.numpy()
    except (tf.errors.OpError, ValueError, TypeError) as error:
        return type(error).__name__, str(error)
    return "", ""


def main() -> None:
    from ops import BY_OP

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints to stdout must not get between the answers
    while True:
        try:
            op, case, start = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        for _, given in list(changes(BY_OP[op], case))[start:]:
            pickle.dump(answer(BY_OP[op], given, "CPU:0"), answers)
            answers.flush()


if __name__ == "__main__":
    main()
