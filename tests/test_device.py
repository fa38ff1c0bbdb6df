"""The device as TensorFlow sees it: listing, copies, memory, errors, sessions, the end of the process."""

import signal
import threading
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from processes import run, succeed

QUANTIZED = {tf.qint8: tf.int8, tf.quint8: tf.uint8, tf.qint32: tf.int32}
DTYPES = [
    *(tf.bool, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64),
    *(tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.complex64, tf.complex128),
    *(tf.dtypes.experimental.float8_e5m2, tf.dtypes.experimental.float8_e4m3fn, *QUANTIZED),
]
SHAPES = [(), (1,), (0,), (3, 0, 2), (7, 5), (129, 257), (400, 1000)]
CHIPS = ["MYCHIP:0", "MYCHIP:1"]


def on_cpu(dtype: tf.DType, shape: tuple[int, ...]) -> tf.Tensor:
    """Every bit pattern occurs; bool has only two."""
    count = int(np.prod(shape)) * dtype.size
    raw = (np.arange(count) * 131 % 251).astype(np.uint8)
    with tf.device("CPU:0"):
        if dtype == tf.bool:
            return tf.constant((raw % 2).astype(bool).reshape(shape))
        if dtype in QUANTIZED:
            return tf.bitcast(tf.constant(raw.view(QUANTIZED[dtype].as_numpy_dtype).reshape(shape)), dtype)
        return tf.constant(raw.view(dtype.as_numpy_dtype).reshape(shape), dtype)


def bits(tensor: tf.Tensor) -> bytes:
    """The tensor's bytes, read on the CPU."""
    return bytes(moved(tensor, "CPU:0").numpy().tobytes())


def moved(tensor: tf.Tensor, device: str) -> tf.Tensor:
    """A plain copy, as an op that finds its input elsewhere makes one (Identity has no kernel for float8)."""
    copy = tensor._copy(device_name=device)
    assert copy.device.endswith(device)
    return copy


def test_listing() -> None:
    physical = tf.config.list_physical_devices("MYCHIP")
    assert [d.name for d in physical] == ["/physical_device:MYCHIP:0", "/physical_device:MYCHIP:1"]
    assert [d.name for d in tf.config.list_logical_devices("MYCHIP")] == ["/device:MYCHIP:0", "/device:MYCHIP:1"]
    assert "MYCHIP" in tf.config.experimental.get_device_details(physical[0])["device_name"]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
def test_copies_are_exact(dtype: tf.DType) -> None:
    """CPU -> MYCHIP:0 -> MYCHIP:1 -> MYCHIP:1 -> MYCHIP:0 -> CPU."""
    for shape in SHAPES:
        start = on_cpu(dtype, shape)
        value = start
        for device in ("MYCHIP:0", "MYCHIP:1", "MYCHIP:1", "MYCHIP:0"):
            value = moved(value, device)
            assert bits(value) == bits(start), (dtype, shape, device)


def test_large_copy_between_devices() -> None:
    start = np.random.default_rng(0).integers(0, 2**31, 5_000_000, np.int64)
    value = moved(moved(moved(tf.constant(start), "MYCHIP:0"), "MYCHIP:1"), "MYCHIP:0")
    np.testing.assert_array_equal(value.numpy(), start)


def test_source_may_change_after_a_copy() -> None:
    """The bytes on the device are those of the call."""
    for size in (16, 10_000, 1_000_000):
        source = np.zeros(size, np.float32)
        with tf.device("MYCHIP:0"):
            on_device = tf.convert_to_tensor(source) + 0.0
        source[:] = 1
        np.testing.assert_array_equal(on_device.numpy(), np.zeros(size, np.float32))


def test_copies_from_many_threads() -> None:
    failures: list[Any] = []

    def work(seed: int) -> None:
        try:
            values = np.random.default_rng(seed).standard_normal(20_000).astype(np.float32)
            for i in range(30):
                with tf.device(CHIPS[(seed + i) % 2]):
                    doubled = tf.identity(values) + values
                np.testing.assert_array_equal(doubled.numpy(), values + values)
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_memory_info() -> None:
    """current and peak follow a tensor's life; reset_memory_stats starts the peak anew."""
    info = tf.config.experimental.get_memory_info
    with tf.device("MYCHIP:1"):
        before = info("MYCHIP:1")["current"]
        tensor = tf.identity(np.zeros(1_000_000, np.float32))
        assert info("MYCHIP:1")["current"] - before >= 4_000_000
        assert info("MYCHIP:1")["peak"] >= info("MYCHIP:1")["current"]
        del tensor
        assert info("MYCHIP:1")["current"] == before
        tf.config.experimental.reset_memory_stats("MYCHIP:1")
        assert info("MYCHIP:1") == {"current": before, "peak": before}


def test_logical_devices_are_refused() -> None:
    """Stock TensorFlow has none for this device type: several chips come from MYCHIP_NUM_DEVICES."""
    done = run("""
        import tensorflow as tf
        chip = tf.config.list_physical_devices("MYCHIP")[0]
        two = [tf.config.LogicalDeviceConfiguration(memory_limit=64)] * 2
        tf.config.set_logical_device_configuration(chip, two)
        print(len(tf.config.list_logical_devices("MYCHIP")))
    """)
    assert done.returncode != 0
    assert "ValueError" in done.stderr


@pytest.mark.parametrize("growth", [False, True])
def test_memory_limit_and_growth(growth: bool) -> None:
    """MYCHIP_MEMORY_MB is the limit whether memory grows or not; beyond it is RESOURCE_EXHAUSTED and no more."""
    out = succeed(
        f"""
        import numpy as np, tensorflow as tf
        chip = tf.config.list_physical_devices("MYCHIP")[0]
        tf.config.experimental.set_memory_growth(chip, {growth})
        assert tf.config.experimental.get_memory_growth(chip) == {growth}
        with tf.device("MYCHIP:0"):
            kept = tf.identity(np.ones(24 * 2**18, np.float32))  # 24 MiB
            try:
                tf.identity(np.ones(48 * 2**18, np.float32))
                print("no error")
            except tf.errors.OpError as error:
                print(type(error).__name__, error.message)
            print(float(kept.numpy().sum()), tf.identity(np.ones(16 * 2**18, np.float32)).shape)
        """,
        MYCHIP_MEMORY_MB="64",
        MYCHIP_NUM_DEVICES="1",
    )
    lines = out.splitlines()
    assert lines[-1] == f"{float(24 * 2**18)} ({16 * 2**18},)"
    assert lines[0].startswith("ResourceExhaustedError"), out
    for word in ("requested", "free", "limit"):
        assert word in lines[0], out


def test_visible_devices() -> None:
    """MYCHIP:0 is then the second chip, for copies, kernels and programs alike."""
    out = succeed("""
        import numpy as np, tensorflow as tf
        tf.config.set_visible_devices(tf.config.list_physical_devices("MYCHIP")[1], "MYCHIP")
        print([d.name for d in tf.config.list_logical_devices("MYCHIP")])
        with tf.device("MYCHIP:0"):
            a = tf.identity(np.arange(1000, dtype=np.float32))
            print(float((a + a).numpy().sum()))
        import mychip
        print([mychip.memory_stats(i)["bytes_in_use"] > 0 for i in range(2)])
    """)
    assert out.splitlines() == ["['/device:MYCHIP:0']", "999000.0", "[False, True]"]


@pytest.mark.parametrize(
    "hide",
    [
        "tf.config.set_visible_devices([], 'MYCHIP')",
        "tf.config.set_visible_devices(tf.config.list_physical_devices('CPU'))",
    ],
)
def test_no_visible_device(hide: str) -> None:
    """Hidden chips are no devices: nothing is placed on them."""
    out = succeed(f"""
        import tensorflow as tf
        {hide}
        print(tf.config.list_logical_devices("MYCHIP"), len(tf.config.list_physical_devices("MYCHIP")))
        print((tf.constant([1.0, 2.0]) * 3.0).device, tf.Variable(1.0).device)
        try:
            with tf.device("MYCHIP:0"):
                tf.config.set_soft_device_placement(False)
                tf.constant([1.0]) * 2.0
        except tf.errors.InvalidArgumentError as error:
            print("MYCHIP:0" in str(error))
    """)
    cpu = "/job:localhost/replica:0/task:0/device:CPU:0"
    assert out.splitlines() == ["[] 2", f"{cpu} {cpu}", "True"]


def test_device_count_of_a_session() -> None:
    out = succeed("""
        import tensorflow as tf
        for counts in ({}, {"MYCHIP": 1}, {"MYCHIP": 0}, {"CPU": 1}):
            config = tf.compat.v1.ConfigProto(device_count=counts)
            with tf.Graph().as_default(), tf.compat.v1.Session(config=config) as s:
                print(sum(d.device_type == "MYCHIP" for d in s.list_devices()))
    """)
    assert out.splitlines() == ["2", "1", "0", "2"]


def test_host_read_of_device_memory_faults() -> None:
    """A plugin that touches device memory from the host is wrong on real hardware; here it shows at once."""
    done = run(
        """
        import ctypes, numpy as np, tensorflow as tf
        with tf.device("MYCHIP:0"):
            tensor = tf.identity(np.ones(64, np.float32))
        bounds = [line.split()[0].split("-") for line in open("/proc/self/maps") if line.split()[1] == "---p"]
        starts = [int(low, 16) for low, high in bounds if int(high, 16) - int(low, 16) >= 1234 * 2**20]
        print(len(starts), flush=True)
        print(ctypes.c_char.from_address(starts[0]).value)
        """,
        MYCHIP_MEMORY_MB="1234",
        MYCHIP_NUM_DEVICES="1",
    )
    assert done.stdout.split() == ["1"], done.stderr
    assert done.returncode == -signal.SIGSEGV


@pytest.mark.parametrize("size", [10, 1_000_000])
def test_failed_command_is_an_error(size: int) -> None:
    """It comes out at each read of what it should have written; the stream, the other device and the process go on."""
    out = succeed(
        f"""
        import numpy as np, tensorflow as tf
        with tf.device("MYCHIP:0"):
            x = tf.identity(np.ones({size}, np.float32))
            x.numpy()
            y = x + x
            z = y + y
            for failed in (y, z, y):
                try:
                    failed.numpy()
                    print("no error")
                except tf.errors.OpError as error:
                    print(type(error).__name__, error.message)
            print(float((x + x + x).numpy()[-1]), float(x.numpy()[0]))
        with tf.device("MYCHIP:1"):
            print(float((tf.identity(np.ones(3, np.float32)) + 1.0).numpy()[0]))
        """,
        MYCHIP_FAULT="launch:1",
    )
    lines = out.splitlines()
    for line in lines[:3]:
        assert line.startswith("InternalError"), out
        assert "injected by MYCHIP_FAULT" in line
    assert lines[3:] == ["3.0 1.0", "2.0"]


def test_failure_reaches_the_other_device() -> None:
    """A copy to another device of a value that failed is that error, not old memory."""
    out = succeed(
        """
        import numpy as np, tensorflow as tf
        with tf.device("MYCHIP:0"):
            x = tf.identity(np.ones(8, np.float32)) + 1.0
        try:
            with tf.device("MYCHIP:1"):
                print(tf.identity(x).numpy())
        except tf.errors.OpError as error:
            print(type(error).__name__, "MYCHIP_FAULT" in error.message)
        """,
        MYCHIP_FAULT="launch:1",
    )
    assert out.splitlines() == ["InternalError True"]


def test_exit_with_work_queued() -> None:
    out = succeed("""
        import numpy as np, tensorflow as tf
        for chip in ("MYCHIP:0", "MYCHIP:1"):
            with tf.device(chip):
                x = tf.identity(np.ones((400, 400), np.float32))
                for _ in range(200):
                    x = x @ x * 0.001
        print("leaving")
    """)
    assert out.splitlines() == ["leaving"]


def test_sessions_come_and_go() -> None:
    """TensorFlow 1 style: each session makes its own devices over the same chips."""
    out = succeed("""
        import numpy as np, tensorflow as tf
        v1 = tf.compat.v1
        first = None
        for i in range(6):
            with tf.Graph().as_default(), v1.Session() as session:
                with tf.device("MYCHIP:1"):
                    x = v1.placeholder(tf.float32, [None, 4])
                    w = v1.get_variable("w", initializer=np.full((4, 3), i, np.float32), use_resource=True)
                    y = tf.matmul(x, w) + 1.0
                    update = w.assign_add(tf.ones_like(w) * 2.0)
                session.run(v1.global_variables_initializer())
                session.run(update)
                value = session.run(y, {x: np.ones((5, 4), np.float32)})
                assert (value == 4 * (i + 2) + 1).all(), value
            used = tf.config.experimental.get_memory_info("MYCHIP:1")["current"]
            first = used if first is None else first
        print(used - first)
    """)
    assert out.splitlines() == ["0"]


def test_sync_mode_gives_the_same() -> None:
    out = succeed(
        """
        import numpy as np, tensorflow as tf
        with tf.device("MYCHIP:0"):
            x = tf.identity(np.arange(300_000, dtype=np.float32))
            with tf.device("MYCHIP:1"):
                y = tf.identity(x) * 2.0
            print(float((x + tf.identity(y)).numpy()[299_999]))
        """,
        MYCHIP_SYNC="1",
    )
    assert out.splitlines() == ["899997.0"]


def test_copies_between_chips_outlive_their_sender() -> None:
    """The sender's tensor is gone long before its chip has computed it."""
    first, second = "/MYCHIP:0", "/MYCHIP:1"

    @tf.function
    def swap(x: tf.Tensor) -> tf.Tensor:
        for _ in range(4):
            with tf.device(first):
                x = tf.matmul(x, x) + 1.0
            with tf.device(second):
                x = tf.matmul(x, x) * 0.5
        return x

    with tf.device(first):
        x = tf.eye(64) * 0.5
        expected = swap(x).numpy()
        for _ in range(50):
            assert (swap(x).numpy() == expected).all()
