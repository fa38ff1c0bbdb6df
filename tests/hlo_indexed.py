"""HLO cases: indices, order, control flow, transforms."""

from hlo_case import ADD, MAX, Case, module


def _indexed() -> list[Case]:
    cases = []
    for t in ("s32", "s64", "u8"):
        cases.append(
            Case(
                f"gather-rows-{t}",
                module(
                    f"x = f32[6,4] parameter(0); i = {t}[5] parameter(1); ROOT r = f32[5,4] gather(x, i), "
                    f"offset_dims={{1}}, "
                    "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}"
                ),
                ("any", "index:0,9"),
            )
        )
    cases.append(
        Case(
            "gather-window",
            module(
                "x = f32[6,7] parameter(0); i = s32[3,2] parameter(1); ROOT r = f32[3,2,3] gather(x, i), "
                "offset_dims={1,2}, "
                "collapsed_slice_dims={}, start_index_map={0,1}, index_vector_dim=1, slice_sizes={2,3}"
            ),
            ("any", "index:-2,9"),
        )
    )
    cases.append(
        Case(
            "gather-batching",
            module(
                "x = f32[3,6] parameter(0); i = s32[3,2] parameter(1); ROOT r = f32[3,2] gather(x, i), offset_dims={}, "
                "collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}, "
                "start_indices_batching_dims={0}, "
                "index_vector_dim=2, slice_sizes={1,1}"
            ),
            ("any", "index:0,6"),
        )
    )
    for name, fn in (("add", "add_f32"), ("max", "max_f32")):
        cases.append(
            Case(
                f"scatter-{name}",
                module(
                    "x = f32[6,4] parameter(0); i = s32[5] parameter(1); u = f32[5,4] parameter(2);"
                    "ROOT r = f32[6,4] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, "
                    f"scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply={fn}",
                    ADD["f32"],
                    MAX["f32"],
                ),
                ("small", "index:-1,8", "small"),
                zero_sign=False,
            )
        )
    cases.append(
        Case(
            "scatter-window",
            module(
                "x = s32[6,7] parameter(0); i = s32[3,2] parameter(1); u = s32[3,2,3] parameter(2);"
                "ROOT r = s32[6,7] scatter(x, i, u), update_window_dims={1,2}, inserted_window_dims={}, "
                "scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=add_s32",
                ADD["s32"],
            ),
            ("any", "index:-1,6", "any"),
        )
    )
    less = "lt { a = {t}[] parameter(0) b = {t}[] parameter(1) ROOT r = pred[] compare(a, b), direction={d} }\n"
    for t, d in (("s32", "LT"), ("f32", "GT"), ("u8", "LT")):
        fn = less.replace("{t}", t).replace("{d}", d)
        cases.append(
            Case(
                f"sort-{t}",
                module(
                    f"x = {t}[3,37] parameter(0); ROOT r = {t}[3,37] sort(x), dimensions={{1}}, is_stable=true, "
                    f"to_apply=lt",
                    fn,
                ),
                ("finite",),
            )
        )
    pair = (
        "lt { a = s32[] parameter(0) b = s32[] parameter(1) i = f32[] parameter(2) j = f32[] parameter(3)\n"
        "ROOT r = pred[] compare(a, b), direction=LT }\n"
    )
    cases.append(
        Case(
            "sort-pairs",
            module(
                "x = s32[9,5] parameter(0); y = f32[9,5] parameter(1); ROOT r = (s32[9,5], f32[9,5]) sort(x, y), "
                "dimensions={0}, is_stable=true, to_apply=lt",
                pair,
            ),
            ("index:0,4", "finite"),
        )
    )
    cases.append(
        Case(
            "sort-total",
            module(
                "x = f32[40] parameter(0); ROOT r = f32[40] sort(x), dimensions={0}, is_stable=true, to_apply=lt",
                "lt { a = f32[] parameter(0) b = f32[] parameter(1) "
                "ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER }\n",
            ),
        )
    )
    return cases


def _control() -> list[Case]:
    loop = (
        "body { p = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(p), index=0\n"
        "x = f32[4] get-tuple-element(p), index=1 one = s32[] constant(1) j = s32[] add(i, one)\n"
        "y = f32[4] add(x, x) ROOT t = (s32[], f32[4]) tuple(j, y) }\n"
        "cond { p = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(p), index=0\n"
        "n = s32[] constant(5) ROOT r = pred[] compare(i, n), direction=LT }\n"
    )
    swap = (
        "body { p = (s32[], f32[3], f32[3]) parameter(0) i = s32[] get-tuple-element(p), index=0\n"
        "x = f32[3] get-tuple-element(p), index=1 y = f32[3] get-tuple-element(p), index=2\n"
        "one = s32[] constant(1) j = s32[] add(i, one) ROOT t = (s32[], f32[3], f32[3]) tuple(j, y, x) }\n"
        "cond { p = (s32[], f32[3], f32[3]) parameter(0) i = s32[] get-tuple-element(p), index=0\n"
        "n = s32[] constant(3) ROOT r = pred[] compare(i, n), direction=LT }\n"
    )
    branches = (
        "yes { x = f32[4] parameter(0) ROOT r = f32[4] negate(x) }\n"
        "no { x = f32[4] parameter(0) ROOT r = f32[4] add(x, x) }\n"
        "same { ROOT x = f32[4] parameter(0) }\n"
    )
    store = (
        "body { p = (s32[], f32[6,3]) parameter(0) i = s32[] get-tuple-element(p), index=0\n"
        "x = f32[6,3] get-tuple-element(p), index=1 one = s32[] constant(1) z = s32[] constant(0)\n"
        "row = f32[1,3] dynamic-slice(x, i, z), dynamic_slice_sizes={1,3} d = f32[1,3] add(row, row)\n"
        "j = s32[] add(i, one) y = f32[6,3] dynamic-update-slice(x, d, j, z)\n"
        "ROOT t = (s32[], f32[6,3]) tuple(j, y) }\n"
        "cond { p = (s32[], f32[6,3]) parameter(0) i = s32[] get-tuple-element(p), index=0\n"
        "n = s32[] constant(5) ROOT r = pred[] compare(i, n), direction=LT }\n"
    )
    cases = [
        Case(
            "while",
            module(
                "i = s32[] parameter(0); x = f32[4] parameter(1); t = (s32[], f32[4]) tuple(i, x);"
                "w = (s32[], f32[4]) while(t), condition=cond, body=body;"
                "ROOT r = f32[4] get-tuple-element(w), index=1",
                loop,
            ),
            ("index:0,3", "finite"),
        ),
        Case(
            "while-zero",
            module(
                "i = s32[] parameter(0); x = f32[4] parameter(1); t = (s32[], f32[4]) tuple(i, x);"
                "w = (s32[], f32[4]) while(t), condition=cond, body=body;"
                "ROOT r = f32[4] get-tuple-element(w), index=1",
                loop,
            ),
            ("index:7,8", "finite"),
        ),
        Case(
            "while-swap",
            module(
                "i = s32[] parameter(0); x = f32[3] parameter(1); y = f32[3] parameter(2);"
                "t = (s32[], f32[3], f32[3]) tuple(i, x, y);"
                "ROOT w = (s32[], f32[3], f32[3]) while(t), condition=cond, body=body",
                swap,
            ),
            ("index:0,1", "finite"),
        ),
        Case(
            "while-in-place",
            module(
                "i = s32[] parameter(0); x = f32[6,3] parameter(1); t = (s32[], f32[6,3]) tuple(i, x);"
                "w = (s32[], f32[6,3]) while(t), condition=cond, body=body; g = f32[6,3] get-tuple-element(w), index=1;"
                "ROOT r = (f32[6,3], f32[6,3]) tuple(g, x)",
                store,
            ),
            ("index:0,1", "finite"),
        ),
        Case(
            "call",
            module("x = f32[4] parameter(0); c = f32[4] call(x), to_apply=yes; ROOT r = f32[4] add(c, x)", branches),
        ),
        Case(
            "map",
            module(
                "x = f32[4] parameter(0); y = f32[4] parameter(1);"
                "ROOT r = f32[4] map(x, y), dimensions={0}, to_apply=add_f32",
                ADD["f32"],
            ),
        ),
    ]
    for i in (0, 1):
        cases.append(
            Case(
                f"conditional-{i}",
                module(
                    "p = pred[] parameter(0); x = f32[4] parameter(1);"
                    "ROOT r = f32[4] conditional(p, x, x), true_computation=yes, false_computation=no",
                    branches,
                ),
                (f"index:{i},{i + 1}", "any"),
            )
        )
    for i in (-1, 0, 1, 2, 9):
        cases.append(
            Case(
                f"switch-{i}",
                module(
                    "p = s32[] parameter(0); x = f32[4] parameter(1);"
                    "ROOT r = f32[4] conditional(p, x, x, x), branch_computations={yes, no, same}",
                    branches,
                ),
                (f"index:{i},{i + 1}", "any"),
            )
        )
    return cases


def _transforms() -> list[Case]:
    cases = []
    for kind, a, b in (
        ("FFT", "c64[3,8]", "c64[3,8]"),
        ("IFFT", "c64[3,12]", "c64[3,12]"),
        ("RFFT", "f32[3,8]", "c64[3,5]"),
        ("IRFFT", "c64[3,5]", "f32[3,8]"),
    ):
        n = a.split(",")[1][:-1] if kind != "IRFFT" else "8"
        cases.append(
            Case(
                f"fft-{kind.lower()}",
                module(f"x = {a} parameter(0); ROOT r = {b} fft(x), fft_type={kind}, fft_length={{{n}}}"),
                ("unit",),
                64,
                scale=1.0,
                zero_sign=False,
            )
        )
    cases.append(
        Case(
            "cholesky-diagonal",
            module(
                "i = s32[3,3] iota(), iota_dimension=0; j = s32[3,3] iota(), iota_dimension=1;"
                "e = pred[3,3] compare(i, j), direction=EQ; x = f32[3,3] parameter(0); z = f32[] constant(0);"
                "zs = f32[3,3] broadcast(z), dimensions={}; m = f32[3,3] select(e, x, zs);"
                "ROOT r = f32[3,3] cholesky(m), lower=true"
            ),
            ("positive",),
            4,
            original=False,
            zero_sign=False,
        )
    )
    return cases


def indexed_cases() -> list[Case]:
    return _indexed() + _control() + _transforms()
