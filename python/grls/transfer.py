"""A prior on the weights of linear models, learnt from similar tasks: `TransferPrior`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import gammaln
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_X_y
from sklearn.utils.multiclass import type_of_target

from . import _selection
from ._classification import encode
from ._ridge import RidgeProblem
from ._validation import FloatArray, choice, real

__all__ = ["TransferPrior"]

# Degrees of freedom of the common prior: from variances that are as good as free to variances that are equal.
_FREEDOM = (1e-2, 1e7)


class TransferPrior:
    r"""Learns which columns matter from reference tasks: a variance for each weight, by empirical Bayes.

    Every reference task is fitted by ridge regression. A column's variance is estimated from its weights
    :math:`\hat w_{tj}`, each in units of its task's scale and each counted as far as the task's data
    determine it, :math:`g_{tj} = |x_j|^2 / (|x_j|^2 + λ_t)`, and shrunk towards a common variance:

    .. math:: σ_j^2 = \frac{ν σ^2 + \sum_t \hat w_{tj}^2}{ν + \sum_t g_{tj}}

    The common variance σ² and the amount of shrinkage ν are the most likely ones. Tasks whose weights differ
    no more than by chance make ν huge and all variances equal: the prior is then the plain one. A column that
    no reference task has keeps the common variance.

    Parameters
    ----------
    regularization : float or {"loo", "gcv", "reml"}, default="loo"
        That of the ridge regressions of the reference tasks; see `PriorRLSRegressor`.
    learn_mean : bool, default=False
        Whether the weights' mean is learnt too, shrunk towards zero by an amount estimated from the tasks.
        That makes sense where targets have a common direction, as "spam" has; not where the sign is
        arbitrary, as in one topic against another.

    Attributes
    ----------
    covariance_ : ndarray of shape (d,)
        A variance for each column, in units in which the average known weight has variance 1.
    mean_ : ndarray of shape (d,) or None
        The weights' mean, with `learn_mean`.
    freedom_ : float
        ν, the degrees of freedom the common variance counts for.
    common_variance_ : float
        σ², the variance of a column that no task has.
    n_tasks_ : int
        Number of weight vectors learnt from: one for each task with two classes or one target.
    n_features_in_ : int
        d, the number of columns.

    Notes
    -----
    The variances are relative: an estimator that uses them should choose its ``regularization`` by "loo".

    Examples
    --------
    >>> import numpy as np
    >>> from grls import PriorRLSRegressor, TransferPrior
    >>> rng = np.random.default_rng(0)
    >>> scale = np.repeat([2.0, 0.02], [5, 95])  # five columns of a hundred matter, in every task
    >>> def task(n):
    ...     X = rng.normal(size=(n, 100))
    ...     return X, X @ (scale * rng.normal(size=100)) + 0.1 * rng.normal(size=n)
    >>> prior = TransferPrior().fit([task(200) for _ in range(10)])
    >>> X, y = task(220)
    >>> plain = PriorRLSRegressor(regularization="loo").fit(X[:20], y[:20])
    >>> informed = PriorRLSRegressor(covariance=prior, regularization="loo").fit(X[:20], y[:20])
    >>> bool(informed.score(X[20:], y[20:]) > 0.9 > plain.score(X[20:], y[20:]))
    True
    """

    def __init__(self, regularization: float | str = "loo", *, learn_mean: bool = False) -> None:
        # No estimator in scikit-learn's sense: a clone of a model keeps the prior it was given.
        self.regularization = regularization
        self.learn_mean = learn_mean

    def __repr__(self) -> str:
        learnt = f", {self.n_tasks_} tasks" if hasattr(self, "covariance_") else ""
        return (
            f"TransferPrior(regularization={self.regularization!r}, learn_mean={self.learn_mean!r}{learnt})"
        )

    def fit(self, tasks: Any) -> TransferPrior:
        """Learn the prior.

        Parameters
        ----------
        tasks : sequence
            Reference tasks with the same columns: pairs (X, y) of data and labels or targets, fitted linear
            models (their ``coef_``), or vectors of weights; a weight of exactly 0 then counts as unknown.

        Returns
        -------
        TransferPrior
            The fitted prior.
        """
        if isinstance(self.regularization, str):
            choice(self.regularization, "regularization (unless it is a number)", _selection.CRITERIA)
        else:
            real(self.regularization, "regularization", above=0)
        if not isinstance(tasks, list | tuple) or len(tasks) == 0:
            raise ValueError(
                "TransferPrior.fit takes a list of reference tasks: pairs (X, y), models or weights"
            )
        weights: list[FloatArray] = []
        known: list[FloatArray] = []
        for number, task in enumerate(tasks):
            w, g = self._weights_of(task, number)
            if weights and w.shape[1] != weights[0].shape[1]:
                raise ValueError(
                    f"reference task {number} has {w.shape[1]} columns, those before it {weights[0].shape[1]}"
                )
            weights.append(w)
            known.append(g)
        W, G = np.concatenate(weights), np.concatenate(known)  # (t, d)
        total = G.sum(axis=1, keepdims=True)
        scale = np.sqrt((W**2).sum(axis=1, keepdims=True) / np.where(total > 0, total, 1))
        told = scale[:, 0] > 0
        if not told.any():
            raise ValueError("the reference tasks' weights are all zero: nothing can be learnt from them")
        W, G, scale = W[told], G[told], scale[told]
        squares, freedoms = ((W / scale) ** 2).sum(axis=0), G.sum(axis=0)

        self.freedom_, self.common_variance_ = _common_prior(squares, freedoms)
        self.covariance_: FloatArray = (self.freedom_ * self.common_variance_ + squares) / (
            self.freedom_ + freedoms
        )
        self.mean_ = _common_mean(W, G, scale, self.covariance_) if self.learn_mean else None
        self.n_tasks_, self.n_features_in_ = W.shape
        return self

    def _weights_of(self, task: Any, number: int) -> tuple[FloatArray, FloatArray]:
        """Return the weights (k, d) of a reference task and how well each is determined, from 0 to 1."""
        if (
            isinstance(task, tuple | list)
            and len(task) == 2
            and np.ndim(task[1]) >= 1
            and _is_matrix(task[0])
        ):
            return self._fitted(task[0], task[1], number)
        coef = check_array(
            getattr(task, "coef_", task),
            dtype=np.float64,
            ensure_2d=False,
            input_name=f"the weights of reference task {number}",
        )
        if coef.ndim not in (1, 2):
            raise ValueError(f"the weights of reference task {number} have shape {coef.shape}, expected (d,)")
        coef = np.atleast_2d(coef)
        return coef, (coef != 0).astype(np.float64)

    def _fitted(self, X: Any, y: Any, number: int) -> tuple[FloatArray, FloatArray]:
        try:
            X, y = check_X_y(
                X, y, accept_sparse="csr", dtype=np.float64, multi_output=True, ensure_min_samples=2
            )
            if type_of_target(y).startswith("continuous"):
                targets = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
            else:
                targets = encode(y, None)[1]
        except ValueError as error:
            raise ValueError(f"reference task {number}: {error}") from error
        problem = RidgeProblem(X, np.ones((X.shape[0], 1)), None)
        regularization = self.regularization
        if isinstance(regularization, str):
            selection = _selection.select(
                problem,
                targets,
                regularization,
                50,
                np.inf,
                lambda predictions: np.asarray(((targets - predictions) ** 2).mean(axis=0)),
                per_output=False,
            )
            regularization = float(selection.chosen)
        solver = problem.solver("auto", targets.shape[1])
        solution = problem.solve(targets, regularization, solver, 1e-6, 1000)
        seen = _centred_squares(X)
        known = seen / (seen + regularization * X.shape[0])
        w = np.asarray(solution["V"]).T
        return w, np.broadcast_to(known, w.shape)

    def learnt(self, n_columns: int) -> TransferPrior:
        """Return this prior, checked to be fitted to as many columns.

        Parameters
        ----------
        n_columns : int
            Columns of the data it is to be used for.

        Returns
        -------
        TransferPrior
            Itself.
        """
        if not hasattr(self, "covariance_"):
            raise NotFittedError("covariance=TransferPrior(...): call its fit with the reference tasks first")
        if self.n_features_in_ != n_columns:
            raise ValueError(
                f"the prior was learnt for {self.n_features_in_} columns, but X has {n_columns} features"
            )
        return self


def _is_matrix(value: Any) -> bool:
    return sparse.issparse(value) or np.ndim(value) == 2


def _centred_squares(X: Any) -> FloatArray:
    """Return what the constant leaves of the squared length of each column."""
    mean = np.asarray(X.mean(axis=0)).ravel()
    squares = np.asarray(X.multiply(X).sum(axis=0)).ravel() if sparse.issparse(X) else (X**2).sum(axis=0)
    return np.asarray(np.maximum(squares - X.shape[0] * mean**2, 0.0))


def _common_prior(squares: FloatArray, freedoms: FloatArray) -> tuple[float, float]:
    """Return the most likely ν and common variance σ².

    A column's sum of squares s is σ_j² times χ² of t degrees of freedom, as many as its weights are known,
    and νσ²/σ_j² is χ² of ν: then s/(tσ²) has an F distribution.
    """
    counted = freedoms > 1e-3
    s, t = squares[counted], freedoms[counted]

    def unlikelihood(log_variance: float, nu: float, constant: float) -> float:
        relative = s / np.exp(log_variance)
        return float((t / 2 * log_variance + (nu + t) / 2 * np.log1p(relative / nu)).sum()) - constant

    def best(log_nu: float) -> tuple[float, float]:
        """Return how unlikely this ν is, with the best σ² for it."""
        nu = float(np.exp(log_nu))
        constant = float((gammaln((nu + t) / 2) - gammaln(nu / 2) - t / 2 * log_nu).sum())
        found = minimize_scalar(
            unlikelihood, bounds=(-20.0, 5.0), args=(nu, constant), method="bounded", options={"xatol": 1e-3}
        )
        return float(found.fun), float(found.x)

    low, high = (float(np.log(bound)) for bound in _FREEDOM)
    grid = np.linspace(low, high, 25)
    values = [best(x)[0] for x in grid]
    at = int(np.argmin(values))
    # Refined between the neighbours; at the upper end the likelihood is flat, and the end means "equal".
    if at == len(grid) - 1:
        log_nu = high
    else:
        bounds = (grid[max(at - 1, 0)], grid[at + 1])
        found = minimize_scalar(
            lambda x: best(x)[0], bounds=bounds, method="bounded", options={"xatol": 1e-2}
        )
        log_nu = float(found.x)
    return float(np.exp(log_nu)), float(np.exp(best(log_nu)[1]))


def _common_mean(W: FloatArray, G: FloatArray, scale: FloatArray, variances: FloatArray) -> FloatArray:
    """Return the mean of the tasks' weights, shrunk towards zero as far as chance alone would spread it."""
    total = G.sum(axis=0)
    mean = (W / scale).sum(axis=0) / np.where(total > 0, total, 1)
    chance = np.where(total > 0, variances / np.where(total > 0, total, 1), np.inf)
    known = total > 1e-3
    spread = max(float(np.mean(mean[known] ** 2 - chance[known])), 0.0)  # of the true means
    return np.asarray(mean * spread / (spread + chance) * np.sqrt(np.mean(scale**2)))
