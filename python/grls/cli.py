"""The command ``grls``."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from threadpoolctl import threadpool_info

from . import __version__, get_num_threads
from ._solvers import memory, runtime

__all__ = ["main"]

_PACKAGES = ("numpy", "scipy", "scikit-learn", "threadpoolctl", "matplotlib")


def _package_version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _facts() -> Iterator[tuple[str, str]]:
    """Yield what a maintainer asks first about a bug, as pairs of name and value."""
    yield "grls", __version__
    yield "python", f"{platform.python_version()} ({platform.python_implementation()})"
    yield "platform", platform.platform()
    yield "processors", str(os.cpu_count() or "unknown")
    free = memory.available()
    yield "free memory", "unknown" if free is None else f"{free / 2**30:.1f} GiB"
    yield "linear algebra", runtime.linear_algebra()
    yield "threads", str(get_num_threads())
    yield "GRLS_NUM_THREADS", os.environ.get("GRLS_NUM_THREADS", "not set")
    for name in _PACKAGES:
        yield name, _package_version(name)
    for library in threadpool_info():
        if library["user_api"] == "blas":
            where = Path(library["filepath"]).name  # the name says whose it is; the folder is private
            yield "BLAS in process", f"{library['internal_api']} {library['version']}, {where}"


def _info(arguments: argparse.Namespace) -> int:
    facts = list(_facts())
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        print(f"{name:<{width}}  {value}")
    return 0


def _demo(arguments: argparse.Namespace) -> int:
    from . import demo  # only here: it takes scikit-learn's data sets and models along

    try:
        return demo.run(arguments.output, seed=arguments.seed, quick=arguments.quick)
    except demo.OutputError as error:
        print(f"grls demo: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ngrls demo: stopped", file=sys.stderr)
        return 130


def _seed(text: str) -> int:
    """Read a seed as scikit-learn takes it."""
    try:
        seed = int(text)
    except ValueError:
        seed = -1
    if not 0 <= seed < 2**31:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to 2**31 - 1, got {text!r}")
    return seed


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="grls", description="Kernel machines with predefined features that are not penalised."
    )
    parser.add_argument("--version", action="version", version=f"grls {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    demo = commands.add_parser(
        "demo",
        help="show in tables and a picture what predefined features do",
        description="Fit a curve and classify digits, with and without predefined features; print tables and "
        "draw a picture. Takes well under a minute.",
    )
    demo.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="the picture: .png, .pdf or .svg (default: grls-demo.png)",
    )
    demo.add_argument("--seed", type=_seed, default=0, metavar="N", help="of the random draws (default: 0)")
    demo.add_argument("--quick", action="store_true", help="fewer draws and grid points: a few seconds")
    demo.set_defaults(run=_demo)

    info = commands.add_parser("info", help="print versions, linear algebra and threads, for bug reports")
    info.set_defaults(run=_info)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    argv : sequence of str, default=None
        Arguments without the program's name; None takes those of the process.

    Returns
    -------
    int
        Exit status: 0 when all went well.
    """
    parser = _parser()
    arguments = parser.parse_args(argv)
    if not hasattr(arguments, "run"):
        parser.print_help()
        return 2
    return int(arguments.run(arguments))


if __name__ == "__main__":
    sys.exit(main())
