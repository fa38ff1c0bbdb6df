"""The kernels that TensorFlow has for the device."""

import functools

import tensorflow as tf
from tensorflow.python.framework import kernels


@functools.cache
def native_kernels() -> dict[str, set[str]]:
    """op -> dtypes of its first constrained attribute, of the kernels with the priority of native ones."""
    found: dict[str, set[str]] = {}
    for kernel in kernels.get_all_registered_kernels().kernel:
        if kernel.device_type == "MYCHIP" and kernel.priority > 0:
            types = found.setdefault(kernel.op, set())
            if kernel.constraint:
                types.update(tf.dtypes.as_dtype(t).name for t in kernel.constraint[0].allowed_values.list.type)
    return found
