"""The command ``grls``: models of tables in files, from the shell.

``fit``, ``predict``, ``cv`` and ``plot`` take CSV, Parquet and LIBSVM files and need the packages of
``grls[cli]``; ``info`` and ``demo`` do not. Status 0: all went well; 1: something is wrong with the data, a
file or the fit; 2: the command line cannot be right; 130: interrupted.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]
__dir__ = __all__.copy


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
    from .app import run  # only here: models that were saved need the package, and no command

    return run(argv)
