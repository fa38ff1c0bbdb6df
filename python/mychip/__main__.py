"""Command line: ``python -m mychip`` prints what a bug report needs; ``verify`` checks a model in 16 bits."""

import argparse
import sys
from typing import Any

from rich.console import Console


def add_verify(commands: Any) -> None:
    """The arguments of ``verify``."""
    verify = commands.add_parser("verify", help="is a Keras model safe in 16 bits? 0: yes, 1: not under each policy")
    verify.add_argument("model", metavar="MODEL.keras")
    verify.add_argument("--data", required=True, metavar="X.npz", help="arrays x and y")
    verify.add_argument("--policies", default="tf32,mixed_bfloat16,mixed_float16", help="by commas (%(default)s)")
    verify.add_argument("--loss", help="Keras' name of the loss, for a model that was saved without one")
    verify.add_argument("--steps", type=int, default=20, help="of training under each policy (%(default)s)")
    verify.add_argument("--json", metavar="FILE", help="write everything as JSON")
    verify.add_argument("--picture", metavar="FILE.png", help="draw curves and errors (needs matplotlib)")


def main(argv: list[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m mychip", description=__doc__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("info", help="versions, devices, memory, libraries, environment variables (the default)")
    add_verify(commands)
    arguments = parser.parse_args(argv)
    if arguments.command == "verify":
        from mychip.mixed_precision.cli import run

        return run(arguments)

    from mychip import _sysinfo

    _sysinfo.report(Console(width=None if sys.stdout.isatty() else 160))
    return 0


if __name__ == "__main__":
    sys.exit(main())
