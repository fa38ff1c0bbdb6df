"""Resource variables on the device: assignments, sparse reads and writes, sharing, concurrency. Reference: TF CPU."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

NUMERIC = [
    *(tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.complex64, tf.complex128),
    *(tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64),
]
REAL = [d for d in NUMERIC if not d.is_complex]
INDICES = [tf.int32, tf.int64]
SCATTERS = {
    "add": tf.raw_ops.ResourceScatterAdd,
    "sub": tf.raw_ops.ResourceScatterSub,
    "mul": tf.raw_ops.ResourceScatterMul,
    "div": tf.raw_ops.ResourceScatterDiv,
    "min": tf.raw_ops.ResourceScatterMin,
    "max": tf.raw_ops.ResourceScatterMax,
    "update": tf.raw_ops.ResourceScatterUpdate,
}
SCATTERS_ND = {
    "add": tf.raw_ops.ResourceScatterNdAdd,
    "sub": tf.raw_ops.ResourceScatterNdSub,
    "min": tf.raw_ops.ResourceScatterNdMin,
    "max": tf.raw_ops.ResourceScatterNdMax,
    "update": tf.raw_ops.ResourceScatterNdUpdate,
}


def values(shape: tuple[int, ...], dtype: tf.DType, seed: int = 0) -> np.ndarray:
    """Small numbers, none of them 0 (they divide), exact in every dtype."""
    numbers = np.random.default_rng(seed).integers(1, 9, shape)
    return numbers.astype(dtype.as_numpy_dtype)


def on(device: str, value: Any) -> tf.Tensor:
    """`value` as a tensor in the device's memory (int32 too, which TensorFlow likes to keep on the host)."""
    with tf.device("CPU:0"):
        host = tf.constant(value)
    return host._copy(device_name=device)


def variable(device: str, value: Any) -> tf.Variable:
    with tf.device(device):
        return tf.Variable(on(device, value))


def both(device: str, program: Callable[[str], tf.Variable]) -> None:
    """`program` leaves the same bytes in its variable on the device as on the CPU."""
    expected, actual = (program(d).numpy() for d in ("CPU:0", device))
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("dtype", [*NUMERIC, tf.bool], ids=lambda d: d.name)
def test_assign(device: str, dtype: tf.DType) -> None:
    first = values((3, 5), dtype)

    def program(place: str) -> tf.Variable:
        v = variable(place, np.zeros_like(first))
        assert v.device.endswith(place)
        with tf.device(place):
            v.assign(on(place, first))
        return v

    both(device, program)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (4, 0), (300, 70)])
@pytest.mark.parametrize("dtype", NUMERIC, ids=lambda d: d.name)
def test_assign_add_and_sub(device: str, dtype: tf.DType, shape: tuple[int, ...]) -> None:
    def program(place: str) -> tf.Variable:
        v = variable(place, values(shape, dtype))
        with tf.device(place):
            for seed in range(3):
                v.assign_add(on(place, values(shape, dtype, seed)))
            v.assign_sub(on(place, values(shape, dtype, 7)))
        return v

    both(device, program)


@pytest.mark.parametrize("name", SCATTERS)
@pytest.mark.parametrize("scalar", [False, True])
def test_scatter(device: str, name: str, scalar: bool) -> None:
    """Every dtype and index dtype, repeated indices, indices of rank 0 to 2."""
    dtypes = REAL if name in ("min", "max") else NUMERIC
    if name == "update":
        dtypes = [*NUMERIC, tf.bool]
    for dtype in dtypes:
        for index_dtype in INDICES:
            for index in (2, [0, 3, 3], [[1, 4], [4, 0]], np.zeros((0,), int)):
                indices = np.asarray(index, index_dtype.as_numpy_dtype)
                shape = () if scalar else (*indices.shape, 7)

                def program(place: str, indices: Any = indices, dtype: Any = dtype, shape: Any = shape) -> tf.Variable:
                    v = variable(place, values((5, 7), dtype))
                    with tf.device(place):
                        updates = on(place, values(shape, dtype, 1))
                        SCATTERS[name](resource=v.handle, indices=on(place, indices), updates=updates)
                    return v

                both(device, program)


@pytest.mark.parametrize("name", SCATTERS_ND)
def test_scatter_nd(device: str, name: str) -> None:
    dtypes = REAL if name in ("min", "max") else NUMERIC
    for dtype in dtypes:
        for index_dtype in INDICES:
            for index in ([[1], [3], [1]], [[0, 2], [4, 6]], [[[0, 1]], [[2, 2]]], [[0, 1, 2], [4, 6, 1]]):
                indices = np.asarray(index, index_dtype.as_numpy_dtype)
                shape = (*indices.shape[:-1], *(5, 7, 3)[indices.shape[-1] :])

                def program(place: str, indices: Any = indices, dtype: Any = dtype, shape: Any = shape) -> tf.Variable:
                    v = variable(place, values((5, 7, 3), dtype))
                    with tf.device(place):
                        updates = on(place, values(shape, dtype, 1))
                        SCATTERS_ND[name](ref=v.handle, indices=on(place, indices), updates=updates)
                    return v

                both(device, program)


@pytest.mark.parametrize("index_dtype", INDICES, ids=lambda d: d.name)
@pytest.mark.parametrize("dtype", [*NUMERIC, tf.bool], ids=lambda d: d.name)
def test_gather(device: str, dtype: tf.DType, index_dtype: tf.DType) -> None:
    table = values((4, 6, 3), dtype)
    cases = [(0, [3, 0, 3]), (0, 2), (0, [[1], [2]]), (1, [[0, 5], [1, 1], [2, 3], [4, 4]]), (0, np.zeros((0, 2), int))]

    def gather(place: str, batch_dims: int, index: Any) -> np.ndarray:
        v = variable(place, table)
        with tf.device(place):
            indices = on(place, np.asarray(index, index_dtype.as_numpy_dtype))
            result = tf.raw_ops.ResourceGather(resource=v.handle, indices=indices, dtype=dtype, batch_dims=batch_dims)
        return result.numpy()

    for batch_dims, index in cases:
        np.testing.assert_array_equal(gather(device, batch_dims, index), gather("CPU:0", batch_dims, index))


@pytest.mark.parametrize("index_dtype", INDICES, ids=lambda d: d.name)
def test_gather_nd(device: str, index_dtype: tf.DType) -> None:
    table = values((4, 6, 3), tf.float32)

    def gather(place: str, index: Any) -> np.ndarray:
        v = variable(place, table)
        with tf.device(place):
            indices = on(place, np.asarray(index, index_dtype.as_numpy_dtype))
            return tf.raw_ops.ResourceGatherNd(resource=v.handle, indices=indices, dtype=tf.float32).numpy()

    for index in ([[1], [3]], [[0, 2], [3, 5]], [2, 1, 0], np.zeros((2, 0), int), np.zeros((0, 2), int)):
        np.testing.assert_array_equal(gather(device, index), gather("CPU:0", index))


SLICES: list[Any] = [
    (np.s_[1], (6, 3)),
    (np.s_[1, 2:5], (3, 3)),
    (np.s_[::2, ::-1, 1:], (2, 6, 2)),
    (np.s_[..., 0], (4, 6)),
    (np.s_[3:0:-2, tf.newaxis, 4], (2, 1, 3)),
    (np.s_[2:2], (0, 6, 3)),
    (np.s_[1:3], ()),
    (np.s_[:, 1:4], (3, 1)),
]


@pytest.mark.parametrize("dtype", [tf.float32, tf.bfloat16, tf.int64, tf.bool, tf.complex128], ids=lambda d: d.name)
def test_slice_assign(device: str, dtype: tf.DType) -> None:
    """ResourceStridedSliceAssign with every kind of index."""
    for index, shape in SLICES:

        def program(place: str, index: Any = index, shape: Any = shape) -> tf.Variable:
            v = variable(place, values((4, 6, 3), dtype))
            with tf.device(place):
                v[index].assign(on(place, values(shape, dtype, 5)))
            return v

        both(device, program)


def update(v: tf.Variable, kind: str, place: str) -> None:
    """One update of a float32 variable of shape (4, 6)."""
    row = on(place, np.full((1, 6), 10, np.float32))
    if kind == "assign_add":
        v.assign_add(on(place, np.full((4, 6), 10, np.float32)))
    elif kind == "scatter":
        v.scatter_add(tf.IndexedSlices(row, on(place, np.array([2]))))
    elif kind == "scatter_nd":
        v.scatter_nd_update(on(place, np.array([[1]])), row)
    else:
        v[3].assign(row[0])


KINDS = ["assign_add", "scatter", "scatter_nd", "slice"]


@pytest.mark.parametrize("kind", KINDS)
def test_held_value_does_not_change(device: str, kind: str) -> None:
    """What was read before an update keeps its bytes; so does a variable that shares the buffer."""
    start = values((4, 6), tf.float32)
    v, w = variable(device, start), variable(device, start * 0)
    with tf.device(device):
        held = v.read_value()
        w.assign(v)
        for _ in range(3):
            update(v, kind, device)
        np.testing.assert_array_equal(held.numpy(), start)
        np.testing.assert_array_equal(w.numpy(), start)
        update(w, kind, device)
        update(w, kind, device)
        update(w, kind, device)
    np.testing.assert_array_equal(w.numpy(), v.numpy())
    assert (v.numpy() != start).any()


@pytest.mark.parametrize("kind", KINDS)
def test_update_is_in_place(device: str, kind: str) -> None:
    """Nobody else holds the buffer: no second one is made."""
    v = variable(device, np.zeros((4, 6), np.float32))
    with tf.device(device):
        update(v, kind, device)
        tf.config.experimental.reset_memory_stats(device)
        before = tf.config.experimental.get_memory_info(device)["current"]
        big = variable(device, np.zeros((1000, 6), np.float32))
        tf.config.experimental.reset_memory_stats(device)
        held = tf.config.experimental.get_memory_info(device)["current"]
        for _ in range(5):
            update(v, kind, device)
        assert tf.config.experimental.get_memory_info(device)["current"] == held
        assert held > before
        del big


def test_reads_around_a_sparse_update(device: str) -> None:
    """TensorFlow's own sparse kernels switch to copy-on-read; ours need not, and DisableCopyOnRead is harmless."""
    v = variable(device, np.zeros((4, 6), np.float32))
    with tf.device(device):
        before = v.read_value()
        v.scatter_add(tf.IndexedSlices(on(device, np.ones((1, 6), np.float32)), on(device, np.array([1]))))
        after = v.read_value()
        tf.raw_ops.DisableCopyOnRead(resource=v.handle)
        v.assign_add(on(device, np.ones((4, 6), np.float32)))
    row = np.eye(4, dtype=np.float32)[1][:, None] * np.ones(6, np.float32)
    np.testing.assert_array_equal(before.numpy(), np.zeros((4, 6)))
    np.testing.assert_array_equal(after.numpy(), row)
    np.testing.assert_array_equal(v.numpy(), row + 1)


def test_tied_weights(device: str) -> None:
    """One variable used twice in a step gets the sum of both gradients."""

    def train(place: str) -> tf.Variable:
        v = variable(place, np.eye(3, dtype=np.float32))
        x = on(place, values((2, 3), tf.float32))
        with tf.device(place):
            for _ in range(3):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum(tf.matmul(tf.matmul(x, v), v))
                v.assign_sub(tape.gradient(loss, v) * on(place, np.float32(2**-10)))
        return v

    np.testing.assert_allclose(train(device).numpy(), train("CPU:0").numpy(), rtol=1e-6)


def test_concurrent_readers(device: str) -> None:
    """A reader sees one whole update or another, never a mixture."""
    size = 50_000
    v = variable(device, np.zeros(size, np.float32))
    done = threading.Event()
    failures: list[str] = []

    def read() -> None:
        while not done.is_set():
            seen = v.numpy()
            if (seen != seen[0]).any():
                failures.append(f"saw {np.unique(seen)}")
                return

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    with tf.device(device):
        one = on(device, np.ones(size, np.float32))
        for _ in range(100):
            v.assign_add(one)
    done.set()
    for reader in readers:
        reader.join()
    assert not failures
    np.testing.assert_array_equal(v.numpy(), np.full(size, 100))


@pytest.mark.parametrize("name", ["add", "update", "max"])
def test_bad_index(device: str, name: str) -> None:
    """TensorFlow CPU's error, at the next read; nothing is written and the variable stays usable."""
    for bad in ([0, 5], [-1, 2]):
        v = variable(device, np.ones((5, 2), np.float32))
        with tf.device(device):
            updates = on(device, np.full((2, 2), 3, np.float32))
            SCATTERS[name](resource=v.handle, indices=on(device, np.array(bad)), updates=updates)
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"is not in \[0, 5\)"):
                v.numpy()
            np.testing.assert_array_equal(v.numpy(), np.ones((5, 2)))


def test_bad_gather_index(device: str) -> None:
    v = variable(device, np.ones((5, 2), np.float32))
    with tf.device(device), pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = 7 is not in \[0, 5\)"):
        tf.raw_ops.ResourceGather(resource=v.handle, indices=on(device, np.array([0, 7])), dtype=tf.float32).numpy()
    np.testing.assert_array_equal(v.numpy(), np.ones((5, 2)))


BAD_SHAPES: dict[str, Callable[[tf.Variable, Callable[[Any], tf.Tensor]], Any]] = {
    "assign": lambda v, t: tf.raw_ops.AssignVariableOp(
        resource=v.handle, value=t(np.ones((3, 2), np.float32)), validate_shape=True
    ),
    "assign_add": lambda v, t: tf.raw_ops.AssignAddVariableOp(resource=v.handle, value=t(np.ones(3, np.float32))),
    "assign_sub": lambda v, t: tf.raw_ops.AssignSubVariableOp(resource=v.handle, value=t(np.ones(3, np.float32))),
    "scatter": lambda v, t: tf.raw_ops.ResourceScatterAdd(
        resource=v.handle, indices=t([0, 1]), updates=t(np.ones((2, 3), np.float32))
    ),
    "scatter_nd": lambda v, t: tf.raw_ops.ResourceScatterNdAdd(
        ref=v.handle, indices=t([[0]]), updates=t(np.ones((1, 3), np.float32))
    ),
    "slice": lambda v, t: v[1:3].assign(t(np.ones((3, 2), np.float32))),
    "gather": lambda v, t: tf.raw_ops.ResourceGather(resource=v.handle, indices=t([0]), dtype=tf.float32, batch_dims=1),
}


@pytest.mark.parametrize("name", BAD_SHAPES)
def test_bad_shape(device: str, name: str) -> None:
    v = variable(device, np.ones((5, 2), np.float32))
    with tf.device(device), pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        BAD_SHAPES[name](v, lambda value: on(device, value))
    np.testing.assert_array_equal(v.numpy(), np.ones((5, 2)))


def test_without_a_value(device: str) -> None:
    with tf.device(device):
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[2], shared_name="mychip_test_no_value")
        one = on(device, np.ones(2, np.float32))
        with pytest.raises((tf.errors.FailedPreconditionError, tf.errors.NotFoundError)):
            tf.raw_ops.AssignAddVariableOp(resource=handle, value=one)
        assert not tf.raw_ops.VarIsInitializedOp(resource=handle).numpy()
        tf.raw_ops.AssignVariableOp(resource=handle, value=one)
        assert tf.raw_ops.VarIsInitializedOp(resource=handle).numpy()
        tf.raw_ops.DestroyResourceOp(resource=handle)


def test_in_a_graph(device: str) -> None:
    """Updates and reads in one function happen in program order."""
    v = variable(device, np.zeros(4, np.float32))

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        before = v.read_value()
        v.assign_add(x)
        between = v.read_value()
        v.scatter_update(tf.IndexedSlices(x[:1], tf.constant([3])))
        return tf.stack([before, between, v.read_value()])

    with tf.device(device):
        seen = step(on(device, np.arange(1, 5, dtype=np.float32))).numpy()
    np.testing.assert_array_equal(seen, [[0, 0, 0, 0], [1, 2, 3, 4], [1, 2, 3, 1]])


@pytest.mark.parametrize("update", ["add", "sub"])
def test_scatter_nd_of_flags(device: str, update: str) -> None:
    """TensorFlow's CPU has these kernels: a sum of flags is "or", a difference says whether they differ."""

    def program(place: str) -> tf.Variable:
        v = variable(place, np.array([True, True, False, False]))
        with tf.device(place):
            SCATTERS_ND[update](ref=v.handle, indices=[[0], [1], [2], [3]], updates=[True, False, True, False])
        return v

    both(device, program)
