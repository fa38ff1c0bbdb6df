"""Random valid HLO modules over integers and pred: fused, unfused and the evaluator must agree bit for bit."""

import math

import numpy as np

INTEGERS = ("s8", "u8", "s32", "u32", "s64", "u64")
BINARY = ("add", "subtract", "multiply", "and", "or", "xor", "maximum", "minimum", "divide", "remainder")
Shape = tuple[int, ...]


def text(dtype: str, dims: Shape) -> str:
    return f"{dtype}[{','.join(map(str, dims))}]"


class Generator:
    """One module; every value made so far may be read again, so graphs have shared operands and many users."""

    def __init__(self, seed: int, steps: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.lines: list[str] = []
        self.values: list[tuple[str, str, Shape]] = []
        self.computations: dict[str, str] = {}
        self.used: set[str] = set()
        for number in range(int(self.rng.integers(1, 4))):
            dims = tuple(int(d) for d in self.rng.choice([1, 2, 3, 4, 5, 8, 17], int(self.rng.integers(1, 4))))
            self.emit(str(self.rng.choice(INTEGERS)), dims, f"parameter({number})")
        for _ in range(steps):
            self.step()

    def emit(self, dtype: str, dims: Shape, expression: str, *operands: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {text(dtype, dims)} {expression}")
        self.values.append((name, dtype, dims))
        self.used.update(operands)
        return name

    def step(self) -> None:
        steps = (self.binary, self.binary, self.unary, self.select, self.convert, self.broadcast, self.reshape)
        steps += (
            self.transpose,
            self.slice,
            self.reverse,
            self.pad,
            self.concatenate,
            self.reduce,
            self.update,
            self.loop,
        )
        value = self.values[int(self.rng.integers(len(self.values)))]
        steps[int(self.rng.integers(len(steps)))](*value)

    def like(self, dtype: str, dims: Shape) -> str:
        """A value of that type and shape: an old one, or a broadcast constant."""
        found = [n for n, t, d in self.values if (t, d) == (dtype, dims)]
        if found and self.rng.random() < 0.8:
            return found[int(self.rng.integers(len(found)))]
        literal = ("true" if self.rng.random() < 0.5 else "false") if dtype == "pred" else int(self.rng.integers(0, 9))
        scalar = self.emit(dtype, (), f"constant({literal})")
        return self.emit(dtype, dims, f"broadcast({scalar}), dimensions={{}}", scalar)

    def binary(self, n: str, t: str, d: Shape) -> None:
        names = ("and", "or", "xor") if t == "pred" else BINARY
        other = self.like(t, d)
        self.emit(t, d, f"{self.rng.choice(names)}({n}, {other})", n, other)

    def unary(self, n: str, t: str, d: Shape) -> None:
        names = ("not",) if t == "pred" else ("negate", "not", "abs") if t[0] == "s" else ("not",)
        self.emit(t, d, f"{self.rng.choice(names)}({n})", n)

    def select(self, n: str, t: str, d: Shape) -> None:
        a, b = self.like(t, d), self.like(t, d)
        p = self.emit("pred", d, f"compare({n}, {a}), direction={self.rng.choice(['LT', 'GE', 'EQ', 'NE'])}", n, a)
        self.emit(t, d, f"select({p}, {n}, {b})", p, n, b)

    def convert(self, n: str, t: str, d: Shape) -> None:
        self.emit(str(self.rng.choice(INTEGERS)), d, f"convert({n})", n)

    def broadcast(self, n: str, t: str, d: Shape) -> None:
        if len(d) < 4 and math.prod(d) < 2000:
            at, size = int(self.rng.integers(len(d) + 1)), int(self.rng.integers(1, 5))
            kept = ",".join(str(i + (i >= at)) for i in range(len(d)))
            self.emit(t, (*d[:at], size, *d[at:]), f"broadcast({n}), dimensions={{{kept}}}", n)

    def reshape(self, n: str, t: str, d: Shape) -> None:
        size = math.prod(d)
        first = int(self.rng.choice([k for k in range(1, size + 1) if size % k == 0])) if size else 0
        if size:
            self.emit(t, (first, size // first), f"reshape({n})", n)

    def transpose(self, n: str, t: str, d: Shape) -> None:
        order = [int(i) for i in self.rng.permutation(len(d))]
        self.emit(t, tuple(d[i] for i in order), f"transpose({n}), dimensions={{{','.join(map(str, order))}}}", n)

    def slice(self, n: str, t: str, d: Shape) -> None:
        starts = [int(self.rng.integers(0, max(s, 1))) for s in d]
        steps = [int(self.rng.integers(1, 3)) for _ in d]
        parts = ", ".join(f"[{a}:{s}:{k}]" for a, s, k in zip(starts, d, steps, strict=True))
        dims = tuple(-(-(s - a) // k) for a, s, k in zip(starts, d, steps, strict=True))
        self.emit(t, dims, f"slice({n}), slice={{{parts}}}", n)

    def reverse(self, n: str, t: str, d: Shape) -> None:
        if d:
            self.emit(t, d, f"reverse({n}), dimensions={{{int(self.rng.integers(len(d)))}}}", n)

    def pad(self, n: str, t: str, d: Shape) -> None:
        if d and math.prod(d) < 2000:
            z = self.like(t, ())
            edges = [[int(v) for v in self.rng.integers(0, 3, 3)] for _ in d]
            dims = tuple(s + lo + hi + max(s - 1, 0) * mid for s, (lo, hi, mid) in zip(d, edges, strict=True))
            self.emit(t, dims, f"pad({n}, {z}), padding={'x'.join('_'.join(map(str, e)) for e in edges)}", n, z)

    def concatenate(self, n: str, t: str, d: Shape) -> None:
        if d and math.prod(d) < 2000:
            other, at = self.like(t, d), int(self.rng.integers(len(d)))
            self.emit(
                t, (*d[:at], 2 * d[at], *d[at + 1 :]), f"concatenate({n}, {other}), dimensions={{{at}}}", n, other
            )

    def reduce(self, n: str, t: str, d: Shape) -> None:
        if d and t != "pred":
            op, at = str(self.rng.choice(["add", "maximum", "minimum", "xor"])), int(self.rng.integers(len(d)))
            name, z = f"{op}_{t}", self.like(t, ())
            self.computations[name] = (
                f"{name} {{ a = {t}[] parameter(0) b = {t}[] parameter(1) ROOT r = {t}[] {op}(a, b) }}\n"
            )
            zero = self.emit(t, (), "constant(0)") if op in ("add", "xor") else z
            self.emit(t, (*d[:at], *d[at + 1 :]), f"reduce({n}, {zero}), dimensions={{{at}}}, to_apply={name}", n, zero)

    def update(self, n: str, t: str, d: Shape) -> None:
        if not d:
            return
        at = [self.emit("s32", (), f"constant({int(self.rng.integers(-1, s + 2))})") for s in d]
        dims = tuple(int(self.rng.integers(1, s + 1)) for s in d)
        sizes = ",".join(map(str, dims))
        part = self.emit(t, dims, f"dynamic-slice({n}, {', '.join(at)}), dynamic_slice_sizes={{{sizes}}}", n, *at)
        other = self.like(t, dims)
        self.emit(
            t,
            d,
            f"dynamic-update-slice({n}, {other}, {', '.join(at[::-1] if len(set(d)) == 1 else at)})",
            n,
            other,
            part,
        )

    def loop(self, n: str, t: str, d: Shape) -> None:
        if t == "pred":
            return
        k, s, tuple_type = len(self.lines), text(t, d), f"(s32[], {text(t, d)})"
        trips, op = int(self.rng.integers(0, 5)), self.rng.choice(["add", "multiply", "xor"])
        self.computations[f"c{k}"] = (
            f"c{k} {{ p = {tuple_type} parameter(0) i = s32[] get-tuple-element(p), index=0 "
            f"n = s32[] constant({trips}) ROOT r = pred[] compare(i, n), direction=LT }}\n"
        )
        self.computations[f"b{k}"] = (
            f"b{k} {{ p = {tuple_type} parameter(0) i = s32[] get-tuple-element(p), index=0 "
            f"x = {s} get-tuple-element(p), index=1 o = s32[] constant(1) j = s32[] add(i, o) "
            f"y = {s} {op}(x, x) z = {s} not(y) ROOT r = {tuple_type} tuple(j, z) }}\n"
        )
        zero = self.emit("s32", (), "constant(0)")
        self.lines.append(f"t{k} = {tuple_type} tuple({zero}, {n})")
        self.lines.append(f"w{k} = {tuple_type} while(t{k}), condition=c{k}, body=b{k}")
        self.emit(t, d, f"get-tuple-element(w{k}), index=1", n, zero)

    def module(self) -> str:
        results = [v for v in self.values if v[0] not in self.used]
        types, names = ", ".join(text(t, d) for _, t, d in results), ", ".join(n for n, _, _ in results)
        body = "\n".join(self.lines)
        return (
            "HloModule m\n"
            + "".join(self.computations.values())
            + f"ENTRY e {{\n{body}\nROOT r = ({types}) tuple({names})\n}}\n"
        )
