"""Runs HLO through the MYCHIP compiler and through XLA's evaluator: arrays in, arrays out."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

NUMPY = {
    "pred": np.dtype(bool),
    **{f"s{b}": np.dtype(f"int{b}") for b in (8, 16, 32, 64)},
    **{f"u{b}": np.dtype(f"uint{b}") for b in (8, 16, 32, 64)},
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "c64": np.dtype(np.complex64),
    "c128": np.dtype(np.complex128),
}


def _load() -> ModuleType:
    """The test module from the build tree: $MYCHIP_TESTING, or the newest build*/stage/testing of this checkout."""
    root = Path(__file__).resolve().parent.parent
    folders = [Path(os.environ["MYCHIP_TESTING"])] if "MYCHIP_TESTING" in os.environ else root.glob("build*/**/testing")
    found = [file for folder in folders for file in folder.glob("hlo_testing*.so")]
    if not found:
        raise RuntimeError("hlo_testing is not built: configure with -DMYCHIP_BUILD_TESTS=ON and build it")
    newest = max(found, key=lambda file: file.stat().st_mtime)
    spec = importlib.util.spec_from_file_location("hlo_testing", newest)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["hlo_testing"] = module
    return module


hlo = _load()


def pack(arrays: list[Any]) -> list[bytes]:
    return [np.ascontiguousarray(a).tobytes() for a in arrays]


def unpack(parts: list[bytes], types: list[tuple[str, tuple[int, ...]]]) -> list[np.ndarray]:
    return [np.frombuffer(p, NUMPY[t]).reshape(dims) for p, (t, dims) in zip(parts, types, strict=True)]


def run(code: Any, arrays: list[Any], passes: str = "", donate: bool = False, form: str = "hlo_text") -> Any:
    """(results, cost as it ran) on the emulated chip."""
    _, types = hlo.signature(form, _bytes(code))
    parts, cost = hlo.compile_and_run(form, code, pack(arrays), passes=passes, donate=donate)
    return unpack(parts, types), cost


def evaluate(code: Any, arrays: list[Any], passes: bool, form: str = "hlo_text") -> list[np.ndarray]:
    """The reference: on the module as given, or after XLA's passes and before fusion."""
    _, types = hlo.signature(form, _bytes(code))
    return unpack(hlo.evaluate(form, code, pack(arrays), passes=passes), types)


def parameters(code: Any, form: str = "hlo_text") -> list[tuple[str, tuple[int, ...]]]:
    return list(hlo.signature(form, _bytes(code))[0])


def _bytes(code: Any) -> bytes:
    return code.encode() if isinstance(code, str) else code


def data(dtype: str, dims: tuple[int, ...], kind: str, rng: np.random.Generator) -> np.ndarray:
    """Inputs of a kind: any (with NaN, inf, -0, extremes), finite, positive, unit (-1..1), small integers, index:N."""
    t, n = NUMPY[dtype], int(np.prod(dims))
    if kind.startswith("index:"):
        low, high = (int(v) for v in kind[6:].split(","))
        return rng.integers(low, high, n).astype(t).reshape(dims)
    if dtype == "pred":
        return rng.integers(0, 2, n).astype(bool).reshape(dims)
    if t.kind in "iu":
        info = np.iinfo(t)
        values = rng.integers(-20 if t.kind == "i" else 0, 20, n).astype(t)
        if kind == "any" and n:
            extremes = np.array([info.min, info.max, 0, 1, info.max - 1], t)
            values[: min(n, 5)] = extremes[: min(n, 5)]
        if kind == "positive":
            values = np.abs(values) + t.type(1)
        return values.astype(t).reshape(dims)
    if t.kind == "c":
        part = "f32" if dtype == "c64" else "f64"
        real, imag = (data(part, dims, "finite" if kind == "any" else kind, rng) for _ in range(2))
        return (real + 1j * imag).astype(t)
    values = rng.standard_normal(n) * {"any": 8, "finite": 3, "unit": 0.4, "positive": 3, "small": 1}[kind]
    if kind == "small":
        values = np.round(values * 3)
    values = values.astype(t)
    if kind == "positive":
        values = np.abs(values) + t.type(0.25)
    if kind == "unit":
        values = np.clip(values.astype(np.float64), -0.99, 0.99).astype(t)
    if kind == "any" and n:
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.5], np.float64).astype(t)
        values[: min(n, len(special))] = special[: min(n, len(special))]
    return values.reshape(dims)
