"""What ``grls demo`` runs: a curve and a set of digits, learnt with and without predefined features."""

from ._curve import DOMAIN, MARGIN, NOISE, WIDTHS, CurveFit, curve, curve_table, noisy_points, truth
from ._digits import (
    ANSWERS,
    CHOSEN,
    COMPONENTS,
    CONSTANT,
    DigitsScore,
    digits,
    digits_table,
    gains_table,
)
from ._drawing import draw
from ._methods import GRLS, PUBLISHED, PUBLISHED_FIRST, RIDGE, SUPPORT_VECTORS
from ._run import DEFAULT_OUTPUT, OutputError, run

__all__ = [
    "ANSWERS",
    "CHOSEN",
    "COMPONENTS",
    "CONSTANT",
    "DEFAULT_OUTPUT",
    "DOMAIN",
    "GRLS",
    "MARGIN",
    "NOISE",
    "PUBLISHED",
    "PUBLISHED_FIRST",
    "RIDGE",
    "SUPPORT_VECTORS",
    "WIDTHS",
    "CurveFit",
    "DigitsScore",
    "OutputError",
    "curve",
    "curve_table",
    "digits",
    "digits_table",
    "draw",
    "gains_table",
    "noisy_points",
    "run",
    "truth",
]
