"""The chips of this process, as the runtime sees them."""

from dataclasses import dataclass

from mychip import _core


@dataclass(frozen=True)
class Device:
    """One emulated chip."""

    ordinal: int
    memory_limit: int  # bytes

    @property
    def name(self) -> str:
        """What ``tf.device`` accepts, when TensorFlow sees all the chips: ``MYCHIP:0``."""
        return f"MYCHIP:{self.ordinal}"


def version() -> str:
    """The version of this package, for example ``0.1.0``."""
    return _core.version()


def devices() -> list[Device]:
    """The chips of this process (``MYCHIP_NUM_DEVICES`` of them), whether or not TensorFlow uses them."""
    return [Device(i, memory_stats(i)["bytes_limit"]) for i in range(_core.num_devices())]


def memory_stats(device: int = 0) -> dict[str, int]:
    """What the allocator of chip ``device`` has handed out, in bytes.

    Keys: bytes_in_use, peak_bytes_in_use, bytes_limit, num_allocs, largest_alloc_size, largest_free_block,
    bytes_committed. Under TensorFlow these are the regions its own allocator holds; for tensors and XLA buffers ask
    ``tf.config.experimental.get_memory_info("MYCHIP:0")``.

    Raises IndexError for a device that does not exist.
    """
    return _core.memory_stats(_checked(device))


def counters(device: int = 0) -> dict[str, int]:
    """What the commands that chip ``device`` finished have cost since the start or ``reset_counters``.

    Keys: programs, launches (commands issued to the chip's units), cycles (of the chip's documented model, not wall
    time), bytes_read, bytes_written (of device memory), flops, host_to_device_bytes, device_to_host_bytes.
    Does not wait for queued work: call ``synchronize`` first for exact numbers.
    """
    return _core.counters(_checked(device))


def reset_counters(device: int = 0) -> None:
    """Sets every counter of chip ``device`` back to 0."""
    _core.reset_counters(_checked(device))


def synchronize(device: int = 0) -> None:
    """Blocks until chip ``device`` is idle. Raises RuntimeError with the first failure nobody has seen yet."""
    _core.synchronize(_checked(device))


def _checked(device: int) -> int:
    count = _core.num_devices()
    if not 0 <= device < count:
        raise IndexError(f"there is no chip {device}: this process has {count} (set by MYCHIP_NUM_DEVICES)")
    return device
