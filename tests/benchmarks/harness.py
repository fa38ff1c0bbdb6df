"""Interleaved timing of one function on MYCHIP, TensorFlow's CPU path and XLA:CPU.

A case is a Python function over tensors. Its three contenders are traced once and then called in turn, so that a
change of the machine's speed hits all of them alike. What is printed are medians and ratios; a time on its own says
little on a shared machine. Wall time is the emulator's, never the chip's: modelled cycles are a column of their own.
"""

from __future__ import annotations

import dataclasses
import gc
import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

CONTENDERS = ("mychip", "tf_cpu", "xla_cpu")


@dataclasses.dataclass(frozen=True)
class Case:
    """One thing to time: `function(*inputs)`; `flops` and `bytes` (if known) give rates."""

    group: str
    name: str
    function: Callable
    inputs: Sequence[np.ndarray]
    flops: float = 0
    bytes: float = 0


@dataclasses.dataclass
class Timing:
    """Medians in seconds over the repeats of one contender."""

    wall: float
    cpu: float
    best: float


@dataclasses.dataclass
class Row:
    case: Case
    timings: dict[str, Timing]
    cycles: int = 0

    def ratio(self, against: str, clock: str = "wall") -> float:
        """How many times faster MYCHIP is than `against`."""
        mine, other = getattr(self.timings["mychip"], clock), getattr(self.timings[against], clock)
        return other / mine if mine > 0 else float("inf")

    def worst_ratio(self, clock: str = "wall") -> float:
        """Against the better of the two references."""
        return min(self.ratio(name, clock) for name in self.timings if name != "mychip")


def _wait(result, device: str) -> None:
    """Blocks until the tensors are computed: CPU calls have ended by then, a chip's queues are waited for."""
    if device.startswith("/MYCHIP"):
        from mychip import _core

        _core.synchronize(int(device.rsplit(":", 1)[1]))
    del result


def _contender(name: str, case: Case, device: str) -> Callable:
    with tf.device("/CPU:0" if name != "mychip" else device):
        inputs = [tf.identity(tf.constant(value)) for value in case.inputs]
    jit = name != "tf_cpu"
    function = tf.function(case.function, jit_compile=jit)

    def call():
        with tf.device("/CPU:0" if name != "mychip" else device):
            _wait(function(*inputs), "/CPU:0" if name != "mychip" else device)

    return call


def measure(case: Case, repeats: int = 9, device: str = "/MYCHIP:0", budget: float = 20.0) -> Row:
    """Times the case; at least `repeats` interleaved rounds unless one round takes more than budget / 3 seconds."""
    calls = {name: _contender(name, case, device) for name in CONTENDERS}
    for call in calls.values():
        call(), call()
    cycles = chip_cycles(calls["mychip"])
    walls: dict[str, list[float]] = {name: [] for name in calls}
    cpus: dict[str, list[float]] = {name: [] for name in calls}
    inner = {name: max(1, int(0.002 / max(_once(call)[0], 1e-6))) for name, call in calls.items()}
    gc.disable()
    try:
        start = time.perf_counter()
        for round_index in range(max(repeats, 9)):
            for name, call in calls.items():
                wall, cpu = _once(call, inner[name])
                walls[name].append(wall)
                cpus[name].append(cpu)
            if time.perf_counter() - start > budget and round_index >= 8:
                break
    finally:
        gc.enable()
    timings = {
        name: Timing(statistics.median(walls[name]), statistics.median(cpus[name]), min(walls[name])) for name in calls
    }
    return Row(case, timings, cycles)


def _once(call: Callable, times: int = 1) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(times):
        call()
    return (time.perf_counter() - wall) / times, (time.process_time() - cpu) / times


def chip_cycles(call: Callable, device: int = 0) -> int:
    """Modelled cycles of one call."""
    from mychip import _core

    _core.synchronize(device)
    before = _core.counters(device)["cycles"]
    call()
    _core.synchronize(device)
    return _core.counters(device)["cycles"] - before


def geometric_mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values)))) if values else float("nan")


def report(rows: Sequence[Row]) -> str:
    """A table by group with ratios (above 1: MYCHIP is faster) and each group's geometric mean."""
    lines = [
        f"{'case':34}{'mychip ms':>11}{'tf ms':>10}{'xla ms':>10}{'x tf':>7}{'x xla':>7}{'x tf cpu':>9}"
        f"{'x xla cpu':>10}{'GF/s':>8}{'GB/s':>7}{'Mcycles':>9}"
    ]
    for group in dict.fromkeys(row.case.group for row in rows):
        members = [row for row in rows if row.case.group == group]
        for row in members:
            t = row.timings
            lines.append(
                f"{row.case.name:34}{t['mychip'].wall * 1e3:11.3f}{t['tf_cpu'].wall * 1e3:10.3f}"
                f"{t['xla_cpu'].wall * 1e3:10.3f}{row.ratio('tf_cpu'):7.2f}{row.ratio('xla_cpu'):7.2f}"
                f"{row.ratio('tf_cpu', 'cpu'):9.2f}{row.ratio('xla_cpu', 'cpu'):10.2f}"
                f"{row.case.flops / t['mychip'].wall / 1e9:8.1f}{row.case.bytes / t['mychip'].wall / 1e9:7.1f}"
                f"{row.cycles / 1e6:9.3f}"
            )
        wall = [row.worst_ratio() for row in members]
        mean = geometric_mean(wall)
        lines.append(f"-- {group}: against the better reference: geometric mean {mean:.2f}, worst {min(wall):.2f}")
    return "\n".join(lines)
