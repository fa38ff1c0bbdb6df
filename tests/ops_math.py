"""Elementwise ops: arithmetic, comparisons, logic, transcendental functions, their gradients, casts."""

import numpy as np
import tensorflow as tf
from rows import ALL, FLOATS, INTS, NUMBERS, Row, binary_cases, pick, t, unary_cases

NO_LOWERING = "TensorFlow has no XLA lowering for it"

COMPLEX = ("complex64",)

# op: argument, domain, ulp, dtypes
UNARY = {
    "Abs": ("x", "normal", 0, NUMBERS),
    "Neg": ("x", "normal", 0, NUMBERS),
    "Sign": ("x", "normal", 0, NUMBERS),
    "Square": ("x", "normal", 0, NUMBERS),
    "Ceil": ("x", "huge", 0, FLOATS),
    "Floor": ("x", "huge", 0, FLOATS),
    "Rint": ("x", "huge", 0, FLOATS),
    "Round": ("x", "huge", 0, NUMBERS),
    "Sqrt": ("x", "positive", 0, FLOATS),
    "Rsqrt": ("x", "positive", 2, FLOATS),
    "Reciprocal": ("x", "nonzero", 0, FLOATS),
    "Inv": ("x", "nonzero", 0, FLOATS),
    "Exp": ("x", "normal", 2, FLOATS),
    "Expm1": ("x", "normal", 2, FLOATS),
    "Log": ("x", "positive", 2, FLOATS),
    "Log1p": ("x", "positive", 2, FLOATS),
    "Tanh": ("x", "normal", 4, FLOATS),
    "Sigmoid": ("x", "normal", 4, FLOATS),
    "Erf": ("x", "normal", 4, FLOATS),
    "Erfc": ("x", "normal", 8, FLOATS),
    "Sin": ("x", "huge", 2, FLOATS),
    "Cos": ("x", "huge", 2, FLOATS),
    "Tan": ("x", "unit", 4, FLOATS),
    "Asin": ("x", "unit", 4, (*FLOATS, "complex64", "complex128")),
    "Acos": ("x", "unit", 4, (*FLOATS, "complex64", "complex128")),
    "Atan": ("x", "normal", 4, (*FLOATS, "complex64", "complex128")),
    "Sinh": ("x", "normal", 4, FLOATS),
    "Cosh": ("x", "normal", 4, FLOATS),
    "Asinh": ("x", "normal", 4, (*FLOATS, "complex64", "complex128")),
    "Acosh": ("x", "above1", 4, (*FLOATS, "complex64", "complex128")),
    "Atanh": ("x", "unit", 4, (*FLOATS, "complex64", "complex128")),
    "Softplus": ("features", "normal", 4, FLOATS),
    "Softsign": ("features", "normal", 1, FLOATS),
    "Relu": ("features", "normal", 0, NUMBERS),
    "Relu6": ("features", "normal", 0, NUMBERS),
    "Elu": ("features", "normal", 4, FLOATS),
    "Selu": ("features", "normal", 4, FLOATS),
    "LeakyRelu": ("features", "normal", 0, FLOATS),
    "IsNan": ("x", "normal", 0, FLOATS),
    "IsInf": ("x", "normal", 0, FLOATS),
    "IsFinite": ("x", "normal", 0, FLOATS),
    "Lgamma": ("x", "positive", 8, FLOATS),
    "Digamma": ("x", "positive", 8, FLOATS),
    "Erfinv": ("x", "unit", 8, FLOATS),
    "Ndtri": ("x", "fraction", 8, FLOATS),
    "PopulationCount": ("x", "huge", 0, (*INTS, "uint8", "int16")),
    "Real": ("input", "normal", 0, COMPLEX),
    "Imag": ("input", "normal", 0, COMPLEX),
    "Conj": ("input", "normal", 0, COMPLEX),
    "Angle": ("input", "normal", 4, COMPLEX),
    "ComplexAbs": ("x", "normal", 2, COMPLEX),
    "LogicalNot": ("x", "normal", 0, ("bool",)),
    "Invert": ("x", "normal", 0, INTS),
}
# Special values these must not meet: sines of huge arguments, and ops whose CPU kernel disagrees with itself on them.
NO_EDGES = {"Sin", "Cos", "Tan", "Lgamma", "Digamma"}
DIFFERENTIABLE = {
    "Abs", "Neg", "Square", "Sqrt", "Rsqrt", "Reciprocal", "Exp", "Expm1", "Log", "Log1p", "Tanh", "Sigmoid", "Erf",
    "Erfc", "Sin", "Cos", "Softplus", "Softsign", "Relu", "Relu6", "Elu", "Selu", "LeakyRelu",
}  # fmt: skip

# Where TensorFlow's CPU is no reference: exp(x) - 1 loses small x, and Round of int32 gives zeros.
SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
GOLDEN = {
    "Elu": lambda x: np.where(x < 0, np.expm1(x), x),
    "Selu": lambda x: SELU_SCALE * np.where(x < 0, SELU_ALPHA * np.expm1(x), x),
    "Round": np.round,
}

# op: first, second argument, domain, domain of the second, ulp, dtypes
BINARY = {
    "AddV2": ("x", "y", "normal", None, 0, NUMBERS),
    "Add": ("x", "y", "normal", None, 0, NUMBERS),
    "Sub": ("x", "y", "normal", None, 0, NUMBERS),
    "Mul": ("x", "y", "normal", None, 0, NUMBERS),
    "RealDiv": ("x", "y", "normal", None, 0, FLOATS),
    "Div": ("x", "y", "normal", "nonzero", 0, NUMBERS),
    "DivNoNan": ("x", "y", "normal", None, 0, FLOATS),
    "MulNoNan": ("x", "y", "normal", None, 0, FLOATS),
    "Maximum": ("x", "y", "normal", None, 0, NUMBERS),
    "Minimum": ("x", "y", "normal", None, 0, NUMBERS),
    "Pow": ("x", "y", "positive", "powers", 4, NUMBERS),
    "FloorDiv": ("x", "y", "huge", "nonzero", 0, NUMBERS),
    "FloorMod": ("x", "y", "huge", "nonzero", 0, NUMBERS),
    "Mod": ("x", "y", "huge", "nonzero", 0, NUMBERS),
    "TruncateDiv": ("x", "y", "huge", "nonzero", 0, NUMBERS),
    "TruncateMod": ("x", "y", "huge", "nonzero", 0, NUMBERS),
    "SquaredDifference": ("x", "y", "normal", None, 1, NUMBERS),
    "Atan2": ("y", "x", "normal", None, 4, FLOATS),
    "Xdivy": ("x", "y", "normal", "nonzero", 0, FLOATS),
    "Xlogy": ("x", "y", "normal", "positive", 4, FLOATS),
    "Xlog1py": ("x", "y", "normal", "positive", 4, FLOATS),
    "NextAfter": ("x1", "x2", "normal", None, 0, ("float32",)),
    "Equal": ("x", "y", "integers", None, 0, ALL),
    "NotEqual": ("x", "y", "integers", None, 0, ALL),
    "Less": ("x", "y", "integers", None, 0, NUMBERS),
    "LessEqual": ("x", "y", "integers", None, 0, NUMBERS),
    "Greater": ("x", "y", "integers", None, 0, NUMBERS),
    "GreaterEqual": ("x", "y", "integers", None, 0, NUMBERS),
    "LogicalAnd": ("x", "y", "normal", None, 0, ("bool",)),
    "LogicalOr": ("x", "y", "normal", None, 0, ("bool",)),
    "BitwiseAnd": ("x", "y", "normal", None, 0, INTS),
    "BitwiseOr": ("x", "y", "normal", None, 0, INTS),
    "BitwiseXor": ("x", "y", "normal", None, 0, INTS),
}
# x / 0 of integers is an error, x / inf or nan has no agreed quotient: test_errors and the XLA tests take these.
NO_EDGES |= {"Div", "FloorDiv", "FloorMod", "Mod", "TruncateDiv", "TruncateMod", "NextAfter"}
# The sign of a zero is left open: max(-0, 0); 0 * y and x / 0 forced to 0; a remainder of 0.
ANY_ZERO = {"Maximum", "Minimum", "DivNoNan", "MulNoNan", "FloorMod", "Relu", "Relu6", "Sign", "Atan2"}
ANY_ZERO |= {"Erfinv", "Xdivy", "Xlogy", "Xlog1py"}
# The result depends on the dtype the op rounds in.
SAME_DTYPE = {"FloorMod", "NextAfter"}
DIFFERENTIABLE |= {
    "AddV2", "Sub", "Mul", "RealDiv", "DivNoNan", "Maximum", "Minimum", "Pow", "SquaredDifference", "Atan2", "Xlogy",
}  # fmt: skip


def unary(op: str) -> Row:
    argument, domain, ulp, dtypes = UNARY[op]
    edges = op not in NO_EDGES
    more = {"jit_dtypes": FLOATS, "why": "XLA's lowering rounds floats only"} if op == "Round" else {}
    more["golden"] = GOLDEN.get(op)
    attrs = {"Tout": tf.float32} if op in ("Real", "Imag", "Angle", "ComplexAbs") else {}
    return Row(
        op,
        unary_cases(argument, domain, edges, **attrs),
        dtypes,
        ulp,
        grad=op in DIFFERENTIABLE,
        grad_ulp=max(4, 2 * ulp),
        grad_scale="last" if op in ("Tanh", "Sigmoid") else "max",
        # XLA's log-gamma adds terms of about (x + 7) log(x + 7), which cancel near its roots.
        compiled_scale=(lambda x: (np.abs(x) + 7) * 2) if op == "Lgamma" else None,
        exact=op not in SAME_DTYPE,
        zero_sign=op not in ANY_ZERO,
        **more,
    )


def binary(op: str) -> Row:
    first, second, domain, other, ulp, dtypes = BINARY[op]
    cases = binary_cases(first, second, domain, other, op not in NO_EDGES)
    if op == "Pow":
        cases = (*cases[:-1], {**cases[-1], second: t(401, domain="edge_powers")})
    return Row(
        op,
        cases,
        dtypes,
        ulp,
        grad=op in DIFFERENTIABLE,
        grad_ulp=max(8, 2 * ulp),
        grad_scale="max",  # gradients of a broadcast operand are sums
        exact=op not in SAME_DTYPE,
        zero_sign=op not in ANY_ZERO,
    )


def grads(op: str, first: str, second: str, ulp: float, domain: str = "normal", **more: object) -> Row:
    """A gradient op of equal shapes."""
    cases = [{first: t(*shape, domain=domain), second: t(*shape)} for shape in ((2, 3, 5), (), (1,), (0, 3), (61, 67))]
    return Row(op, tuple(cases), more.pop("dtypes", FLOATS), ulp, **more)


GRADIENTS = (
    grads("ReluGrad", "features", "gradients", 0, dtypes=NUMBERS, zero_sign=False),
    grads("Relu6Grad", "features", "gradients", 0, dtypes=NUMBERS, zero_sign=False),
    grads("LeakyReluGrad", "features", "gradients", 0, zero_sign=False),
    grads("EluGrad", "outputs", "gradients", 2, "unit"),
    grads("SeluGrad", "outputs", "gradients", 2, "unit"),
    grads("TanhGrad", "y", "dy", 2, "unit", scale="last"),
    grads("SigmoidGrad", "y", "dy", 2, "unit", scale="last"),
    grads("SqrtGrad", "y", "dy", 1, "positive"),
    grads("RsqrtGrad", "y", "dy", 2, "positive"),
    grads("ReciprocalGrad", "y", "dy", 2, "nonzero"),
    grads("InvGrad", "y", "dy", 2, "nonzero", jit=False, why=NO_LOWERING),
    grads("SoftplusGrad", "features", "gradients", 4),
    grads("SoftsignGrad", "features", "gradients", 2),
)

CASTS = Row(
    "Cast",
    tuple(
        {"x": t(*shape, domain=domain), "DstT": target}
        for target in ("float32", "float16", "bfloat16", "float64", "int32", "int64", "bool")
        for shape, domain in (((61, 67), "huge"), ((0,), "normal"), ((), "normal"))
    )
    + tuple({"x": t(47, domain="edges"), "DstT": target} for target in ("float32", "float16", "bfloat16", "bool")),
    (*ALL, "uint8", "int8", "float64"),
    exact=False,
)

OTHER = (
    CASTS,
    Row(
        "Bitcast",
        ({"input": t(4, 6), "type": "uint8"}, {"input": t(0, 2), "type": "uint8"}, {"input": t(), "type": "uint16"},
         {"input": t(4, 2), "type": "@wider"}, {"input": t(47, 2, domain="edges"), "type": "@wider"}),
        NUMBERS,
        exact=False,
    ),
    Row(
        "AddN",
        tuple({"inputs": [t(*s)] * n} for s in ((3, 5), (), (0, 2), (61, 67)) for n in (1, 2, 5))
        + ({"inputs": [t(47, domain="edges")] * 3},),
        NUMBERS,
        3,
        scale="abs",
        exact=False,
    ),
    Row(
        "SelectV2",
        tuple(
            {"condition": t(*c, dtype="bool"), "t": t(*a), "e": t(*b)}
            for c, a, b in (
                ((3, 5), (3, 5), (3, 5)),
                ((3, 1), (5,), ()),
                ((), (4,), (3, 1)),
                ((0, 2), (2,), (1, 1)),
                ((61, 67), (61, 67), (67,)),
            )
        )
        + ({"condition": t(47, dtype="bool"), "t": t(47, domain="edges"), "e": t(47, domain="edges")},),
        ALL,
        grad=True,
        grad_scale="max",
    ),
    Row(
        "Select",
        (
            {"condition": t(3, 5, dtype="bool"), "x": t(3, 5), "y": t(3, 5)},
            {"condition": t(3, dtype="bool"), "x": t(3, 5), "y": t(3, 5)},
            {"condition": t(dtype="bool"), "x": t(3, 5), "y": t(3, 5)},
            {"condition": t(0, dtype="bool"), "x": t(0), "y": t(0)},
        ),
        ALL,
    ),
    Row(
        "ClipByValue",
        ({"t": t(61, 67), "clip_value_min": t(domain="unit"), "clip_value_max": t(domain="above1")},
         {"t": t(0), "clip_value_min": t(domain="unit"), "clip_value_max": t(domain="above1")}),
        NUMBERS,
    ),
    Row(
        "ApproximateEqual",
        ({"x": t(3, 5), "y": t(3, 5), "tolerance": 0.5}, {"x": t(0), "y": t(0)}, {"x": t(), "y": t()}),
        NUMBERS,
        exact=False,
    ),
    Row(
        "Complex",
        ({"real": t(3, 5), "imag": t(5), "Tout": tf.complex64}, {"real": t(), "imag": t(0), "Tout": tf.complex64}),
        ("float32",),
        exact=False,
    ),
    Row(
        "LeftShift",
        ({"x": t(3, 5, domain="positive"), "y": t(5, domain="positive")},),
        INTS,
    ),
    Row(
        "RightShift",
        ({"x": t(3, 5, domain="huge"), "y": t(5, domain="positive")},),
        INTS,
    ),
)  # fmt: skip

ROWS = (*map(unary, UNARY), *map(binary, BINARY), *GRADIENTS, *OTHER)
__all__ = ["ROWS", "pick"]
