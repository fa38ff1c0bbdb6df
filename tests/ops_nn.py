"""Matrix products, convolutions, pooling, normalisation, losses, images, random numbers."""

from typing import Any

from rows import ALL, FLOATS, NUMBERS, Row, ids, t

PRODUCT = {"ulp": 4, "scale": "abs", "grad": True, "grad_scale": "abs", "grad_ulp": 4}

MATMULS = tuple(
    {
        "a": t(*((k, m) if ta else (m, k)), domain=domain),
        "b": t(*((n, k) if tb else (k, n)), domain=domain),
        "transpose_a": ta,
        "transpose_b": tb,
    }
    for m, k, n, domain in ((3, 4, 5, "normal"), (1, 1, 1, "normal"), (67, 129, 35, "normal"), (16, 33, 17, "integers"))
    for ta, tb in ((False, False), (True, False), (False, True), (True, True))
) + tuple({"a": t(m, k), "b": t(k, n)} for m, k, n in ((0, 3, 2), (2, 0, 3), (2, 3, 0)))

BATCH_MATMULS = tuple(
    {"x": t(*x), "y": t(*y), "adj_x": ax, "adj_y": ay}
    for x, y, ax, ay in (
        ((2, 3, 4), (2, 4, 5), False, False),
        ((2, 4, 3), (2, 4, 5), True, False),
        ((2, 3, 4), (2, 5, 4), False, True),
        ((2, 1, 3, 4), (5, 4, 2), False, False),
        ((0, 3, 4), (0, 4, 5), False, False),
        ((3, 8, 33, 16), (3, 8, 33, 16), False, True),
    )
)

# input NHWC, filter HWIO, strides, padding, explicit paddings, dilation
CONVS: tuple[tuple[tuple[int, ...], tuple[int, ...], int, str, list[int], int], ...] = (
    ((2, 7, 6, 3), (3, 3, 3, 4), 1, "SAME", [], 1),
    ((2, 7, 6, 3), (3, 2, 3, 4), 2, "VALID", [], 1),
    ((1, 8, 8, 2), (3, 3, 2, 3), 2, "SAME", [], 1),
    ((2, 5, 5, 8), (1, 1, 8, 16), 1, "VALID", [], 1),
    ((1, 9, 9, 2), (3, 3, 2, 2), 1, "SAME", [], 2),
    ((1, 6, 7, 2), (3, 3, 2, 3), 1, "EXPLICIT", [0, 0, 1, 2, 0, 1, 0, 0], 1),
    ((3, 15, 17, 16), (3, 3, 16, 24), 1, "SAME", [], 1),
)


def conv_shape(case: tuple) -> tuple[int, ...]:
    (n, h, w, _), (kh, kw, _, co), stride, padding, explicit, dilation = case
    sizes = []
    for i, (size, kernel) in enumerate(((h, kh), (w, kw))):
        if padding == "SAME":
            sizes.append(-(-size // stride))
        else:
            pads = sum(explicit[2 + 2 * i : 4 + 2 * i]) if explicit else 0
            sizes.append((size + pads - (kernel - 1) * dilation - 1) // stride + 1)
    return (n, *sizes, co)


def conv(case: tuple, what: str, domain: str = "normal") -> dict[str, Any]:
    shape, kernel, stride, padding, explicit, dilation = case
    tensors: dict[str, Any] = {
        "Conv2D": {"input": t(*shape, domain=domain), "filter": t(*kernel, domain=domain)},
        "Conv2DBackpropInput": {
            "input_sizes": list(shape),
            "filter": t(*kernel, domain=domain),
            "out_backprop": t(*conv_shape(case), domain=domain),
        },
        "Conv2DBackpropFilter": {
            "input": t(*shape, domain=domain),
            "filter_sizes": list(kernel),
            "out_backprop": t(*conv_shape(case), domain=domain),
        },
    }[what]
    return {
        **tensors,
        "strides": [1, stride, stride, 1],
        "padding": padding,
        "explicit_paddings": explicit,
        "dilations": [1, dilation, dilation, 1],
    }


def convs(what: str) -> Row:
    # TensorFlow's CPU gradients refuse dilation; the XLA tests take it.
    cases = [case for case in CONVS if what == "Conv2D" or case[5] == 1]
    return Row(
        what,
        (*(conv(case, what) for case in cases), conv(cases[0], what, "integers")),
        FLOATS if what == "Conv2DBackpropFilter" else (*FLOATS, "int32"),
        ulp=4,
        scale="abs",
    )


DEPTHWISE = ((2, 7, 3, 2, 1, "SAME"), (1, 8, 4, 1, 2, "SAME"), (2, 6, 2, 1, 1, "VALID"))


def depthwise(what: str) -> Row:
    cases = []
    for n, size, channels, multiplier, stride, padding in (
        (2, 7, 3, 2, 1, "SAME"),
        (1, 8, 4, 1, 2, "SAME"),
        (2, 6, 2, 1, 1, "VALID"),
    ):
        out = -(-size // stride) if padding == "SAME" else (size - 3) // stride + 1
        shape, kernel = (n, size, size, channels), (3, 3, channels, multiplier)
        gradient = t(n, out, out, channels * multiplier)
        tensors: dict[str, Any] = {
            "DepthwiseConv2dNative": {"input": t(*shape), "filter": t(*kernel)},
            "DepthwiseConv2dNativeBackpropInput": {
                "input_sizes": list(shape),
                "filter": t(*kernel),
                "out_backprop": gradient,
            },
            "DepthwiseConv2dNativeBackpropFilter": {
                "input": t(*shape),
                "filter_sizes": list(kernel),
                "out_backprop": gradient,
            },
        }[what]
        cases.append({**tensors, "strides": [1, stride, stride, 1], "padding": padding})
    return Row(what, tuple(cases), FLOATS, ulp=4, scale="abs")


POOLS = (
    ((2, 6, 7, 3), 2, 2, "VALID"),
    ((2, 6, 7, 3), 2, 2, "SAME"),
    ((1, 8, 8, 4), 3, 1, "SAME"),
    ((1, 5, 5, 2), 3, 2, "VALID"),
    ((3, 16, 16, 32), 2, 2, "VALID"),
)


def pool_shape(case: tuple) -> tuple[int, ...]:
    (n, h, w, c), k, s, padding = case
    return (n, *(-(-d // s) if padding == "SAME" else (d - k) // s + 1 for d in (h, w)), c)


def pool_attrs(case: tuple) -> dict[str, Any]:
    _, k, s, padding = case
    return {"ksize": [1, k, k, 1], "strides": [1, s, s, 1], "padding": padding}


FLOAT_POOLS: dict[str, Any] = {"jit_dtypes": FLOATS, "why": "TensorFlow lowers MaxPool of floats only"}


def max_pool_grad(orig_input: Any, grad: Any, **attrs: Any) -> Any:
    import tensorflow as tf

    pooled = tf.raw_ops.MaxPool(input=orig_input, **attrs)
    return tf.raw_ops.MaxPoolGrad(orig_input=orig_input, orig_output=pooled, grad=grad, **attrs)


def softmax_like(op: str, **more: Any) -> Row:
    shapes = ((3, 5), (2, 3, 7), (1,), (4, 1), (0, 3), (37, 1000))
    cases = [{"logits": t(*shape)} for shape in shapes] + [{"logits": t(9, 5, domain="huge")}]
    return Row(op, tuple(cases), FLOATS, grad=True, **more)


LABELS = tuple((n, c) for n, c in ((5, 7), (1, 1), (0, 3), (64, 100)))

# Philox. Tensors, not constants: TensorFlow folds the op on the CPU otherwise.
RANDOM = {"key": ids(100, 1, dtype="uint64"), "counter": ids(100, 2, dtype="uint64"), "alg": 1}
SCALAR = t(0, dtype="int32")

ROWS = (
    Row("MatMul", MATMULS, (*FLOATS, "int32", "int64"), **PRODUCT),
    Row("BatchMatMulV2", BATCH_MATMULS, (*FLOATS, "int32", "int64"), **PRODUCT),
    Row("BatchMatMul", (*BATCH_MATMULS[:3], BATCH_MATMULS[4]), (*FLOATS, "int32", "int64"), ulp=4, scale="abs"),
    Row(
        "Einsum",
        tuple(
            {"inputs": [t(*a), t(*b)], "equation": equation}
            for a, b, equation in (
                ((2, 3, 4), (2, 5, 4), "bik,bjk->bij"),
                ((2, 5, 3, 4), (2, 6, 3, 4), "btnh,bsnh->bnts"),
                ((2, 3, 5, 6), (2, 6, 3, 4), "bnts,bsnh->btnh"),
                ((3, 4), (4,), "ij,j->i"),
            )
        ),
        NUMBERS,
        **PRODUCT,
    ),
    *map(convs, ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter")),
    *(depthwise(f"DepthwiseConv2dNative{suffix}") for suffix in ("", "BackpropInput", "BackpropFilter")),
    Row(
        "BiasAdd",
        ({"value": t(3, 5), "bias": t(5)}, {"value": t(2, 3, 4, 5), "bias": t(5)}, {"value": t(0, 5), "bias": t(5)},
         {"value": t(61, 67), "bias": t(67)}),
        (*FLOATS, "int32", "int64"),
        grad=True, grad_scale="max",
    ),
    Row(
        "BiasAddV1",
        ({"value": t(3, 5), "bias": t(5)}, {"value": t(2, 3, 4, 5), "bias": t(5)}, {"value": t(0, 5), "bias": t(5)}),
        NUMBERS, jit=False, why="TensorFlow has no lowering",
    ),
    Row(
        "BiasAddGrad",
        ({"out_backprop": t(3, 5)}, {"out_backprop": t(2, 3, 4, 5)}, {"out_backprop": t(0, 5)},
         {"out_backprop": t(1031, 37)}, {"out_backprop": t(4, 6, domain="integers")}),
        NUMBERS, 4, scale="abs",
    ),
    Row("MaxPool", tuple({"input": t(*case[0]), **pool_attrs(case)} for case in POOLS), NUMBERS, **FLOAT_POOLS),
    Row(
        "MaxPoolGrad",
        tuple({"orig_input": t(*case[0]), "grad": t(*pool_shape(case)), **pool_attrs(case)} for case in POOLS),
        NUMBERS, 4, scale="max", exact=False, call=max_pool_grad, **FLOAT_POOLS,
    ),
    Row("AvgPool", tuple({"value": t(*case[0]), **pool_attrs(case)} for case in POOLS), FLOATS, 4, scale="abs"),
    Row(
        "AvgPoolGrad",
        tuple({"orig_input_shape": list(case[0]), "grad": t(*pool_shape(case)), **pool_attrs(case)} for case in POOLS),
        FLOATS, 4, scale="abs",
    ),
    # The difference to the maximum is rounded: half an ULP of a number below 32 is up to 16 ULP of its exponential.
    softmax_like("Softmax", ulp=16, grad_scale="max"),
    softmax_like("LogSoftmax", ulp=4, scale="max", grad_scale="max"),
    Row(
        "SparseSoftmaxCrossEntropyWithLogits",
        tuple({"features": t(n, c), "labels": ids(c, n, dtype=kind)} for n, c in LABELS for kind in ("int32", "int64")),
        FLOATS, 4, scale="max",
    ),
    Row(
        "SoftmaxCrossEntropyWithLogits",
        tuple({"features": t(n, c), "labels": t(n, c, domain="positive")} for n, c in LABELS),
        FLOATS, 8, scale="max",
    ),
    Row("L2Loss", ({"t": t(3, 5)}, {"t": t(0)}, {"t": t(61, 67)}), FLOATS, 4),
    Row(
        "StatelessRandomUniformV2",
        tuple({**RANDOM, "shape": shape, "dtype": "@T"} for shape in ([7], SCALAR, [0, 2], [33, 65])),
        FLOATS, exact=False,
    ),
    Row(
        "StatelessRandomNormalV2",
        tuple({**RANDOM, "shape": shape, "dtype": "@T"} for shape in ([7], SCALAR, [0, 2], [33, 65])),
        FLOATS, 16, scale="max", exact=False,
    ),
    Row(
        "StatelessTruncatedNormalV2",
        ({**RANDOM, "shape": [33], "dtype": "@T"},),
        FLOATS, 16, scale="max", exact=False,
    ),
    Row(
        "StatelessRandomUniformIntV2",
        tuple(
            {**RANDOM, "shape": shape, "minval": t(domain="integers"), "maxval": t(domain="above4")}
            for shape in ([7], [33, 65])
        ),
        ("int32", "int64"),
    ),
    Row(
        "StatelessRandomUniformFullIntV2",
        ({**RANDOM, "shape": [33], "dtype": "@T"},),
        ("int32", "int64", "uint32", "uint64"),
    ),
    Row("StatelessRandomGetKeyCounter", ({"seed": t(2, domain="below100")}, {"seed": t(2)}), ("int32", "int64")),
    Row("StatelessRandomGetKeyCounterAlg", ({"seed": t(2, domain="below100")}, {"seed": t(2)}), ("int32", "int64")),
    Row("StatelessRandomGetAlg", ({},), ("int32",)),
    Row("CheckNumerics", ({"tensor": t(3, 5), "message": "m"},), FLOATS, jit=False, why="TensorFlow has no lowering"),
)  # fmt: skip
__all__ = ["ALL", "ROWS"]
