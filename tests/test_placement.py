"""mychip.coverage, mychip.fallback_report, MYCHIP_STRICT and the table of ops."""

import json
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from processes import run, succeed
from zoo import ZOO, Run

import mychip
from mychip import _op_table
from mychip.__main__ import main

HOST_ONLY = "tf.raw_ops.ListDiff(x=x, y=x[:2]).out"  # no kernel for any device, and no lowering with its full result


@tf.function
def mixed(x: Any) -> Any:
    """A native op, one that is compiled, one for the CPU, one that belongs there."""
    tf.print("sum", tf.reduce_sum(x))
    return tf.linalg.cholesky(x @ x), tf.raw_ops.ListDiff(x=x[0], y=x[1]).out


def test_tiers_and_reasons(device: str) -> None:
    result = mychip.coverage(mixed, tf.TensorSpec([4, 4], tf.float32))
    tiers = {row.op: row for row in result.rows}
    assert tiers["MatMul"].tier == "native"
    assert not tiers["MatMul"].reason
    assert tiers["MatMul"].types == "float,float -> float"
    assert tiers["Cholesky"].tier in ("native", "on-demand")
    assert tiers["ListDiff"].tier == "host"
    assert not tiers["ListDiff"].belongs_on_host
    assert "no kernel" in tiers["ListDiff"].reason
    assert tiers["PrintV2"].belongs_on_host
    assert not result.complete
    assert 0.5 < result.native_share < 1
    assert "ListDiff" in result.text()
    assert json.loads(json.dumps(result.as_dict()))["complete"] is False


def test_saved_model_and_keras_file(device: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(4, activation="relu")])
    model.export(tmp_path / "exported", verbose=False)
    model.save(tmp_path / "model.keras")
    for name in ("exported", "model.keras"):
        assert main(["coverage", str(tmp_path / name), "--json", "--min-native", "100"]) == 0
        result = json.loads(capsys.readouterr().out)
        assert result["complete"]
        assert {"MatMul", "Relu"} <= {row["op"] for row in result["rows"] if row["tier"] == "native"}


def test_command_line_exit_codes(device: str, tmp_path: Path) -> None:
    module = tf.Module()
    module.f = tf.function(mixed.python_function, input_signature=[tf.TensorSpec([4, 4], tf.float32)])
    tf.saved_model.save(
        module,
        str(tmp_path / "m"),
        signatures={
            "f": tf.function(
                lambda x: dict(zip("ab", module.f(x), strict=True)), input_signature=[tf.TensorSpec([4, 4], tf.float32)]
            )
        },
    )
    assert main(["coverage", str(tmp_path / "m")]) == 1
    assert main(["coverage", str(tmp_path / "nothing")]) == 2


GAPS = {
    "lstm-text": "TensorFlow has AddN and ZerosLike of lists (gradients of a masked loop) for the CPU alone",
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.xfail(strict=True, reason=GAPS[name])) if name in GAPS else name
        for name, entry in ZOO.items()
        if not entry.full
    ],
)
def test_models_are_covered(name: str, device: str) -> None:
    model = Run(name, device, "graph")
    for function, arguments in ((model.infer, model.arguments()[:1]), (model.step, model.arguments())):
        result = mychip.coverage(function, *arguments)
        assert result.complete, result.text()
        assert result.native_share >= 0.95, result.text()


def test_report_names_the_fallback() -> None:
    out = succeed(f"""
        import tensorflow as tf, mychip
        x = tf.range(5.0)
        y = tf.function(lambda x: {HOST_ONLY} * 2.0)(x)
        with tf.device("CPU:0"):
            tf.raw_ops.ListDiff(x=[1.0], y=[2.0])
        list(tf.data.Dataset.range(3).map(lambda i: tf.raw_ops.ListDiff(x=[i], y=[i]).out))
        for row in mychip.fallback_report():
            if row["fallback"]:
                print(row["op"], row["types"], row["eager"], row["nodes"], bool(row["reason"]))
        mychip.reset_fallback_report()
        print([row for row in mychip.fallback_report() if row["fallback"]])
    """)
    assert out.splitlines() == ["ListDiff float,float -> float,int32 0 1 True", "[]"]


@pytest.mark.parametrize("call", [HOST_ONLY, f"tf.function(lambda x: {HOST_ONLY})(x)"], ids=["eager", "graph"])
def test_strict_refuses_the_fallback(call: str) -> None:
    code = f"""
        import tensorflow as tf
        x = tf.range(5.0)
        try:
            print({call}.numpy())
        except tf.errors.UnimplementedError as error:
            print(error.message)
    """
    assert succeed(code).split() == ["[2.", "3.", "4.]"]
    refused = succeed(code, MYCHIP_STRICT="1")
    for word in ("MYCHIP_STRICT=1", "ListDiff", "float,float -> float,int32", "no kernel", "CPU:0"):
        assert word in refused


def test_strict_lets_a_program_run() -> None:
    """fit, strings, tf.print, py_function, datasets, summaries and checkpoints are no fallbacks."""
    done = run(
        """
        import tempfile, numpy as np, tensorflow as tf, keras
        model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3, activation="relu"),
                                  keras.layers.Dropout(0.5), keras.layers.Dense(2)])
        folder = tempfile.mkdtemp()
        for jit in (False, True):
            model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"],
                          jit_compile=jit)
            model.fit(np.ones((20, 4)), np.ones(20, int), epochs=2, verbose=0)
        model.evaluate(np.ones((20, 4)), np.ones(20, int), verbose=0)
        tf.train.Checkpoint(model=model).save(folder + "/c")
        print(tf.strings.join(["a", "b"]).numpy(), tf.py_function(lambda x: x + 1, [1.0], tf.float32).numpy())
        @tf.function
        def f(x):
            tf.print("in f", tf.shape(x))
            return tf.numpy_function(lambda a: a * 2, [x], tf.float32)
        print(f(tf.ones([2])).numpy())
        with tf.summary.create_file_writer(folder).as_default():
            tf.summary.write("loss", 1.0, step=1)
        print(len(list(tf.data.Dataset.range(5).map(lambda i: i * 2).batch(2))))
        """,
        MYCHIP_STRICT="1",
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_the_table_of_ops_is_up_to_date(device: str) -> None:
    table = Path(__file__).parent.parent / "plugin/kernels/OPS.md"
    assert table.read_text() == _op_table.markdown(), "run `python -m mychip ops > plugin/kernels/OPS.md`"


def test_wrong_targets(device: str) -> None:
    with pytest.raises(ValueError, match="Keras model"):
        mychip.coverage(np.ones(3))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "complex64", "float16", "int64"])
def test_lists_stay_on_the_chip(dtype: str, device: str) -> None:
    """TensorFlow's list kernels for any device lack some dtypes, among them the bool of a recurrent layer's mask."""
    raw = tf.raw_ops
    with tf.device(device):
        x = tf.identity(tf.cast(np.arange(6).reshape(3, 2) % 2, dtype))
        kind = {"element_shape": [2], "element_dtype": x.dtype}
        items = raw.TensorListFromTensor(tensor=x, element_shape=[2])
        items = raw.TensorListSetItem(
            input_handle=items, index=0, item=raw.TensorListGetItem(input_handle=items, index=1, **kind)
        )
        items = raw.TensorListPushBack(input_handle=items, tensor=x[2])
        items, last = raw.TensorListPopBack(input_handle=items, **kind)
        stacked = raw.TensorListStack(input_handle=items, **kind)
        gathered = raw.TensorListGather(input_handle=items, indices=[2, 0], **kind)
        empty = raw.TensorListReserve(element_shape=[2], num_elements=2, element_dtype=x.dtype)
        zeros = raw.TensorListGetItem(input_handle=empty, index=1, **kind)
        scattered = raw.TensorListScatterV2(tensor=x, indices=[2, 0, 1], element_shape=[2], num_elements=3)
        third = raw.TensorListGetItem(input_handle=scattered, index=2, **kind)
    expected = x.numpy()[[1, 1, 2]]
    for actual, value in (
        (stacked, expected),
        (gathered, expected[[2, 0]]),
        (last, expected[2]),
        (zeros, expected[0] * 0),
        (third, x.numpy()[0]),
    ):
        assert actual.device.endswith(device)
        np.testing.assert_array_equal(actual.numpy(), value)
