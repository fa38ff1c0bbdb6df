"""The bridge to XLA: what compiles and what must not, on which device, out of whose memory."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from processes import succeed
from tensorflow.python.framework import kernels

from mychip import _core


def kernels_of(op: str, device: str) -> list[Any]:
    return [k for k in kernels.get_registered_kernels_for_op(op).kernel if k.device_type == device]


def test_shape_arithmetic_compiles_nothing(device: str) -> None:
    """int32 shapes stay in host memory: a dynamic reshape is no reason to compile."""

    @tf.function(input_signature=[tf.TensorSpec([None, None, 4], tf.float32)])
    def reshaped(x: tf.Tensor) -> Any:
        shape = tf.shape(x)
        rows = tf.reshape(x, [shape[0] * shape[1], shape[2]])
        half = tf.shape(rows)[0] // 2
        first = tf.reshape(rows[:half], tf.concat([[half], tf.shape(rows)[1:]], 0))
        return first + tf.broadcast_to(first[:1], tf.stack([half, 4])), tf.range(half), tf.fill([half, 2], 1.0)

    before = _core.compile_count()
    with tf.device(device):
        for rows in (2, 3, 4):
            total, count, ones = reshaped(tf.ones([rows, 4, 4]))
            assert total.shape == (2 * rows, 4)
            np.testing.assert_array_equal(total.numpy(), np.full((2 * rows, 4), 2, np.float32))
            np.testing.assert_array_equal(count.numpy(), np.arange(2 * rows))
            assert ones.shape == (2 * rows, 2)
    assert _core.compile_count() == before


@pytest.mark.parametrize("op", ["AddV2", "Mul", "Range", "ConcatV2", "Slice", "Fill", "StridedSlice", "Pack", "Sum"])
def test_int32_is_left_to_the_host(op: str) -> None:
    """No on-demand kernel takes int32 where TensorFlow, or a kernel of ours, keeps it in host memory."""
    attribute = {"Range": "Tidx", "Fill": "T"}.get(op, "T")
    host = [k for d in ("DEFAULT", "MYCHIP") for k in kernels_of(op, d) if takes(k, attribute, tf.int32)]
    assert host, f"{op} has no int32 kernel at all"
    chosen = max((k for k in host if k.device_type == "MYCHIP"), key=lambda k: k.priority, default=host[0])
    assert chosen.host_memory_arg, chosen
    assert chosen.device_type == "DEFAULT" or chosen.priority > 0, chosen


def takes(kernel: Any, attribute: str, dtype: tf.DType) -> bool:
    limits = [c for c in kernel.constraint if c.name == attribute]
    return not limits or dtype.as_datatype_enum in limits[0].allowed_values.list.type


@pytest.mark.parametrize(
    "op", ["Shape", "Reshape", "Identity", "Const", "While", "If", "ReadVariableOp", "TensorListStack"]
)
def test_complete_kernels_of_tensorflow_stay(op: str) -> None:
    assert kernels_of(op, "DEFAULT")
    compiled = [k for k in kernels_of(op, "MYCHIP") if k.priority == 0]
    assert not [k for k in compiled if takes(k, "T", tf.float32) and takes(k, "dtype", tf.float32)]


def test_constant_inputs_are_in_host_memory() -> None:
    """What XLA must know while compiling is never read back from the device."""
    on_demand = [k for k in kernels_of("Roll", "MYCHIP") if k.priority == 0]
    assert on_demand
    assert all("axis" in k.host_memory_arg for k in on_demand)


def test_on_demand_compiles_once_per_shape(device: str) -> None:
    matrix = np.array([[4, 2], [2, 3]], np.float32)
    with tf.device(device):
        before = _core.compile_count()
        for _ in range(3):
            factor = tf.linalg.cholesky(tf.constant(matrix))
        assert _core.compile_count() - before <= 1
        np.testing.assert_allclose(factor.numpy(), np.linalg.cholesky(matrix), rtol=1e-6)
        assert factor.device.endswith(device)


@pytest.mark.parametrize("chip", ["MYCHIP:0", "MYCHIP:1"])
def test_jit_runs_where_it_is_placed(chip: str) -> None:
    @tf.function(jit_compile=True)
    def step(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.matmul(x, x, transpose_b=True) * 2.0 + 1.0)

    with tf.device(chip):
        before = _core.compile_count()
        for _ in range(3):
            result = step(tf.constant(np.arange(6, dtype=np.float32).reshape(2, 3)))
        assert _core.compile_count() == before + 1
    assert result.device.endswith(chip)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert result.numpy() == (x @ x.T * 2 + 1).sum()


def test_visible_devices_reach_xla() -> None:
    """With only the second chip visible, MYCHIP:0 is that one for programs too."""
    out = succeed("""
        import numpy as np, tensorflow as tf, mychip
        tf.config.set_visible_devices(tf.config.list_physical_devices("MYCHIP")[1], "MYCHIP")
        with tf.device("MYCHIP:0"):
            step = tf.function(lambda x: x * 3.0 + 1.0, jit_compile=True)
            print(float(step(tf.identity(np.ones(5, np.float32))).numpy()[4]))
        print([mychip.counters(i)["programs"] > 0 for i in range(2)])
    """)
    assert out.splitlines() == ["4.0", "[False, True]"]


def test_results_of_programs_are_counted(device: str) -> None:
    """get_memory_info knows the buffers of XLA as well as those of kernels."""
    step = tf.function(lambda x: tf.cumsum(x) + 1.0, jit_compile=True)
    with tf.device(device):
        x = tf.identity(np.ones(1_000_000, np.float32))
        step(x)
        before = tf.config.experimental.get_memory_info(device)["current"]
        result = step(x)
        result.numpy()
        assert tf.config.experimental.get_memory_info(device)["current"] - before >= 4_000_000
        del result
        assert tf.config.experimental.get_memory_info(device)["current"] == before


def test_out_of_memory_in_a_program() -> None:
    out = succeed(
        """
        import numpy as np, tensorflow as tf
        with tf.device("MYCHIP:0"):
            grow = tf.function(lambda x: tf.tile(x[None], [64, 1]) + 1.0, jit_compile=True)
            try:
                grow(tf.identity(np.ones(2**18, np.float32))).numpy()
                print("no error")
            except tf.errors.ResourceExhaustedError as error:
                print("exhausted", *[w for w in ("requested", "free", "limit") if w in error.message])
            print(float(grow(tf.identity(np.ones(4, np.float32))).numpy()[0, 0]))
        """,
        MYCHIP_MEMORY_MB="48",
        MYCHIP_NUM_DEVICES="1",
    )
    assert out.splitlines() == ["exhausted requested free limit", "2.0"]


def test_what_cannot_be_compiled_has_a_name(device: str) -> None:
    """float8 is no dtype of the chip: refused while lowering, by the op's name."""

    @tf.function(jit_compile=True)
    def narrow(x: tf.Tensor) -> tf.Tensor:
        return tf.cast(x, tf.dtypes.experimental.float8_e5m2)

    with tf.device(device), pytest.raises((tf.errors.InvalidArgumentError, tf.errors.UnimplementedError), match="Cast"):
        narrow(tf.ones([3]))


def test_auto_clustering() -> None:
    """set_jit clusters nodes placed on MYCHIP; one program serves repeated calls."""
    out = succeed("""
        import numpy as np, tensorflow as tf
        from mychip import _core
        tf.config.optimizer.set_jit("autoclustering")
        @tf.function
        def chain(x):
            for _ in range(8):
                x = tf.tanh(x) * 2.0 + 0.5
            return tf.reduce_sum(x, axis=1)
        with tf.device("MYCHIP:0"):
            x = tf.identity(np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8))
            first = chain(x)
            before = _core.compile_count()
            again = chain(x)
            print(before > 0, _core.compile_count() - before, bool((first.numpy() == again.numpy()).all()))
        with tf.device("CPU:0"):
            print(bool(np.allclose(chain(x).numpy(), first.numpy(), rtol=1e-5)))
    """)
    assert out.splitlines() == ["True 0 True", "True"]


def test_optional_stays_on_the_chip(device: str) -> None:
    """OptionalNone, OptionalFromValue, OptionalHasValue, OptionalGetValue: eagerly and out of a function."""
    spec = tf.TensorSpec([3], tf.float32)
    some = tf.function(lambda x: tf.experimental.Optional.from_value(x * 2.0))
    with tf.device(device):
        for full in (tf.experimental.Optional.from_value(tf.fill([3], 2.0)), some(tf.ones([3]))):
            assert full.has_value()
            value = full.get_value()
            assert value.device.endswith(device)
            np.testing.assert_array_equal(value.numpy(), np.full(3, 2, np.float32))
        nothing = tf.experimental.Optional.empty(spec)
        assert not nothing.has_value()
        with pytest.raises(tf.errors.InvalidArgumentError):
            nothing.get_value()


def test_prefetch_to_device(device: str) -> None:
    """Iterators of a dataset that ends on the chip yield tensors of the chip: eagerly and in a function.

    WrapDatasetVariant, UnwrapDatasetVariant, GeneratorDataset, PrefetchDataset; AnonymousIteratorV3, MakeIterator,
    DeleteIterator; IteratorGetNext, IteratorGetNextSync, IteratorGetNextAsOptional.
    """
    data = tf.data.Dataset.range(6).map(lambda x: (tf.cast(x, tf.float32), x)).batch(4)
    data = data.apply(tf.data.experimental.prefetch_to_device(device))
    batches = list(data)
    assert [value.device.split("/")[-1] for batch in batches for value in batch] == [f"device:{device}"] * 4
    np.testing.assert_array_equal(np.concatenate([floats.numpy() for floats, _ in batches]), np.arange(6.0))
    np.testing.assert_array_equal(np.concatenate([integers.numpy() for _, integers in batches]), np.arange(6))

    @tf.function
    def total(iterator: tf.data.Iterator) -> tf.Tensor:
        result = tf.constant(0.0)
        for floats, _ in iterator:  # until the data ends: IteratorGetNextAsOptional
            result += tf.reduce_sum(floats)
        return result

    with tf.device(device):
        assert float(total(iter(data))) == 15.0
        first, _ = tf.function(lambda iterator: next(iterator))(iter(data))
        handle = iter(data)
        kinds = {"output_types": [tf.float32, tf.int64], "output_shapes": [[None], [None]]}
        again, _ = tf.raw_ops.IteratorGetNextSync(iterator=handle._iterator_resource, **kinds)
    for value in (first, again):
        assert value.device.endswith(device)
        np.testing.assert_array_equal(value.numpy(), [0.0, 1.0, 2.0, 3.0])


def test_iterators_of_a_session() -> None:
    """TensorFlow 1's initializable iterators over a dataset that ends on the chip, also through a string.

    IteratorV2, IteratorToStringHandle, IteratorFromStringHandleV2.
    """
    out = succeed("""
        import tensorflow as tf
        with tf.Graph().as_default():
            data = tf.data.Dataset.range(6).batch(4).apply(tf.data.experimental.copy_to_device("/MYCHIP:0"))
            iterator = tf.compat.v1.data.make_initializable_iterator(data)
            with tf.device("/MYCHIP:0"):
                value = iterator.get_next() * 2
                text = iterator.string_handle()
                types, shapes = tf.compat.v1.data.get_output_types(data), tf.compat.v1.data.get_output_shapes(data)
                other = tf.compat.v1.data.Iterator.from_string_handle(text, types, shapes).get_next() * 3
            for _ in range(2):
                with tf.compat.v1.Session() as session:
                    session.run(iterator.initializer)
                    print(session.run(value), session.run(other))
                    try:
                        session.run(value)
                    except tf.errors.OutOfRangeError:
                        print("end")
    """)
    assert out.splitlines() == ["[0 2 4 6] [12 15]", "end"] * 2
