"""Every HLO case: fused and unfused on the emulated chip against XLA's evaluator."""

import contextlib

import numpy as np
import pytest
from compare import mismatch
from hlo_case import Case, module
from hlo_cases import all_cases
from hlo_harness import data, evaluate, hlo, parameters, run

CASES = all_cases()


def inputs(case: Case) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    kinds = [case.kinds[min(i, len(case.kinds) - 1)] for i in range(len(parameters(case.text)))]
    return [data(t, dims, kind, rng) for (t, dims), kind in zip(parameters(case.text), kinds, strict=True)]


def check(case: Case, actual: list[np.ndarray], expected: list[np.ndarray], what: str) -> None:
    assert len(actual) == len(expected)
    for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
        text = mismatch(a, e, case.ulp, case.scale or None, case.zero_sign)
        assert not text, f"{what}, result {i}: {text}"


@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
def test_case(case: Case) -> None:
    arrays = inputs(case)
    fused, cost = run(case.text, arrays)
    check(case, fused, evaluate(case.text, arrays, passes=True), "fused against the evaluator after XLA's passes")
    if case.original:
        check(case, fused, evaluate(case.text, arrays, passes=False), "fused against the evaluator on the original")
    plain, _ = run(case.text, arrays, passes="-chip-fusion")
    check(case, plain, fused, "unfused against fused")
    if case.max_launches:
        assert cost["launches"] <= case.max_launches


def test_names_are_unique() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len(set(names))


def test_without_any_optional_pass() -> None:
    case = next(c for c in CASES if c.name == "softmax")
    arrays = inputs(case)
    check(case, run(case.text, arrays, passes="none")[0], evaluate(case.text, arrays, passes=False), "no passes")


def test_unknown_pass_is_named() -> None:
    with pytest.raises(RuntimeError, match=r"INVALID_ARGUMENT.*no-such-pass"):
        run(CASES[0].text, inputs(CASES[0]), passes="no-such-pass")


@pytest.mark.parametrize(
    ("body", "array", "expected"),
    [  # what the evaluator does not know, or gets wrong
        ("x = s8[4] parameter(0); ROOT r = s8[4] count-leading-zeros(x)", np.int8([-5, 0, 1, 64]), [0, 8, 7, 1]),
        ("x = s32[3] parameter(0); ROOT r = s32[3] count-leading-zeros(x)", np.int32([-1, 0, 9]), [0, 32, 28]),
        ("x = f32[2,3] parameter(0); ROOT r = s32[] get-dimension-size(x), dimensions={1}", np.zeros((2, 3), "f"), 3),
        (
            "x = f32[3] parameter(0); l = f32[] constant(-1); h = f32[] constant(2); ROOT r = f32[3] clamp(l, x, h)",
            np.float32([-7, np.nan, 9]),
            [-1, np.nan, 2],
        ),
    ],
)
@pytest.mark.parametrize("passes", ["", "-chip-fusion"])
def test_beyond_the_evaluator(body: str, array: np.ndarray, expected: object, passes: str) -> None:
    (result,), _ = run(module(body), [array], passes=passes)
    np.testing.assert_array_equal(result, expected)


DONATED = """HloModule m, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias) }
ENTRY e {
  x = f32[5] parameter(0)
  y = f32[5] parameter(1)
  a = f32[5] add(x, y)
  ROOT r = (f32[5], f32[5], f32[5]) tuple(y, x, a)
}
"""


@pytest.mark.parametrize("donate", [False, True])
def test_aliased_parameters(donate: bool) -> None:
    """Two donated parameters that trade places; without donation the inputs stay as they are (checked by run)."""
    x, y = np.arange(5, dtype=np.float32), np.full(5, 7, np.float32)
    out, _ = run(DONATED, [x, y], donate=donate)
    for actual, expected in zip(out, [y, x, x + y], strict=True):
        np.testing.assert_array_equal(actual, expected)
    bindings = hlo.compile("hlo_text", DONATED)["bindings"]
    assert sorted(p for p, _ in bindings if p >= 0) == [0, 1]
    assert sorted(r for _, r in bindings if r >= 0) == [0, 1, 2]


def test_saved_executable_loads() -> None:
    compiled = hlo.compile("hlo_text", CASES[0].text)
    again = hlo.load(compiled["saved"])
    assert again["assembly"] == compiled["assembly"]
    assert again["bindings"] == compiled["bindings"]
    for cut in (0, 10, len(compiled["saved"]) // 2, len(compiled["saved"]) - 1):
        with pytest.raises(RuntimeError, match="DATA_LOSS"):
            hlo.load(compiled["saved"][:cut])
    broken = bytearray(compiled["saved"])
    broken[-3] ^= 1
    with pytest.raises(RuntimeError, match="DATA_LOSS"):
        hlo.load(bytes(broken))


def test_corrupt_protos_are_errors() -> None:
    """Truncated and flipped bytes: a status or a module that happens to be valid, never a crash."""
    case = next(c for c in CASES if c.name == "dense-relu")
    proto = hlo.to_proto("hlo_text", case.text)
    rng = np.random.default_rng(1)
    for bad in (b"", b"\xff" * 40, b"no proto at all", proto[: len(proto) // 2]):
        with pytest.raises(RuntimeError, match="INVALID_ARGUMENT"):
            hlo.compile("hlo", bad)
    for _ in range(200):
        flipped = bytearray(proto)
        flipped[rng.integers(len(proto))] ^= 1 << rng.integers(8)
        with contextlib.suppress(RuntimeError):
            hlo.compile("hlo", bytes(flipped))


def test_unsupported_is_named() -> None:
    text = """HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  ROOT c = f32[4] custom-call(x), custom_call_target="SomeVendorThing", metadata={op_type="Foo" op_name="model/foo"}
}
"""
    with pytest.raises(RuntimeError, match=r"UNIMPLEMENTED.*SomeVendorThing.*Foo.*model/foo"):
        run(text, [np.zeros(4, np.float32)])
