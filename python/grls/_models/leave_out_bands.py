"""Bands of least squares from the residuals and predictions of models without some rows, in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted

from .._solvers import memory
from .._solvers.rank import units_of
from .._validation import FloatArray, choice, miss_rate
from .cross_validation import leave_out
from .fitted import FittedProblem

__all__ = ["LeaveOutBands"]

_METHODS = ("auto", "jackknife+", "cv+", "jackknife", "model")
_BLOCK = 16e6  # of weights of training rows in predictions, at a time


class LeaveOutBands:
    """A regressor of least squares with bands by jackknife+ and its kin."""

    def predict_interval(
        self,
        X: Any,
        alpha: float = 0.1,
        *,
        method: str = "auto",
        cv: Any = 10,
        with_noise: bool = True,
        noise: Any = None,
    ) -> FloatArray:
        r"""Return bands for new observations that cover a share 1 − α of them.

        The ends come from rows left out, which assumes no normal noise, or from the model's standard
        deviations. With e_i the residual of row i by the model without it and f₋ᵢ that model, both in closed
        form from the fit with all rows, jackknife+ is

        .. math:: \text{band}(x) = [\, q^-_α \{f_{-i}(x) - |e_i|\}, \; q^+_{1-α} \{f_{-i}(x) + |e_i|\} \,],

        the ⌊α(m + 1)⌋-th and the ⌈(1 − α)(m + 1)⌉-th smallest of the m values.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.
        alpha : float, default=0.1
            The share of misses aimed at: 0.1 covers 90 %.
        method : {"auto", "jackknife+", "cv+", "jackknife", "model"}, default="auto"
            "jackknife+", rows left out one by one; "cv+", in folds; "jackknife", one by one with f(x) of all
            rows in place of f₋ᵢ(x), which is cheaper and promises nothing. "model": the prediction plus and
            minus its standard deviation times a quantile of Student's t. "auto": "jackknife+", but "model"
            where the noise differs between rows (sample weights, ``fit(noise=…)``, ``noise="learn"``) or
            `with_noise` is False.
        cv : int, splitter or splits, default=10
            Folds of "cv+". A number: so many, of rows drawn at random with a fixed seed.
        with_noise : bool, default=True
            Whether the band is for new observations, of weight one, or for the function (by "model" only).
        noise : float or array-like of shape (n,), default=None
            Known variances of the noise at the new points, as in `predict`.

        Returns
        -------
        ndarray of shape (n, 2), or (n, 2, k) with several outputs
            The ends; from rows left out infinite with fewer than 1/α − 1 rows.

        See Also
        --------
        grls.conformal.ConformalRegressor : Bands with 1 − α, in groups and along features.

        Notes
        -----
        If rows are exchangeable, and kernel and γ were not chosen from them, "jackknife+" covers with a
        probability of at least 1 − 2α, and in practice about 1 − α; "cv+" with K folds at least
        1 − 2α − min(2(1 − 1/K)/(m/K + 1), (1 − K/m)/(K + 1)). A kernel or γ that the same rows have chosen is
        kept for all the models without rows, so that the bound holds only roughly then. It is coverage over
        all rows together, not in each group.

        It costs a factorisation as the fit did, m² operations for each new row, and with "cv+" the residuals
        of the folds.

        Examples
        --------
        >>> import numpy as np
        >>> from grls import GRLSRegressor
        >>> from grls.kernels import Gaussian
        >>> rng = np.random.default_rng(0)
        >>> x = rng.uniform(0, 6, (200, 1))
        >>> y = np.sin(x[:, 0]) + 0.1 * rng.standard_t(3, 200)
        >>> model = GRLSRegressor(Gaussian(1.0), regularization=1e-3).fit(x[:100], y[:100])
        >>> low, high = model.predict_interval(x[100:], alpha=0.2).T
        >>> bool(0.7 < np.mean((low <= y[100:]) & (y[100:] <= high)) < 0.95)
        True
        """
        check_is_fitted(self)
        choice(method, "method", _METHODS)
        alpha = miss_rate(alpha)
        model: Any = self
        if method == "auto":
            method = "model" if _has_unlike_rows(model) or not with_noise else "jackknife+"
        if method == "model":
            return _by_model(model, X, alpha, with_noise, noise)
        _require_like_rows(model, method, with_noise)
        if method == "cv+":
            folds = KFold(cv, shuffle=True, random_state=0) if isinstance(cv, int | np.integer) else cv
            left_out = leave_out(model, folds, None, None)
            if not np.array_equal(left_out.rows, np.arange(len(model._targets_fit))):
                raise ValueError("cv must leave out every row once")
            fold = left_out.fold
        else:
            left_out = leave_out(model, "loo", None, None)
            fold = np.arange(len(left_out.rows))
        errors = left_out.targets - left_out.values  # (m, k)
        points, T = model._evaluated(X)
        feature_part, learnt_part = model._parts_at(points, T)
        mean = feature_part + learnt_part
        out = np.empty((len(mean), 2, mean.shape[1]))
        fitted = FittedProblem.of(model)
        step = max(1, int(_BLOCK // len(errors)))
        for start in range(0, len(mean), step):
            part = slice(start, start + step)
            for gamma in np.unique(fitted.gammas):
                mine = np.flatnonzero(fitted.gammas == gamma)
                weights = None
                if method != "jackknife":
                    weights = _weights_at(model, fitted, float(gamma), points[part], T[part])
                for k in mine:
                    others = mean[part, k, None]
                    if weights is not None:
                        others = others - _moved(weights, errors[:, k], fold)
                    out[part, :, k] = _ends(others, np.abs(errors[:, k]), alpha)
        if np.isnan(out).any():
            raise ValueError(
                "the bands are no numbers: residuals of rows left out overflow, or the arrays of this model "
                "were changed after the fit"
            )
        return out[:, :, 0] if model._one_output else out


def _by_model(model: Any, X: Any, alpha: float, with_noise: bool, noise: Any) -> FloatArray:
    """Return the bands of the normal model whose variances were estimated."""
    mean, std = model.predict(X, return_std=True, with_noise=with_noise, noise=noise)
    half = stats.t.ppf(1 - alpha / 2, model.degrees_of_freedom_) * std
    return np.stack([mean - half, mean + half], axis=1)


def _has_unlike_rows(model: Any) -> bool:
    """Whether a row stands for several, or for a part of one, or has a noise of its own."""
    weights = model._weights_fit
    return weights is not None and not np.all(weights == 1)


def _require_like_rows(model: Any, method: str, with_noise: bool) -> None:
    """ValueError where residuals of rows left out are not those of new rows."""
    if not with_noise:
        raise ValueError(
            f'method={method!r} has bands for new observations only: with_noise=False needs method="model"'
        )
    if _has_unlike_rows(model):
        raise ValueError(
            f"method={method!r} needs rows that are alike, and this model was fitted with sample weights or "
            'noise variances, or has learnt them: take method="model", the one that "auto" takes then'
        )


def _weights_at(model: Any, fitted: FittedProblem, gamma: float, points: Any, T: FloatArray) -> FloatArray:
    """Return how much each training target has of the prediction at new points, (n, m).

    With A = Φ + γmI they are h with Ah + Tμ = k(x), Tᵀh = φ(x): the fit of the "targets" k(x) − Ah₀ on top of
    an h₀ that has Tᵀh₀ = φ(x).
    """
    problem, parts = fitted.problem, fitted.parts
    m = len(fitted.targets)
    memory.require(
        memory.solve_bytes(m + len(T), "double") + 24.0 * m * len(T),
        f"predictions of {len(T)} rows without each of {m}",
        "ask for fewer rows at a time",
    )
    K = np.asarray(model.kernel_.matrix(points, model.X_fit_), dtype=np.float64)
    F = T
    if parts is not None:
        F, Z = parts.at(T)
        K = K + fitted.tau * (Z @ parts.Z.T)
    h0: FloatArray = np.zeros((m, len(T)))
    if problem.T.shape[1]:
        units = units_of(problem.T)
        h0 = np.asarray(np.linalg.lstsq((problem.T / units).T, (F / units).T, rcond=None)[0])
    targets = np.ascontiguousarray(K.T - problem.kernel_times(h0) - gamma * problem.total_weight * h0)
    h = h0 + problem.solve(np.asfortranarray(targets), gamma).c
    return np.asarray(h.T)


def _moved(weights: FloatArray, errors: FloatArray, fold: Any) -> FloatArray:
    """Return f(x) − f₋(x), (n, m): what the model without the fold of each row says less."""
    if len(np.unique(fold)) == len(fold):
        return np.asarray(weights * errors)
    sums = np.zeros((int(fold.max()) + 1, len(weights)))
    np.add.at(sums, fold, (weights * errors).T)
    return np.asarray(sums[fold].T)


def _ends(others: FloatArray, sizes: FloatArray, alpha: float) -> FloatArray:
    """Return the ends (n, 2) from predictions without rows, (n, m) or (n, 1), and |residuals|, (m,)."""
    m, n = len(sizes), len(others)
    low_rank = int(np.floor(alpha * (m + 1) * (1 + 1e-12)))
    high_rank = int(np.ceil((1 - alpha) * (m + 1) * (1 - 1e-12)))
    out = np.column_stack([np.full(n, -np.inf), np.full(n, np.inf)])
    if low_rank >= 1:
        out[:, 0] = np.partition(others - sizes, low_rank - 1, axis=1)[:, low_rank - 1]
    if high_rank <= m:
        out[:, 1] = np.partition(others + sizes, high_rank - 1, axis=1)[:, high_rank - 1]
    return out
