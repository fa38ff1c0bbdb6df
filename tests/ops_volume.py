"""Convolutions and pools over volumes (three spatial dims)."""

from typing import Any

from rows import FLOATS, Row, t

# input NDHWC, filter DHWIO, stride, padding
CONVS: tuple[tuple[tuple[int, ...], tuple[int, ...], int, str], ...] = (
    ((2, 4, 5, 6, 3), (2, 3, 3, 3, 4), 1, "SAME"),
    ((1, 5, 4, 7, 2), (3, 2, 3, 2, 5), 2, "VALID"),
    ((1, 6, 5, 4, 2), (2, 2, 2, 2, 3), 2, "SAME"),
    ((2, 3, 3, 3, 8), (1, 1, 1, 8, 4), 1, "VALID"),
)

# input NDHWC, window, stride, padding
POOLS: tuple[tuple[tuple[int, ...], int, int, str], ...] = (
    ((2, 4, 5, 6, 3), 2, 2, "VALID"),
    ((2, 4, 5, 6, 3), 2, 2, "SAME"),
    ((1, 5, 5, 5, 2), 3, 1, "SAME"),
)

# Small enough for values that differ in 16 bits too: where several are the largest, the gradient of MaxPool3D goes
# to each of them on the CPU, to the first in XLA and here (as that of MaxPool does everywhere).
DISTINCT_POOLS = tuple(((1, *shape[1:4], 2), k, s, padding) for shape, k, s, padding in POOLS)


def result_dims(dims: tuple[int, ...], window: tuple[int, ...], stride: int, padding: str) -> tuple[int, ...]:
    if padding == "SAME":
        return tuple(-(-d // stride) for d in dims)
    return tuple((d - k) // stride + 1 for d, k in zip(dims, window, strict=True))


def convs(what: str) -> Row:
    cases = []
    for shape, kernel, stride, padding in CONVS:
        result = t(shape[0], *result_dims(shape[1:4], kernel[:3], stride, padding), kernel[4])
        tensors: dict[str, Any] = {
            "Conv3D": {"input": t(*shape), "filter": t(*kernel)},
            "Conv3DBackpropInputV2": {"input_sizes": list(shape), "filter": t(*kernel), "out_backprop": result},
            "Conv3DBackpropFilterV2": {"input": t(*shape), "filter_sizes": list(kernel), "out_backprop": result},
        }[what]
        cases.append({**tensors, "strides": [1, stride, stride, stride, 1], "padding": padding})
    return Row(what, tuple(cases), FLOATS, ulp=4, scale="abs")


def attrs(case: tuple[tuple[int, ...], int, int, str]) -> dict[str, Any]:
    _, k, s, padding = case
    return {"ksize": [1, k, k, k, 1], "strides": [1, s, s, s, 1], "padding": padding}


def pooled(case: tuple[tuple[int, ...], int, int, str]) -> Any:
    shape, k, s, padding = case
    return t(shape[0], *result_dims(shape[1:4], (k, k, k), s, padding), shape[4])


def max_pool_grad(orig_input: Any, grad: Any, **attributes: Any) -> Any:
    import tensorflow as tf

    output = tf.raw_ops.MaxPool3D(input=orig_input, **attributes)
    return tf.raw_ops.MaxPool3DGrad(orig_input=orig_input, orig_output=output, grad=grad, **attributes)


ROWS = (
    *map(convs, ("Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2")),
    Row("MaxPool3D", tuple({"input": t(*case[0]), **attrs(case)} for case in POOLS), FLOATS),
    Row(
        "MaxPool3DGrad",
        tuple(
            {"orig_input": t(*case[0], domain="distinct"), "grad": pooled(case), **attrs(case)}
            for case in DISTINCT_POOLS
        ),
        FLOATS,
        4,
        scale="max",
        exact=False,
        call=max_pool_grad,
    ),
    # No float64 kernel on the CPU.
    Row("AvgPool3D", tuple({"input": t(*case[0]), **attrs(case)} for case in POOLS), FLOATS, 4, "max", exact=False),
    Row(
        "AvgPool3DGrad",
        tuple({"orig_input_shape": list(case[0]), "grad": pooled(case), **attrs(case)} for case in POOLS),
        FLOATS,
        4,
        "max",
        exact=False,
    ),
)
