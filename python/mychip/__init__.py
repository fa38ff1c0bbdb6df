"""MYCHIP: an emulated AI chip as a TensorFlow device.

TensorFlow finds the chip by itself (``import tensorflow`` lists ``/MYCHIP:0``); this package is for looking at it.
Importing it loads the chip's runtime library and nothing else: it neither imports TensorFlow nor touches its state, so
it may be imported before or after TensorFlow.
"""

from importlib import import_module
from typing import Any

from mychip._coverage import Coverage, CoverageRow, coverage
from mychip._device import Device, counters, devices, memory_stats, reset_counters, synchronize, version
from mychip._placement import fallback_report, reset_fallback_report
from mychip._programs import dump_program

__version__ = version()

__all__ = [
    "Coverage",
    "CoverageRow",
    "Device",
    "__version__",
    "counters",
    "coverage",
    "devices",
    "dump_program",
    "fallback_report",
    "memory_stats",
    "mixed_precision",
    "reset_counters",
    "reset_fallback_report",
    "synchronize",
    "version",
]


def __getattr__(name: str) -> Any:
    if name == "mixed_precision":  # imports TensorFlow, so only when asked for
        return import_module("mychip.mixed_precision")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
