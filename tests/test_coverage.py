"""The gate: what is registered natively for MYCHIP has a row, in every dtype it is registered for."""

from pathlib import Path

import pytest
from ops import BY_OP, ELSEWHERE, ROWS
from registry import native_kernels
from rows import ALL, DTYPES


@pytest.mark.usefixtures("device")
def test_every_native_kernel_has_a_row() -> None:
    covered = set(BY_OP) | set(ELSEWHERE) | {op for row in ROWS for op in row.covers}
    native = native_kernels()
    assert native, "no native kernel is registered for MYCHIP"
    assert not sorted(set(native) - covered), "native kernels without a row in tests/ops_*.py"


@pytest.mark.usefixtures("device")
def test_every_native_dtype_is_run() -> None:
    """The common dtypes in every run; the others in the full run, where values can be made for them."""
    missing = {}
    for op, types in native_kernels().items():
        if op in BY_OP:
            left_out = (types & set(ALL) - set(BY_OP[op].dtypes)) | (types - set(DTYPES))
            if left_out:
                missing[op] = sorted(left_out)
    assert not missing, f"registered dtypes that no row runs: {missing}"


def test_ops_tested_elsewhere_are_named_there() -> None:
    here = Path(__file__).parent
    for op, file in ELSEWHERE.items():
        text = (here / file).read_text()
        assert op in text or "ELSEWHERE" in text, f"{file} does not test {op}"
