"""Every row of the op table on the device: eager, in a graph, jitted, and compiled on demand."""

import os
import pickle
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ops import ROWS
from paths import Outcome, Prepared, check, outcomes
from registry import native_kernels
from rows import Row

LOWERED = [row for row in ROWS if row.jit]


def dtypes(row: Row, path: str, full: bool) -> list[str]:
    """The row's dtypes, of the 16-bit floats one in turn. The full run has both, and the natively registered rest."""
    lowered = row.dtypes if path in ("eager", "graph") or row.jit_dtypes is None else row.jit_dtypes
    if full:
        registered = native_kernels().get(row.op, set()) if path in ("eager", "graph") else set()
        return [*lowered, *sorted(registered - set(lowered))]
    if not {"float16", "bfloat16"} <= set(lowered):
        return list(lowered)
    left_out = ("float16", "bfloat16")[zlib.crc32(row.op.encode()) % 2]
    return [dtype for dtype in lowered if dtype != left_out]


def judge(row: Row, path: str, device: str, full: bool) -> None:
    problems = []
    for dtype in dtypes(row, path, full):
        gradients = dtype == "float32" or full
        prepared = Prepared(row, dtype, list(range(len(row.cases))), gradients)
        for case, outcome in outcomes(prepared, device, path).items():
            if device == "CPU:0" and isinstance(outcome, str) and "Could not find device for node" in outcome:
                continue  # the table checks itself: the CPU need not have every dtype
            problems.append(describe(row, dtype, case, check(prepared, case, outcome, path)))
    report(problems)


def describe(row: Row, dtype: str, case: int, problem: str) -> str:
    return problem and f"{row.op} {dtype} case {case} {row.cases[case]}\n{problem}"


def report(problems: list[str]) -> None:
    problems = list(filter(None, problems))
    if problems:
        pytest.fail(f"{len(problems)} cases fail\n\n" + "\n\n".join(problems[:6]), pytrace=False)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.op)
def test_eager(row: Row, device: str, full: bool) -> None:
    judge(row, "eager", device, full)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.op)
def test_graph(row: Row, device: str, full: bool) -> None:
    judge(row, "graph", device, full)


@pytest.mark.parametrize("row", LOWERED, ids=lambda row: row.op)
def test_jit(row: Row, device: str, full: bool) -> None:
    judge(row, "jit", device, full)


class OnDemand:
    """A process without native kernels: every op is compiled when it is called. Started again when it dies."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def ask(self, op: str, dtype: str, cases: list[int]) -> dict[int, Outcome | str]:
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("on_demand.py"))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "MYCHIP_NATIVE": "0"},
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            pickle.dump((op, dtype, cases), self.process.stdin)
            self.process.stdin.flush()
            answer: Any = pickle.load(self.process.stdout)
        except (EOFError, BrokenPipeError):
            status = self.process.wait()
            return dict.fromkeys(cases, f"the process died with status {status}")
        return answer

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@pytest.fixture(scope="module")
def on_demand() -> Iterator[OnDemand]:
    worker = OnDemand()
    yield worker
    worker.close()


@pytest.mark.parametrize("row", LOWERED, ids=lambda row: row.op)
def test_on_demand(row: Row, on_demand: OnDemand, full: bool) -> None:
    problems = []
    chosen = dtypes(row, "on_demand", full)
    for dtype in chosen if full else chosen[:2]:
        cases = list(range(len(row.cases)))
        if not full and len(cases) > 4:  # each case is a compilation
            cases = [*cases[:3], cases[-1]]
        prepared = Prepared(row, dtype, cases, gradients=False)
        for case, outcome in on_demand.ask(row.op, dtype, cases).items():
            problems.append(describe(row, dtype, case, check(prepared, case, outcome, "on_demand")))
    report(problems)
