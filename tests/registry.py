"""The kernels that TensorFlow has for the device."""

import functools
import itertools

import tensorflow as tf
from tensorflow.python.framework import kernels, op_def_registry


def dtype_name(number: int) -> str:
    return tf.dtypes.as_dtype(number).name


@functools.cache
def native_kernels() -> dict[str, set[str]]:
    """op -> dtypes of its first constrained attribute, of the kernels with the priority of native ones."""
    found: dict[str, set[str]] = {}
    for kernel in kernels.get_all_registered_kernels().kernel:
        if kernel.device_type == "MYCHIP" and kernel.priority > 0:
            types = found.setdefault(kernel.op, set())
            if kernel.constraint:
                types.update(map(dtype_name, kernel.constraint[0].allowed_values.list.type))
    return found


Combination = tuple[tuple[str, str], ...]  # (attribute, dtype), sorted


@functools.cache
def _kernels() -> dict[str, list[tuple[str, int, dict[str, set[str]]]]]:
    """op -> (device type, priority, dtypes of each constrained attribute) of every registered kernel."""
    found: dict[str, list[tuple[str, int, dict[str, set[str]]]]] = {}
    for kernel in kernels.get_all_registered_kernels().kernel:
        types = {c.name: set(map(dtype_name, c.allowed_values.list.type)) for c in kernel.constraint}
        if not kernel.label:
            found.setdefault(kernel.op, []).append((kernel.device_type, kernel.priority, types))
    return found


def missing_dtypes(op: str, dtypes: set[str]) -> set[Combination]:
    """What the CPU has a kernel of this op for, within `dtypes`, and the device has neither a native one nor one of
    TensorFlow's for every device."""
    allowed = {a.name: set(map(dtype_name, a.allowed_values.list.type)) for a in op_def_registry.get(op).attr}
    own = [types for device, rank, types in _kernels()[op] if device == "DEFAULT" or (device == "MYCHIP" and rank > 0)]
    missing = set()
    for device, _, types in _kernels()[op]:
        if device != "CPU":
            continue
        names = sorted(types)
        possible = (sorted(types[name] & dtypes & (allowed.get(name) or dtypes)) for name in names)
        for values in itertools.product(*possible):
            chosen = dict(zip(names, values, strict=True))
            if not any(all(chosen.get(n, "") in t or n not in chosen for n, t in mine.items()) for mine in own):
                missing.add(tuple(chosen.items()))
    return missing
