"""HLO cases: graphs that fusion must get right, and where it must not fire."""

from hlo_case import ADD, MAX, Case, module


def _graphs() -> list[Case]:
    """What fusion must get right: numbers, and launches where the chip needs no more."""
    add = ADD["f32"]
    return [
        Case(
            "chain",
            module(
                "x = f32[64,32] parameter(0); b = f32[32] parameter(1); bb = f32[64,32] broadcast(b), dimensions={1};"
                "s = f32[64,32] add(x, bb); z = f32[] constant(0); zs = f32[64,32] broadcast(z), dimensions={};"
                "m = f32[64,32] maximum(s, zs); ROOT r = f32[64,32] multiply(m, x)"
            ),
            max_launches=1,
        ),
        Case(
            "chain-transposed",
            module(
                "x = f32[8,6] parameter(0); y = f32[6,8] parameter(1); t = f32[6,8] transpose(x), dimensions={1,0};"
                "s = f32[6,8] add(t, y); n = f32[6,8] negate(s); v = f32[6,8] reverse(n), dimensions={1};"
                "ROOT r = f32[6,8] multiply(v, y)"
            ),
            max_launches=1,
        ),
        Case(
            "chain-reshaped",
            module(
                "x = f32[4,6] parameter(0); y = f32[2,12] parameter(1); a = f32[4,6] add(x, x);"
                "t = f32[2,12] reshape(a); ROOT r = f32[2,12] multiply(t, y)"
            ),
            max_launches=1,
        ),
        Case(
            "chain-sliced",
            module(
                "x = f32[8,6] parameter(0); y = f32[3,3] parameter(1); a = f32[8,6] add(x, x);"
                "s = f32[3,3] slice(a), slice={[1:7:2], [3:6]}; i = f32[8,6] iota(), iota_dimension=0;"
                "j = f32[3,3] slice(i), slice={[1:7:2], [3:6]}; p = f32[3,3] multiply(s, y);"
                "ROOT r = f32[3,3] add(p, j)"
            ),
            max_launches=1,
        ),
        Case(
            "iota-reversed",
            module(
                "i = s32[5,4] iota(), iota_dimension=0; v = s32[5,4] reverse(i), dimensions={0};"
                "t = s32[4,5] transpose(v), dimensions={1,0}; x = s32[4,5] parameter(0); ROOT r = s32[4,5] add(t, x)"
            ),
            max_launches=1,
        ),
        Case(
            "two-readers",
            module(
                "x = f32[64] parameter(0); y = f32[64] parameter(1); e = f32[64] exponential(x); a = f32[64] add(e, y);"
                "b = f32[64] multiply(e, y); ROOT r = (f32[64], f32[64], f32[64]) tuple(a, b, e)"
            ),
            ulp=8,
        ),
        Case(
            "adam",
            module(
                "w = f32[40,7] parameter(0); m = f32[40,7] parameter(1); v = f32[40,7] parameter(2);"
                "g = f32[40,7] parameter(3); lr = f32[] parameter(4); b1 = f32[] constant(0.1);"
                " b2 = f32[] constant(0.001);"
                "b1s = f32[40,7] broadcast(b1), dimensions={}; b2s = f32[40,7] broadcast(b2), dimensions={};"
                "dm = f32[40,7] subtract(g, m); sm = f32[40,7] multiply(dm, b1s); m2 = f32[40,7] add(m, sm);"
                "gg = f32[40,7] multiply(g, g); dv = f32[40,7] subtract(gg, v); sv = f32[40,7] multiply(dv, b2s);"
                "v2 = f32[40,7] add(v, sv); q = f32[40,7] sqrt(v2); lrs = f32[40,7] broadcast(lr), dimensions={};"
                "um = f32[40,7] multiply(m2, lrs); u = f32[40,7] divide(um, q); w2 = f32[40,7] subtract(w, u);"
                "ROOT r = (f32[40,7], f32[40,7], f32[40,7]) tuple(w2, m2, v2)"
            ),
            ("positive",),
            # Measured: 0.5 after the passes, 1 on the original, both in w - u, which cancels; m and v are exact.
            ulp=1,
            scale=4.0,
            max_launches=1,
        ),
        Case(
            "softmax",
            module(
                "x = f32[16,10] parameter(0); ninf = f32[] constant(-inf); z = f32[] constant(0);"
                "m = f32[16] reduce(x, ninf), dimensions={1}, to_apply=max_f32;"
                "mb = f32[16,10] broadcast(m), dimensions={0}; d = f32[16,10] subtract(x, mb);"
                "e = f32[16,10] exponential(d); s = f32[16] reduce(e, z), dimensions={1}, to_apply=add_f32;"
                "sb = f32[16,10] broadcast(s), dimensions={0}; ROOT r = f32[16,10] divide(e, sb)",
                add,
                MAX["f32"],
            ),
            ("finite",),
            8,
            max_launches=4,
        ),
        Case(
            "mean-of-squares",
            module(
                "x = f32[16,33] parameter(0); q = f32[16,33] multiply(x, x); z = f32[] constant(0);"
                "s = f32[16] reduce(q, z), dimensions={1}, to_apply=add_f32; n = f32[] constant(0.03125);"
                "ns = f32[16] broadcast(n), dimensions={}; ROOT r = f32[16] multiply(s, ns)",
                add,
            ),
            ("small",),
            max_launches=1,
        ),
        Case(
            "reduce-read-twice",
            module(
                "x = f32[8,9] parameter(0); z = f32[] constant(0); s = f32[8] reduce(x, z), dimensions={1}, "
                "to_apply=add_f32; n = f32[8] negate(s); ROOT r = (f32[8], f32[8]) tuple(n, s)",
                add,
            ),
            ("small",),
            zero_sign=False,
        ),
        Case(
            "dense-relu",
            module(
                "x = f32[8,6] parameter(0); w = f32[6,5] parameter(1); b = f32[5] parameter(2);"
                "d = f32[8,5] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0};"
                "bb = f32[8,5] broadcast(b), dimensions={1}; s = f32[8,5] add(d, bb); z = f32[] constant(0);"
                "zs = f32[8,5] broadcast(z), dimensions={}; ROOT r = f32[8,5] maximum(s, zs)"
            ),
            ("small",),
            max_launches=1,
            zero_sign=False,
        ),
        Case(
            "dense-3d",
            module(
                "x = f32[2,8,6] parameter(0); w = f32[6,5] parameter(1); b = f32[5] parameter(2); y = f32[2,8,5] "
                "parameter(3); d = f32[2,8,5] dot(x, w), lhs_contracting_dims={2}, rhs_contracting_dims={0};"
                "bb = f32[2,8,5] broadcast(b), dimensions={2}; s = f32[2,8,5] add(d, bb); ROOT r = f32[2,8,5] add(s, y)"
            ),
            ("small",),
            max_launches=1,
            zero_sign=False,
        ),
        Case(
            "dense-3d-row-scale",
            module(  # a broadcast along one of two merged dims: no view says it, so no epilogue
                "x = f32[2,8,6] parameter(0); w = f32[6,5] parameter(1); c = f32[2] parameter(2);"
                "d = f32[2,8,5] dot(x, w), lhs_contracting_dims={2}, rhs_contracting_dims={0};"
                "cb = f32[2,8,5] broadcast(c), dimensions={0}; ROOT r = f32[2,8,5] multiply(d, cb)"
            ),
            ("small",),
            zero_sign=False,
        ),
        Case(
            "dense-f16",
            module(
                "x = f16[8,6] parameter(0); w = f16[6,5] parameter(1); b = f16[5] parameter(2);"
                "d = f16[8,5] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0};"
                "bb = f16[8,5] broadcast(b), dimensions={1}; s = f16[8,5] add(d, bb);"
                "ROOT r = f32[8,5] convert(s)"
            ),
            ("small",),
            max_launches=1,
            zero_sign=False,
        ),
        Case(
            "dot-of-transpose",
            module(
                "x = f32[6,8] parameter(0); t = f32[8,6] transpose(x), dimensions={1,0}; w = f32[6,5] parameter(1);"
                "ROOT d = f32[8,5] dot(t, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
            ),
            ("small",),
            max_launches=1,
            zero_sign=False,
        ),
        Case(
            "conv-bias-relu",
            module(
                "x = f32[2,6,6,3] parameter(0); w = f32[3,3,3,4] parameter(1); b = f32[4] parameter(2);"
                "c = f32[2,4,4,4] convolution(x, w), window={size=3x3}, dim_labels=b01f_01io->b01f;"
                "bb = f32[2,4,4,4] broadcast(b), dimensions={3}; s = f32[2,4,4,4] add(c, bb); z = f32[] constant(0);"
                "zs = f32[2,4,4,4] broadcast(z), dimensions={}; ROOT r = f32[2,4,4,4] maximum(s, zs)"
            ),
            ("small",),
            max_launches=1,
            zero_sign=False,
        ),
        Case(
            "scalars",
            module(
                "k = u64[2] parameter(0); a = u64[1] slice(k), slice={[0:1]}; b = u64[1] slice(k), slice={[1:2]};"
                "x = u64[] reshape(a); y = u64[] reshape(b); s = u64[] add(x, y); t = u64[] multiply(s, x);"
                "c = u64[] constant(13); l = u64[] shift-left(t, c); q = u64[] xor(l, s); h = u32[] convert(q);"
                "n = u64[] not(q); o = u64[] or(n, y); ROOT r = (u64[], u32[], u64[]) tuple(q, h, o)"
            ),
            max_launches=1,
        ),
        Case(
            "scalars-around-a-reduce",
            module(
                "x = f32[9] parameter(0); p = f32[] parameter(1); z = f32[] constant(0); a = f32[] add(p, p);"
                "ab = f32[9] broadcast(a), dimensions={}; m = f32[9] multiply(x, ab);"
                "s = f32[] reduce(m, z), dimensions={0}, to_apply=add_f32; b = f32[] multiply(s, a);"
                " c = f32[] add(b, p);"
                "ROOT r = (f32[], f32[], f32[]) tuple(c, a, s)",
                add,
            ),
            ("small",),
            zero_sign=False,
        ),
        Case(
            "diamond",
            module(
                "x = f32[16] parameter(0); n = f32[16] negate(x); z = f32[] constant(0);"
                "s = f32[] reduce(n, z), dimensions={0}, to_apply=add_f32; sb = f32[16] broadcast(s), dimensions={};"
                "ROOT r = f32[16] add(n, sb)",
                add,
            ),
            ("small",),
            zero_sign=False,
        ),
        Case(
            "bf16-chain",
            module(
                "x = bf16[50] parameter(0); y = bf16[50] parameter(1); a = bf16[50] add(x, y);"
                " b = bf16[50] multiply(a, x);"
                "c = bf16[50] subtract(b, y); ROOT r = f32[50] convert(c)"
            ),
        ),
        Case(
            "overlap",
            module(  # one operand elementwise, the same data transposed: no writing in place
                "x = f32[6,6] parameter(0); a = f32[6,6] negate(x); b = f32[6,6] copy(a); c = f32[6,6] sine(b);"
                "t = f32[6,6] transpose(c), dimensions={1,0}; ROOT r = f32[6,6] add(c, t)"
            ),
            ("finite",),
            8,
        ),
    ]


def graph_cases() -> list[Case]:
    return _graphs()
