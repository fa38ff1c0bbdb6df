"""What every test shares: options, and a TensorFlow that never falls back to the CPU silently."""

import os

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("MYCHIP_NUM_DEVICES", "2")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="also the long tests and the full dtype matrix")
    parser.addoption("--device", default="MYCHIP:0", help="CPU:0 checks the op table against itself")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long tests are deselected, not skipped: they belong to the full run."""
    if config.getoption("--full"):
        return
    long = [item for item in items if item.get_closest_marker("full")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if not item.get_closest_marker("full")]


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--full"))


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest) -> str:
    """The device under test; an error when TensorFlow does not offer it."""
    import tensorflow as tf

    name = request.config.getoption("--device")
    if not tf.config.list_logical_devices(name.split(":")[0]):
        raise RuntimeError(f"TensorFlow offers no {name}: run `python -m mychip` to see why")
    return str(name)


@pytest.fixture(autouse=True)
def no_soft_placement() -> None:
    """An op without a kernel on the device is an error."""
    import sys

    if "tensorflow" in sys.modules:
        sys.modules["tensorflow"].config.set_soft_device_placement(False)
