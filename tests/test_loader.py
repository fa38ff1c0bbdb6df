"""What the thin loader does where the plugin does not fit: TensorFlow works, no device, one line that helps."""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

import pytest
from processes import run, succeed

LIST = """
    import tensorflow as tf
    print(tf.__version__, len(tf.config.list_physical_devices("MYCHIP")))
    print(tf.function(lambda x: tf.reduce_sum(x * 2.0))(tf.ones([3])).numpy())
"""


def plugin() -> pathlib.Path:
    """The plugin in use: of the build tree when TF_PLUGGABLE_DEVICE_LIBRARY_PATH says so, else the installed one."""
    given = os.environ.get("TF_PLUGGABLE_DEVICE_LIBRARY_PATH")
    return pathlib.Path(given or sysconfig.get_path("purelib") + "/tensorflow-plugins/libmychip_plugin.so")


def lines_about_mychip(code: str, python: str = sys.executable, **environment: str) -> tuple[str, list[str]]:
    """stdout, and the plugin's lines of stderr, of a run that must end well."""
    done = run(code, python=python, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout, [line for line in done.stderr.splitlines() if "mychip:" in line]


@pytest.mark.parametrize("feature", ["AVX2", "FMA", "F16C"])
def test_processor_without_a_feature(feature: str) -> None:
    out, said = lines_about_mychip(LIST, MYCHIP_PRETEND_NO_CPU_FEATURE=feature)
    assert out.splitlines()[0].endswith(" 0")
    assert out.splitlines()[1] == "6.0"
    assert len(said) == 1, said
    assert f"without {feature}" in said[0]
    assert "needs AVX2, FMA and F16C" in said[0]


def environment_without(missing: pathlib.PurePath, root: pathlib.Path) -> str:
    """The Python of an environment like this one, whose plugin's libraries lie in it without `missing`."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(root)], check=True)
    packages = root / "lib" / pathlib.Path(sysconfig.get_path("purelib")).parent.name / "site-packages"
    for entry in pathlib.Path(sysconfig.get_path("purelib")).iterdir():
        if entry.name not in ("mychip", "tensorflow-plugins") and not (packages / entry.name).exists():
            (packages / entry.name).symlink_to(entry)
    stage = plugin().parent.parent
    for file in (*(stage / "mychip" / "lib").iterdir(), plugin()):
        name = file.relative_to(stage)
        if missing not in (name, *name.parents):
            (packages / name.parent).mkdir(parents=True, exist_ok=True)
            shutil.copy(file, packages / name)
    return str(root / "bin" / "python")


def test_missing_product_library(tmp_path: pathlib.Path) -> None:
    """The plugin alone in tensorflow-plugins/, without the package beside it: an environment that lacks only that."""
    python = environment_without(pathlib.PurePath("mychip"), tmp_path)
    out, said = lines_about_mychip(LIST, python, TF_PLUGGABLE_DEVICE_LIBRARY_PATH="", PYTHONPATH="")
    assert out.splitlines()[0].endswith(" 0")
    assert out.splitlines()[1] == "6.0"
    assert len(said) == 1, said
    assert "libmychip_tensorflow.so" in said[0]
    assert "pip install" in said[0]


def test_missing_xla_backend(tmp_path: pathlib.Path) -> None:
    """One line at import; native kernels run; what needs XLA is an error, also after TensorFlow dropped its kernels."""
    python = environment_without(pathlib.PurePath("mychip/lib/libmychip_pjrt.so"), tmp_path)
    code = """
        import tensorflow as tf
        tf.config.set_soft_device_placement(False)
        with tf.device("MYCHIP:0"):
            for _ in range(2):
                try:
                    tf.raw_ops.Roll(input=tf.ones([4, 3]), shift=[1], axis=[0])
                    print("no error")
                except tf.errors.OpError as error:
                    print("Roll" in error.message)
                tf.random.set_seed(3)
                print((tf.ones([3]) + 1.0).numpy().tolist())
    """
    out, said = lines_about_mychip(code, python, TF_PLUGGABLE_DEVICE_LIBRARY_PATH="", PYTHONPATH="")
    assert out.splitlines() == ["True", "[2.0, 2.0, 2.0]"] * 2
    assert len(said) == 1, said
    assert "libmychip_pjrt.so" in said[0]


@pytest.mark.parametrize("which", ["another copy", "the same file"])
def test_loaded_twice(which: str, tmp_path: pathlib.Path) -> None:
    """An installed plugin and TF_PLUGGABLE_DEVICE_LIBRARY_PATH together: the first one serves, the second says so."""
    python = environment_without(pathlib.PurePath("nothing"), tmp_path)
    installed = next(tmp_path.glob("lib/*/site-packages/tensorflow-plugins/libmychip_plugin.so"))
    second = installed if which == "the same file" else plugin()
    code = """
        import tensorflow as tf
        print(len(tf.config.list_physical_devices("MYCHIP")), len(tf.config.list_physical_devices()))
        with tf.device("MYCHIP:0"):
            print(tf.function(lambda x: tf.reduce_sum(x * 2.0), jit_compile=True)(tf.ones([3])).numpy())
    """
    out, said = lines_about_mychip(
        code, python, TF_PLUGGABLE_DEVICE_LIBRARY_PATH=str(second), PYTHONPATH="", MYCHIP_NUM_DEVICES="1"
    )
    assert out.splitlines() == ["1 2", "6.0"]
    assert len(said) == 1, said
    assert "stays idle" in said[0]


def test_symbols() -> None:
    """C symbols of TensorFlow only, and nothing exported but the entry points."""
    nm = shutil.which("nm")
    assert nm, "binutils' nm is part of g++'s installation"
    listing = subprocess.run([nm, "-D", str(plugin())], capture_output=True, text=True, check=True).stdout
    undefined = [line.split()[-1] for line in listing.splitlines() if line.split()[-2] == "U"]
    assert {s for s in undefined if s.startswith("TF_")} == {"TF_Version", "TF_SetStatus"}
    assert not [s for s in undefined if "tensorflow" in s or "absl" in s or "tsl" in s]
    defined = {line.split()[-1] for line in listing.splitlines() if line.split()[-2] == "T"}
    assert defined == {"SE_InitPlugin", "TF_InitKernel", "TF_InitGraph", "TF_InitProfiler"}


def test_product_exports_only_entry_points() -> None:
    """A leaked symbol of XLA, LLVM or absl would break whichever framework is imported second."""
    library = plugin().parent.parent / "mychip" / "lib" / "libmychip_tensorflow.so"
    listing = subprocess.run(["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True)
    exported = {line.split()[-1] for line in listing.stdout.splitlines()}
    tensorflow = {"SE_InitPlugin", "TF_InitKernel", "TF_InitGraph", "TF_InitProfiler"}
    python = {"mychip_ClassifyNode", "mychip_PlacementReport", "mychip_ResetPlacementReport"}  # coverage, by ctypes
    assert exported <= {*tensorflow, *python, "mychip_InitBridge"}
    assert {"SE_InitPlugin", "TF_InitKernel"} <= exported


@pytest.mark.full
def test_tensorflow_2_20(tmp_path: pathlib.Path) -> None:
    """The real wheel of another minor, downloaded."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", "tensorflow-cpu==2.20.0"], check=True)
    out, said = lines_about_mychip(LIST, python, TF_PLUGGABLE_DEVICE_LIBRARY_PATH=str(plugin()), PYTHONPATH="")
    assert out.splitlines() == ["2.20.0 0", "6.0"]
    assert len(said) == 1, said
    for part in ("found TensorFlow 2.20.0", "needs TensorFlow 2.21", 'install "tensorflow-cpu==2.21.*"'):
        assert part in said[0]


def test_right_tensorflow_says_nothing() -> None:
    out, said = lines_about_mychip(LIST)
    assert int(out.split()[1]) > 0
    assert said == []


def test_import_order_does_not_matter() -> None:
    """The package first, TensorFlow second, and the other way round."""
    for order in ("import mychip, tensorflow as tf", "import tensorflow as tf, mychip"):
        out = succeed(f"""
            {order}
            print(len(tf.config.list_physical_devices("MYCHIP")), len(mychip.devices()))
        """)
        assert out.split()[0] == out.split()[1] != "0"
