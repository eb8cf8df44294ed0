"""Scene 2, a law with an unknown coefficient: the amount of a dye, on a background that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .._validation import FloatArray
from ..kernels import Linear, Matern
from ..least_squares import GRLSRegressor
from ._tables import table

TRUTH = 0.5
NOISE = 0.02
WAVELENGTHS = np.linspace(400.0, 700.0, 121)
FREE, ALONE = "law free, kernel for the rest", "law alone"


@dataclass(frozen=True)
class Measured:
    """The coefficient of the law found in one spectrum.

    Attributes
    ----------
    method : str
        `FREE` or `ALONE`.
    coefficient, std : float
        The concentration and its standard error.
    fitted, background : ndarray of shape (121,)
        The fitted spectrum, and the part of it that the law does not explain.
    """

    method: str
    coefficient: float
    std: float
    fitted: FloatArray
    background: FloatArray

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval."""
        return self.coefficient - 1.96 * self.std, self.coefficient + 1.96 * self.std

    @property
    def covers(self) -> bool:
        """Whether the interval has the truth in it."""
        low, high = self.interval
        return low <= TRUTH <= high


def dye(wavelength: FloatArray) -> FloatArray:
    """Return the absorption of one unit of the dye, which a laboratory has measured once and for all."""
    first: FloatArray = np.exp(-0.5 * ((wavelength - 480.0) / 14.0) ** 2)
    second: FloatArray = np.exp(-0.5 * ((wavelength - 560.0) / 18.0) ** 2)
    return first + 0.6 * second


def spectrum(seed: int) -> tuple[FloatArray, FloatArray]:
    """Return a noisy spectrum with `TRUTH` units of the dye, and the background in it."""
    rng = np.random.default_rng(seed)
    haze = 0.9 * (WAVELENGTHS / 400.0) ** -rng.uniform(2, 4)
    hump = np.exp(-0.5 * ((WAVELENGTHS - rng.uniform(450, 650)) / rng.uniform(40, 70)) ** 2)
    background = haze + rng.uniform(0.1, 0.4) * hump
    noise = NOISE * rng.normal(size=len(WAVELENGTHS))
    return TRUTH * dye(WAVELENGTHS) + background + noise, background


def _law(X: FloatArray) -> FloatArray:
    return np.column_stack([np.ones(len(X)), dye(X[:, 0])])


def with_free_law(y: FloatArray) -> Measured:
    """Fit the law as a free feature and the background with a Matérn kernel, its width by REML."""
    X = WAVELENGTHS[:, None]
    model = GRLSRegressor(Matern(60.0, nu=2.5), features=_law, regularization="reml", optimize=True)
    model.fit(X, y)
    std = np.sqrt(model.feature_covariance(unconditional=True)[1, 1])  # γ and the width were estimated too
    coefficient, fitted = float(model.feature_coef_[1]), model.predict(X)
    return Measured(FREE, coefficient, float(std), fitted, fitted - coefficient * dye(WAVELENGTHS))


def with_law_alone(y: FloatArray) -> Measured:
    """Fit the law and a constant by least squares."""
    T = _law(WAVELENGTHS[:, None])
    coef, residual, *_ = np.linalg.lstsq(T, y, rcond=None)
    variance = residual[0] / (len(y) - 2) * np.linalg.inv(T.T @ T)[1, 1]
    fitted = T @ coef
    return Measured(ALONE, float(coef[1]), float(np.sqrt(variance)), fitted, np.full(len(y), coef[0]))


def with_penalised_law(y: FloatArray, unit: float) -> float:
    """Return the coefficient where the law is a part of the kernel, its column written in units of `unit`."""
    Z = np.column_stack([WAVELENGTHS, dye(WAVELENGTHS) / unit])
    kernel = Matern(60.0, nu=2.5).on([0]) + Linear().on([1])
    model = GRLSRegressor(kernel, regularization="reml").fit(Z, y)
    return float(model.dual_coef_ @ Z[:, 1]) / unit


def law_table(shown: Iterable[Measured], covered: dict[str, list[bool]]) -> str:
    """Return the table of one spectrum's coefficients, and of the coverage over many."""
    rows = []
    for m in shown:
        low, high = m.interval
        rows.append(
            [
                m.method,
                f"{m.coefficient:.3f}",
                f"{low:.3f} to {high:.3f}",
                f"{np.mean(covered[m.method]):.0%}",
            ]
        )
    n = len(next(iter(covered.values())))
    return table(["method", "amount", "95 % interval", f"truth inside, {n} spectra"], rows, 1)
