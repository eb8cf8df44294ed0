"""The whole demonstration: what it prints, and the picture it writes."""

from __future__ import annotations

import sys
from pathlib import Path

from sklearn import config_context
from threadpoolctl import threadpool_limits

from .._validation import FloatArray
from . import _carbon_dioxide as co2
from . import _few_labels as labels
from . import _law as law
from ._drawing import draw, empty_figure
from ._tables import count

DEFAULT_OUTPUT = Path("grls-demo.png")
_FORMATS = (".png", ".pdf", ".svg")
_WHERE_IT_DOES_NOT_HELP = (
    "Where it does not help: with hundreds of labels a Gaussian kernel needs no help with digits, and free\n"
    "features can cost accuracy; bench/results/paper has such cases beside the others."
)


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


def _show_forecast(quick: bool) -> list[co2.Forecast]:
    _say("1. Carbon dioxide on Mauna Loa: forecast ten years that are over by now")
    _say("   known: a straight line and a yearly wave; learnt: how the line bends, and the weather on it.")
    _say("   The Gaussian process of scikit-learn has the same kernels, and nothing else.")
    found = co2.forecasts([co2.LAST_YEAR] if quick else [*co2.EARLIER, co2.LAST_YEAR])
    _say()
    _say(co2.forecast_table(found))
    _say()
    if not quick:
        _say("   In 1976 the line had not bent enough to be seen bending: there the band is much too narrow.")
        _say()
    return found


def _show_law(seed: int, quick: bool) -> tuple[tuple[FloatArray, FloatArray], list[law.Measured]]:
    n_spectra = 20 if quick else 100
    _say("2. A law with an unknown coefficient: how much of a dye, on a background that nobody knows?")
    _say(f"   The truth is {law.TRUTH}. Simulating {count(n_spectra, 'spectrum', 'spectra')} ...")
    spectra = [law.spectrum(seed + i) for i in range(n_spectra)]
    answers = [[law.with_free_law(y), law.with_law_alone(y)] for y, _ in spectra]
    covered = {both[0].method: [m.covers for m in both] for both in zip(*answers, strict=True)}
    _say()
    _say(law.law_table(answers[0], covered))
    _say()
    as_it_is, divided = (law.with_penalised_law(spectra[0][0], unit) for unit in (1.0, 100.0))
    _say("   Inside the kernel, where everything is penalised, the answer depends on the law's units:")
    _say(f"   {as_it_is:.3f}, or {divided:.3f} with its column divided by 100. Free, it does not.")
    _say()
    return spectra[0], answers[0]


def _show_labels(seed: int, quick: bool) -> list[labels.Accuracy]:
    sizes, n_draws = ((2, 5), 2) if quick else ((2, 3, 5, 10, 20), 10)
    _say("3. Few labels: handwritten digits, a few of each labelled, the others for the test")
    _say(f"   known: who is whose neighbour among all {labels.N_DIGITS} digits, as coordinates that Isomap")
    _say("   finds without a label.")
    found = labels.few_labels(seed, sizes, n_draws)
    _say()
    _say(labels.accuracy_table(found))
    _say()
    _say(f"   Right answers in %, means and standard errors of {count(n_draws, 'draw')} of the labels.")
    _say()
    return found


def run(output: Path | None = None, *, seed: int = 0, quick: bool = False) -> int:
    """Run the demonstration: print three tables, write a picture.

    Parameters
    ----------
    output : Path, default=None
        The picture; None is ``grls-demo.png``.
    seed : int, default=0
        Of all random draws.
    quick : bool, default=False
        A few seconds instead of half a minute, with fewer draws.

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
        forecasts = _show_forecast(quick)
        spectrum, measured = _show_law(seed, quick)
        accuracies = _show_labels(seed, quick)
    _say(_WHERE_IT_DOES_NOT_HELP)
    _say()
    if figure is None:
        print("grls demo: no picture was drawn: pip install 'grls[plot]'", file=sys.stderr)
        return 0 if output is None else 1
    draw(figure, forecasts, spectrum, measured, accuracies)
    try:
        figure.savefig(path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
    _say(f"The picture is written to {path}")
    return 0
