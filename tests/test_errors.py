"""Bad input: TensorFlow's usual error with the op's name, in eager and in graphs, and a device that goes on working."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf


def f(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def i(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


WINDOW = {"strides": [1, 1, 1, 1], "padding": "VALID"}

# op, arguments that its kernel must refuse. Shapes are hidden from shape inference in the graph test.
SHAPES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("MatMul", {"a": f(2, 3), "b": f(4, 5)}),
    ("MatMul", {"a": f(2), "b": f(2, 2)}),
    ("BatchMatMulV2", {"x": f(2, 3, 4), "y": f(2, 5, 4)}),
    ("BatchMatMulV2", {"x": f(2, 3, 4), "y": f(3, 4, 4)}),
    ("AddV2", {"x": f(2, 3), "y": f(4)}),
    ("Less", {"x": f(2, 3), "y": f(2)}),
    ("AddN", {"inputs": [f(2, 3), f(3, 2)]}),
    ("SelectV2", {"condition": np.ones(3, bool), "t": f(2, 2), "e": f(2, 2)}),
    ("BiasAdd", {"value": f(2, 3), "bias": f(4)}),
    ("BiasAdd", {"value": f(3), "bias": f(3)}),
    ("ConcatV2", {"values": [f(2, 3), f(3, 2)], "axis": 0}),
    ("ConcatV2", {"values": [f(2, 3), f(2, 3)], "axis": 2}),
    ("Pack", {"values": [f(2), f(3)], "axis": 0}),
    ("Reshape", {"tensor": f(2, 3), "shape": i(4, 2)}),
    ("Transpose", {"x": f(2, 3), "perm": i(0, 0)}),
    ("Transpose", {"x": f(2, 3), "perm": i(0)}),
    ("Slice", {"input": f(3, 3), "begin": i(0, 2), "size": i(1, 2)}),
    ("StridedSlice", {"input": f(3), "begin": i(0), "end": i(2), "strides": i(0)}),
    ("StridedSlice", {"input": f(3), "begin": i(7), "end": i(8), "strides": i(1), "shrink_axis_mask": 1}),
    ("Pad", {"input": f(2, 2), "paddings": np.array([[1, 1]], np.int32)}),
    ("Pad", {"input": f(2), "paddings": np.array([[-1, 1]], np.int32)}),
    ("Tile", {"input": f(2, 2), "multiples": i(2)}),
    ("Tile", {"input": f(2, 2), "multiples": i(2, -1)}),
    ("BroadcastTo", {"input": f(3), "shape": i(2, 2)}),
    ("Fill", {"dims": i(2, -1), "value": f()}),
    ("Split", {"axis": 0, "value": f(5), "num_split": 2}),
    ("Sum", {"input": f(2, 2), "axis": i(2), "keep_dims": False}),
    ("Max", {"input": f(2, 2), "axis": i(0, 0), "keep_dims": False}),
    ("ArgMax", {"input": f(2, 2), "dimension": 5}),
    ("Softmax", {"logits": f()}),
    ("SparseSoftmaxCrossEntropyWithLogits", {"features": f(3, 4), "labels": i(1, 2)}),
    ("SoftmaxCrossEntropyWithLogits", {"features": f(3, 4), "labels": f(3, 5)}),
    ("Conv2D", {"input": f(1, 5, 5, 3), "filter": f(3, 3, 2, 4), **WINDOW}),
    ("MaxPool", {"input": f(1, 3, 3, 2), "ksize": [1, 5, 5, 1], **WINDOW}),
    ("UnsortedSegmentSum", {"data": f(4, 2), "segment_ids": i(0, 1), "num_segments": 2}),
)

# TensorFlow's CPU kernels abort the process on these.
CPU_ABORTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Conv2D", {"input": f(5, 5, 3), "filter": f(3, 3, 3, 4), **WINDOW}),
    ("GatherV2", {"params": f(4), "indices": i(1), "axis": 3}),
)

# Values that the kernel sees on the chip: the error comes with the next synchronisation.
VALUES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("GatherV2", {"params": f(4, 2), "indices": i(1, 4), "axis": 0}),
    ("SparseSoftmaxCrossEntropyWithLogits", {"features": f(3, 4), "labels": i(0, 4, 1)}),
    ("FloorDiv", {"x": np.ones(3, np.int64), "y": np.array([1, 0, 1], np.int64)}),
    ("FloorMod", {"x": np.ones(3, np.int64), "y": np.array([1, 0, 1], np.int64)}),
)


def name(case: Any) -> str:
    return case[0]


def tensors(arguments: dict[str, Any]) -> dict[str, Any]:
    def convert(value: Any) -> Any:
        if isinstance(value, list) and isinstance(value[0], np.ndarray):
            return [tf.constant(item) for item in value]
        return tf.constant(value) if isinstance(value, np.ndarray) else value

    return {key: convert(value) for key, value in arguments.items()}


def read(result: Any) -> None:
    for tensor in result if isinstance(result, (list, tuple)) else [result]:
        tensor.numpy()


def call(op: str, arguments: dict[str, Any], device: str) -> None:
    with tf.device(device):
        read(getattr(tf.raw_ops, op)(**tensors(arguments)))


def error_on_cpu(op: str, arguments: dict[str, Any]) -> type[Exception]:
    with pytest.raises(tf.errors.OpError) as caught:
        call(op, arguments, "CPU:0")
    # With oneDNN, TensorFlow's CPU Softmax answers ABORTED for a scalar; its own kernel, and so ours, INVALID_ARGUMENT.
    onednn_aborts = isinstance(caught.value, tf.errors.AbortedError)
    return tf.errors.InvalidArgumentError if onednn_aborts else type(caught.value)


def assert_alive(device: str) -> None:
    with tf.device(device):
        np.testing.assert_array_equal((tf.constant([1.0, 2.0]) * 2).numpy(), [2, 4])


@pytest.mark.parametrize("case", SHAPES, ids=name)
def test_eager_shapes(case: tuple[str, dict[str, Any]], device: str) -> None:
    op, arguments = case
    with pytest.raises(error_on_cpu(op, arguments), match=op):
        call(op, arguments, device)
    assert_alive(device)


@pytest.mark.parametrize("case", CPU_ABORTS, ids=name)
def test_what_aborts_the_cpu_is_an_error(case: tuple[str, dict[str, Any]], device: str) -> None:
    op, arguments = case
    with pytest.raises(tf.errors.InvalidArgumentError, match=op):
        call(op, arguments, device)
    assert_alive(device)


@pytest.mark.parametrize("case", SHAPES, ids=name)
def test_graph_shapes(case: tuple[str, dict[str, Any]], device: str) -> None:
    """Shape inference does not see the shapes: the kernel must."""
    op, arguments = case
    given = [value for value in arguments.values() if isinstance(value, np.ndarray)]
    given += [item for value in arguments.values() if isinstance(value, list) for item in value]
    given = [value for value in given if isinstance(value, np.ndarray)]
    specs = [tf.TensorSpec(None, array.dtype) for array in given]

    @tf.function(input_signature=specs, autograph=False)
    def function(*inputs: Any) -> Any:
        order = [id(array) for array in given]
        built = {}
        for key, value in arguments.items():
            if isinstance(value, list) and isinstance(value[0], np.ndarray):
                built[key] = [inputs[order.index(id(item))] for item in value]
            elif isinstance(value, np.ndarray):
                built[key] = inputs[order.index(id(value))]
            else:
                built[key] = value
        return getattr(tf.raw_ops, op)(**built)

    with tf.device(device), pytest.raises(tf.errors.OpError) as caught:
        read(function(*[tf.constant(array) for array in given]))
    assert isinstance(caught.value, error_on_cpu(op, arguments))
    assert op in str(caught.value)
    assert_alive(device)


@pytest.mark.parametrize("case", VALUES, ids=name)
def test_values(case: tuple[str, dict[str, Any]], device: str) -> None:
    op, arguments = case
    with pytest.raises(error_on_cpu(op, arguments)):
        call(op, arguments, device)
    assert_alive(device)


@pytest.mark.parametrize("path", ["eager", "graph", "jit"])
def test_no_kernel_is_an_error(path: str, device: str) -> None:
    """Without soft placement an op the chip does not have is refused by name."""

    def hash_strings(x: Any) -> Any:
        with tf.device(device):  # inside: the scope around a call does not reach the nodes of its graph
            return tf.raw_ops.StringToHashBucketFast(input=tf.strings.as_string(x), num_buckets=7)

    call_it = hash_strings if path == "eager" else tf.function(hash_strings, jit_compile=path == "jit")
    with tf.device(device), pytest.raises(tf.errors.OpError, match=r"AsString|StringToHashBucketFast"):
        call_it(tf.constant([1.0, 2.0]))
    assert_alive(device)


@pytest.mark.parametrize("path", ["eager", "graph", "jit"])
def test_out_of_memory(path: str, device: str) -> None:
    """RESOURCE_EXHAUSTED; the tensors that were there stay usable."""

    def grow(x: Any) -> Any:
        return tf.tile(tf.reshape(x, [1, -1]), [1 << 16, 1])  # 64 GiB

    call_it = grow if path == "eager" else tf.function(grow, jit_compile=path == "jit")
    with tf.device(device):
        x = tf.ones([1 << 18])
        with pytest.raises(tf.errors.ResourceExhaustedError):
            call_it(x).numpy()
        np.testing.assert_array_equal(x.numpy()[:4], 1)
    assert_alive(device)
