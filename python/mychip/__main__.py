"""Command line: ``python -m mychip`` prints what a bug report needs."""

import argparse
import sys

from rich.console import Console


def main(argv: list[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m mychip", description=__doc__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("info", help="versions, devices, memory, libraries, environment variables (the default)")
    parser.parse_args(argv)

    from mychip import _sysinfo

    _sysinfo.report(Console(width=None if sys.stdout.isatty() else 160))
    return 0


if __name__ == "__main__":
    sys.exit(main())
