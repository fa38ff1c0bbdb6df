"""Is a model safe under a policy? Against float32, layer by layer and over some training steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from rich.progress import Progress

from mychip.mixed_precision.compare import Difference, Tensors, difference, run
from mychip.mixed_precision.loss_scale import LossScaleOptimizer
from mychip.mixed_precision.policies import dtype_policy_map, keras_policy, named_layers, with_policy
from mychip.mixed_precision.precision import matmul_precision, set_matmul_precision
from mychip.mixed_precision.search import Proposal, smallest_set
from mychip.mixed_precision.verification import LayerResult, PolicyResult, Verification

DEFAULT_POLICIES = ("tf32", "mixed_bfloat16", "mixed_float16")
_SCALE = 2.0**10  # of the compared pass; in training the optimizer finds its own


@dataclass(frozen=True)
class Criterion:
    """When a policy passes: every value finite where float32's is, and each of these."""

    layer_error: float = 0.1  # mean error of each layer's outputs, relative to their mean magnitude in float32
    lost_gradients: float = 0.5  # share of a weight's gradient that is 0 and is not in float32
    loss_error: float = 0.05  # of the mean loss of the last quarter of the steps, relative to the larger of float32's
    # there and a tenth of its first loss

    def __str__(self) -> str:
        return (
            f"no overflow; outputs of each layer within {self.layer_error:g} of float32 (mean error by mean "
            f"magnitude); at most {self.lost_gradients:g} of a weight's gradient lost to underflow; loss of the last "
            f"quarter of the steps within {self.loss_error:g} of float32's"
        )


def verify(
    model: Any,
    data: tuple[Any, Any],
    policies: Sequence[str] = DEFAULT_POLICIES,
    *,
    loss: Any = None,
    optimizer: Callable[[], Any] | None = None,
    steps: int = 20,
    batch_size: int = 32,
    criterion: Criterion | None = None,
    max_trials: int = 64,
    progress: bool = False,
) -> Verification:
    """Runs copies of ``model`` under float32 and each of ``policies`` on ``data`` and judges them.

    ``data`` is ``(x, y)``, NumPy arrays or nests of them, ``batch_size`` rows or more. ``loss`` and ``optimizer`` (a
    function that makes one) default to what the model was compiled with; without an optimizer it is Adam. ``policies``
    are of float32, tf32, mixed_bfloat16, mixed_float16, bfloat16, float16. Where a policy fails, the smallest set of
    layers that must stay in float32 for it to pass is searched, with at most ``max_trials`` runs. float16 policies
    train with mychip's LossScaleOptimizer. The model itself is not changed.

    Raises ValueError without a loss, without data, or for an unknown policy.
    """
    for policy in policies:
        keras_policy(policy)
    judge = _Judge(model, data, loss, optimizer, steps, batch_size, criterion or Criterion(), max_trials)
    with Progress(disable=not progress, transient=True) as bar:
        task = bar.add_task("float32", total=len(policies) + 1)
        judge.prepare()
        results = []
        for policy in policies:
            bar.update(task, advance=1, description=policy)
            results.append(judge.result(policy))
        bar.update(task, advance=1)
    return Verification(str(model.name), str(judge.criterion), judge.curve, tuple(results))


class _Judge:
    def __init__(
        self,
        model: Any,
        data: tuple[Any, Any],
        loss: Any,
        optimizer: Callable[[], Any] | None,
        steps: int,
        batch_size: int,
        criterion: Criterion,
        max_trials: int,
    ):
        loss = loss if loss is not None else getattr(model, "loss", None)
        if loss is None:
            raise ValueError("the model was compiled without a loss; pass loss=")
        rows = len(tf.nest.flatten(data[0])[0])
        if rows == 0 or steps < 1 or batch_size < 1:
            raise ValueError(f"{rows} rows of data, steps={steps}, batch_size={batch_size}: each must be at least 1")
        self.model, self.data, self.loss = model, data, keras.losses.get(loss)
        self.make_optimizer = optimizer or _optimizer_of(model)
        self.steps, self.batch_size, self.rows = steps, min(batch_size, rows), rows
        self.criterion, self.max_trials = criterion, max_trials
        self.curve: tuple[float, ...] = ()
        self.reference = Tensors()

    def prepare(self) -> None:
        """float32 itself."""
        self.reference = self._pass("float32", ())
        self.curve = self._train("float32", ())

    def result(self, policy: str) -> PolicyResult:
        layers = self._layers(policy, ())
        curve = self._train(policy, ())
        reasons = self._failures(layers) + self._curve_failures(curve)
        proposal = Proposal((), True, True)
        if reasons and policy != "tf32":
            names = [layer.name for layer in named_layers(self.model)]
            suspects = _suspects(names, layers, self.criterion.layer_error)
            proposal = smallest_set(suspects, lambda keep: self._passes(policy, keep), self.max_trials)
        elif reasons:
            proposal = Proposal((), False, False)  # tf32 is one setting for the whole process
        policy_map = dtype_policy_map(self.model, policy, proposal.keep) if proposal.passes else None
        return PolicyResult(
            policy,
            not reasons,
            tuple(reasons),
            tuple(layers),
            curve,
            proposal.keep,
            proposal.passes,
            proposal.smallest,
            policy_map,
        )

    def _passes(self, policy: str, keep: tuple[str, ...]) -> bool:
        # The cheap half first: most sets of layers fail there.
        if self._failures(self._layers(policy, keep)):
            return False
        return not self._curve_failures(self._train(policy, keep))

    def _batch(self, i: int) -> tuple[Any, Any]:
        rows = (np.arange(self.batch_size) + i * self.batch_size) % self.rows
        x, y = tf.nest.map_structure(lambda a: tf.constant(np.asarray(a)[rows]), tuple(self.data))
        return x, y

    def _loss(self, y: Any, prediction: Any) -> Any:
        return tf.reduce_mean(self.loss(y, prediction))  # Keras' loss functions keep the samples apart

    def _pass(self, policy: str, keep: tuple[str, ...]) -> Tensors:
        x, y = self._batch(0)
        with _matrix_precision(policy):
            return run(with_policy(self.model, policy, keep), x, y, self._loss, _scale_of(policy))

    def _layers(self, policy: str, keep: tuple[str, ...]) -> list[LayerResult]:
        actual = self._pass(policy, keep)
        kinds = (("forward", "outputs"), ("backward", "gradients"))
        results = [
            LayerResult(name, phase, _compare(getattr(actual, kind), reference, name))
            for phase, kind in kinds
            for name, reference in getattr(self.reference, kind).items()
        ]
        weights = self.reference.weights
        return results + [
            LayerResult(path, "weight", difference([actual.weights[path]], [weights[path]])) for path in weights
        ]

    def _train(self, policy: str, keep: tuple[str, ...]) -> tuple[float, ...]:
        model, optimizer = with_policy(self.model, policy, keep), self.make_optimizer()
        if "float16" in policy and "bfloat16" not in policy:
            optimizer = LossScaleOptimizer(optimizer, max_consecutive_skips=None)
        variables = model.trainable_variables
        optimizer.build(variables)

        @tf.function  # type: ignore[untyped-decorator]
        def step(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                value = self._loss(y, model(x, training=True))
                scaled = optimizer.scale_loss(value)
            optimizer.apply(tape.gradient(scaled, [getattr(v, "value", v) for v in variables]), variables)
            return value

        with _matrix_precision(policy):
            return tuple(float(step(*self._batch(i))) for i in range(self.steps))

    def _failures(self, layers: list[LayerResult]) -> list[str]:
        limits = self.criterion
        reasons = []
        for layer in layers:
            d, where = layer.difference, f"{layer.phase} of {layer.layer}"
            if d.overflow > 0:
                reasons.append(f"{where}: {d.overflow:.1%} overflow")
            elif layer.phase == "forward" and d.mean_error > limits.layer_error:
                reasons.append(f"{where}: error {d.mean_error:.2g}")
            elif layer.phase == "weight" and d.underflow > limits.lost_gradients:
                reasons.append(f"gradient of {layer.layer}: {d.underflow:.1%} underflow")
        return reasons

    def _curve_failures(self, curve: tuple[float, ...]) -> list[str]:
        if not np.isfinite(self.curve).all():
            return ["the loss is not finite in float32 either"]
        if not np.isfinite(curve).all():
            return [f"the loss is not finite at step {int(np.argmin(np.isfinite(curve))) + 1}"]
        last = max(1, len(curve) // 4)
        ours, float32 = np.mean(curve[-last:]), np.mean(self.curve[-last:])
        allowed = self.criterion.loss_error * max(abs(float(float32)), 0.1 * abs(self.curve[0]))
        return [] if abs(ours - float32) <= allowed else [f"loss {ours:.4g} at the end, float32 {float32:.4g}"]


def _compare(actual: dict[str, list[np.ndarray]], reference: list[np.ndarray], name: str) -> Difference:
    if name in actual:
        return difference(actual[name], reference)
    return difference([np.zeros_like(r) for r in reference], reference)  # no gradient came back


def _suspects(names: list[str], layers: list[LayerResult], limit: float) -> tuple[str, ...]:
    """The layers, those first that are the first to be wrong."""

    def bad(layer: LayerResult) -> bool:
        return layer.difference.overflow > 0 or layer.difference.mean_error > limit

    wrong = [layer.layer.split("/") for layer in layers if bad(layer)]
    return tuple(sorted(names, key=lambda n: next((i for i, path in enumerate(wrong) if n in path), len(wrong))))


def _scale_of(policy: str) -> float:
    return _SCALE if policy in ("mixed_float16", "float16") else 1.0


def _optimizer_of(model: Any) -> Callable[[], Any]:
    own = getattr(model, "optimizer", None)
    if own is None:
        return lambda: keras.optimizers.Adam(1e-3)
    own = getattr(own, "inner_optimizer", own)
    return lambda: type(own).from_config(own.get_config())


@contextmanager
def _matrix_precision(policy: str) -> Iterator[None]:
    before = matmul_precision()
    set_matmul_precision("tf32" if policy == "tf32" else "float32")
    try:
        yield
    finally:
        set_matmul_precision(before)
