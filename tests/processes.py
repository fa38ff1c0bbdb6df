"""Runs a piece of Python in a process of its own: for what must be set before TensorFlow is imported."""

import os
import subprocess
import sys
import textwrap

# Keras imports scikit-learn wherever it finds it: a quarter of the time that importing TensorFlow takes.
WITHOUT_SKLEARN = "import sys; sys.modules['sklearn'] = None\n"


def run(
    code: str, timeout: float = 200, python: str = sys.executable, **environment: str
) -> subprocess.CompletedProcess:
    """stdout and stderr as text. The environment is the caller's, with `environment` on top."""
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", **environment}
    return subprocess.run(
        [python, "-c", WITHOUT_SKLEARN + textwrap.dedent(code)],
        env=env,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def succeed(code: str, timeout: float = 200, python: str = sys.executable, **environment: str) -> str:
    """The stdout of a run that must end well."""
    done = run(code, timeout, python, **environment)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
