"""``python -m mychip verify``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np

from mychip.mixed_precision.verify import verify


def run(arguments: argparse.Namespace) -> int:
    """Prints what was found; 0 when every policy passed, 1 when not, 2 when model or data cannot be used."""
    try:
        data = _load(arguments.data)
        model: Any = keras.models.load_model(arguments.model)
        found = verify(
            model,
            data,
            arguments.policies.split(","),
            loss=arguments.loss,
            steps=arguments.steps,
            progress=sys.stderr.isatty(),
        )
        print(found.text(), end="")
        if arguments.json:
            Path(arguments.json).write_text(found.to_json() + "\n")
        if arguments.picture:
            found.save_picture(arguments.picture)
    except (OSError, ValueError, ImportError) as error:
        print(f"mychip verify: {error}", file=sys.stderr)
        return 2
    return 0 if found.passed else 1


def _load(path: str) -> tuple[Any, Any]:
    with np.load(path) as arrays:
        if not {"x", "y"} <= set(arrays):
            raise ValueError(f"{path} holds {', '.join(arrays) or 'nothing'}; wanted arrays x and y")
        return arrays["x"], arrays["y"]
