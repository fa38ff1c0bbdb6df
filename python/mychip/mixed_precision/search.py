"""The smallest set of layers to keep in float32."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations


@dataclass(frozen=True)
class Proposal:
    """What the search found."""

    keep: tuple[str, ...]
    passes: bool  # False: not even all layers in float32 pass, or the trials ran out before a set that passes was found
    smallest: bool  # no smaller set passes: all were tried


def smallest_set(suspects: Sequence[str], passes: Callable[[tuple[str, ...]], bool], max_trials: int) -> Proposal:
    """The smallest subset for which ``passes``, tried by size and, within a size, in the order of ``suspects``.

    When all sets of the next size would exceed ``max_trials`` calls, a set is grown from all layers downwards instead:
    layers are dropped, the least suspect first, as long as the rest passes. That set is minimal (none of its layers can
    be dropped alone) but perhaps not the smallest.
    """
    trials = 0
    for size in range(1, len(suspects) + 1):
        candidates = list(combinations(suspects, size))
        # What is left must also suffice for the way down.
        if size > 1 and trials + len(candidates) > max_trials - len(suspects):
            break
        for keep in candidates:
            trials += 1
            if passes(keep):
                return Proposal(keep, True, True)
    else:
        return Proposal((), False, False)
    keep = tuple(suspects)
    if not passes(keep):
        return Proposal((), False, False)
    for layer in reversed(suspects):
        fewer = tuple(name for name in keep if name != layer)
        if fewer and passes(fewer):
            keep = fewer
    return Proposal(keep, True, False)
