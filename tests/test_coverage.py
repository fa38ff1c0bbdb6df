"""The gate: what is registered natively for MYCHIP has a row, in every dtype it is registered for."""

from pathlib import Path

import pytest
from ops import BY_OP, ELSEWHERE, ROWS
from registry import missing_dtypes, native_kernels
from rows import ALL, DTYPES


@pytest.mark.usefixtures("device")
def test_every_native_kernel_has_a_row() -> None:
    covered = set(BY_OP) | set(ELSEWHERE) | {op for row in ROWS for op in row.covers}
    native = native_kernels()
    assert native, "no native kernel is registered for MYCHIP"
    assert not sorted(set(native) - covered), "native kernels without a row in tests/ops_*.py"


# Dtypes that TensorFlow's CPU has a kernel for and the chip on purpose none: op -> dtypes, why.
LEFT_OUT: dict[str, tuple[set[str], str]] = {
    "Range": ({"float16", "bfloat16"}, "TensorFlow's shape inference and XLA's lowering refuse them"),
    "ClipByValue": ({"complex64", "complex128"}, "complex numbers have no order"),
}


@pytest.mark.usefixtures("device")
def test_native_kernels_have_the_dtypes_of_the_cpu() -> None:
    """Every combination of dtypes that the CPU has a kernel for, of the ops that have a native kernel at all."""
    found = {}
    for op in native_kernels():
        left_out, why = LEFT_OUT.get(op, (set(), ""))
        assert not left_out or why
        missing = {types for types in missing_dtypes(op, set(DTYPES)) if not left_out & {dtype for _, dtype in types}}
        if missing:
            found[op] = sorted(missing)
    assert not found, f"dtypes that only the CPU has: {found}"


@pytest.mark.usefixtures("device")
def test_what_is_left_out_is_missing() -> None:
    for op, (dtypes, _) in LEFT_OUT.items():
        assert {dtype for types in missing_dtypes(op, set(DTYPES)) for _, dtype in types} == dtypes, op


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
