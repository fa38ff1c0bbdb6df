"""HLO cases: movement, matrix products, convolutions, reductions and windows."""

from hlo_case import ADD, GE, MAX, Case, module


def _movement() -> list[Case]:
    rows = {
        "broadcast-scalar": "x = f32[] parameter(0); ROOT r = f32[3,4] broadcast(x), dimensions={}",
        "broadcast-row": "x = s32[4] parameter(0); ROOT r = s32[3,4] broadcast(x), dimensions={1}",
        "broadcast-middle": "x = bf16[2,3] parameter(0); ROOT r = bf16[2,5,3] broadcast(x), dimensions={0,2}",
        "iota-0": "ROOT r = s32[4,3] iota(), iota_dimension=0",
        "iota-1": "ROOT r = f32[4,3] iota(), iota_dimension=1",
        "iota-u8": "ROOT r = u8[300] iota(), iota_dimension=0",
        "reshape": "x = f32[4,6] parameter(0); ROOT r = f32[2,12] reshape(x)",
        "transpose": "x = f32[2,3,4] parameter(0); ROOT r = f32[4,2,3] transpose(x), dimensions={2,0,1}",
        "transpose-c128": "x = c128[3,4] parameter(0); ROOT r = c128[4,3] transpose(x), dimensions={1,0}",
        "reverse": "x = s8[3,4] parameter(0); ROOT r = s8[3,4] reverse(x), dimensions={0,1}",
        "slice": "x = f32[7,9] parameter(0); ROOT r = f32[2,4] slice(x), slice={[1:5:2], [2:9:2]}",
        "pad": "x = f32[3,4] parameter(0); v = f32[] parameter(1); ROOT r = f32[6,8] pad(x, v), padding=1_2x0_4",
        "pad-interior": "x = f32[3,4] parameter(0); v = f32[] parameter(1);"
        "ROOT r = f32[8,7] pad(x, v), padding=1_2_1x0_0_1",
        "pad-negative": "x = f32[5,6] parameter(0); v = f32[] parameter(1);"
        "ROOT r = f32[3,7] pad(x, v), padding=-1_-1x-2_3",
        "pad-negative-interior": "x = s32[5] parameter(0); v = s32[] parameter(1);"
        "ROOT r = s32[9] pad(x, v), padding=-3_-1_2",
        "concatenate": "x = f32[2,3] parameter(0); y = f32[2,1] parameter(1); z = f32[2,4] parameter(2);"
        "ROOT r = f32[2,8] concatenate(x, y, z), dimensions={1}",
        "concatenate-0": "x = u8[2,3] parameter(0); y = u8[5,3] parameter(1);"
        "ROOT r = u8[7,3] concatenate(x, y), dimensions={0}",
        "copy": "x = f32[5] parameter(0); ROOT r = f32[5] copy(x)",
        "passthrough": "x = f32[5] parameter(0); y = f32[5] parameter(1); ROOT r = (f32[5], f32[5]) tuple(y, y)",
        "constant": "ROOT r = f32[2,2] constant({{1,2},{3,4}})",
        "size-0": "x = f32[0,3] parameter(0); ROOT r = f32[0,3] negate(x)",
        "size-0-concat": "x = f32[0,3] parameter(0); y = f32[2,3] parameter(1);"
        "ROOT r = f32[2,3] concatenate(x, y), dimensions={0}",
        "size-1": "x = f32[1,1,1] parameter(0); ROOT r = f32[1] reshape(x)",
        "barrier": "x = f32[4] parameter(0); t = (f32[4]) tuple(x); b = (f32[4]) opt-barrier(t);"
        "g = f32[4] get-tuple-element(b), index=0; ROOT r = f32[4] negate(g)",
    }
    cases = [Case(name, module(body)) for name, body in rows.items()]
    for t in ("s32", "s64", "u32", "s8"):
        cases.append(
            Case(
                f"dynamic-slice-{t}",
                module(
                    f"x = f32[6,7] parameter(0); i = {t}[] parameter(1); j = {t}[] parameter(2);"
                    "ROOT r = f32[2,3] dynamic-slice(x, i, j), dynamic_slice_sizes={2,3}"
                ),
                ("any", "index:2,3", "index:6,7"),
            )
        )
        cases.append(
            Case(
                f"dynamic-update-slice-{t}",
                module(
                    f"x = f32[6,7] parameter(0); u = f32[2,3] parameter(1); i = {t}[] parameter(2);"
                    f" j = {t}[] parameter(3);"
                    "ROOT r = f32[6,7] dynamic-update-slice(x, u, i, j)"
                ),
                ("any", "any", "index:5,6", "index:1,2"),
            )
        )
    cases.append(
        Case(
            "dynamic-slice-negative",
            module(
                "x = f32[6] parameter(0); i = s32[] parameter(1); ROOT r = f32[2] dynamic-slice(x, i), "
                "dynamic_slice_sizes={2}"
            ),
            ("any", "index:-4,-3"),
        )
    )
    return cases


def _matrix() -> list[Case]:
    cases = []

    def dot(name: str, a: str, b: str, out: str, numbers: str, **kw: object) -> None:
        cases.append(
            Case(
                f"dot-{name}",
                module(f"x = {a} parameter(0); y = {b} parameter(1); ROOT r = {out} dot(x, y), {numbers}"),
                **{"kinds": ("small",), "zero_sign": False, **kw},
            )
        )  # type: ignore[arg-type]

    plain = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    for t in ("f32", "f64", "f16", "bf16", "s32", "s8", "c64", "s64", "u32", "c128"):
        dot(t, f"{t}[5,7]", f"{t}[7,3]", f"{t}[5,3]", plain)
    dot("s8-s32", "s8[5,7]", "s8[7,3]", "s32[5,3]", plain)
    dot("f16-f32", "f16[5,7]", "f16[7,3]", "f32[5,3]", plain)
    dot("rounded", "f32[33,65]", "f32[65,17]", "f32[33,17]", plain, kinds=("unit",), ulp=16, scale=1.0)
    dot("vector", "f32[7]", "f32[7]", "f32[]", "lhs_contracting_dims={0}, rhs_contracting_dims={0}")
    dot("matvec", "f32[5,7]", "f32[7]", "f32[5]", plain)
    dot("transposed", "f32[7,5]", "f32[3,7]", "f32[5,3]", "lhs_contracting_dims={0}, rhs_contracting_dims={1}")
    dot(
        "batch",
        "f32[2,5,7]",
        "f32[2,7,3]",
        "f32[2,5,3]",
        "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}",
    )
    dot(
        "batch-inner",
        "f32[5,2,7]",
        "f32[3,7,2]",
        "f32[2,5,3]",
        "lhs_batch_dims={1}, rhs_batch_dims={2}, lhs_contracting_dims={2}, rhs_contracting_dims={1}",
    )
    dot(
        "two-contracting",
        "f32[4,3,5]",
        "f32[5,3,6]",
        "f32[4,6]",
        "lhs_contracting_dims={1,2}, rhs_contracting_dims={1,0}",
    )
    dot("free-split", "f32[4,3,5]", "f32[3,6]", "f32[4,5,6]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}")
    dot("outer", "f32[4]", "f32[3]", "f32[4,3]", "lhs_contracting_dims={}, rhs_contracting_dims={}")
    dot("empty-k", "f32[4,0]", "f32[0,3]", "f32[4,3]", plain)
    dot("highest", "f32[4,6]", "f32[6,3]", "f32[4,3]", plain + ", operand_precision={highest,highest}")

    def conv(name: str, a: str, b: str, out: str, attributes: str, **kw: object) -> None:
        cases.append(
            Case(
                f"convolution-{name}",
                module(f"x = {a} parameter(0); y = {b} parameter(1); ROOT r = {out} convolution(x, y), {attributes}"),
                **{"kinds": ("small",), "zero_sign": False, **kw},
            )
        )  # type: ignore[arg-type]

    nhwc = "dim_labels=b01f_01io->b01f"
    conv("valid", "f32[2,6,5,3]", "f32[3,2,3,4]", "f32[2,4,4,4]", f"window={{size=3x2}}, {nhwc}")
    conv(
        "same-stride",
        "f32[2,7,7,3]",
        "f32[3,3,3,4]",
        "f32[2,4,4,4]",
        f"window={{size=3x3 stride=2x2 pad=1_1x1_1}}, {nhwc}",
    )
    conv("dilated", "f32[1,9,9,2]", "f32[3,3,2,4]", "f32[1,5,5,4]", f"window={{size=3x3 rhs_dilate=2x2}}, {nhwc}")
    conv(
        "input-gradient",
        "f32[2,3,3,4]",
        "f32[3,3,2,4]",
        "f32[2,7,7,2]",
        "window={size=3x3 pad=2_2x2_2 lhs_dilate=2x2 rhs_reversal=1x1}, dim_labels=b01f_01oi->b01f",
    )
    conv(
        "filter-gradient",
        "f32[2,7,7,3]",
        "f32[2,3,3,4]",
        "f32[3,3,3,4]",
        "window={size=3x3 rhs_dilate=2x2}, dim_labels=f01b_i01o->01bf",
    )
    conv(
        "groups", "f32[2,5,5,6]", "f32[3,3,2,9]", "f32[2,3,3,9]", f"window={{size=3x3}}, {nhwc}, feature_group_count=3"
    )
    conv(
        "batch-groups",
        "f32[4,5,5,3]",
        "f32[3,3,3,8]",
        "f32[2,3,3,8]",
        f"window={{size=3x3}}, {nhwc}, batch_group_count=2",
    )
    conv("1d", "f32[2,8,3]", "f32[3,3,4]", "f32[2,6,4]", "window={size=3}, dim_labels=b0f_0io->b0f")
    conv(
        "3d", "f32[1,4,4,4,2]", "f32[2,2,2,2,3]", "f32[1,3,3,3,3]", "window={size=2x2x2}, dim_labels=b012f_012io->b012f"
    )
    conv("nchw", "f32[2,3,6,6]", "f32[4,3,3,3]", "f32[2,4,4,4]", "window={size=3x3}, dim_labels=bf01_oi01->bf01")
    for t in ("f16", "bf16", "f64", "s32"):
        conv(t, f"{t}[1,5,5,2]", f"{t}[3,3,2,3]", f"{t}[1,3,3,3]", f"window={{size=3x3}}, {nhwc}")
    return cases


def _reductions() -> list[Case]:
    cases = []
    for t in ("f32", "f16", "bf16", "f64", "s32", "s64", "s8", "u32", "c64"):
        zero = "(0, 0)" if t == "c64" else "0"
        for name, dims, out in (("row", "1", "5"), ("column", "0", "7"), ("all", "0,1", "")):
            cases.append(
                Case(
                    f"reduce-add-{t}-{name}",
                    module(
                        f"x = {t}[5,7] parameter(0); z = {t}[] constant({zero});"
                        f"ROOT r = {t}[{out}] reduce(x, z), dimensions={{{dims}}}, to_apply=add_{t}",
                        ADD[t],
                    ),
                    ("small",),
                    zero_sign=False,
                )
            )
    for t in ("f32", "bf16", "s32"):
        cases.append(
            Case(
                f"reduce-max-{t}",
                module(
                    f"x = {t}[6,9] parameter(0); z = {t}[] parameter(1);"
                    f"ROOT r = {t}[6] reduce(x, z), dimensions={{1}}, to_apply=max_{t}",
                    MAX[t],
                ),
            )
        )
    cases.append(
        Case(
            "reduce-big",
            module(
                "x = f32[300,1000] parameter(0); z = f32[] constant(0);"
                "ROOT r = f32[300] reduce(x, z), dimensions={1}, to_apply=add_f32",
                ADD["f32"],
            ),
            ("unit",),
            32,
            scale=16.0,
        )
    )
    cases.append(
        Case(
            "reduce-empty",
            module(
                "x = f32[4,0] parameter(0); z = f32[] parameter(1);"
                "ROOT r = f32[4] reduce(x, z), dimensions={1}, to_apply=add_f32",
                ADD["f32"],
            ),
        )
    )
    argmax = (
        "pick { a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] parameter(3)\n"
        "c = pred[] compare(a, b), direction=GE\n v = f32[] select(c, a, b)\n w = s32[] select(c, i, j)\n"
        "ROOT t = (f32[], s32[]) tuple(v, w) }\n"
    )
    cases.append(
        Case(
            "reduce-argmax",
            module(
                "x = f32[6,9] parameter(0); i = s32[6,9] iota(), iota_dimension=1; m = f32[] constant(-inf); z = s32[] "
                "constant(0); ROOT r = (f32[6], s32[6]) reduce(x, i, m, z), dimensions={1}, to_apply=pick",
                argmax,
            ),
            ("finite",),
        )
    )
    wide = {
        "max-pool": ("max_f32", "-inf", "1x2x2x1 stride=1x2x2x1", "f32[2,3,3,3]", "f32[2,6,6,3]"),
        "sum-same": ("add_f32", "0", "1x3x3x1 pad=0_0x1_1x1_1x0_0", "f32[2,6,6,3]", "f32[2,6,6,3]"),
        "dilated": ("add_f32", "0", "1x2x2x1 rhs_dilate=1x2x2x1", "f32[2,4,4,3]", "f32[2,6,6,3]"),
        "base-dilated": ("add_f32", "0", "1x2x2x1 lhs_dilate=1x2x2x1", "f32[2,10,10,3]", "f32[2,6,6,3]"),
    }
    for name, (fn, init, window, out, dims) in wide.items():
        cases.append(
            Case(
                f"reduce-window-{name}",
                module(
                    f"x = {dims} parameter(0); z = f32[] constant({init});"
                    f"ROOT r = {out} reduce-window(x, z), window={{size={window}}}, to_apply={fn}",
                    ADD["f32"],
                    MAX["f32"],
                ),
                ("small",),
                zero_sign=False,
            )
        )
    for name, pad in (("", "8_0"), ("-reverse", "0_8"), ("-exclusive", "9_-1"), ("-exclusive-reverse", "-1_9")):
        cases.append(
            Case(
                f"cumsum{name}",
                module(
                    "x = f32[4,9] parameter(0); z = f32[] constant(0);"
                    f"ROOT r = f32[4,9] reduce-window(x, z), window={{size=1x9 pad=0_0x{pad}}}, to_apply=add_f32",
                    ADD["f32"],
                ),
                ("small",),
                zero_sign=False,
            )
        )
    cases.append(
        Case(
            "select-and-scatter",
            module(
                "x = f32[2,6,6,3] parameter(0); s = f32[2,3,3,3] parameter(1); z = f32[] constant(0);"
                "ROOT r = f32[2,6,6,3] select-and-scatter(x, s, z), window={size=1x2x2x1 stride=1x2x2x1}, select=ge, "
                "scatter=add_f32",
                GE,
                ADD["f32"],
            ),
            ("small",),
            zero_sign=False,
        )
    )
    cases.append(
        Case(
            "select-and-scatter-overlap",
            module(
                "x = f32[2,7,7,2] parameter(0); s = f32[2,4,4,2] parameter(1); z = f32[] constant(0);"
                "ROOT r = f32[2,7,7,2] select-and-scatter(x, s, z), "
                "window={size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_1x1_1x0_0}, "
                "select=ge, scatter=add_f32",
                GE,
                ADD["f32"],
            ),
            ("small",),
            zero_sign=False,
        )
    )
    return cases


def array_cases() -> list[Case]:
    return _movement() + _matrix() + _reductions()
