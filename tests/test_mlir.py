"""StableHLO as text, read by the compiler as format "mlir"; portable artifacts (bytecode) have no row here yet."""

import numpy as np
import pytest
from hlo_harness import hlo, pack, unpack

MODULE = """
module @m {
  func.func public @main(%x: tensor<2x3xf32>, %w: tensor<3x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>) {
    %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
        : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %t = stablehlo.tanh %d : tensor<2x2xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%t init: %z) applies stablehlo.add across dimensions = [1]
        : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    return %t, %s : tensor<2x2xf32>, tensor<2xf32>
  }
}
"""


def test_text_runs() -> None:
    types = hlo.compile("mlir", MODULE)["results"]
    x = np.arange(6, dtype=np.float32).reshape(2, 3) / 8
    w = np.ascontiguousarray(x.T - np.float32(0.3))
    tanh, total = unpack(hlo.compile_and_run("mlir", MODULE, pack([x, w]))[0], types)
    expected = np.tanh(x.astype(np.float64) @ w)
    np.testing.assert_allclose(tanh, expected, rtol=1e-6)
    np.testing.assert_allclose(total, expected.sum(1), rtol=1e-6)


@pytest.mark.parametrize(
    ("code", "what"),
    [
        (b"", "main"),
        (b"module {", "expected"),
        (b"ML\xefR\x00\x01garbage", "bytecode"),
        (MODULE.replace("tanh", "tahn").encode(), "tahn"),
    ],
    ids=["empty", "cut", "no-bytecode", "unknown-op"],
)
def test_unreadable_modules_are_invalid_arguments(code: bytes, what: str) -> None:
    with pytest.raises(RuntimeError, match=f"INVALID_ARGUMENT(.|\n)*{what}"):
        hlo.compile("mlir", code)
