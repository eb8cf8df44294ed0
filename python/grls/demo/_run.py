"""The whole demonstration: what it prints, and the picture it writes."""

from __future__ import annotations

import sys
from pathlib import Path

from sklearn import config_context
from threadpoolctl import threadpool_limits

from ._curve import CurveFit, curve, curve_table, curve_verdicts
from ._digits import DigitsScore, digits, digits_table, digits_verdict, gains_table
from ._drawing import draw, empty_figure
from ._tables import count

DEFAULT_OUTPUT = Path("grls-demo.png")
_FORMATS = (".png", ".pdf", ".svg")


class OutputError(Exception):
    """The picture cannot be written where it was asked for."""


def _require_writable(output: Path) -> None:
    """Raise OutputError unless a picture can be written to `output`; leaves no trace."""
    if output.suffix.lower() not in _FORMATS:
        raise OutputError(f"{output}: the name must end in {', '.join(_FORMATS)}")
    try:
        target = output.resolve()  # so that a link to a file that is not there yet survives
        existed = target.exists()
        target.open("ab").close()
        if not existed:
            target.unlink()
    except OSError as error:
        raise OutputError(f"cannot write {output}: {error.strerror or error}") from error


def _say(line: str = "") -> None:
    print(line, flush=True)


def _show_curve(seed: int, quick: bool) -> list[CurveFit]:
    n_draws = 1 if quick else 5
    _say("1. A curve (figure 1 of the G-RLS paper): 60 noisy points of y = |5 - x|, Gaussian kernel")
    _say("   G-RLS has the free features 1, x, x^2 and lets the kernel learn the rest; kernel ridge has none")
    _say(f"   fitting {count(n_draws, 'random draw')}, regularization by cross-validation ...")
    draws = [curve(seed + i, quick) for i in range(n_draws)]
    _say()
    _say(curve_table(draws))
    _say()
    _say("   Root mean square errors against the true function, inside [0, 10] and just outside, in [-1, 0]")
    _say(
        "   and [10, 11]" + (f"; of the first draw, and medians of {n_draws} draws." if n_draws > 1 else ".")
    )
    for line in curve_verdicts(draws):
        _say(f"   - {line}")
    _say()
    return draws[0]


def _show_digits(seed: int, quick: bool) -> list[DigitsScore]:
    _say("2. Handwritten digits: few and many labels, the rest of the 1797 digits for the test")
    _say("   width, regularization and features are chosen by cross-validation on the training labels ...")
    scores, chosen = digits(seed, quick, _say)
    _say()
    _say(digits_table(scores))
    _say()
    _say(
        "   Mean and standard deviation over the splits. Times are of one fit with the chosen parameters, on"
    )
    _say("   one thread, making the features included. Cross-validation chose these features:")
    _say("   " + "; ".join(f"{features}: {count(n, 'time')}" for features, n in chosen.most_common()) + ".")
    _say("   Points of accuracy that features add to G-RLS with the constant alone, and standard errors:")
    _say()
    _say(gains_table(scores))
    _say()
    _say(f"   {digits_verdict(scores)}")
    _say()
    return scores


def run(output: Path | None = None, *, seed: int = 0, quick: bool = False) -> int:
    """Run the demonstration: print two tables, write a picture.

    Parameters
    ----------
    output : Path, default=None
        The picture; None is ``grls-demo.png``.
    seed : int, default=0
        Of all random draws.
    quick : bool, default=False
        A few seconds instead of half a minute, with fewer draws and coarser grids.

    Returns
    -------
    int
        0; 1 when a picture was asked for by name and matplotlib is missing.
    """
    path = DEFAULT_OUTPUT if output is None else output
    figure = empty_figure()
    if figure is not None:
        _require_writable(path)
    else:
        _say("No picture without matplotlib: install it with  pip install 'grls[plot]'\n")
    # At these sizes more threads cost time, much of it on a busy machine; checks of known data cost some too.
    with threadpool_limits(1), config_context(assume_finite=True, skip_parameter_validation=True):
        fits = _show_curve(seed, quick)
        scores = _show_digits(seed, quick)
    if figure is None:
        print("grls demo: no picture was drawn: pip install 'grls[plot]'", file=sys.stderr)
        return 0 if output is None else 1
    _say("3. The picture ...")
    draw(figure, seed, fits, scores)
    try:
        figure.savefig(path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
    _say(f"   written to {path}")
    return 0
