"""Every row of the op table with wrong shapes, axes and sizes: the chip answers with the error class of TensorFlow's
CPU and takes what the CPU takes."""

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bad_input import answer, changes
from ops import ROWS
from registry import native_kernels
from rows import Row

NATIVE = [row for row in ROWS if row.op in native_kernels()]


class Cpu:
    """What the CPU answers to each change of a case; None where the question killed its process."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def ask(self, op: str, case: int, count: int) -> list[tuple[str, str] | None]:
        answers: list[tuple[str, str] | None] = []
        while len(answers) < count:
            if self.process is None:
                command = [sys.executable, str(Path(__file__).with_name("bad_input.py"))]
                environment = {**os.environ, "TF_PLUGGABLE_DEVICE_LIBRARY_PATH": "", "CUDA_VISIBLE_DEVICES": ""}
                self.process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
                )
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            try:
                pickle.dump((op, case, len(answers)), self.process.stdin)
                self.process.stdin.flush()
                while len(answers) < count:
                    answers.append(pickle.load(self.process.stdout))
            except (EOFError, BrokenPipeError):
                self.close()
                answers.append(None)
        return answers

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@pytest.fixture(scope="module")
def cpu() -> Iterator[Cpu]:
    worker = Cpu()
    yield worker
    worker.close()


# Convolutions and pools: oneDNN, which is behind them on the CPU, aborts the process on some of these and answers
# others whose shapes do not fit together. They run in the full run, since a new process takes seconds.
WINDOWS = {row.op for row in NATIVE if "Conv" in row.op or "Pool" in row.op}
# Where the chip is stricter on purpose: op -> why.
STRICTER: dict[str, str] = {
    **dict.fromkeys(
        ("TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"),
        "the CPU's kernel compares nothing and reads the second operand as if it had the first one's shape",
    ),
    **dict.fromkeys(WINDOWS, "oneDNN answers although the shapes do not fit"),
    **dict.fromkeys(
        (f"{kind}{rank}" for kind in ("RFFT", "IRFFT") for rank in ("", "2D", "3D")),
        "of nothing, the CPU's result is not initialised",
    ),
    **dict.fromkeys(
        ("StatelessRandomUniformV2", "StatelessRandomNormalV2"), "an algorithm nobody knows, though nothing is drawn"
    ),
}


def judge(row: Row, what: str, expected: tuple[str, str] | None, actual: tuple[str, str]) -> str:
    if expected is None:
        return ""  # it killed the CPU's process; any answer is better
    if row.op in STRICTER and not expected[0] and actual[0] == "InvalidArgumentError":
        return ""
    wanted = "InvalidArgumentError" if expected[0] == "AbortedError" else expected[0]  # oneDNN's word for it
    if wanted != actual[0]:
        said = f"{expected[0] or 'nothing'} ({expected[1][:160]})"
        return f"{row.op} {what}: CPU {said}, chip {actual[0] or 'nothing'} ({actual[1][:160]})"
    return ""


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=row.op, marks=[pytest.mark.full] if row.op in WINDOWS else []) for row in NATIVE]
)
def test_wrong_input(row: Row, cpu: Cpu, device: str) -> None:
    problems = []
    for case in sorted({0, len(row.cases) // 2}):
        wrong: list[tuple[str, dict[str, Any]]] = list(changes(row, case))
        expected = cpu.ask(row.op, case, len(wrong))
        for (what, given), reference in zip(wrong, expected, strict=True):
            problems.append(judge(row, what, reference, answer(row, given, device)))
    problems = list(filter(None, problems))
    if problems:
        pytest.fail(f"{len(problems)} differ\n" + "\n".join(problems[:8]), pytrace=False)
