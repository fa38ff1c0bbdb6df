"""verify: good models pass, a known bad layer is found, and its proposal fixes it."""

import json
import pathlib
from typing import Any

import keras
import numpy as np
import pytest
from models import MODELS, batches

from mychip import mixed_precision as mp
from mychip.__main__ import main
from mychip.mixed_precision.search import smallest_set

layers = keras.layers
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def digits() -> tuple[np.ndarray, np.ndarray]:
    x, y = (np.concatenate(part) for part in zip(*batches(4), strict=True))
    return x, y


@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_good_models_pass(name: str) -> None:
    keras.utils.set_random_seed(1)
    found = mp.verify(MODELS[name](), digits(), loss=LOSS, steps=8)
    assert found.passed, found.text()
    assert [r.policy for r in found.policies] == ["tf32", "mixed_bfloat16", "mixed_float16"]
    # Each policy really computes otherwise, and less exactly the fewer bits it has.
    worst = {r.policy: max(v.difference.mean_error for v in r.layers if v.phase == "forward") for r in found.policies}
    assert 1e-6 < worst["mixed_float16"] < worst["mixed_bfloat16"] < 0.05
    assert 1e-6 < worst["tf32"] < worst["mixed_bfloat16"]


@keras.saving.register_keras_serializable(package="test")
class LargeLogits(layers.Layer):
    """Softmax over logits of some 3000, where float16 has steps of 2."""

    def call(self, x: Any) -> Any:
        return keras.ops.softmax(x + 3000.0)


@keras.saving.register_keras_serializable(package="test")
class Variance(layers.Layer):
    """Of large, nearly equal values, by the squares, which overflow float16 beyond 256."""

    def call(self, x: Any) -> Any:
        shifted = x * 4.0 + 300.0
        mean = keras.ops.mean(shifted, axis=-1, keepdims=True)
        return (shifted - mean) / keras.ops.sqrt(
            keras.ops.mean(shifted * shifted, axis=-1, keepdims=True) - mean * mean
        )


@pytest.mark.parametrize("bad", [LargeLogits, Variance])
def test_bad_layer_is_found_and_its_proposal_fixes_it(bad: Any, tmp_path: pathlib.Path) -> None:
    keras.utils.set_random_seed(1)
    x, y = digits()
    model = keras.Sequential(
        [
            layers.Input((8, 8)),
            layers.Flatten(),
            layers.Dense(16, name="before"),
            bad(name="bad"),
            layers.Dense(10, name="after"),
        ]
    )
    sgd = lambda: keras.optimizers.SGD(0.01)  # noqa: E731
    result = mp.verify(model, (x, y), ["float16"], loss=LOSS, optimizer=sgd, steps=8)["float16"]
    assert not result.passed
    assert "bad" in result.reasons[0]
    assert result.keep_float32 == ("bad",), result.proposal
    assert result.proposal_is_smallest
    # The proposal, by Keras' own means: each layer takes the map as its dtype.
    fixed = keras.models.clone_model(
        model, clone_function=lambda v: type(v).from_config(v.get_config() | {"dtype": result.dtype_policy_map})
    )
    assert {v.name: v.compute_dtype for v in fixed.layers}["bad"] == "float32"
    assert fixed.get_layer("before").compute_dtype == "float16"
    again = mp.verify(mp.with_policy(model, "float32"), (x, y), ["float16"], loss=LOSS, optimizer=sgd, steps=8)
    assert again["float16"].keep_float32 == ("bad",)


def test_command_line(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    keras.utils.set_random_seed(1)
    model = MODELS["mlp"]()
    model.compile("adam", LOSS)
    model.save(tmp_path / "m.keras")
    x, y = digits()
    np.savez(tmp_path / "d.npz", x=x, y=y)
    arguments = ["verify", str(tmp_path / "m.keras"), "--data", str(tmp_path / "d.npz"), "--steps", "4"]
    assert main([*arguments, "--json", str(tmp_path / "o.json"), "--policies", "mixed_bfloat16"]) == 0
    assert "mixed_bfloat16 passed" in capsys.readouterr().out
    written = json.loads((tmp_path / "o.json").read_text())
    assert written["policies"][0]["passed"] is True
    assert len(written["policies"][0]["losses"]) == 4
    np.savez(tmp_path / "d.npz", a=x)
    assert main(arguments) == 2
    assert "wanted arrays x and y" in capsys.readouterr().err


def test_loss_by_name() -> None:
    """Keras' loss functions give a value for each sample, its loss objects their mean: the verdict is the same."""
    x, labels = digits()
    y = np.eye(10, dtype=np.float32)[labels]
    results = []
    for loss in ("mean_squared_error", keras.losses.MeanSquaredError()):
        keras.utils.set_random_seed(1)
        results.append(mp.verify(MODELS["mlp"](), (x, y), ["mixed_bfloat16"], loss=loss, steps=4))
    named, instance = results
    np.testing.assert_allclose(named.float32_losses, instance.float32_losses, rtol=1e-6)
    assert named.policies[0].passed == instance.policies[0].passed


def test_picture(tmp_path: pathlib.Path) -> None:
    found = mp.verify(MODELS["mlp"](), digits(), ["tf32"], loss=LOSS, steps=2)
    found.save_picture(tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"


def test_search() -> None:
    assert smallest_set("abc", lambda keep: keep == ("b",), 50).keep == ("b",)
    two = smallest_set("abcd", lambda keep: {"b", "d"} <= set(keep), 50)
    assert (two.keep, two.smallest) == (("b", "d"), True)
    grown = smallest_set("abcdefgh", lambda keep: {"b", "d", "f"} <= set(keep), 45)
    assert (grown.keep, grown.passes, grown.smallest) == (("b", "d", "f"), True, False)
    assert not smallest_set("abc", lambda keep: False, 50).passes


def test_bad_arguments() -> None:
    model, data = MODELS["mlp"](), digits()
    with pytest.raises(ValueError, match="without a loss"):
        mp.verify(model, data)
    with pytest.raises(ValueError, match="'int8'"):
        mp.verify(model, data, ["int8"], loss=LOSS)
    with pytest.raises(ValueError, match="no layer nowhere"):
        mp.with_policy(model, "float16", ["nowhere"])
