"""The command ``grls`` run in this process, and a table to run it on."""

import numpy as np
import pandas as pd
from click.testing import CliRunner
from grls.cli.app import grls as command

RNG = np.random.default_rng(0)
N = 80
X = RNG.uniform(0, 10, size=(N, 2))
SOIL = np.array(["clay", "loam", "sand"])[RNG.integers(0, 3, N)]
ZINC = 3 * np.sqrt(X[:, 1]) + np.sin(X[:, 0]) + (SOIL == "sand") + 0.1 * RNG.normal(size=N)
TABLE = pd.DataFrame({"x": X[:, 0], "dist": X[:, 1], "soil": SOIL, "zinc": ZINC})
FIT = ("--target", "zinc", "--features", "sqrt(dist)", "--kernel", "matern", "--out", "model.grls")


def run(*arguments, status=0):
    """Run the command in this process and return what it printed."""
    result = CliRunner().invoke(command, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    assert "Traceback" not in result.output
    return result


def refused(*arguments, status=1):
    """Run the command, which must fail, and return the line that says why."""
    result = run(*arguments, status=status)
    if status == 1:
        assert result.stderr.startswith(f"grls {arguments[0]}: error: ")
        assert result.stderr.count("\n") == 1
    assert not result.stdout
    return result.stderr
