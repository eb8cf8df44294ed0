"""Whether a fit is what it claims: residuals, rows left out, and the variogram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.spatial.distance import cdist

from .._models.fitted import FittedProblem
from .._validation import FloatArray, integer
from ._display import SeveralDisplay, SingleDisplay
from ._inputs import fitted_regressor, target_name
from ._style import BLUE, GREY, ORANGE

__all__ = ["ResidualsDisplay", "VariogramDisplay"]
__dir__ = __all__.copy

_MOST_ROWS = 1000  # of which all pairs are looked at
_ALIKE = 10.0  # by how many times the spreads of columns of one unit may differ


@dataclass
class ResidualsDisplay(SeveralDisplay):
    """Residuals against the fit, and rows left out: their quantiles and where they lie.

    Parameters
    ----------
    fitted, residuals : ndarrays of shape (m,)
        At the training rows.
    predictions, z : ndarrays of shape (m,)
        Of each row by the model without it; residuals there in units of their standard deviation.
    target : str
        Name of the target.
    """

    fitted: FloatArray
    residuals: FloatArray
    predictions: FloatArray
    z: FloatArray
    target: str

    @property
    def n_axes(self) -> int:
        """How many pairs of axes it takes."""
        return 3

    @classmethod
    def from_estimator(cls, model: Any, *, target: str | None = None, axes: Any = None) -> ResidualsDisplay:
        """Draw the residuals of a model at its training rows.

        Parameters
        ----------
        model : GRLSRegressor or Pipeline
            Fitted; a pipeline must end in one.
        target : str, default=None
            Name of the target.
        axes : three matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ResidualsDisplay
            The display.
        """
        final = fitted_regressor(model)
        left_out = final.cross_validate(cv="loo")
        fitted = FittedProblem.of(final)
        residuals = fitted.residuals[:, 0]
        display = cls(
            fitted.targets[:, 0] - residuals,
            residuals,
            np.ravel(left_out.predictions),
            np.ravel(left_out.z),
            target_name(target),
        )
        return display.plot(axes=axes)

    def _draw(self, axes: Any, **options: Any) -> None:
        style = {"color": BLUE, "markersize": 4, "alpha": 0.7, "linestyle": "none", "marker": "o"}
        against, quantiles, rows = axes
        against.axhline(0, color=GREY, linewidth=0.8)
        against.plot(self.fitted, self.residuals, **style)
        against.set_xlabel(f"fitted {self.target}")
        against.set_ylabel("residual")
        against.set_title("residuals")
        z = np.sort(self.z[np.isfinite(self.z)])
        normal = stats.norm.ppf((np.arange(len(z)) + 0.5) / len(z))
        ends = [min(normal[0], z[0]), max(normal[-1], z[-1])] if len(z) else [0, 1]
        quantiles.plot(ends, ends, color=GREY, linewidth=0.8)
        quantiles.plot(normal, z, **style)
        quantiles.set_xlabel("quantile of a normal distribution")
        quantiles.set_ylabel("standardised error, row left out")
        quantiles.set_title("are the errors normal?")
        for height in (-2, 0, 2):
            rows.axhline(height, color=GREY, linewidth=0.8, linestyle="-" if height == 0 else "--")
        rows.plot(self.predictions, self.z, **style)
        beyond = np.mean(np.abs(z) > 2) if len(z) else np.nan
        rows.set_xlabel(f"{self.target} predicted without the row")
        rows.set_ylabel("standardised error, row left out")
        rows.set_title(f"{100 * beyond:.1f} % beyond ±2 (normal: 4.6 %)")


@dataclass
class VariogramDisplay(SingleDisplay):
    """The empirical variogram of what the features leave, and the one that the model has fitted.

    Parameters
    ----------
    distance, semivariance : ndarrays of shape (b,)
        Mean distance of the pairs in a bin, and half their mean squared difference.
    n_pairs : ndarray of shape (b,)
        How many pairs there are.
    line, expected : ndarrays of shape (n,)
        Distances, and the semivariance that the model expects there.
    noise : float
        Where the curve starts: the noise of a row, its nugget.
    names : list of str
        Names of the columns whose distance it is.
    target : str
        Name of the target.
    """

    distance: FloatArray
    semivariance: FloatArray
    n_pairs: FloatArray
    line: FloatArray
    expected: FloatArray
    noise: float
    names: list[str]
    target: str

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        n_bins: int = 15,
        max_distance: float | None = None,
        target: str | None = None,
        ax: Any = None,
    ) -> VariogramDisplay:
        """Draw the variogram of the targets less what the features say.

        Parameters
        ----------
        model : GRLSRegressor or Pipeline
            Fitted; a pipeline must end in one. Its kernel must be positive definite up to a constant at most.
        n_bins : int, default=15
            Bins of distance, of the same width.
        max_distance : float, default=None
            Up to which distance; None: half of the largest, beyond which pairs are few and alike.
        target : str, default=None
            Name of the target.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        VariogramDisplay
            The display. Of more than 1,000 rows so many are drawn at random.

        Notes
        -----
        The distance is that of the columns that the kernel reads, in the units that it reads them in; columns
        whose spreads differ by more than ten times are refused, for one of them would be all of it. The
        model expects half the mean squared difference of two rows to be their noise and
        κ [k(x, x)/2 + k(z, z)/2 − k(x, z)], of which the line is the mean over pairs at like distances: for
        a kernel of that distance it is exact, for others an average over directions and places.
        """
        final = fitted_regressor(model)
        kernel = final.kernel_
        if kernel.order is None or kernel.order > 1:
            raise ValueError(f"differences of two rows have no variance that {kernel!r} knows")
        if kernel.pairwise or hasattr(final.X_fit_, "toarray"):
            raise ValueError("a variogram needs the points themselves, dense, and not a kernel matrix")
        pairs = _Pairs.of(final)
        if pairs.unlike:
            raise ValueError(
                f"the columns {', '.join(pairs.names)} are of unlike units (their spreads differ by more "
                f"than {_ALIKE:g} times), so that a distance over them all means nothing: scale them first"
            )
        far = float(pairs.distance.max()) / 2 if max_distance is None else float(max_distance)
        near = pairs.distance <= far
        if not near.any() or not far > 0:
            raise ValueError(f"no two rows are at different points within a distance of {far:g}")
        numbers = _bins(pairs.distance[near], far, integer(n_bins, "n_bins", minimum=2))
        fine = _bins(pairs.distance[near], far, 100)
        noise = float(final.noise_variance_[0] * np.mean(FittedProblem.of(final).noise))
        display = cls(
            _means(numbers, pairs.distance[near]),
            _means(numbers, pairs.observed[near]),
            np.unique(numbers, return_counts=True)[1].astype(np.float64),
            np.append(0.0, _means(fine, pairs.distance[near])),
            np.append(noise, _means(fine, pairs.expected[near])),
            noise,
            pairs.names,
            target_name(target),
        )
        return display.plot(ax=ax)

    def _draw(self, axes: Any, **options: Any) -> None:
        sizes = 15 + 60 * self.n_pairs / self.n_pairs.max()
        axes.scatter(
            self.distance, self.semivariance, s=sizes, color=BLUE, alpha=0.7, label="data (size: pairs)"
        )
        axes.plot(self.line, self.expected, color=ORANGE, label="model")
        axes.axhline(self.noise, color=GREY, linewidth=0.8, linestyle="--", label="noise")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        shown = ", ".join(self.names) if len(self.names) <= 3 else f"{len(self.names)} columns"
        axes.set_xlabel(f"distance in {shown}")
        axes.set_ylabel(f"semivariance of {self.target}")
        axes.set_title("variogram, less the features")
        axes.legend(frameon=False, loc="best")


@dataclass
class _Pairs:
    """All pairs of rows at different points."""

    distance: FloatArray  # (p,)
    observed: FloatArray  # (p,): half the squared difference
    expected: FloatArray  # (p,): what the model expects it to be
    names: list[str]
    unlike: bool  # whether the columns are of such sizes that one of them is nearly all of the distance

    @classmethod
    def of(cls, final: Any) -> _Pairs:
        fitted = FittedProblem.of(final)
        rows = np.arange(len(fitted.targets))
        if len(rows) > _MOST_ROWS:
            rows = np.sort(np.random.RandomState(0).choice(rows, _MOST_ROWS, replace=False))
        X, kernel = np.asarray(final.X_fit_[rows], dtype=np.float64), final.kernel_
        known = np.asarray(final._T_fit[rows], dtype=np.float64) @ final._computed_features()
        if hasattr(final, "_groups"):
            known = known + final._groups.effects[final._codes_fit[rows]]
        left = fitted.targets[rows, 0] - known[:, 0]
        columns = columns_read(kernel, X)
        i, j = np.triu_indices(len(rows), 1)
        distance = cdist(X[:, columns], X[:, columns])[i, j]
        apart = distance > 0
        i, j, distance = i[apart], j[apart], distance[apart]
        K, noise = kernel.matrix(X, X), final.noise_variance_[0] * fitted.noise[rows]
        own = np.diag(K)
        function = final.kernel_variance_[0] * ((own[i] + own[j]) / 2 - K[i, j])
        names = getattr(final, "feature_names_in_", None)
        if names is None or kernel.reads_given or len(names) != X.shape[1]:
            names = [f"x{c}" for c in range(X.shape[1])]
        expected = function + (noise[i] + noise[j]) / 2
        spreads = X[:, columns].std(axis=0)
        unlike = bool(spreads.max() > _ALIKE * spreads[spreads > 0].min(initial=np.inf))
        observed = (left[i] - left[j]) ** 2 / 2
        return cls(distance, observed, expected, [str(names[c]) for c in columns], unlike)


def columns_read(kernel: Any, X: FloatArray) -> list[int]:
    """Return the columns without which the kernel is another: found by moving each of them."""
    some = X[:: max(len(X) // 30, 1)]
    K = kernel.matrix(some, some)
    found = []
    for c in range(X.shape[1]):
        moved = some.copy()
        moved[:, c] = np.roll(moved[:, c], 1)
        if not np.allclose(kernel.matrix(moved, moved), K, rtol=1e-9, atol=1e-12 * np.abs(K).max()):
            found.append(c)
    return found or list(range(X.shape[1]))


def _bins(distance: FloatArray, far: float, n_bins: int) -> Any:
    return np.minimum((distance / far * n_bins).astype(int), n_bins - 1)


def _means(numbers: Any, values: FloatArray) -> FloatArray:
    """Return the means of the bins that are not empty."""
    counts = np.bincount(numbers)
    return np.asarray(np.bincount(numbers, values)[counts > 0] / counts[counts > 0])
