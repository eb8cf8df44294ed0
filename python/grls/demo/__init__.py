"""What ``grls demo`` runs: a forecast, a law, and few labels, with and without what is known."""

from ._run import DEFAULT_OUTPUT, OutputError, run

__all__ = ["DEFAULT_OUTPUT", "OutputError", "run"]
__dir__ = __all__.copy
