"""Command line: ``python -m mychip`` prints what a bug report needs; ``verify`` checks a model in 16 bits, ``coverage``
says where its nodes run, ``ops`` lists every op."""

import argparse
import json
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


def add_coverage(commands: Any) -> None:
    """The arguments of ``coverage``."""
    coverage = commands.add_parser(
        "coverage", help="which nodes of a SavedModel or .keras file run natively on the chip"
    )
    coverage.add_argument("path")
    coverage.add_argument("--json", action="store_true", help="print JSON instead of tables")
    coverage.add_argument(
        "--min-native", type=float, default=0, metavar="PERCENT", help="exit with 1 below this share of compute nodes"
    )


def main(argv: list[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m mychip", description=__doc__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("info", help="versions, devices, memory, libraries, environment variables (the default)")
    add_verify(commands)
    add_coverage(commands)
    commands.add_parser("ops", help="every TensorFlow op the chip runs, by tier, as Markdown")
    arguments = parser.parse_args(argv)
    if arguments.command == "verify":
        from mychip.mixed_precision.cli import run

        return run(arguments)
    if arguments.command == "coverage":
        return run_coverage(arguments)
    if arguments.command == "ops":
        from mychip import _op_table

        print(_op_table.markdown(), end="")
        return 0

    from mychip import _sysinfo

    _sysinfo.report(Console(width=None if sys.stdout.isatty() else 160))
    return 0


def run_coverage(arguments: argparse.Namespace) -> int:
    """0: no node falls to the CPU and enough are native; 1: some do, or too few are; 2: nothing could be read."""
    import mychip

    try:
        result = mychip.coverage(arguments.path)
    except (OSError, ValueError, RuntimeError) as error:
        print(f"mychip coverage: {arguments.path}: {error}", file=sys.stderr)
        return 2
    print(json.dumps(result.as_dict(), indent=2) if arguments.json else result.text())
    return 0 if result.complete and result.native_share * 100 >= arguments.min_native else 1


if __name__ == "__main__":
    sys.exit(main())
