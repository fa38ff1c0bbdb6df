"""Reductions, arg-reductions, scans, segments, sorting."""

from typing import Any

from rows import ALL, FLOATS, INTS, NUMBERS, Row, ids, t

# Shapes and axes every reduction is tried on: all axes, inner, outer, middle, none, negative, an empty result, an empty
# axis, a scalar, and one long enough for several cores.
AXES: tuple[tuple[tuple[int, ...], list[int]], ...] = (
    ((3, 5), [0, 1]),
    ((3, 5), [1]),
    ((3, 5), [0]),
    ((2, 3, 4), [1]),
    ((2, 3, 4), [0, -1]),
    ((2, 3), []),
    ((0, 4), [1]),
    ((4, 0), [1]),
    ((), []),
    ((1, 1), [0]),
    ((37, 1031), [1]),
    ((1031, 37), [0]),
)


def reduction(
    op: str, dtypes: tuple[str, ...] = NUMBERS, edges: bool = False, domain: str = "normal", **more: Any
) -> Row:
    cases = [
        {"input": t(*shape, domain=domain), "axis": axis, "keep_dims": bool(i % 2)}
        for i, (shape, axis) in enumerate(AXES)
    ]
    cases += [{"input": t(5, 9, domain="integers"), "axis": [axis], "keep_dims": False} for axis in (0, 1)]
    if edges:
        cases.append({"input": t(40, 3, domain="edges"), "axis": [1], "keep_dims": False})
    return Row(op, tuple(cases), dtypes, **more)


def arg_reduction(op: str) -> Row:
    cases = [
        {"input": t(*shape, domain=domain), "dimension": axis, "output_type": kind}
        for shape, axis in (
            ((3, 5), 1),
            ((3, 5), 0),
            ((2, 3, 4), -1),
            ((7,), 0),
            ((0, 4), 1),
            ((1, 1), 0),
            ((31, 257), 1),
        )
        for domain, kind in (("integers", "int64"), ("distinct", "int32"))
    ]
    return Row(op, tuple(cases), ALL)


def scan(op: str, domain: str, **more: Any) -> Row:
    cases = [
        {"x": t(*shape, domain=domain), "axis": axis, "exclusive": exclusive, "reverse": reverse}
        for shape, axis in (((3, 7), 1), ((3, 7), 0), ((0, 3), 0), ((1,), 0), ((2, 3, 5), -2))
        for exclusive, reverse in ((False, False), (True, False), (False, True), (True, True))
    ]
    return Row(op, tuple(cases), **more)


def unsorted_segment(op: str, **more: Any) -> Row:
    cases = (
        {"data": t(9, 4), "segment_ids": ids(5, 9), "num_segments": 6},
        {"data": t(9), "segment_ids": ids(3, 9, dtype="int64"), "num_segments": 3},
        {"data": t(3, 4, 2), "segment_ids": ids(5, 3, 4), "num_segments": 5},
        {"data": t(0, 4), "segment_ids": ids(1, 0), "num_segments": 2},
        {"data": t(500, 17), "segment_ids": ids(40, 500), "num_segments": 41},
    )
    return Row(op, cases, NUMBERS, **more)


SUM = {"ulp": 4, "scale": "abs"}
ROWS = (
    reduction("Sum", **SUM, grad=True, edges=True),
    reduction("Mean", NUMBERS, **SUM, grad=True),
    reduction("Prod", ulp=8, domain="above1", dtypes=(*FLOATS, *INTS)),
    reduction("Max", edges=True, domain="distinct", zero_sign=False, grad=True),
    reduction("Min", edges=True, domain="distinct", zero_sign=False, grad=True),
    reduction("All", ("bool",)),
    reduction("Any", ("bool",)),
    reduction("EuclideanNorm", (*NUMBERS, "complex64"), ulp=4, jit=False, why="TensorFlow has no XLA lowering for it"),
    arg_reduction("ArgMax"),
    arg_reduction("ArgMin"),
    scan("Cumsum", "normal", dtypes=NUMBERS, ulp=8, scale="abs", grad=True, grad_scale="max"),
    scan("Cumprod", "above1", dtypes=NUMBERS, ulp=16),
    unsorted_segment("UnsortedSegmentSum", ulp=8, scale="abs"),
    unsorted_segment("UnsortedSegmentMax"),
    unsorted_segment("UnsortedSegmentMin"),
    unsorted_segment("UnsortedSegmentProd", ulp=16),
    Row(
        "TopKV2",
        tuple(
            {"input": t(*shape, domain="distinct"), "k": k, "sorted": True}
            for shape, k in (((4, 9), 3), ((9,), 9), ((2, 3, 5), 1), ((0, 5), 2))
        ),
        NUMBERS,
    ),
    Row(
        "InTopKV2",
        ({"predictions": t(9, 7), "targets": ids(7, 9), "k": 3},),
        ("float32",),
        exact=False,
    ),
    Row(
        "Bincount",
        ({"arr": ids(5, 30), "size": 7, "weights": t(30)}, {"arr": ids(1, 0), "size": 3, "weights": t(0)}),
        ("float32",),
        4,
        scale="abs",
    ),
)
