"""Where nodes run, as the plugin inside TensorFlow answers it (plugin/bridge/placement*.cc)."""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path
from typing import Any, NamedTuple

from mychip import _core


class Tier(NamedTuple):
    """What the chip offers for one node."""

    name: str  # native, on-demand, default or host
    belongs_on_host: bool  # strings, datasets, Python callbacks, files, shapes
    types: str  # "float,float -> float"
    reason: str  # why it is not native


@functools.cache
def _library() -> Any:
    import tensorflow  # noqa: F401  (opens the plugin)

    path = Path(_core.__file__).parent / "lib" / "libmychip_tensorflow.so"
    try:
        library = ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError as error:
        raise RuntimeError("TensorFlow has not loaded the plugin: run `python -m mychip` to see why") from error
    library.mychip_ClassifyNode.restype = ctypes.c_void_p
    library.mychip_ClassifyNode.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.mychip_PlacementReport.restype = ctypes.c_void_p
    return library


def _text(pointer: int) -> str:
    """Takes over a malloc'ed C string."""
    try:
        return ctypes.string_at(pointer).decode()
    finally:
        ctypes.CDLL(None).free(ctypes.c_void_p(pointer))


def classify(node_def: Any) -> Tier:
    """What the chip offers for a NodeDef. Raises RuntimeError when TensorFlow did not load the plugin."""
    data = node_def.SerializeToString()
    name, exempt, types, reason = _text(_library().mychip_ClassifyNode(data, len(data))).split("\t")
    return Tier(name, exempt == "1", types, reason)


def fallback_report() -> list[dict[str, Any]]:
    """What TensorFlow placed so far in this process: a dict for each op, dtypes and side, fallbacks first.

    Keys: op, types, where ("chip" or "cpu"), tier, belongs_on_host, fallback (the CPU runs it though nobody asked for
    the CPU), eager (executions of eager ops), nodes (nodes of functions' graphs, counted when a function is first
    run), reason. What a jitted function compiles is one program on the chip and not listed. MYCHIP_STRICT=1 turns each
    fallback into an error instead.
    """
    rows = []
    for line in _text(_library().mychip_PlacementReport()).splitlines():
        op, types, where, tier, exempt, fallback, eager, nodes, reason = line.split("\t")
        rows.append(
            {
                "op": op,
                "types": types,
                "where": where,
                "tier": tier,
                "belongs_on_host": exempt == "1",
                "fallback": fallback == "1",
                "eager": int(eager),
                "nodes": int(nodes),
                "reason": reason,
            }
        )
    return sorted(rows, key=lambda row: (not row["fallback"], row["op"], row["types"]))


def reset_fallback_report() -> None:
    """Sets all counts to 0. A function that was already placed is not counted again."""
    _library().mychip_ResetPlacementReport()
