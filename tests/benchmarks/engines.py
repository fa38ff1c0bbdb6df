"""The chip's engines against TensorFlow's CPU path and XLA:CPU.

python tests/benchmarks/engines.py [--threads N] [--only TEXT] [--repeats N]

Never fails by time. Run it on a quiet machine; `--threads 1` limits all three contenders to one core.
"""

from __future__ import annotations

import argparse
import os
import sys


def _numbers(*shape, dtype="float32", seed=0, low=-1.0, high=1.0):
    import numpy as np

    return np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)


def matrix_cases():
    import tensorflow as tf
    from harness import Case

    for m, k, n in ((128, 128, 128), (512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048), (64, 4096, 1024)):
        inputs = [_numbers(m, k), _numbers(k, n)]
        yield Case("matrix f32", f"matmul {m}x{k}x{n}", tf.matmul, inputs, flops=2 * m * k * n)
    inputs = [_numbers(96, 128, 128), _numbers(96, 128, 64)]
    yield Case("matrix f32", "batch 96x(128x128x64)", tf.matmul, inputs, flops=2 * 96 * 128 * 128 * 64)
    import ml_dtypes

    # Skinny: few rows, a matrix times a vector, and a batch of a training step.
    for m, k, n in ((1, 1024, 4096), (32, 784, 512), (32, 512, 10)):
        yield Case(
            "matrix f32", f"matmul {m}x{k}x{n}", tf.matmul, [_numbers(m, k), _numbers(k, n)], flops=2 * m * k * n
        )
    for dtype in ("float16", ml_dtypes.bfloat16):
        for size in (512, 1024):
            name = f"matmul {size} {getattr(dtype, '__name__', dtype)}"
            inputs = [_numbers(size, size).astype(dtype), _numbers(size, size).astype(dtype)]
            yield Case("matrix 16 bit", name, tf.matmul, inputs, flops=2 * size**3)


CONVOLUTIONS = (
    # name, batch, height, width, in, out, kernel, stride, dilation, groups
    ("3x3 56x56 64-64", 32, 56, 56, 64, 64, 3, 1, 1, 1),
    ("3x3 28x28 128-128", 32, 28, 28, 128, 128, 3, 1, 1, 1),
    ("1x1 56x56 64-64", 32, 56, 56, 64, 64, 1, 1, 1, 1),
    ("3x3 s2 56x56 64-64", 32, 56, 56, 64, 64, 3, 2, 1, 1),
    ("3x3 d2 28x28 64-64", 16, 28, 28, 64, 64, 3, 1, 2, 1),
    ("3x3 g4 28x28 64-64", 16, 28, 28, 64, 64, 3, 1, 1, 4),
)


def convolution_cases():
    import tensorflow as tf
    from harness import Case

    def forward(stride, dilation):
        return lambda x, w: tf.nn.conv2d(x, w, stride, "SAME", dilations=dilation)

    for name, n, h, w, ci, co, k, stride, dilation, groups in CONVOLUTIONS:
        x, f = _numbers(n, h, w, ci), _numbers(k, k, ci // groups, co, seed=1)
        dy = _numbers(n, -(-h // stride), -(-w // stride), co, seed=2)
        flops = 2.0 * dy.size * k * k * ci / groups
        conv = forward(stride, dilation)
        yield Case("convolution forward", name, conv, [x, f], flops=flops)
        if groups > 1 or dilation > 1:  # TensorFlow's CPU path has no gradient for these
            continue

        def input_gradient(dy, f, shape=x.shape, stride=stride):
            return tf.raw_ops.Conv2DBackpropInput(
                input_sizes=shape, filter=f, out_backprop=dy, strides=[1, stride, stride, 1], padding="SAME"
            )

        def filter_gradient(x, dy, shape=f.shape, stride=stride):
            return tf.raw_ops.Conv2DBackpropFilter(
                input=x, filter_sizes=shape, out_backprop=dy, strides=[1, stride, stride, 1], padding="SAME"
            )

        yield Case("convolution input gradient", name, input_gradient, [dy, f], flops=flops)
        yield Case("convolution filter gradient", name, filter_gradient, [x, dy], flops=flops)
    yield from depthwise_cases()


def depthwise_cases():
    import tensorflow as tf
    from harness import Case

    # A small batch: XLA:CPU takes a hundred times as long as the others.
    x, f, dy = _numbers(8, 56, 56, 64), _numbers(3, 3, 64, 1, seed=1), _numbers(8, 56, 56, 64, seed=2)
    flops = 2.0 * x.size * 9
    same = {"strides": [1, 1, 1, 1], "padding": "SAME"}

    def forward(x, f):
        return tf.raw_ops.DepthwiseConv2dNative(input=x, filter=f, **same)

    def input_gradient(dy, f):
        return tf.raw_ops.DepthwiseConv2dNativeBackpropInput(input_sizes=x.shape, filter=f, out_backprop=dy, **same)

    def filter_gradient(x, dy):
        return tf.raw_ops.DepthwiseConv2dNativeBackpropFilter(input=x, filter_sizes=f.shape, out_backprop=dy, **same)

    name = "depthwise 3x3 56x56x64"
    yield Case("convolution forward", name, forward, [x, f], flops=flops)
    yield Case("convolution input gradient", name, input_gradient, [dy, f], flops=flops)
    yield Case("convolution filter gradient", name, filter_gradient, [x, dy], flops=flops)


def memory_cases():
    import tensorflow as tf
    from harness import Case

    def cheap(a, b):
        return tf.maximum(a * 1.5 + b, 0.25)

    def chain(a, b):
        x = tf.exp(tf.tanh(a * 1.25 + b))
        return tf.where(x > 1.0, x, b) + a

    def layer_norm(x):
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + 1e-5)

    def batch_norm_step(x, gamma, dy):
        with tf.GradientTape() as tape:
            tape.watch([x, gamma])
            mean, variance = tf.nn.moments(x, [0, 1, 2])
            y = (x - mean) * tf.math.rsqrt(variance + 1e-3) * gamma
        return (y, *tape.gradient(y, [x, gamma], output_gradients=dy))

    def adam(w, g, m, v):
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        return w - 1e-3 * m / (tf.sqrt(v) + 1e-7), m, v

    for name, size in (("1M", 1 << 20), ("16M", 1 << 24)):
        a, b = _numbers(size), _numbers(size, seed=1)
        yield Case("vector", f"3 cheap ops {name}", cheap, [a, b], bytes=12.0 * size)
        yield Case("vector", f"6 ops with tanh, exp {name}", chain, [a, b], bytes=12.0 * size)
    x = _numbers(4096, 1024)
    yield Case("vector", "softmax 4096x1024", tf.nn.softmax, [x], bytes=8.0 * x.size)
    yield Case("vector", "layer norm 4096x1024", layer_norm, [x], bytes=8.0 * x.size)
    inputs = [_numbers(32, 56, 56, 64), _numbers(64), _numbers(32, 56, 56, 64, seed=3)]
    yield Case("vector", "batch norm step 32x56x56x64", batch_norm_step, inputs)
    big = 10_000_000
    inputs = [_numbers(big), _numbers(big), _numbers(big), _numbers(big, low=0)]
    yield Case("vector", "Adam 10M", adam, inputs, bytes=28.0 * big)

    def dropout(x):
        keep = tf.random.stateless_uniform(tf.shape(x), [1, 2]) >= 0.5
        return tf.where(keep, x * 2.0, 0.0)

    yield Case("vector", "dropout 4096x1024", dropout, [x], bytes=8.0 * x.size)
    square = _numbers(4096, 4096)
    yield Case("reduction", "row sum 4096^2", lambda x: tf.reduce_sum(x, 1), [square], bytes=4.0 * square.size)
    yield Case("reduction", "column sum 4096^2", lambda x: tf.reduce_sum(x, 0), [square], bytes=4.0 * square.size)
    yield Case("movement", "transpose 4096^2", tf.transpose, [square], bytes=8.0 * square.size)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=0, help="cores for all contenders (default: all)")
    parser.add_argument("--only", default="", help="cases whose group or name contains this")
    parser.add_argument("--repeats", type=int, default=9)
    arguments = parser.parse_args()
    if arguments.threads:
        os.environ["MYCHIP_CORES"] = str(arguments.threads)
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[: arguments.threads]))
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    sys.path.insert(0, os.path.dirname(__file__))
    from harness import measure, report

    rows = []
    for cases in (matrix_cases, convolution_cases, memory_cases):
        for case in cases():
            if arguments.only in case.group or arguments.only in case.name:
                rows.append(measure(case, arguments.repeats))
                print(f"  {case.group} / {case.name}: {rows[-1].worst_ratio():.2f}", file=sys.stderr, flush=True)
    print(report(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
