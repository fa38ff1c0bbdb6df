"""The compiled programs behind a jitted tf.function."""

from __future__ import annotations

import re
from typing import Any

from mychip import _core


def dump_program(fn: Any, *args: Any, **kwargs: Any) -> str:
    """The chip's assembly of what ``fn(*args, **kwargs)`` compiles to.

    ``fn`` is a ``tf.function(jit_compile=True)``. If it was not yet compiled for these arguments it is called once,
    with all its effects (variables are updated). Several programs are joined, each under a comment with its name.

    Raises TypeError when ``fn`` is not such a function, and RuntimeError when the program is no longer kept (the
    runtime keeps the latest 512) or the call compiled nothing for the chip, for example because it ran on the CPU.
    """
    if not hasattr(fn, "get_concrete_function") or not getattr(fn, "_jit_compile", None):
        raise TypeError(f"dump_program needs a tf.function with jit_compile=True, not {fn!r}")
    name = fn.get_concrete_function(*args, **kwargs).name
    if isinstance(name, bytes):
        name = name.decode()
    records = _records_of(name)
    if not records:
        fn(*args, **kwargs)
        records = _records_of(name)
    if not records:
        raise RuntimeError(f"{name} has no program on the chip: it did not run on a MYCHIP device, or was evicted")
    return "\n".join(f"// {record['name']}\n{_core.assembly(record['serial'])}" for record in records)


def _records_of(function_name: str) -> list[_core.CompileRecord]:
    # XLA names a module after the function, with characters it does not take replaced by "_" and a suffix of options.
    wanted = re.sub(r"\W", "_", function_name)
    pattern = re.compile(rf"(^|[^0-9A-Za-z]){re.escape(wanted.strip('_'))}(?![0-9])")
    return [record for record in _core.compile_records() if pattern.search(record["name"])]
