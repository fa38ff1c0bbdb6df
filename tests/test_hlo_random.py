"""Random HLO modules: fused and unfused on the emulated chip against XLA's evaluator, bit for bit."""

import numpy as np
import pytest
from hlo_harness import data, evaluate, parameters, run
from hlo_random import Generator


@pytest.mark.parametrize("first", range(0, 500, 50))
def test_fifty_modules(first: int) -> None:
    for seed in range(first, first + 50):
        code, rng = Generator(seed, steps=6 + seed % 25).module(), np.random.default_rng(seed)
        arrays = [data(dtype, dims, "any", rng) for dtype, dims in parameters(code)]
        expected = evaluate(code, arrays, passes=True)
        for passes in ("", "-chip-fusion"):
            for i, (a, e) in enumerate(zip(run(code, arrays, passes=passes)[0], expected, strict=True)):
                assert np.array_equal(a, e), f"seed {seed}, passes {passes!r}, result {i}:\n{code}"
