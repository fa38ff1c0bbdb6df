"""Comparison in units in the last place, with a report that says where and by how much."""

from typing import Any

import ml_dtypes
import numpy as np
from rows import is_float


def ulp_size(magnitude: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Distance to the next float of `dtype` above each magnitude (float64 in and out)."""
    info = ml_dtypes.finfo(dtype)
    smallest = float(info.smallest_normal)
    with np.errstate(divide="ignore", invalid="ignore"):
        exponent = np.floor(np.log2(np.maximum(magnitude, smallest)))
    return np.exp2(np.where(np.isfinite(exponent), exponent, 0) - info.nmant)


def mismatch(actual: Any, expected: Any, ulp: float, scale: Any = None, zero_sign: bool = True) -> str:
    """'' when equal within `ulp`, otherwise up to five differing elements.

    `expected` may be of a wider float type than `actual`: it is rounded to actual's dtype first. Non-finite values must
    agree exactly, signs of zeros too unless told otherwise. An ULP is taken at the larger of |expected| and `scale`.
    Below the smallest normal number nothing is compared, except in float16: TensorFlow's CPU flushes subnormals to zero
    there, the chip keeps them.
    """
    actual, exact = np.asarray(actual), np.asarray(expected)
    if actual.shape != exact.shape:
        return f"shape {actual.shape}, expected {exact.shape}"
    if actual.dtype.kind == "c":  # an ULP of a part is taken at the magnitude of the number
        with np.errstate(invalid="ignore", over="ignore"):
            size = np.maximum(np.abs(exact), 0 if scale is None else scale)
        parts = {"real": (actual.real, exact.real), "imaginary": (actual.imag, exact.imag)}
        found = {name: mismatch(a, e, ulp, size, zero_sign=False) for name, (a, e) in parts.items()}
        return "\n".join(f"{name} part: {text}" for name, text in found.items() if text)
    if not is_float(actual.dtype):
        if actual.dtype != exact.dtype:
            return f"dtype {actual.dtype}, expected {exact.dtype}"
        return _report(actual, exact, actual != exact, None)

    with np.errstate(over="ignore", invalid="ignore"):
        rounded = exact.astype(actual.dtype)
    a, e = actual.astype(np.float64), rounded.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(e)
    bad = ~finite & ~((a == e) | (np.isnan(a) & np.isnan(e)))
    magnitude = np.abs(np.where(finite, e, 0))
    if scale is not None:
        magnitude = np.maximum(magnitude, np.where(np.isfinite(scale), np.abs(scale), 0))
    with np.errstate(invalid="ignore"):
        error = np.where(finite, np.abs(a - e), 0) / ulp_size(magnitude, actual.dtype)
    if actual.dtype != np.float16:
        smallest = float(ml_dtypes.finfo(actual.dtype).smallest_normal)
        subnormal = (np.abs(a) < smallest) & (np.abs(e) < smallest) & ((a != 0) | (e != 0))
        error = np.where(subnormal, 0, error)
    bad |= error > ulp
    if ulp:  # rounding to infinity, or not, is within the tolerance when the other value is the largest float
        largest = float(ml_dtypes.finfo(actual.dtype).max)
        beside = np.abs(np.where(np.isinf(a), e, a)) == largest
        bad &= ~((np.isinf(a) != np.isinf(e)) & beside & (np.sign(a) == np.sign(e)))
    if zero_sign:
        bad |= (a == 0) & (e == 0) & (np.signbit(a) != np.signbit(e))
    return _report(actual, rounded, bad, error)


def _report(actual: np.ndarray, expected: np.ndarray, bad: np.ndarray, error: Any) -> str:
    if not bad.any():
        return ""
    lines = [f"{int(bad.sum())} of {bad.size} elements of {actual.dtype}{list(actual.shape)} differ"]
    for index in np.argwhere(bad)[:5]:
        at = tuple(int(i) for i in index)
        distance = "" if error is None else f", {float(error[at]):.4g} ULP"
        lines.append(f"  [{', '.join(map(str, at))}] actual {actual[at]!s}, expected {expected[at]!s}{distance}")
    return "\n".join(lines)
