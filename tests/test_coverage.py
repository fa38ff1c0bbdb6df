"""The gate: what is registered natively for MYCHIP has a row, in every dtype it is registered for."""

from pathlib import Path

import pytest
import tensorflow as tf
from ops import BY_OP, ELSEWHERE, ROWS
from tensorflow.python.framework import kernels


def native_kernels() -> dict[str, set[str]]:
    """op -> dtypes of its first constrained attribute, of the kernels with the priority of native ones."""
    found: dict[str, set[str]] = {}
    for kernel in kernels.get_all_registered_kernels().kernel:
        if kernel.device_type == "MYCHIP" and kernel.priority > 0:
            types = found.setdefault(kernel.op, set())
            if kernel.constraint:
                types.update(tf.dtypes.as_dtype(t).name for t in kernel.constraint[0].allowed_values.list.type)
    return found


@pytest.mark.usefixtures("device")
def test_every_native_kernel_has_a_row() -> None:
    covered = set(BY_OP) | set(ELSEWHERE) | {op for row in ROWS for op in row.covers}
    native = native_kernels()
    assert native, "no native kernel is registered for MYCHIP"
    assert not sorted(set(native) - covered), "native kernels without a row in tests/ops_*.py"


@pytest.mark.usefixtures("device")
def test_every_native_dtype_is_in_its_row() -> None:
    missing = {
        op: sorted(types - set(BY_OP[op].dtypes))
        for op, types in native_kernels().items()
        if op in BY_OP and types - set(BY_OP[op].dtypes)
    }
    assert not missing, f"registered dtypes that the rows leave out: {missing}"


def test_ops_tested_elsewhere_are_named_there() -> None:
    here = Path(__file__).parent
    for op, file in ELSEWHERE.items():
        assert f'"{op}"' in (here / file).read_text() or op in (here / file).read_text(), f"{file} does not test {op}"
