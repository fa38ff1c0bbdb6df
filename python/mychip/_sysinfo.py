"""What ``python -m mychip`` prints: everything a bug report needs."""

import ctypes
import importlib.metadata
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

import mychip
from mychip import _core

# Library (relative to the folder that holds the package) and what others look up in it.
LIBRARIES: dict[str, tuple[str, ...]] = {
    "mychip/lib/libmychip_runtime.so": (),
    "mychip/lib/libmychip_pjrt.so": ("GetPjrtApi",),
    "mychip/lib/libmychip_tensorflow.so": (),
    "tensorflow-plugins/libmychip_plugin.so": ("SE_InitPlugin", "TF_InitKernel", "TF_InitGraph", "TF_InitProfiler"),
}
PACKAGES = ("mychip", "tensorflow", "tensorflow-cpu", "keras", "numpy", "jax", "torch")


def library_root() -> Path:
    """The folder that holds ``mychip/`` with its libraries: site-packages, or the stage folder of a build tree."""
    return Path(_core.__file__).parent.parent


def versions() -> Iterator[tuple[str, str]]:
    yield "Python", f"{platform.python_version()} ({sys.executable})"
    yield "built for TensorFlow", _core.built_for_tensorflow()
    for name in PACKAGES:
        try:
            yield name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            if name in ("mychip", "tensorflow", "tensorflow-cpu"):
                yield name, mychip.version() + " (not installed: build tree)" if name == "mychip" else "not installed"


def tensorflow_devices() -> str:
    """How TensorFlow sees the chips; imports TensorFlow."""
    try:
        import tensorflow as tf
    except Exception as error:  # a broken TensorFlow is what this report is for
        return f"TensorFlow cannot be imported: {type(error).__name__}: {error}"
    found = [device.name for device in tf.config.list_physical_devices("MYCHIP")]
    return ", ".join(found) or "none: TensorFlow did not load the plugin, or refused it (see the log line above)"


def entry_points(path: Path, names: tuple[str, ...]) -> str:
    if not path.exists():
        return "MISSING"
    if not names:
        return "present"
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        return f"cannot be opened: {error}"
    return ", ".join(name if hasattr(library, name) else f"{name} MISSING" for name in names)


def report(console: Console) -> None:
    """Prints versions, devices, memory, libraries and the environment variables."""
    table = _table("Versions", "what", "version")
    for row in versions():
        table.add_row(*row)
    console.print(table, "")

    console.print(f"TensorFlow's devices: {tensorflow_devices()}\n")
    table = _table("Chips", "device", "in use", "peak", "limit", "committed", "launches", "cycles")
    for device in mychip.devices():
        memory, counters = mychip.memory_stats(device.ordinal), mychip.counters(device.ordinal)
        sizes = (memory[key] for key in ("bytes_in_use", "peak_bytes_in_use", "bytes_limit", "bytes_committed"))
        counts = (counters[key] for key in ("launches", "cycles"))
        table.add_row(device.name, *(f"{size / 2**20:,.1f} MiB" for size in sizes), *(f"{n:,}" for n in counts))
    console.print(table, "")

    root = library_root()
    table = _table(f"Libraries under {root}", "library", "entry points")
    for library, names in LIBRARIES.items():
        table.add_row(library, entry_points(root / library, names))
    console.print(table, "")

    table = _table("Environment variables", "name", "value", "set", "default", "meaning")
    for variable in _core.environment():
        table.add_row(
            variable["name"],
            variable["value"],
            "yes" if variable["set"] else "no",
            variable["default"],
            variable["meaning"],
        )
    console.print(table, "")


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
