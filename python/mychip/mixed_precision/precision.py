"""How float32 operands enter the chip's matrix and convolution units."""

from mychip import _core

_NAMES = {"float32": "f32", "tf32": "tf32", "bf16": "bf16"}


def set_matmul_precision(precision: str) -> None:
    """Chooses what products and convolutions of float32 operands are computed from, in this process, from now on.

    ``"float32"`` (the default) is exact. ``"tf32"`` rounds operands to 10 mantissa bits and runs at twice the float32
    rate, ``"bf16"`` to 7 bits at four times; both accumulate in float32, and results stay float32. It governs native
    kernels and XLA alike, and is part of the key of every program cache: what is already compiled is compiled again at
    its next call. While TensorFlow's own switch is off (``tf.config.experimental.enable_tensor_float_32_execution``)
    products are true float32 whatever was chosen; so are HLO products of precision HIGH and HIGHEST always.

    Raises ValueError for any other name.
    """
    if precision not in _NAMES:
        raise ValueError(f"matmul precision {precision!r} is none of {', '.join(map(repr, _NAMES))}")
    _core.set_matmul_precision(_NAMES[precision])


def matmul_precision() -> str:
    """What is in force: ``"float32"`` also while TensorFlow's switch forbids what was chosen."""
    in_force = _core.matmul_precision()
    return next(name for name, short in _NAMES.items() if short == in_force)
