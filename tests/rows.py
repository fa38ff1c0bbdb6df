"""What a row of the op table is, and how its inputs are made. The rows themselves are in ops_*.py."""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

FLOATS = ("float32", "float16", "bfloat16")
INTS = ("int32", "int64")
NUMBERS = FLOATS + INTS
ALL = (*NUMBERS, "bool")

NUMPY_DTYPES = {"bfloat16": np.dtype(ml_dtypes.bfloat16)}
FLOAT_NAMES = {"float16", "bfloat16", "float32", "float64"}
# What a value generator exists for.
DTYPES = (
    *ALL, "float64", "int8", "int16", "uint8", "uint16", "uint32", "uint64", "complex64", "complex128",
)  # fmt: skip


def numpy_dtype(name: str) -> np.dtype:
    return NUMPY_DTYPES.get(name) or np.dtype(name)


def is_float(dtype: Any) -> bool:
    return np.dtype(dtype).name in FLOAT_NAMES


@dataclass(frozen=True)
class In:
    """One tensor input: shape, where its values lie, and its dtype (None: the dtype the row is run in)."""

    shape: tuple[int, ...]
    domain: str = "normal"
    dtype: str | None = None

    def __repr__(self) -> str:
        return f"{self.dtype or 'T'}{list(self.shape)}:{self.domain}"

    def make(self, rng: np.random.Generator, dtype: str) -> np.ndarray:
        target = numpy_dtype(self.dtype or dtype)
        values = DOMAINS[self.domain](rng, self.shape, target)
        return np.asarray(values).astype(target).reshape(self.shape)


def t(*shape: int, domain: str = "normal", dtype: str | None = None) -> In:
    """A tensor of the row's dtype."""
    return In(shape, domain, dtype)


def ids(limit: int, *shape: int, dtype: str = "int32") -> In:
    """Indices in [0, limit)."""
    return In(shape, f"below{limit}", dtype)


@dataclass(frozen=True)
class Const:
    """A number of the row's dtype that is known when the op is compiled."""

    value: float


@dataclass(frozen=True)
class Row:
    """One TensorFlow op.

    dtypes: those of every run; the full run adds the others that are registered natively.
    cases: keyword arguments of tf.raw_ops.<op>; every In becomes a tensor, the rest is passed as it is.
    ulp: tolerance for floats against the exact result (float64 on the CPU, rounded once); integers are exact.
      A 16-bit dtype gets at least 1 when ulp is not 0.
    scale: what an ULP is measured at, beside the expected value itself. "abs": the op applied to the inputs'
      magnitudes, for sums of products, which cancel; "max": the largest expected value, for normalising ops; "last":
      the last argument, for gradients dy * (1 - y * y).
    compiled_scale: the same for jit and on-demand, from the arrays, where XLA's lowering is a sum that cancels.
    grad: also differentiate with respect to every float input of the row's dtype (tolerance grad_ulp).
    exact: False when the op's float result depends on the dtype it is computed in (or has no float64 kernel): the
      reference is then the CPU's result in the same dtype.
    golden: the right outputs from the arrays, in NumPy float64, where TensorFlow's own CPU kernel is wrong.
    single: float64 results are compared in float32, which TensorFlow computes them in.
    zero_sign: False where IEEE leaves the sign of a zero result open.
    jit, jit_dtypes: False, or fewer dtypes, with a reason in `why` when TensorFlow has no XLA lowering.
    """

    op: str
    cases: tuple[dict[str, Any], ...]
    dtypes: tuple[str, ...] = FLOATS
    ulp: float = 0
    scale: str | None = None
    compiled_scale: Callable[..., Any] | None = None
    grad: bool = False
    grad_ulp: float = 4
    grad_scale: str | None = None
    exact: bool = True
    golden: Callable[..., Any] | None = None
    single: bool = False
    zero_sign: bool = True
    jit: bool = True
    jit_dtypes: tuple[str, ...] | None = None  # None: all of them have a lowering
    why: str = ""
    call: Callable[..., Any] | None = None
    covers: tuple[str, ...] = ()  # other ops the row tests, for the coverage gate

    def tolerance(self, dtype: np.dtype, ulp: float) -> float:
        if dtype.kind == "c":  # the formulas of products and quotients differ
            return max(ulp, 4)
        return max(ulp, 1) if ulp and dtype.itemsize == 2 else ulp

    def inputs(self, case: int, dtype: str) -> dict[str, Any]:
        """The arguments of a case with its arrays made; the same every time."""
        rng = np.random.default_rng(zlib.crc32(f"{self.op}/{case}/{dtype}".encode()))

        def build(value: Any) -> Any:
            if isinstance(value, In):
                return value.make(rng, dtype)
            if isinstance(value, Const):
                return numpy_dtype(dtype).type(value.value)
            if isinstance(value, list) and any(isinstance(item, In) for item in value):
                return [build(item) for item in value]
            return DTYPE_ATTRS[value](dtype) if isinstance(value, str) and value in DTYPE_ATTRS else value

        return {name: build(value) for name, value in self.cases[case].items()}


# A type twice as wide, for Bitcast; int64 has none that XLA converts bits to.
WIDER = {"float16": "int32", "bfloat16": "int32", "float32": "int64", "int32": "float64", "int64": "float64"}
DTYPE_ATTRS: dict[str, Callable[[str], str]] = {
    "@T": lambda dtype: dtype,
    "@complex": lambda dtype: {"float32": "complex64", "float64": "complex128"}[dtype],
    "@real": lambda dtype: {"complex64": "float32", "complex128": "float64"}[dtype],
    "@wider": lambda dtype: WIDER.get(dtype, dtype),
}


# ----------------------------------------------------------------------------------------------------------------------
# Values.


def _normal(rng: np.random.Generator, shape: Any, dtype: np.dtype) -> Any:
    if dtype == np.bool_:
        return rng.integers(0, 2, shape)
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -9, 10, shape)
    if dtype.kind == "c":
        return rng.normal(size=shape) + 1j * rng.normal(size=shape)
    return rng.normal(size=shape) * 2


def _edges(rng: np.random.Generator, shape: Any, dtype: np.dtype) -> Any:
    """Special values, repeated over the shape in an order of their own (so that pairs of them meet)."""
    if dtype.kind == "c":  # no two libraries agree on infinities and NaN in complex arithmetic
        return _normal(rng, shape, dtype)
    values = edge_values(dtype)
    return rng.permutation(np.resize(values, int(np.prod(shape))))


def edge_values(dtype: np.dtype) -> np.ndarray:
    """Zeros of both signs, infinities, NaN, the largest and the smallest normal values; no subnormals of float32 and
    float64, which TensorFlow's CPU flushes to zero."""
    if dtype == np.bool_:
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        small = [0, 1, 2, 7] if dtype.kind == "u" else [0, 1, -1, 2, -7]
        return np.array([*small, info.min, info.max, info.max - 1], dtype)
    info = ml_dtypes.finfo(dtype)
    tiny, largest = float(info.smallest_normal), float(info.max)
    values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.5, -2.5, 10.0, -10.0, 88.0, -88.0]
    values += [np.inf, -np.inf, np.nan, tiny, -tiny, largest, -largest]
    return np.array(values, dtype)


def _uniform(low: float, high: float) -> Callable[..., Any]:
    def make(rng: np.random.Generator, shape: Any, dtype: np.dtype) -> Any:
        if dtype.kind in "iu":
            return rng.integers(int(np.ceil(low)), int(np.floor(high)) + 1, shape)
        return rng.uniform(low, high, shape)

    return make


def _nonzero(rng: np.random.Generator, shape: Any, dtype: np.dtype) -> Any:
    values = _normal(rng, shape, dtype)
    return np.where(np.asarray(values) == 0, 3, values)


def _integers(rng: np.random.Generator, shape: Any, dtype: np.dtype) -> Any:
    """Small whole numbers: sums of their products are exact in every float dtype, whatever the order."""
    return rng.integers(0 if dtype.kind in "ub" else -3, 4, shape)


def _distinct(rng: np.random.Generator, shape: Any, dtype: np.dtype) -> Any:
    """No two equal values, each exactly representable in 16 bits (at most 256 of them)."""
    size = int(np.prod(shape))
    return rng.permutation(size) - size // 2


def _wide(rng: np.random.Generator, shape: Any, dtype: np.dtype) -> Any:
    """Magnitudes over many binades."""
    return rng.normal(size=shape) * 2.0 ** rng.integers(-12, 12, shape)


def _powers(rng: np.random.Generator, shape: Any, dtype: np.dtype) -> Any:
    """Exponents: integers have no negative ones."""
    return rng.integers(0, 6, shape) if dtype.kind in "iu" else _normal(rng, shape, dtype)


def _edge_powers(rng: np.random.Generator, shape: Any, dtype: np.dtype) -> Any:
    return _powers(rng, shape, dtype) if dtype.kind in "iu" else _edges(rng, shape, dtype)


class _Domains(dict):
    def __missing__(self, name: str) -> Callable[..., Any]:
        if not name.startswith("below"):
            raise KeyError(name)
        return _uniform(0, int(name[5:]) - 1)


DOMAINS = _Domains(
    normal=_normal,
    edges=_edges,
    integers=_integers,
    distinct=_distinct,
    nonzero=_nonzero,
    wide=_wide,
    powers=_powers,
    edge_powers=_edge_powers,
    unit=_uniform(-0.99, 0.99),
    positive=_uniform(0.05, 9),
    above1=_uniform(1.01, 9),
    above4=_uniform(4, 99),
    fraction=_uniform(0.01, 0.99),
    tiny=_uniform(-1e-3, 1e-3),
    huge=_uniform(-1000, 1000),
)


# ----------------------------------------------------------------------------------------------------------------------
# Case builders for elementwise ops.


def unary_cases(argument: str, domain: str = "normal", edges: bool = True, **attrs: Any) -> tuple[dict[str, Any], ...]:
    shapes = [(2, 3, 5), (), (1,), (0, 3), (61, 67)]
    cases = [{argument: In(shape, domain), **attrs} for shape in shapes]
    if edges:
        cases.append({argument: In((47,), "edges"), **attrs})
    return tuple(cases)


def binary_cases(
    first: str, second: str, domain: str = "normal", other: str | None = None, edges: bool = True, **attrs: Any
) -> tuple[dict[str, Any], ...]:
    """Equal shapes, both kinds of broadcast, scalars, size 1, empty, and special values paired at random."""
    pairs = [
        ((3, 5), (3, 5)),
        ((2, 3, 5), (5,)),
        ((4, 1, 3), (2, 1)),
        ((), (7,)),
        ((1,), ()),
        ((0, 3), (1, 3)),
        ((61, 67), (61, 67)),
        ((61, 67), (67,)),
    ]
    cases = [{first: In(a, domain), second: In(b, other or domain), **attrs} for a, b in pairs]
    if edges:
        cases.append({first: In((401,), "edges"), second: In((401,), "edges"), **attrs})
    return tuple(cases)


def pick(cases: tuple[dict[str, Any], ...], *indices: int) -> tuple[dict[str, Any], ...]:
    return tuple(cases[i] for i in indices)


def check_table(rows: tuple[Row, ...]) -> Iterator[str]:
    """What is wrong with the table itself."""
    seen = set()
    for row in rows:
        if row.op in seen:
            yield f"{row.op}: two rows"
        seen.add(row.op)
        if not (row.jit and row.jit_dtypes is None) and not row.why:
            yield f"{row.op}: no lowering, without a reason"
        if not row.cases or not row.dtypes:
            yield f"{row.op}: no case or no dtype"
