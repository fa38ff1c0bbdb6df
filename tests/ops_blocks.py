"""Blocks and diagonals, segments, stitching, slices written at a place that only the device knows."""

from typing import Any

from rows import ALL, FLOATS, NUMBERS, Row, ids, t

# input, block_shape, paddings
BLOCKS: tuple[tuple[tuple[int, ...], list[int], list[list[int]]], ...] = (
    ((2, 4, 6, 3), [2, 2], [[0, 0], [0, 0]]),
    ((1, 5, 4, 2), [2, 3], [[1, 0], [0, 2]]),
    ((1, 5, 7), [4], [[2, 1]]),
    ((3, 4, 2), [1], [[0, 0]]),
    ((2, 0, 3), [2], [[1, 1]]),
    ((1, 2, 4, 3, 2), [2, 1, 3], [[0, 0], [1, 0], [0, 0]]),
    ((2, 32, 28, 16), [2, 2], [[2, 2], [3, 1]]),
)

# input, block_shape, crops
GROUPS: tuple[tuple[tuple[int, ...], list[int], list[list[int]]], ...] = (
    ((8, 2, 3, 3), [2, 2], [[0, 0], [0, 0]]),
    ((6, 3, 2, 2), [2, 3], [[1, 0], [0, 2]]),
    ((4, 2, 7), [4], [[2, 1]]),
    ((3, 4, 2), [1], [[1, 2]]),
    ((4, 1, 3), [2], [[1, 1]]),
    ((8, 18, 16, 16), [2, 2], [[2, 2], [3, 1]]),
)

# diagonal, k, num_rows, num_cols
DIAGONALS: tuple[tuple[tuple[int, ...], Any, int, int], ...] = (
    ((4,), 0, -1, -1),
    ((2, 3), 0, -1, -1),
    ((3,), 1, -1, -1),
    ((3,), -2, 5, 4),
    ((2, 3, 4), [-1, 1], -1, -1),
    ((2, 3), [-1, 0], 3, 3),
    ((3, 3), [0, 2], -1, 7),
    ((0, 3), 0, -1, -1),
)

# input, k
PARTS: tuple[tuple[tuple[int, ...], Any], ...] = (
    ((4, 4), 0),
    ((2, 3, 5), 0),
    ((5, 3), -2),
    ((2, 4, 4), [-1, 2]),
    ((3, 5), [-2, 4]),
    ((2, 0, 3), 0),
    ((61, 67), [-3, 3]),
)
ALIGNMENTS = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")


def diagonal_dims(shape: tuple[int, ...], k: Any) -> tuple[int, ...]:
    rows, columns = shape[-2:]
    lower, upper = k if isinstance(k, list) else (k, k)
    longest = min(rows + min(upper, 0), columns - max(lower, 0))
    return (*shape[:-2], *((upper - lower + 1,) if upper > lower else ()), longest)


def versions(op: str, cases: list[dict[str, Any]], first: list[dict[str, Any]], **more: Any) -> tuple[Row, ...]:
    """The three versions of an op: without k, with it, and with an alignment."""
    aligned = tuple({**case, "align": ALIGNMENTS[i % 4]} for i, case in enumerate(cases * 2))
    return (
        Row(op, tuple(first), ALL, **more),
        Row(f"{op}V2", tuple(cases), ALL, **more),
        Row(f"{op}V3", aligned, ALL, grad=True, **more),
    )


NO_LOWERING: dict[str, Any] = {"jit": False, "why": "TensorFlow has no lowering"}

# data, sorted ids
SEGMENTS: tuple[tuple[tuple[int, ...], list[int]], ...] = (
    ((5, 3), [0, 0, 1, 3, 3]),
    ((4,), [2, 2, 2, 2]),
    ((3, 2, 2), [0, 1, 2]),
    ((1, 3), [4]),
    ((40, 7), sorted([i * i % 11 for i in range(40)])),
)


def segment(op: str, dtypes: tuple[str, ...] = NUMBERS, **more: Any) -> Row:
    cases = tuple({"data": t(*shape), "segment_ids": at} for shape, at in SEGMENTS)
    return Row(op, cases, dtypes, **NO_LOWERING, **more)


def picked(op: str, dtypes: tuple[str, ...], segments: bool) -> Row:
    cases = []
    for shape, at in SEGMENTS:
        count: dict[str, Any] = {"num_segments": at[-1] + 3} if segments else {}
        for kind in ("int32", "int64"):
            cases.append({"data": t(9, *shape[1:]), "indices": ids(9, len(at), dtype=kind), "segment_ids": at, **count})
    return Row(op, tuple(cases), dtypes, 4, scale="max", **NO_LOWERING)


def picked_grad(op: str) -> Row:
    cases = tuple(
        {"grad": t(at[-1] + 1, *shape[1:]), "indices": ids(9, len(at)), "segment_ids": at, "output_dim0": 9}
        for shape, at in SEGMENTS
    )
    return Row(op, cases, FLOATS, 4, scale="max", **NO_LOWERING)


STITCHES: tuple[dict[str, Any], ...] = (
    {"indices": [[1, 0]], "data": [t(2)]},
    {"indices": [[0, 2], [1, 3, 4]], "data": [t(2, 3), t(3, 3)]},
    {"indices": [[0, 2], [1, 3]], "data": [t(2, 3), t(2, 3)]},
    {"indices": [[[0, 1], [4, 2]], [3, 5]], "data": [t(2, 2, 3), t(2, 3)]},
    {"indices": [0, [1, 2]], "data": [t(), t(2)]},
    {"indices": [[0, 1, 2], [2, 0]], "data": [t(3, 2), t(2, 2)]},  # the later one wins
)


def matrix_diag(shape: tuple[int, ...], k: Any, rows: int, columns: int) -> dict[str, Any]:
    return {"diagonal": t(*shape), "k": k, "num_rows": rows, "num_cols": columns, "padding_value": t(domain="positive")}


def dynamic_update_slice(**arguments: Any) -> Any:
    from tensorflow.compiler.tf2xla.ops import gen_xla_ops

    return gen_xla_ops.xla_dynamic_update_slice(**arguments)


ROWS = (
    Row(
        "SpaceToBatchND",
        tuple({"input": t(*shape), "block_shape": block, "paddings": pads} for shape, block, pads in BLOCKS),
        ALL, grad=True,
    ),
    Row(
        "BatchToSpaceND",
        tuple({"input": t(*shape), "block_shape": block, "crops": crops} for shape, block, crops in GROUPS),
        ALL, grad=True,
    ),
    Row("SpaceToBatch", ({"input": t(2, 4, 6, 3), "paddings": [[0, 0], [1, 1]], "block_size": 2},), ALL),
    Row("BatchToSpace", ({"input": t(8, 2, 3, 3), "crops": [[0, 1], [1, 0]], "block_size": 2},), ALL),
    *versions(
        "MatrixDiag",
        [matrix_diag(*case) for case in DIAGONALS],
        [{"diagonal": t(4)}, {"diagonal": t(2, 3)}, {"diagonal": t(0, 3)}, {"diagonal": t(3, 67)}],
    ),
    *versions(
        "MatrixDiagPart",
        [{"input": t(*shape), "k": k, "padding_value": t(domain="positive")} for shape, k in PARTS],
        [{"input": t(*shape)} for shape in ((3, 3), (2, 4, 3), (2, 3, 5), (61, 67))],
    ),
    *versions(
        "MatrixSetDiag",
        [{"input": t(*shape), "diagonal": t(*diagonal_dims(shape, k)), "k": k} for shape, k in PARTS],
        [{"input": t(*shape), "diagonal": t(*diagonal_dims(shape, 0))} for shape in ((3, 3), (2, 4, 3), (2, 3, 5))],
    ),
    segment("SegmentSum", ulp=4, scale="max"),
    segment("SegmentMean", ulp=4, scale="max"),
    segment("SegmentProd", ulp=4),
    segment("SegmentMax"),
    segment("SegmentMin"),
    *(picked(f"SparseSegment{kind}", NUMBERS if kind == "Sum" else FLOATS, False) for kind in ("Sum", "Mean", "SqrtN")),
    *(
        picked(f"SparseSegment{kind}WithNumSegments", NUMBERS if kind == "Sum" else FLOATS, True)
        for kind in ("Sum", "Mean", "SqrtN")
    ),
    *(picked_grad(f"SparseSegment{kind}Grad") for kind in ("Sum", "Mean", "SqrtN")),
    Row("DynamicStitch", STITCHES, ALL),
    Row("ParallelDynamicStitch", STITCHES[:-1], ALL),
    Row(
        "XlaDynamicUpdateSlice",
        tuple(
            {"input": t(*shape), "update": t(*update), "indices": t(len(shape), domain=domain, dtype=kind)}
            for shape, update, domain in (
                ((6, 5), (2, 3), "below4"), ((6, 5), (6, 5), "below9"), ((7,), (3,), "integers"),
                ((2, 9, 4), (2, 1, 4), "below9"), ((3, 4), (0, 4), "below3"),
            )
            for kind in ("int32", "int64")
        ),
        ALL, call=dynamic_update_slice,
    ),
    Row(
        "Empty",
        tuple({"shape": shape, "dtype": "@T", "init": True} for shape in ([3, 5], [0, 2], [7])),
        ALL, exact=False,
    ),
)  # fmt: skip
