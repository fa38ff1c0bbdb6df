"""The package as it is installed (or staged in a build tree): files, symbols, imports, command line."""

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mychip
from mychip import _core, _sysinfo

ROOT = _sysinfo.library_root()
CHECKOUT = Path(__file__).parent.parent

# library: the only symbols it may define for others, as patterns. A leaked one of LLVM, MLIR or absl would bind into
# whichever framework is imported second.
EXPORTS = {
    "mychip/lib/libmychip_runtime.so": r"_Z(NK?|T[VIS]N)6mychip.*",
    "mychip/lib/libmychip_pjrt.so": r"GetPjrtApi",
    "mychip/lib/libmychip_tensorflow.so": r"(SE|TF)_Init\w+|mychip_\w+",
    "tensorflow-plugins/libmychip_plugin.so": r"SE_InitPlugin|TF_Init(Kernel|Graph|Profiler)",
}


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )


def output(code: str, **environment: str) -> str:
    done = run_python(code, **environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


@pytest.mark.parametrize("library", EXPORTS)
def test_exports_nothing_else(library: str) -> None:
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", str(ROOT / library)], capture_output=True, text=True, check=True
    ).stdout
    names = [line.split()[-1].split("@")[0] for line in listing.splitlines() if line.split()[-2] != "A"]
    assert names
    assert not [name for name in names if not re.fullmatch(EXPORTS[library], name)][:10]


@pytest.mark.parametrize("library", EXPORTS)
def test_finds_its_libraries_relative_to_itself(library: str) -> None:
    """No machine's paths in an installed library."""
    if not installed_files():
        pytest.skip("runs from a build tree, whose libraries point at the TensorFlow they were built with")
    dynamic = subprocess.run(["readelf", "-d", str(ROOT / library)], capture_output=True, text=True, check=True).stdout
    paths = re.findall(r"R(?:UN)?PATH\).*\[(.*)\]", dynamic)
    entries = [entry for path in paths for entry in path.split(":")]
    assert all(entry.startswith("$ORIGIN") for entry in entries), entries


def installed_files() -> list[str]:
    try:
        files = importlib.metadata.files("mychip") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return [str(file) for file in files]


def test_wheel_contents() -> None:
    files = installed_files()
    if not files:
        pytest.skip("runs from a build tree: nothing is installed")
    plugins = [file for file in files if file.startswith("tensorflow-plugins/")]
    assert plugins == ["tensorflow-plugins/libmychip_plugin.so"], "TensorFlow opens every library in that folder"
    assert set(EXPORTS) < set(files)
    assert {"mychip/__init__.py", "mychip/py.typed", "mychip/examples/digits.py"} <= set(files)
    allowed = ("mychip/", "tensorflow-plugins/", "mychip-", "../../../bin/mychip")
    assert not [file for file in files if not file.startswith(allowed)]
    assert not [file for file in files if file.endswith((".h", ".cc", ".a", ".cmake")) or "test" in file]


def test_wheel_is_tagged_for_this_python() -> None:
    if not installed_files():
        pytest.skip("runs from a build tree: nothing is installed")
    wheel = importlib.metadata.distribution("mychip").read_text("WHEEL") or ""
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert re.search(rf"^Tag: {version}-{version}-linux_x86_64$", wheel, re.MULTILINE), wheel
    assert "Root-Is-Purelib: false" in wheel
    requires = importlib.metadata.requires("mychip") or []
    hard = [r for r in requires if "extra ==" not in r]
    assert not [r for r in hard if r.startswith("tensorflow")], "the wheel serves tensorflow and tensorflow-cpu"


def test_versions_agree() -> None:
    pyproject = (CHECKOUT / "pyproject.toml").read_text()
    assert f'version = "{mychip.version()}"' in pyproject
    assert mychip.__version__ == mychip.version()
    assert f"## {mychip.version()}" in (CHECKOUT / "CHANGELOG.md").read_text()


def test_import_leaves_tensorflow_alone() -> None:
    assert output("import sys, mychip; print('tensorflow' in sys.modules, 'keras' in sys.modules)") == "False False"


SHARED = """
{imports}
import numpy as np
with tf.device("MYCHIP:0"):
    y = tf.constant(np.ones(1000, np.float32)) * 2
y.numpy()
mychip.synchronize()
print(len(tf.config.list_physical_devices("MYCHIP")) == len(mychip.devices()), mychip.counters()["launches"] > 0)
"""


@pytest.mark.parametrize(
    "imports", ["import mychip; import tensorflow as tf", "import tensorflow as tf; import mychip"]
)
def test_import_order(imports: str) -> None:
    """Either way both see the same chips."""
    assert output(SHARED.format(imports=imports)) == "True True"


def test_number_of_devices_and_memory() -> None:
    code = "import mychip; print([(d.name, d.memory_limit) for d in mychip.devices()])"
    found = output(code, MYCHIP_NUM_DEVICES="3", MYCHIP_MEMORY_MB="64")
    assert found == str([(f"MYCHIP:{i}", 64 << 20) for i in range(3)])


def test_unknown_device_is_an_error() -> None:
    count = len(mychip.devices())
    for call in (mychip.memory_stats, mychip.counters, mychip.reset_counters, mychip.synchronize):
        with pytest.raises(IndexError, match="MYCHIP_NUM_DEVICES"):
            call(count)


def test_command_line_prints_everything() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mychip"],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "MYCHIP_LOG": "0", "MYCHIP_NUM_DEVICES": "2"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    text = done.stdout
    assert "MISSING" not in text
    assert "MYCHIP:1" in text
    assert "/physical_device:MYCHIP:0" in text
    for library, names in _sysinfo.LIBRARIES.items():
        assert library in text
        assert all(name in text for name in names)
    for variable in _core.environment():
        line = next((line for line in text.splitlines() if line.startswith(variable["name"] + " ")), "")
        assert line, f"{variable['name']} is not printed"
    assert re.search(r"^MYCHIP_LOG +0 +yes", text, re.MULTILINE)
    assert re.search(r"^MYCHIP_SYNC +0 +no", text, re.MULTILINE)


def test_command_line_refuses_unknown_commands() -> None:
    done = subprocess.run([sys.executable, "-m", "mychip", "fly"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "fly" in done.stderr


def test_readme_lists_every_environment_variable() -> None:
    readme = (CHECKOUT / "README.md").read_text()
    table = re.findall(r"^\| `(MYCHIP_\w+)` \| ([^|]*)\|", readme, re.MULTILINE)
    assert {name: default.strip() for name, default in table} == {
        variable["name"]: variable["default"] for variable in _core.environment()
    }


def test_no_other_code_reads_the_environment() -> None:
    sources = [
        *CHECKOUT.glob("plugin/**/*.cc"),
        *CHECKOUT.glob("xla_backend/**/*.cc"),
        *CHECKOUT.glob("python/**/*.py"),
    ]
    # The loader may open no library of ours, and _sysinfo prints the table.
    allowed = {"plugin/runtime/config.cc", "plugin/loader/cpu.cc"}
    readers = {
        str(path.relative_to(CHECKOUT)) for path in sources if re.search(r"\bgetenv\(|os\.environ", path.read_text())
    }
    assert readers <= allowed
