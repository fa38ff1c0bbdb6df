"""Which nodes of a model run natively on the chip, before it runs."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mychip import _placement

TIERS = ("native", "on-demand", "default", "host")
# The chip's cycle model in short (plugin/emulator/README.md): per launch, per byte, per float32 flop; 1 GHz.
_LAUNCH, _BYTES_A_CYCLE, _FLOPS_A_CYCLE, _LINK_BYTES_A_CYCLE, _CYCLES_A_US = 500, 800, 2 * 8192, 32, 1000


@dataclass(frozen=True)
class CoverageRow:
    """Nodes of one op and dtypes."""

    op: str
    types: str
    tier: str  # native, on-demand, default (TensorFlow's own kernel for any device) or host (the CPU)
    belongs_on_host: bool
    count: int
    microseconds: float  # estimated, of the chip
    reason: str  # why it is not native


@dataclass(frozen=True)
class Coverage:
    """Rows by tier, the ones to look at first. Compute nodes: what is neither "default" nor belongs on the host."""

    rows: tuple[CoverageRow, ...]

    def _compute(self, *tiers: str) -> int:
        return sum(r.count for r in self.rows if r.tier in tiers and not r.belongs_on_host)

    @property
    def complete(self) -> bool:
        """Every compute node runs on the chip."""
        return self._compute("host") == 0

    @property
    def native_share(self) -> float:
        """Native compute nodes over all compute nodes, 0 to 1."""
        return self._compute("native") / max(1, self._compute("native", "on-demand", "host"))

    def summary(self) -> str:
        """One line: nodes and estimated time by tier."""
        parts = []
        for tier in TIERS:
            rows = [r for r in self.rows if r.tier == tier]
            parts.append(f"{tier} {sum(r.count for r in rows)} nodes {sum(r.microseconds for r in rows):.0f} us")
        return f"{', '.join(parts)}; {self.native_share:.1%} of compute nodes native"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "rows": [asdict(r) for r in self.rows],
            "complete": self.complete,
            "native_share": self.native_share,
            "summary": self.summary(),
        }

    def text(self) -> str:
        """A table and the summary line."""
        from rich.console import Console
        from rich.table import Table

        table = Table(box=None, pad_edge=False)
        for column in ("tier", "op", "dtypes", "nodes", "us", "reason"):
            table.add_column(column, overflow="fold")
        for r in self.rows:
            tier = "host (belongs there)" if r.tier == "host" and r.belongs_on_host else r.tier
            table.add_row(tier, r.op, r.types, str(r.count), f"{r.microseconds:.1f}", r.reason)
        out = io.StringIO()
        Console(file=out, width=180).print(table)
        return out.getvalue() + self.summary()


def coverage(target: Any, *args: Any, **kwargs: Any) -> Coverage:
    """Classifies every node of what ``target`` would run, without running it.

    ``target``: a Keras model (its inference, or its call on ``args`` when given), a ``tf.function`` with the arguments
    to trace it for, a ConcreteFunction, or the path of a SavedModel folder (its signatures) or a ``.keras`` file.
    Nodes inside called functions (loops, branches) count once, with their launch alone as estimated time; unknown
    dimensions are taken as 1. Under jit_compile=True everything is one program: coverage says what eager and graph mode
    do. Raises ValueError for anything else and OSError for a path that cannot be read.
    """
    found: dict[tuple[str, _placement.Tier], list[float]] = {}
    for graph in _graphs(target, args, kwargs):
        for node_def, cost in _nodes(graph):
            tier = _placement.classify(node_def)
            entry = found.setdefault((node_def.op, tier), [0, 0.0])
            entry[0] += 1
            entry[1] += _microseconds(tier, *cost)
    rows = [
        CoverageRow(op, t.types, t.name, t.belongs_on_host, int(n), us, t.reason) for (op, t), (n, us) in found.items()
    ]
    rows.sort(key=lambda r: (r.belongs_on_host, -TIERS.index(r.tier), -r.count, r.op))
    return Coverage(tuple(rows))


def _graphs(target: Any, args: Any, kwargs: Any) -> list[Any]:
    import tensorflow as tf

    if isinstance(target, str | Path):
        return _graphs_of_path(Path(target))
    if hasattr(target, "get_concrete_function"):
        return [target.get_concrete_function(*args, **kwargs).graph]
    if hasattr(target, "graph") and hasattr(target, "structured_outputs"):
        return [target.graph]
    if not (hasattr(target, "layers") and callable(target)):
        raise ValueError(f"coverage takes a Keras model, a tf.function or a path, not {type(target).__name__}")
    if not args:
        if not getattr(target, "inputs", None):
            raise ValueError("this model does not know its inputs yet: pass example inputs after it")
        specs = [tf.TensorSpec(tuple(i.shape), i.dtype) for i in target.inputs]
        args = (specs if len(specs) > 1 else specs[0],)
    call = tf.function(lambda *inputs: target(*inputs, **{"training": False, **kwargs}))
    return [call.get_concrete_function(*args).graph]


def _graphs_of_path(path: Path) -> list[Any]:
    import tensorflow as tf

    if path.is_dir():
        signatures = tf.saved_model.load(str(path)).signatures
        if not signatures:
            raise ValueError("the SavedModel has no signature")
        return [signature.graph for signature in signatures.values()]
    if not path.exists():
        raise FileNotFoundError("no such file or folder")
    import keras

    return _graphs(keras.saving.load_model(path, compile=False), (), {})


def _nodes(graph: Any) -> Iterator[tuple[Any, tuple[int, float]]]:
    """(NodeDef, (bytes, flops)) of a graph and of the functions in its library."""
    graph_def = graph.as_graph_def()
    functions = {f.signature.name for f in graph_def.library.function}
    for op in graph.get_operations():
        if op.type not in functions:
            yield op.node_def, (_bytes(op), _flops(graph, op))
    for function in graph_def.library.function:
        for node in function.node_def:
            if node.op not in functions:
                yield node, (0, 0.0)


def _bytes(op: Any) -> int:
    total = 0
    for tensor in (*op.inputs, *op.outputs):
        size = tensor.dtype.size if tensor.dtype.is_numpy_compatible else 0
        for dim in tensor.shape.as_list() if tensor.shape.rank is not None else ():
            size *= dim or 1
        total += size
    return total


def _flops(graph: Any, op: Any) -> float:
    from tensorflow.python.framework import ops

    if not all(tensor.shape.is_fully_defined() for tensor in (*op.inputs, *op.outputs)):
        return 0.0
    try:
        return float(ops.get_stats_for_node_def(graph, op.node_def, "flops").value or 0)
    except (ValueError, TypeError, KeyError):  # TensorFlow has a formula that does not take this node
        return 0.0


def _microseconds(tier: _placement.Tier, size: int, flops: float) -> float:
    if tier.name in ("native", "on-demand"):
        return (_LAUNCH + max(size / _BYTES_A_CYCLE, flops / _FLOPS_A_CYCLE)) / _CYCLES_A_US
    if tier.name == "host" and not tier.belongs_on_host:  # there and back over the host link
        return (_LAUNCH + size / _LINK_BYTES_A_CYCLE) / _CYCLES_A_US
    return 0.0
