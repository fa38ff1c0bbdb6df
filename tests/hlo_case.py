"""What a row of the HLO tables is. Every row runs fused, unfused and through XLA's evaluator; see test_hlo.py.

An entry computation is written as its body only; `module` puts the rest around it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    name: str
    text: str
    kinds: tuple[str, ...] = ("any",)  # of each parameter's data (see hlo_harness.data); the last one repeats
    ulp: float = 0.0
    scale: float = 0.0  # magnitude at which an ULP is taken at least: sums of values that cancel
    max_launches: int = 0  # 0: not checked
    original: bool = True  # also compare with the module as given (the simplifier may change inf and NaN)
    zero_sign: bool = True


ADD = {
    t: f"add_{t} {{ a = {t}[] parameter(0) b = {t}[] parameter(1) ROOT r = {t}[] add(a, b) }}\n"
    for t in ("f32", "f16", "bf16", "f64", "s32", "s64", "s8", "u32", "u8", "c64")
}
MAX = {
    t: f"max_{t} {{ a = {t}[] parameter(0) b = {t}[] parameter(1) ROOT r = {t}[] maximum(a, b) }}\n"
    for t in ("f32", "bf16", "s32", "f16")
}
GE = "ge { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=GE }\n"


def module(body: str, *computations: str) -> str:
    return "HloModule m\n" + "".join(computations) + "ENTRY e {\n" + body.replace(";", "\n") + "\n}\n"
