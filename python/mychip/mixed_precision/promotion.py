"""Which ops compute wider inside than their 16-bit operands: the documented list."""

from __future__ import annotations

# TensorFlow op -> what a native kernel does in float32 before it rounds once. XLA programs round after each 16-bit HLO
# instruction outside of these accumulations: a softmax written as HLO is not promoted.
PROMOTED: dict[str, str] = {
    **dict.fromkeys(("MatMul", "BatchMatMul", "BatchMatMulV2", "Einsum"), "sums of products"),
    **dict.fromkeys(
        ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", "Conv3D", "Conv3DBackpropInputV2")
        + ("Conv3DBackpropFilterV2", "DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput")
        + ("DepthwiseConv2dNativeBackpropFilter",),
        "sums of products",
    ),
    **dict.fromkeys(("Sum", "Mean", "Prod", "EuclideanNorm", "L2Loss", "Cumsum", "Cumprod"), "the reduction"),
    **dict.fromkeys(("BiasAddGrad", "AddN", "AvgPool", "AvgPoolGrad", "AvgPool3D", "AvgPool3DGrad"), "the sum"),
    **dict.fromkeys(("UnsortedSegmentSum", "SegmentSum", "SegmentMean", "ScatterNd"), "the sum"),
    **dict.fromkeys(("Softmax", "LogSoftmax"), "maximum, exponentials and their sum"),
    **dict.fromkeys(
        ("SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits"), "softmax, logarithm and loss"
    ),
    **dict.fromkeys(("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"), "mean and variance"),
    **dict.fromkeys(
        ("Exp", "Expm1", "Log", "Log1p", "Pow", "Tanh", "Sigmoid", "Softplus", "Erf", "Erfc"), "the function"
    ),
    **dict.fromkeys(("Rsqrt", "Sqrt", "Elu", "EluGrad", "Selu", "SeluGrad", "TanhGrad", "SigmoidGrad"), "the function"),
}

MATRIX_OPS = frozenset(op for op, what in PROMOTED.items() if what == "sums of products")
