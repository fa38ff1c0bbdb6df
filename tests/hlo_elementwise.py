"""HLO cases: elementwise opcodes over all element types."""

from hlo_case import Case, module


def _unary() -> list[Case]:
    cases = []
    exact = "abs negate sign floor ceil round-nearest-afz round-nearest-even"
    loose = "exponential exponential-minus-one log log-plus-one tanh logistic sine cosine tan erf cbrt sqrt rsqrt"
    for t in ("f32", "f16", "bf16", "f64"):
        for op in (exact + " " + loose).split():
            kind = "finite" if op in ("sine", "cosine", "tan") else "any"
            # One ULP of a 16-bit float is far wider than float32's error.
            ulp = 0 if op in exact.split() else 1 if t in ("f16", "bf16") else 4
            if op == "tan" and t in ("f32", "f64"):
                ulp = 6
            cases.append(Case(f"{op}-{t}", module(f"x = {t}[37] parameter(0); ROOT r = {t}[37] {op}(x)"), (kind,), ulp))
    for t in ("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64"):
        # The evaluator counts the zeros of a negative number after widening it; test_hlo.py checks those itself.
        for op in (
            ["not", "popcnt"]
            + (["count-leading-zeros"] if t[0] == "u" or t == "s64" else [])
            + (["abs", "negate", "sign"] if t[0] == "s" else ["negate"])
        ):
            cases.append(Case(f"{op}-{t}", module(f"x = {t}[21] parameter(0); ROOT r = {t}[21] {op}(x)")))
    cases.append(Case("not-pred", module("x = pred[9] parameter(0); ROOT r = pred[9] not(x)")))
    for t in ("f32", "f16", "bf16", "f64"):
        cases.append(Case(f"is-finite-{t}", module(f"x = {t}[19] parameter(0); ROOT r = pred[19] is-finite(x)")))
    for t, part in (("c64", "f32"), ("c128", "f64")):
        for op in ["negate", "exponential", "log", "sine", "cosine", "tanh", "sqrt", "rsqrt", "logistic"]:
            cases.append(
                Case(f"{op}-{t}", module(f"x = {t}[15] parameter(0); ROOT r = {t}[15] {op}(x)"), ("unit",), 16)
            )
        for op in ["abs", "real", "imag"]:
            cases.append(
                Case(f"{op}-{t}", module(f"x = {t}[15] parameter(0); ROOT r = {part}[15] {op}(x)"), ("finite",), 2)
            )
    return cases


def _binary() -> list[Case]:
    cases = []

    def add(op: str, t: str, kinds: tuple[str, ...] = ("any",), ulp: float = 0) -> None:
        cases.append(
            Case(
                f"{op}-{t}",
                module(f"x = {t}[6,7] parameter(0); y = {t}[6,7] parameter(1); ROOT r = {t}[6,7] {op}(x, y)"),
                kinds,
                ulp,
            )
        )

    for t in ("f32", "f16", "bf16", "f64"):
        for op in ["add", "subtract", "multiply", "divide", "maximum", "minimum"]:
            add(op, t)
        add("power", t, ("positive", "finite"), 1 if t in ("f16", "bf16") else 6)
        add("atan2", t, ("any",), 1 if t in ("f16", "bf16") else 4)
        add("remainder", t, ("finite", "positive"))
    for t in ("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64"):
        for op in ["add", "subtract", "multiply", "maximum", "minimum", "and", "or", "xor", "divide", "remainder"]:
            add(op, t)
        for op in ["shift-left", "shift-right-arithmetic", "shift-right-logical"]:
            add(op, t, ("any", "index:0,40"))
        add("power", t, ("index:0,5", "index:0,4"))
    for op in ["and", "or", "xor", "add", "multiply", "maximum", "minimum"]:
        add(op, "pred")
    for t in ("c64", "c128"):
        for op in ["add", "subtract", "multiply", "divide"]:
            add(op, t, ("finite",), 4)
        add("power", t, ("unit",), 64)
    for t, c in (("f32", "c64"), ("f64", "c128")):
        cases.append(
            Case(
                f"complex-{c}",
                module(f"x = {t}[5] parameter(0); y = {t}[5] parameter(1); ROOT r = {c}[5] complex(x, y)"),
                ("finite",),
            )
        )
    return cases


def _compare_select() -> list[Case]:
    cases = []
    for direction in ["EQ", "NE", "LT", "LE", "GT", "GE"]:
        for t in ("f32", "bf16", "f16", "f64", "s32", "u64", "s8", "pred"):
            cases.append(
                Case(
                    f"compare-{direction}-{t}",
                    module(
                        f"x = {t}[24] parameter(0); r1 = {t}[24] reverse(x), dimensions={{0}};"
                        f"ROOT r = pred[24] compare(x, r1), direction={direction}"
                    ),
                )
            )
        for t in ("f32", "bf16", "f64"):
            cases.append(
                Case(
                    f"compare-total-{direction}-{t}",
                    module(
                        f"x = {t}[24] parameter(0); y = {t}[24] parameter(1);"
                        f"ROOT r = pred[24] compare(x, y), direction={direction}, type=TOTALORDER"
                    ),
                )
            )
    for direction in ("EQ", "NE"):
        cases.append(
            Case(
                f"compare-{direction}-c64",
                module(
                    f"x = c64[8] parameter(0); y = c64[8] parameter(1);"
                    f"ROOT r = pred[8] compare(x, y), direction={direction}"
                ),
                ("small",),
            )
        )
    for t in ("f32", "s64", "bf16", "pred", "u8"):
        cases.append(
            Case(
                f"select-{t}",
                module(
                    f"p = pred[11] parameter(0); x = {t}[11] parameter(1); y = {t}[11] parameter(2);"
                    f"ROOT r = {t}[11] select(p, x, y)"
                ),
            )
        )
    for t in ("f32", "s32", "f16", "u8"):
        cases.append(
            Case(
                f"clamp-{t}",
                module(
                    f"l = {t}[] parameter(0); x = {t}[31] parameter(1); h = {t}[] parameter(2);"
                    f"lb = {t}[31] broadcast(l), dimensions={{}}; hb = {t}[31] broadcast(h), dimensions={{}};"
                    f"ROOT r = {t}[31] clamp(lb, x, hb)"
                ),
                ("index:0,3", "any", "index:4,9"),
            )
        )
    return cases


def _convert() -> list[Case]:
    types = ["pred", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64", "c64", "c128"]
    cases = []
    for a in types:
        for b in types:
            if a != b and not (a[0] == "c" and b[0] != "c"):
                cases.append(Case(f"convert-{a}-{b}", module(f"x = {a}[17] parameter(0); ROOT r = {b}[17] convert(x)")))
    for a, b in (("f32", "s32"), ("u64", "f64"), ("bf16", "u16"), ("s8", "u8"), ("f16", "s16")):
        cases.append(
            Case(f"bitcast-convert-{a}-{b}", module(f"x = {a}[12] parameter(0); ROOT r = {b}[12] bitcast-convert(x)"))
        )
    for a, b in (("f32[3]", "u8[3,4]"), ("u8[3,4]", "f32[3]"), ("s64[2,2]", "u32[2,2,2]"), ("u16[4,2]", "f32[4]")):
        cases.append(Case(f"bitcast-convert-{a}-{b}", module(f"x = {a} parameter(0); ROOT r = {b} bitcast-convert(x)")))
    cases.append(
        Case(
            "reduce-precision",
            module("x = f32[40] parameter(0); ROOT r = f32[40] reduce-precision(x), exponent_bits=5, mantissa_bits=10"),
        )
    )
    return cases


def elementwise_cases() -> list[Case]:
    return _unary() + _binary() + _compare_select() + _convert()
