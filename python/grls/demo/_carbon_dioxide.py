"""Scene 1, carbon dioxide on Mauna Loa: trend and seasons are known, ten years are forecast."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.gaussian_process.kernels import Matern as PeerMatern

from .._validation import FloatArray
from ..kernels import Matern
from ..least_squares import GRLSRegressor
from ._tables import table

HORIZON = 10  # years
LAST_YEAR = 1991  # of the data in the picture; the measurements end ten years later
EARLIER = (1976, 1981, 1986)
KNOWN, PLAIN = "G-RLS", "Gaussian process"


@dataclass(frozen=True)
class Forecast:
    """The forecast of ten years by one method.

    Attributes
    ----------
    method : str
        `KNOWN` or `PLAIN`.
    last_year : int
        The last year of the training data.
    when, measured : ndarray of shape (n,)
        Months of the ten years, as fractions of years, and what was measured then, in ppm.
    mean, std : ndarray of shape (n,)
        Predictions of the measurements.
    """

    method: str
    last_year: int
    when: FloatArray
    measured: FloatArray
    mean: FloatArray
    std: FloatArray

    @property
    def error(self) -> float:
        """Root mean square error in ppm."""
        return float(np.sqrt(np.mean((self.mean - self.measured) ** 2)))

    @property
    def covered(self) -> float:
        """The fraction of the months within the 95 % band."""
        return float(np.mean(np.abs(self.mean - self.measured) <= 1.96 * self.std))


def monthly_means() -> tuple[FloatArray, FloatArray]:
    """Return the middle of each month as a fraction of its year, and the mean of its measurements in ppm."""
    text = (resources.files(__package__) / "mauna_loa_monthly.csv").read_text("ascii")
    rows = list(csv.DictReader(text.splitlines()))
    months = [row["month"].split("-") for row in rows]
    when = np.array([int(year) + (int(month) - 0.5) / 12 for year, month in months])
    return when, np.array([float(row["co2"]) for row in rows])


def trend_and_seasons(X: FloatArray) -> FloatArray:
    """Return what is known: a straight line, and a yearly wave with its first overtone."""
    years, angle = X[:, 0] - 1975, 2 * np.pi * X[:, 0]
    waves = [wave(k * angle) for k in (1, 2) for wave in (np.sin, np.cos)]
    return np.column_stack([np.ones_like(years), years, *waves])


def _known() -> Any:
    """Return G-RLS: the line bends slowly, weather comes and goes; both kernels' numbers by REML."""
    kernel = Matern(10.0, nu=1.5) + 0.1 * Matern(0.5, nu=0.5)
    return GRLSRegressor(kernel, features=trend_and_seasons, regularization="reml", optimize=True)


def _plain() -> Any:
    """Return scikit-learn's Gaussian process with the same kernels, numbers by its likelihood."""
    kernel = ConstantKernel(10.0) * PeerMatern(10.0, (1e-2, 1e3), nu=1.5)
    kernel += ConstantKernel(1.0) * PeerMatern(0.5, (1e-2, 1e3), nu=0.5) + WhiteKernel(0.01)
    return GaussianProcessRegressor(kernel, normalize_y=True)


def forecasts(last_years: Iterable[int]) -> list[Forecast]:
    """Forecast the ten years after each of the years given, from all months before, by both methods."""
    when, measured = monthly_means()
    found = []
    for last_year in last_years:
        past = when < last_year + 1
        future = ~past & (when < last_year + 1 + HORIZON)
        known = _known().fit(when[past, None], measured[past])
        mean, std = known.predict(when[future, None], return_std=True, unconditional=True)
        std = np.sqrt(std**2 + known.noise_variance_)
        found.append(Forecast(KNOWN, last_year, when[future], measured[future], mean, std))
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", ConvergenceWarning
            )  # its noise may well be none: the weather is short
            plain = _plain().fit(when[past, None], measured[past])
        mean, std = plain.predict(when[future, None], return_std=True)
        found.append(Forecast(PLAIN, last_year, when[future], measured[future], mean, std))
    return found


def forecast_table(found: Iterable[Forecast]) -> str:
    """Return the table of errors and coverage."""
    rows = [
        [f"{f.last_year + 1}-{f.last_year + HORIZON}", f.method, f"{f.error:.2f}", f"{f.covered:.0%}"]
        for f in found
    ]
    return table(["ten years", "method", "error, ppm", "in the 95 % band"], rows, 2)
