"""Ops that move data: shape, slices, concatenation, gather and scatter, padding, constants."""

from rows import ALL, NUMBERS, Const, Row, ids, t

BIG = (61, 67)
# An empty list would become a float tensor.
NO_INDICES = t(0, dtype="int32")
NO_PADDINGS = t(0, 2, dtype="int32")


def shaped(op: str, argument: str, attrs: tuple[tuple[tuple[int, ...], dict[str, object]], ...], **more: object) -> Row:
    """One tensor of the row's dtype and attributes."""
    dtypes = more.pop("dtypes", ALL)
    return Row(op, tuple({argument: t(*shape), **attr} for shape, attr in attrs), dtypes, **more)


STRIDED = (
    # shape, begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    ((5, 7), [1, 2], [4, 6], [1, 1], 0, 0, 0, 0, 0),
    ((5, 7), [0, 0], [0, 0], [1, 2], 3, 3, 0, 0, 0),
    ((5, 7), [4, 6], [0, 0], [-1, -2], 0, 3, 0, 0, 0),
    ((5, 7), [2, 0], [3, 0], [1, 1], 2, 2, 0, 0, 1),
    ((2, 3, 4, 5), [0, 1], [0, 2], [1, 1], 0, 0, 1, 0, 2),
    ((3, 4), [0, 0, 0], [0, 0, 0], [1, 1, 1], 5, 5, 0, 2, 0),
    ((5,), [3], [3], [1], 0, 0, 0, 0, 0),
    ((0, 3), [0], [0], [1], 1, 1, 0, 0, 0),
    ((7,), [-1], [0], [1], 0, 0, 0, 0, 1),
    ((61, 67), [1, 3], [60, 66], [2, 3], 0, 0, 0, 0, 0),
)
MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def strided(case: tuple, **more: object) -> dict[str, object]:
    _, begin, end, strides, *masks = case
    return {"begin": begin, "end": end, "strides": strides, **dict(zip(MASKS, masks, strict=True)), **more}


def strided_gradient(case: tuple) -> dict[str, object]:
    import numpy as np
    import tensorflow as tf

    with tf.device("CPU:0"):
        shape = tf.raw_ops.StridedSlice(input=np.zeros(case[0], np.float32), **strided(case)).shape
    return strided(case, shape=list(case[0]), dy=t(*shape))


GATHERS = (
    # params, indices, axis, batch_dims
    ((7, 3), (4,), 0, 0),
    ((7, 3), (2, 2), 1, 0),
    ((7,), (), 0, 0),
    ((4, 5, 3), (4, 2), 1, 1),
    ((5, 0), (3,), 0, 0),
    ((5, 2), (0,), 0, 0),
    ((257, 33), (500,), 0, 0),
)


def gather_case(params: tuple[int, ...], indices: tuple[int, ...], axis: int, batch_dims: int, kind: str) -> dict:
    return {
        "params": t(*params),
        "indices": ids(params[axis], *indices, dtype=kind),
        "axis": axis,
        "batch_dims": batch_dims,
    }


def scatter(op: str, tensor: bool, **more: object) -> Row:
    """Scatter ops over unique indices (the order of clashing updates is open) and, for sums, repeated ones."""
    cases = []
    for shape, indices, update in (
        ((6, 3), [[4], [1], [0]], (3, 3)),
        ((4, 5), [[3, 2], [0, 0]], (2,)),
        ((5,), [[1]], (1,)),
        ((3, 2), [], (0, 2)),
    ):
        index = indices or t(0, 1, dtype="int32")
        cases.append(
            {"tensor": t(*shape), "indices": index, "updates": t(*update)}
            if tensor
            else {"indices": index, "updates": t(*update), "shape": list(shape)}
        )
    if more.pop("repeat", False):
        index, update = [[1], [0], [1], [1]], t(4, 3)
        cases.append(
            {"tensor": t(6, 3), "indices": index, "updates": update}
            if tensor
            else {"indices": index, "updates": update, "shape": [6, 3]}
        )
    return Row(op, tuple(cases), more.pop("dtypes", NUMBERS), **more)


ROWS = (
    shaped("Identity", "input", (((3, 5), {}), ((), {}), ((0, 2), {}), (BIG, {}))),
    shaped("Reshape", "tensor", (((3, 4), {"shape": [2, -1]}), ((), {"shape": [1]}), ((0, 3), {"shape": [3, 0]}))),
    shaped("ExpandDims", "input", (((3, 4), {"axis": 1}), ((), {"axis": 0}), ((0,), {"axis": -1}))),
    shaped("Squeeze", "input", (((3, 1, 4), {"axis": [1]}), ((1, 1), {"axis": []}), ((1, 0), {"axis": [0]}))),
    shaped("ZerosLike", "x", (((3, 5), {}), ((), {}), ((0,), {}), (BIG, {}))),
    shaped("OnesLike", "x", (((3, 5), {}), ((), {}), ((0,), {}), (BIG, {}))),
    shaped("StopGradient", "input", (((3, 5), {}), ((), {}), ((0,), {}))),
    shaped(
        "Transpose",
        "x",
        (
            ((3, 5), {"perm": [1, 0]}),
            ((2, 3, 4), {"perm": [2, 0, 1]}),
            ((2, 3, 4, 5), {"perm": [0, 3, 1, 2]}),
            ((), {"perm": []}),
            ((0, 3), {"perm": [1, 0]}),
            ((5,), {"perm": [0]}),
            (BIG, {"perm": [1, 0]}),
        ),
    ),
    shaped(
        "ReverseV2",
        "tensor",
        (((3, 5), {"axis": [1]}), ((3, 5), {"axis": [0, -1]}), ((), {"axis": []}), ((0, 2), {"axis": [0]})),
    ),
    shaped(
        "Tile",
        "input",
        (
            ((3, 5), {"multiples": [2, 1]}),
            ((3,), {"multiples": [0]}),
            ((), {"multiples": []}),
            ((1, 1), {"multiples": [4, 3]}),
            ((0, 2), {"multiples": [2, 2]}),
            ((31, 33), {"multiples": [3, 5]}),
        ),
    ),
    shaped(
        "BroadcastTo",
        "input",
        (((3, 1), {"shape": [3, 4]}), ((), {"shape": [2, 3]}), ((4,), {"shape": [2, 4]}), ((0, 1), {"shape": [0, 3]})),
    ),
    shaped(
        "Slice",
        "input",
        (
            ((5, 7), {"begin": [1, 2], "size": [3, 4]}),
            ((5, 7), {"begin": [1, 2], "size": [-1, 0]}),
            ((), {"begin": NO_INDICES, "size": NO_INDICES}),
            (BIG, {"begin": [3, 5], "size": [50, -1]}),
        ),
    ),
    Row("StridedSlice", tuple({"input": t(*case[0]), **strided(case)} for case in STRIDED), ALL, grad=True),
    Row("StridedSliceGrad", tuple(map(strided_gradient, STRIDED)), ALL),
    shaped(
        "Pad",
        "input",
        (
            ((3, 4), {"paddings": [[1, 2], [0, 3]]}),
            ((), {"paddings": NO_PADDINGS}),
            ((0, 2), {"paddings": [[1, 1], [0, 1]]}),
        ),
    ),
    Row(
        "PadV2",
        (
            {"input": t(3, 4), "paddings": [[1, 2], [0, 3]], "constant_values": t()},
            {"input": t(0, 2), "paddings": [[1, 1], [0, 1]], "constant_values": t()},
        ),
        ALL,
    ),
    shaped(
        "MirrorPad",
        "input",
        (
            ((3, 4), {"paddings": [[1, 2], [0, 3]], "mode": "REFLECT"}),
            ((3, 4), {"paddings": [[3, 0], [1, 4]], "mode": "SYMMETRIC"}),
        ),
    ),
    Row(
        "ConcatV2",
        (
            {"values": [t(3, 5), t(2, 5)], "axis": 0},
            {"values": [t(3, 5), t(3, 1), t(3, 2)], "axis": -1},
            {"values": [t(0, 2), t(3, 2)], "axis": 0},
            {"values": [t(1), t(1)], "axis": 0},
            {"values": [t(61, 67), t(61, 13)], "axis": 1},
        ),
        ALL,
        grad=True,
    ),
    Row(
        "Concat",
        (
            {"concat_dim": 0, "values": [t(3, 5), t(2, 5)]},
            {"concat_dim": 1, "values": [t(3, 5), t(3, 1), t(3, 2)]},
            {"concat_dim": 0, "values": [t(0, 2), t(3, 2)]},
        ),
        ALL,
    ),
    Row(
        "Pack",
        (
            {"values": [t(3, 5), t(3, 5)], "axis": 0},
            {"values": [t(3, 5)] * 3, "axis": -1},
            {"values": [t(), t()], "axis": 0},
            {"values": [t(0)] * 2, "axis": 1},
        ),
        ALL,
        grad=True,
    ),
    shaped(
        "Unpack",
        "value",
        (((3, 5), {"num": 3, "axis": 0}), ((3, 5), {"num": 5, "axis": 1}), ((1,), {"num": 1}), ((2, 0), {"num": 2})),
    ),
    shaped("Split", "value", (((4, 6), {"axis": 1, "num_split": 3}), ((4, 0), {"axis": 0, "num_split": 2}))),
    shaped("SplitV", "value", (((5, 6), {"axis": 0, "size_splits": [1, 4], "num_split": 2}),)),
    Row(
        "Fill",
        ({"dims": [2, 3], "value": t()}, {"dims": [], "value": t()}, {"dims": [0, 3], "value": t()}),
        ALL,
    ),
    Row(
        "Range",
        (
            {"start": Const(0), "limit": Const(7), "delta": Const(1)},
            {"start": Const(5), "limit": Const(-4), "delta": Const(-2)},
            {"start": Const(3), "limit": Const(3), "delta": Const(1)},
        ),
        ("float32", "int32", "int64"),
        exact=False,
    ),
    Row(
        "LinSpace",
        ({"start": -1.0, "stop": 3.0, "num": 9}, {"start": 2.0, "stop": 2.0, "num": 1}),
        ("float32",),
        2,
        exact=False,
    ),
    Row(
        "OneHot",
        tuple(
            {"indices": ids(5, *shape, dtype=kind), "depth": 4, "on_value": t(), "off_value": t(), "axis": axis}
            for shape, axis, kind in (((3,), -1, "int64"), ((2, 3), 1, "int32"), ((), 0, "int64"), ((0,), 0, "int32"))
        ),
        ALL,
    ),
    Row(
        "GatherV2",
        (
            *(gather_case(*case, kind) for case in GATHERS for kind in ("int32", "int64")),
            # No gradient: tf.range knows no int16.
            {"params": t(7, 3, domain="edges"), "indices": ids(7, 4, dtype="int16"), "axis": 0},
        ),
        ALL,
        grad=True,
        grad_scale="max",
    ),
    Row(
        "Gather",
        tuple(
            {"params": t(*params), "indices": ids(params[0], *indices, dtype=kind)}
            for params, indices, axis, batch_dims in GATHERS
            if axis == batch_dims == 0
            for kind in ("int32", "int64")
        ),
        ALL,
    ),
    Row(
        "GatherNd",
        (
            {"params": t(4, 5), "indices": ids(4, 3, 2, dtype="int16")},
            {"params": t(4, 5), "indices": [[3, 1], [0, 4]]},
            {"params": t(4, 5), "indices": [[2], [0]]},
            {"params": t(4, 5), "indices": t(0, 2, dtype="int32")},
        ),
        ALL,
    ),
    scatter("ScatterNd", False, dtypes=ALL, repeat=True, ulp=2, scale="max"),
    scatter("TensorScatterUpdate", True, dtypes=ALL),
    scatter("TensorScatterAdd", True, dtypes=ALL, repeat=True, ulp=2, scale="max"),
    scatter("TensorScatterSub", True, repeat=True, ulp=2, scale="max"),
    scatter("TensorScatterMax", True, repeat=True),
    scatter("TensorScatterMin", True, repeat=True),
    Row("InvertPermutation", ({"x": [2, 0, 1, 3]}, {"x": [0]}), ("int32",)),
    shaped(
        "MatrixBandPart",
        "input",
        (((4, 5), {"num_lower": 1, "num_upper": -1}), ((2, 3, 3), {"num_lower": 0, "num_upper": 0})),
    ),
    shaped("SpaceToDepth", "input", (((2, 4, 6, 3), {"block_size": 2}),)),
    shaped("DepthToSpace", "input", (((2, 3, 2, 8), {"block_size": 2}),)),
    shaped("Roll", "input", (((4, 5), {"shift": [1, -2], "axis": [0, 1]}), ((7,), {"shift": 3, "axis": 0}))),
    Row(
        "Where",
        ({"condition": t(3, 5)}, {"condition": t(0, 2)}, {"condition": t(7)}),
        ALL,
        jit=False,
        why="its result has a data-dependent shape",
    ),
    Row("LowerBound", ({"sorted_inputs": [[1, 3, 5, 7]], "values": ids(9, 1, 6)},), ("int32",)),
    Row("Diag", ({"diagonal": t(4)},), ("float32", "float16", "int32", "int64")),
    Row("DiagPart", ({"input": t(4, 4)},), ("float32", "float16", "int32", "int64")),
    Row("Reverse", ({"tensor": t(3, 5), "dims": [True, False]},), NUMBERS, jit=False, why="TensorFlow has no lowering"),
)  # fmt: skip
