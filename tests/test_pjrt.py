"""The PJRT library as another framework sees it: through pypjrt, without TensorFlow's help.

What no HLO can express (programs that fail while they run, views and their callbacks, layouts) is tested in C++, in
xla_backend/pjrt/test.
"""

import array
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from pypjrt import conform, errors
from pypjrt._loader import Plugin
from pypjrt.client import Buffer, Client, Device, Executable
from pypjrt.compile_options import CompileOptions

from mychip import _sysinfo

LIBRARY = _sysinfo.library_root() / "mychip/lib/libmychip_pjrt.so"
README = Path(__file__).parent.parent / "xla_backend/README.md"
F32, S32 = 11, 4

# What the conformance run may report as absent, and why; xla_backend/README.md repeats it for readers.
ABSENT = {
    "device.clear_memory_stats": "newer than the header of TensorFlow 2.21 (0.90)",
    "topology.fingerprint": "newer than the header of TensorFlow 2.21 (0.90)",
    "topology.create_by_name": "the run asks for a TPU",
    "device.coords": "chips have no position: no links between them yet",
    "triton.compile": "no Triton on this chip",
    "abi_version.extension_present": "newer than the header of TensorFlow 2.21 (0.90)",
    "abi_version.executable_proto": "newer than the header of TensorFlow 2.21 (0.90)",
    "abi_version.is_compatible_with_executable": "newer than the header of TensorFlow 2.21 (0.90)",
    "layouts.executable_parameters": "newer than the header of TensorFlow 2.21 (0.90)",
    "stream.external_ready_events": "streams are not handed out: all work of a device runs in one order",
}

ADD = """
func.func public @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
# The first result is written over the first parameter.
UPDATE = """
func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %g: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.add %w, %g : tensor<4xf32>
  %1 = stablehlo.multiply %w, %g : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
"""


@pytest.fixture(scope="module")
def plugin() -> Plugin:
    return Plugin(LIBRARY)


@pytest.fixture
def client(plugin: Plugin) -> Iterator[Client]:
    with Client(plugin) as client:
        yield client


@pytest.fixture
def device(client: Client) -> Iterator[Device]:
    with client.devices() as devices:
        yield devices[0]


@pytest.fixture
def add(client: Client) -> Iterator[Executable]:
    with client.compile(ADD) as executable:
        yield executable


@pytest.fixture
def update(client: Client) -> Iterator[Executable]:
    with client.compile(UPDATE) as executable:
        yield executable


def send(client: Client, device: Device, *values: float) -> Buffer:
    return client.buffer_from_host(array.array("f", values), F32, [len(values)], device)


def read(buffer: Buffer) -> list[float]:
    return list(array.array("f", bytes(buffer.to_host())))


def test_conformance(plugin: Plugin) -> None:
    report = conform.run(plugin)
    by_result = {result: {c.id: c.detail for c in report.checks if c.result is result} for result in conform.Result}
    assert not by_result[conform.Result.FAIL]
    assert {**by_result[conform.Result.UNSUPPORTED], **by_result[conform.Result.SKIP]}.keys() == ABSENT.keys()


@pytest.mark.skipif(not README.exists(), reason="runs from an installed package, without the checkout's documents")
def test_readme_lists_what_is_absent() -> None:
    text = README.read_text()
    assert not [check for check in ABSENT if check not in text]


def test_donated_input_is_updated_in_place(client: Client, device: Device, update: Executable) -> None:
    weights, gradient = send(client, device, 1, 2, 3, 4), send(client, device, 10, 10, 10, 10)
    address = weights.device_pointer()
    total, product = update(weights, gradient)
    assert total.device_pointer() == address
    assert read(total) == [11, 12, 13, 14]
    assert read(product) == [10, 20, 30, 40]
    with pytest.raises(errors.PjrtError):
        weights.to_host()
    assert read(gradient) == [10, 10, 10, 10]


def test_non_donatable_input_is_kept(client: Client, device: Device, update: Executable) -> None:
    weights, gradient = send(client, device, 1, 2, 3, 4), send(client, device, 10, 10, 10, 10)
    total, _ = update(weights, gradient, non_donatable=[0])
    assert total.device_pointer() != weights.device_pointer()
    assert read(total) == [11, 12, 13, 14]
    assert read(weights) == [1, 2, 3, 4]


def test_donating_shared_memory_is_an_error(client: Client, device: Device, update: Executable) -> None:
    weights = send(client, device, 1, 2, 3, 4)
    with pytest.raises(errors.InvalidArgument, match="arguments 0 and 1 share memory"):
        update(weights, weights)
    assert read(weights) == [1, 2, 3, 4]
    total, _ = update(weights, weights, non_donatable=[0, 1])
    assert read(total) == [2, 4, 6, 8]


def test_wrong_arguments_are_named(client: Client, device: Device, add: Executable) -> None:
    good, short = send(client, device, 1, 2, 3, 4), send(client, device, 1, 2, 3)
    integers = client.buffer_from_host(array.array("i", [1, 2, 3, 4]), S32, [4], device)
    for arguments, message in [
        ((good,), "1 arguments, program .* takes 2"),
        ((good, short), r"argument 1 is f32\[3\], the program takes f32\[4\]"),
        ((integers, good), r"argument 0 is s32\[4\], the program takes f32\[4\]"),
    ]:
        with pytest.raises(errors.InvalidArgument, match=message):
            add(*arguments)
    assert read(add(good, good)[0]) == [2, 4, 6, 8]


def test_failed_buffer_fails_what_uses_it(client: Client, device: Device, add: Executable) -> None:
    good = send(client, device, 1, 2, 3, 4)
    failed = client.error_buffer(device.default_memory(), 15, "the disk is gone", dtype=F32, dims=[4])
    with pytest.raises(errors.PjrtError, match="the disk is gone"):
        add(good, failed)
    with pytest.raises(errors.PjrtError, match="the disk is gone"):
        failed.to_host()
    assert read(add(good, good)[0]) == [2, 4, 6, 8]


def test_bad_programs_are_errors(client: Client) -> None:
    for program in ["", "not MLIR", ADD[: len(ADD) // 2], b"ML\xefR rubbish", ADD.replace("stablehlo.add", "no.such")]:
        with pytest.raises(errors.InvalidArgument):
            client.compile(program)


def test_several_devices_in_one_program_are_refused(client: Client) -> None:
    options = CompileOptions(num_replicas=2)
    with pytest.raises(errors.Unimplemented, match="2 replicas"):
        client.compile(ADD, options=options)


def test_executables_survive_serialization(client: Client, device: Device, add: Executable) -> None:
    blob = add.serialize()
    with client.deserialize_executable(blob) as loaded:
        assert read(loaded(send(client, device, 1, 2, 3, 4), send(client, device, 1, 1, 1, 1))[0]) == [2, 3, 4, 5]
        assert loaded.fingerprint() == add.fingerprint()
    for damaged in [b"", blob[:10], blob[: len(blob) // 2], blob[:-1], blob[:50] + b"\0" + blob[51:]]:
        with pytest.raises(errors.PjrtError):
            client.deserialize_executable(damaged).close()


@pytest.mark.parametrize(
    ("number", "code", "values"),
    [
        (1, "?", [True, False]),
        (2, "b", [-128, 127]),
        (3, "h", [-32768, 32767]),
        (4, "i", [-(2**31), 2**31 - 1]),
        (5, "q", [-(2**63), 2**63 - 1]),
        (6, "B", [0, 255]),
        (7, "H", [0, 65535]),
        (8, "I", [0, 2**32 - 1]),
        (9, "Q", [0, 2**64 - 1]),
        (10, "e", [-0.0, float("inf")]),
        (11, "f", [-0.0, float("-inf")]),
        (12, "d", [5e-324, float("nan")]),
        (13, "H", [0x7FC1, 0xFF80]),
        (14, "Q", [0x7FC0000180000000, 1]),
    ],
)
def test_every_element_type_keeps_its_bits(
    client: Client, device: Device, number: int, code: str, values: list[float]
) -> None:
    data = bytearray(struct.pack(f"{len(values)}{code}", *values))
    buffer = client.buffer_from_host(data, number, [len(values)], device)
    assert bytes(buffer.to_host()) == bytes(data)
    assert buffer.element_type == number
    buffer.close()


def test_two_clients_do_not_share_buffers(plugin: Plugin, client: Client, device: Device, add: Executable) -> None:
    with Client(plugin) as other, other.devices() as devices:
        foreign = send(other, devices[0], 1, 2, 3, 4)
        with pytest.raises(errors.InvalidArgument, match="another PJRT client"):
            add(send(client, device, 1, 2, 3, 4), foreign)
        with other.compile(ADD) as executable:
            assert read(executable(foreign, foreign)[0]) == [2, 4, 6, 8]
        foreign.close()


def test_copies_between_devices(client: Client) -> None:
    with client.devices() as devices:
        assert len(devices) == 2  # conftest.py
        moved = send(client, devices[0], 1, 2, 3, 4).copy_to_device(devices[1])
        assert moved.device().id == 1
        assert read(moved) == [1, 2, 3, 4]
        moved.close()


def test_memory_returns_to_its_start(client: Client, device: Device, update: Executable) -> None:
    start = device.memory_stats()["bytes_in_use"]
    weights, gradient = send(client, device, 0, 0, 0, 0), send(client, device, 1, 2, 3, 4)
    for step in range(300):
        weights, product = update(weights, gradient)
        product.close()
        if step == 10:
            steady = device.memory_stats()["bytes_in_use"]
    assert read(weights) == [300, 600, 900, 1200]
    assert device.memory_stats()["bytes_in_use"] == steady
    weights.close()
    gradient.close()
    assert device.memory_stats()["bytes_in_use"] == start


def test_out_of_memory_names_the_numbers(client: Client, device: Device) -> None:
    limit = device.memory_stats()["bytes_limit"]
    with pytest.raises(errors.ResourceExhausted, match="free"):
        client.uninitialized_buffer(6, [limit + 1], device.default_memory())
