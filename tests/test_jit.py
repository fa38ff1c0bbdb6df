"""Control flow, linear algebra, images and signals under jit_compile=True, against the CPU without jit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from mychip import _core


def _spd(x: Any) -> Any:
    """A well-conditioned symmetric positive definite matrix from a square one."""
    return tf.matmul(x, x, transpose_a=True) / 5.0 + 2.0 * tf.eye(5)


def newton(x: Any) -> Any:
    """A while loop whose number of rounds depends on the data."""

    def body(i: Any, y: Any) -> Any:
        return i + 1, 0.5 * (y + tf.abs(x) / y)

    return tf.while_loop(
        lambda i, y: (i < 50) & (tf.reduce_max(tf.abs(y * y - tf.abs(x))) > 1e-3), body, [0, tf.abs(x) + 1.0]
    )


def branches(x: Any) -> Any:
    return [tf.cond(tf.reduce_sum(x) > bound, lambda: tf.sin(x) * 2.0, lambda: x - 7.0) for bound in (-1e3, 1e3)]


def switch(x: Any) -> Any:
    index = tf.cast(tf.abs(x[0, 0]), tf.int32) % 3
    return tf.switch_case(index, [lambda: x + 1.0, lambda: x * 3.0, lambda: tf.transpose(x)])


def tensor_array(x: Any) -> Any:
    array = tf.TensorArray(tf.float32, size=6, element_shape=[5])
    for i in tf.range(6):
        array = array.write(i, x[i % 5] * tf.cast(i, tf.float32))
    return array.stack(), array.gather([4, 0, 2])


def gradient_through_while(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in tf.range(4):
            y = tf.tanh(y) + 0.5 * x
        total = tf.reduce_sum(y * y)
    return total, tape.gradient(total, x)


def qr(x: Any) -> Any:
    """Q R and Q^T Q: the signs of Q's columns are the implementation's own."""
    q, r = tf.linalg.qr(x)
    return tf.matmul(q, r), tf.matmul(q, q, transpose_a=True), tf.linalg.band_part(r, -1, 0)[1:, :1]


def eigh(x: Any) -> Any:
    """Eigenvalues and V diag(e) V^T: the vectors' signs are the implementation's own."""
    e, v = tf.linalg.eigh(_spd(x))
    return e, tf.matmul(v * e, v, transpose_b=True)


def triangular(x: Any) -> Any:
    lower = tf.linalg.band_part(x, -1, 0) + 4.0 * tf.eye(5)
    return [tf.linalg.triangular_solve(lower, x, lower=True, adjoint=adjoint) for adjoint in (False, True)] + [
        tf.linalg.triangular_solve(tf.transpose(lower), x, lower=False)
    ]


def fft(x: Any) -> Any:
    z = tf.signal.fft(tf.complex(x, -x))
    r = tf.signal.rfft(x)
    return tf.math.real(z), tf.math.imag(z), tf.math.real(r), tf.signal.irfft(r, [5]), tf.abs(tf.signal.fft2d(z))


def resize(x: Any) -> Any:
    image = tf.reshape(x, [1, 5, 5, 1])
    return tf.image.resize(image, [9, 11]), tf.image.resize(image, [8, 3], method="nearest")


CASES: dict[str, Callable[[Any], Any]] = {
    "while": newton,
    "cond": branches,
    "switch": switch,
    "tensor-array": tensor_array,
    "map-fn": lambda x: tf.map_fn(lambda row: tf.cumsum(row) / (1.0 + tf.reduce_sum(row * row)), x),
    "scan": lambda x: tf.scan(lambda a, row: 0.5 * a + row, x),
    "gradient-of-while": gradient_through_while,
    "cholesky": lambda x: tf.linalg.cholesky(_spd(x)),
    "qr": qr,
    "eigh": eigh,
    "solve": lambda x: tf.linalg.solve(_spd(x), x),
    "inverse": lambda x: tf.linalg.inv(_spd(x)),
    "triangular-solve": triangular,
    "fft": fft,
    "resize": resize,
    "sort": lambda x: (tf.sort(x, axis=0), tf.argsort(x, axis=1, stable=True), tf.math.top_k(x, 2)),
}


def _square(seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((5, 5)).astype(np.float32)


@pytest.mark.parametrize("name", CASES)
def test_equals_cpu(name: str, device: str) -> None:
    jitted = tf.function(CASES[name], jit_compile=True)
    plain = tf.function(CASES[name])
    for seed in (5, 6):
        with tf.device(device):
            actual = tf.nest.map_structure(lambda t: t.numpy(), jitted(tf.constant(_square(seed))))
        with tf.device("CPU:0"):
            expected = tf.nest.map_structure(lambda t: t.numpy(), plain(tf.constant(_square(seed))))
        tf.nest.assert_same_structure(actual, expected)
        for a, e in zip(tf.nest.flatten(actual), tf.nest.flatten(expected), strict=True):
            assert a.dtype == e.dtype
            if e.dtype.kind in "iub":
                np.testing.assert_array_equal(a, e)
            else:
                np.testing.assert_allclose(a, e, rtol=1e-5, atol=1e-5 * max(np.abs(e).max(), 1.0))


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: tf.random.stateless_uniform([40, 30], seed, alg="philox"),
        lambda seed: tf.random.stateless_normal([40, 30], seed, alg="philox"),
        lambda seed: tf.random.stateless_truncated_normal([40, 30], seed, alg="philox"),
        lambda seed: tf.random.stateless_uniform([40, 30], seed, minval=-5, maxval=1000, dtype=tf.int32, alg="philox"),
    ],
    ids=["uniform", "normal", "truncated-normal", "integers"],
)
def test_stateless_random_equals_xla_cpu(draw: Callable[[Any], Any], device: str) -> None:
    """Bits of integers and uniforms; normals within the rounding of their transcendental functions."""
    results = []
    for where in (device, "CPU:0"):
        with tf.device(where):
            results.append(tf.function(draw, jit_compile=True)(tf.constant([3, 8])).numpy())
    actual, expected = results
    if expected.dtype.kind == "i" or expected.min() >= 0:
        np.testing.assert_array_equal(actual, expected)
    else:
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


def test_stateful_random(device: str) -> None:
    """Ops without a seed draw anew in each op, turn of a loop, run and program; their distributions are right."""

    def draw() -> Any:
        uniform = [tf.random.uniform([50, 40]) for _ in range(2)]
        turns = tf.TensorArray(tf.float32, 2)
        for turn in tf.range(2):
            turns = turns.write(turn, tf.random.uniform([50, 40]))
        return *uniform, turns.stack()[0], turns.stack()[1]

    with tf.device(device):
        programs = [tf.function(draw, jit_compile=True), tf.function(lambda: draw(), jit_compile=True)]
        draws = [value.numpy() for program in programs for _ in range(2) for value in program()]
        normal = tf.function(lambda: tf.random.normal([100, 100], 3.0, 2.0), jit_compile=True)().numpy()
        cut = tf.function(lambda: tf.random.truncated_normal([100, 100]), jit_compile=True)().numpy()
        integers = tf.function(lambda: tf.random.uniform([1000], -2, 5, tf.int32), jit_compile=True)().numpy()
    assert len(draws) == 16
    assert len(np.unique(np.round(np.stack(draws).reshape(16, -1)[:, :3], 6))) > 40, "draws repeat"
    for values in draws:
        assert values.min() >= 0
        assert values.max() < 1
        assert abs(values.mean() - 1 / 2) < 0.04
        assert abs(values.std() - 12**-0.5) < 0.02
    assert abs(normal.mean() - 3) < 0.1
    assert abs(normal.std() - 2) < 0.1
    assert np.abs(cut).max() <= 2
    assert abs(cut.std() - 0.88) < 0.03
    assert sorted(np.unique(integers)) == list(range(-2, 5))


def test_generator(device: str) -> None:
    """tf.random.Generator's state is a variable: each jitted call draws anew, and the seed decides what."""

    def draws() -> list[np.ndarray]:
        generator = tf.random.Generator.from_seed(7, alg="philox")

        @tf.function(jit_compile=True)
        def draw() -> Any:
            return generator.uniform([100, 100]), generator.normal([100, 100], mean=2.0, stddev=3.0)

        return [t.numpy() for _ in range(2) for t in draw()]

    with tf.device(device):
        first, again = draws(), draws()
    uniform, normal, next_uniform, _ = first
    assert 0 <= uniform.min() < 0.01
    assert 0.99 < uniform.max() < 1
    assert uniform.mean() == pytest.approx(0.5, abs=0.02)
    assert normal.mean() == pytest.approx(2, abs=0.15)
    assert normal.std() == pytest.approx(3, abs=0.15)
    assert (uniform != next_uniform).any()
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)


def test_shapes_recompile_once_each(device: str) -> None:
    @tf.function(jit_compile=True, reduce_retracing=True)
    def step(x: Any) -> Any:
        return tf.reduce_sum(tf.nn.softmax(x * 2.0)) + tf.cast(tf.shape(x)[0], tf.float32)

    with tf.device(device):
        step(tf.ones([1, 4])), step(tf.ones([2, 4]))  # from the second shape on, one trace serves all
        before = _core.compile_count()
        for _ in range(3):
            for rows in (3, 5, 8):
                assert float(step(tf.ones([rows, 4]))) == pytest.approx(2 * rows)
    assert _core.compile_count() - before <= 3


def test_eager_graph_and_jit_take_turns(device: str) -> None:
    """One pair of variables updated in place by programs and by kernels, each seeing what the one before wrote."""

    def update() -> Any:
        v.assign_add(0.25 * w)
        w.assign(w - 0.5 * v)
        return tf.reduce_sum(v)

    start = np.arange(1024, dtype=np.float32).reshape(32, 32) / 64
    with tf.device(device):
        v, w = tf.Variable(start), tf.Variable(start[::-1].copy())
        modes = [update, tf.function(update), tf.function(update, jit_compile=True)]
        a, b = start.astype(np.float64), start[::-1].astype(np.float64)
        order = np.random.default_rng(2).integers(0, 3, 40)
        for i, mode in enumerate(order):
            held = v.read_value()
            total = modes[mode]()
            before, a = a, a + 0.25 * b
            b = b - 0.5 * a
            if i % 5 == 0:
                np.testing.assert_allclose(held.numpy(), before, rtol=1e-5, atol=1e-5)
                assert float(total) == pytest.approx(a.sum(), rel=1e-4, abs=0.05)
        np.testing.assert_allclose(v.numpy(), a, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(w.numpy(), b, rtol=1e-5, atol=1e-5)
        v.scatter_nd_update([[3, 3]], [7.0])  # an eager kernel on what programs were given
        assert float(v[3, 3]) == 7
