"""What ``verify`` found, as text, JSON and a picture."""

from __future__ import annotations

import dataclasses
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from mychip.mixed_precision.compare import Difference


@dataclass(frozen=True)
class LayerResult:
    """One layer's outputs (phase forward), their gradients (backward), or a weight's gradient (weight)."""

    layer: str  # name, or the weight's path
    phase: str
    difference: Difference


@dataclass(frozen=True)
class PolicyResult:
    """One policy."""

    policy: str
    passed: bool
    reasons: tuple[str, ...]  # why not
    layers: tuple[LayerResult, ...]
    losses: tuple[float, ...]  # of each step
    keep_float32: tuple[str, ...]  # names of the layers proposed; with them the policy passes
    proposal_passes: bool
    proposal_is_smallest: bool
    dtype_policy_map: Any  # keras.dtype_policies.DTypePolicyMap of the proposal, None when there is none

    @property
    def proposal(self) -> str:
        """The proposal as a sentence."""
        if self.passed:
            return "nothing needs float32"
        if not self.proposal_passes:
            return "no set of layers was found that makes it pass"
        how = "the smallest set" if self.proposal_is_smallest else "none of them can be left out"
        return f"keep in float32 ({how}): {', '.join(self.keep_float32)}"


@dataclass(frozen=True)
class Verification:
    """All policies of one model."""

    model: str
    criterion: str
    float32_losses: tuple[float, ...]
    policies: tuple[PolicyResult, ...]

    @property
    def passed(self) -> bool:
        """Whether every policy passed."""
        return all(result.passed for result in self.policies)

    def __getitem__(self, policy: str) -> PolicyResult:
        return next(result for result in self.policies if result.policy == policy)

    def text(self, worst: int = 8) -> str:
        """A table a policy, of its ``worst`` layers."""
        out = io.StringIO()
        console = Console(file=out, width=120)
        console.print(f"{self.model}: a policy passes with {self.criterion}.", highlight=False)
        for result in self.policies:
            verdict = "passed" if result.passed else "failed: " + "; ".join(result.reasons[:3])
            console.print(f"\n{result.policy} {verdict}\n{result.proposal}", highlight=False, markup=False)
            table = Table("layer", "phase", "max error", "mean error", "underflow", "overflow")
            for layer in sorted(result.layers, key=_badness, reverse=True)[:worst]:
                d = layer.difference
                numbers = (f"{d.max_error:.2e}", f"{d.mean_error:.2e}", f"{d.underflow:.2%}", f"{d.overflow:.2%}")
                table.add_row(layer.layer, layer.phase, *numbers)
            console.print(table)
            console.print(f"loss {result.losses[0]:.4g} -> {result.losses[-1]:.4g}", highlight=False)
        return out.getvalue()

    def to_json(self) -> str:
        """Everything; numbers that are not finite are the strings "inf", "-inf" and "nan", which JSON has not."""
        content = dataclasses.asdict(dataclasses.replace(self, policies=()))
        content["policies"] = []
        for result in self.policies:
            entry = dataclasses.asdict(dataclasses.replace(result, dtype_policy_map=None))
            policy_map = result.dtype_policy_map
            entry["dtype_policy_map"] = None if policy_map is None else policy_map.get_config()
            content["policies"].append(entry)
        return json.dumps(_plain(content), indent=2, allow_nan=False, default=str)

    def save_picture(self, path: str | Path) -> None:
        """Loss curves, and errors by layer, as an image of the kind the name ends in. Needs matplotlib.

        Raises ImportError without it (``pip install mychip[picture]``).
        """
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise ImportError("the picture needs matplotlib: pip install mychip[picture]") from error
        figure = Figure(figsize=(12, 8), layout="constrained")
        curves, errors = figure.subplots(2, 1)
        curves.plot(self.float32_losses, "k--", label="float32")
        for result in self.policies:
            curves.plot(result.losses, label=result.policy)
            forward = [layer for layer in result.layers if layer.phase == "forward"]
            errors.plot([max(layer.difference.mean_error, 1e-8) for layer in forward], "o-", label=result.policy)
            errors.set_xticks(range(len(forward)), [layer.layer for layer in forward], rotation=60, ha="right")
        curves.set(title=self.model, xlabel="step", ylabel="loss")
        errors.set(yscale="log", ylabel="mean error of outputs to float32")
        curves.legend()
        errors.legend()
        figure.savefig(path)


def _badness(layer: LayerResult) -> tuple[float, float]:
    return layer.difference.overflow, layer.difference.mean_error


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value
