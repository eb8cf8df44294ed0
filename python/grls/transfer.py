"""A prior on the weights of linear models, learnt from similar tasks: `TransferPrior`."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import gammaln
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_X_y
from sklearn.utils.multiclass import type_of_target

from ._models.classification import encode, winner
from ._selection import regularization as regularization_choice
from ._solvers.covariance import Diagonal
from ._solvers.ridge_problem import RidgeProblem
from ._validation import FloatArray, choice, integer, number_or_choice
from ._versions import Versioned
from ._warnings import warn

__all__ = ["TransferPrior"]
__dir__ = __all__.copy

_POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
_TRUSTS = (0.0, 0.5, 1.0)
_REPEATS, _HELD_OUT = 3, 500  # of each trial
_FEWEST = 4  # examples of a model that is tried out
_LEAST = 1e-3  # degrees of freedom that count
_SOME = 8  # tasks that a warning names

# Degrees of freedom of the common prior: from variances that are as good as free to variances that are equal.
_FREEDOM = (1e-2, 1e7)


@dataclass
class _Task:
    """A reference task with data: targets ±1 or numbers."""

    X: Any  # (n, d)
    targets: FloatArray  # (n, k)
    labels: bool  # whether they stand for classes

    def scaled(self, variances: FloatArray) -> Any:
        return Diagonal(variances).times_root(self.X)

    def draws(self, n_examples: int, seed: list[int]) -> list[tuple[Any, Any]]:
        """Return rows for models of a few examples and rows to try these on; none where y is constant."""
        rng = np.random.default_rng(seed)
        n = len(self.targets)
        size = min(n_examples, n // 2)
        chosen = [rng.permutation(n)[: size + _HELD_OUT] for _ in range(_REPEATS)]
        # A class that no example has is wrong with every prior alike; the others still tell these apart.
        return [
            (rows[:size], rows[size:])
            for rows in chosen
            if size >= _FEWEST and np.ptp(self.targets[rows[:size]], axis=0).any()
        ]


@dataclass
class _Trial:
    """Models of a few examples of a task, tried on the rest of it."""

    task: _Task
    draws: list[tuple[Any, Any]]  # rows of the models, and rows held out

    def loss(self, variances: FloatArray, mean: FloatArray | float = 0.0) -> float:
        """Return how wrong the models are with these variances of the columns, and this mean of the weights.

        That is the share of wrong labels, or the squared error as a share of the targets' variance.
        """
        X = self.task.scaled(variances)
        expected = np.asarray(self.task.X @ np.broadcast_to(mean, X.shape[1]))[:, None]
        errors = []
        for few, rest in self.draws:
            y, held = self.task.targets[few], self.task.targets[rest]
            w, _ = _ridge(X[few], y - expected[few], "loo")
            offset = (y - expected[few] - np.asarray(X[few] @ w)).mean(axis=0)
            predictions = expected[rest] + np.asarray(X[rest] @ w) + offset
            if self.task.labels:
                errors.append(np.mean(winner(predictions) != winner(held)))
            else:
                naive = np.mean((held - y.mean(axis=0)) ** 2)
                errors.append(np.mean((held - predictions) ** 2) / max(naive, 1e-300))
        return float(np.mean(errors))


@dataclass
class _Known:
    """What the tasks say about the weights of the scaled columns, and the prior that follows from it.

    A weight from ridge regression is g times the true one, and noise, so that it counts as g of a weight.
    """

    W: FloatArray  # (t, d)
    G: FloatArray  # (t, d): g, how well each is determined, from 0 to 1
    owner: Any  # (t,): the task of each
    spread: float = 0.0  # the variance of the columns' means about zero; 0: they stay zero
    chances: FloatArray | float = 1.0  # (d,): the variance of a weight about its column's mean
    scale: FloatArray | float = 1.0  # (t, 1): the size of each task's deviations from the mean
    freedom: float = np.inf
    common: float = 1.0

    @classmethod
    def of(cls, tasks: list[tuple[FloatArray, FloatArray]], learn_mean: bool) -> _Known:
        """Return what the weights (k, d) of each task say, and how well they are determined."""
        W, G = (np.concatenate([task[i] for task in tasks]) for i in (0, 1))
        owner = np.repeat(np.arange(len(tasks)), [len(w) for w, _ in tasks])
        some = W.any(axis=1)
        if not some.any():
            raise ValueError("the reference tasks' weights are all zero: nothing can be learnt from them")
        known = cls(W[some], G[some], owner[some])
        if learn_mean:
            known._estimate_spread()
        every = slice(None)
        deviations = known.W - known.G * known.mean(every)[0]
        known.scale = _root_mean(deviations**2, known.G)
        known.freedom, known.common = _common_prior(*known._squares(every, *known.mean(every)))
        return known

    def mean(self, rows: Any) -> tuple[FloatArray, FloatArray]:
        """Return the columns' means, shrunk towards zero, and which share of each the shrinking leaves."""
        total = self.G[rows].sum(axis=0)
        left = self.spread * total
        left = np.divide(left, left + self.chances, out=np.zeros_like(total), where=left > 0)
        return left * self.W[rows].sum(axis=0) / np.where(total > 0, total, 1), left

    def factors(self, rows: Any) -> FloatArray:
        """Return the relative variances of the weights about their mean."""
        squares, freedoms = self._squares(rows, *self.mean(rows))
        return np.asarray((self.freedom * self.common + squares) / (self.freedom + freedoms))

    def _estimate_spread(self) -> None:
        """Find how far the columns' means are from zero beyond chance, which is how far the tasks differ."""
        every, total = slice(None), self.G.sum(axis=0)
        self.spread = np.inf  # the means as they are
        mean = self.W.sum(axis=0) / np.where(total > 0, total, 1)
        squares, freedoms = self._squares(every, mean, np.ones_like(mean))
        counted = freedoms > _LEAST
        unit = squares[counted].sum() / max(freedoms[counted].sum(), _LEAST)
        if not counted.any() or unit == 0:  # one task: chance is not known; tasks that agree: there is none
            self.spread, self.chances = float(counted.any()), 0.0
            return
        freedom, common = _common_prior(squares / unit, freedoms)
        chances = unit * (freedom * common + squares / unit) / (freedom + freedoms)
        chance, self.chances = chances[counted] / total[counted], chances
        self.spread = max(float(np.mean(mean[counted] ** 2 - chance)), 0.0)

    def _squares(self, rows: Any, mean: FloatArray, left: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return each column's sum of squares about the mean, and its degrees of freedom less the mean's."""
        G, total = self.G[rows], self.G[rows].sum(axis=0)
        scale = np.broadcast_to(self.scale, (len(self.W), 1))[rows]
        squares = (((self.W[rows] - G * mean) / scale) ** 2).sum(axis=0)
        return squares, total - left * (G**2).sum(axis=0) / np.where(total > 0, total, 1)


def _root_mean(squares: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the root of each row's mean square, and 1 where that is 0."""
    total = counts.sum(axis=1, keepdims=True)
    root = np.sqrt(squares.sum(axis=1, keepdims=True) / np.where(total > 0, total, 1))
    return np.where(root > 0, root, 1.0)


class TransferPrior(Versioned):
    r"""Learns which columns matter from reference tasks: a variance for each weight, by empirical Bayes.

    The variance of a column is a power of its spread times a factor of its own,

    .. math:: σ_j^2 = s_j^{-2a} r_j^b, \quad
              r_j = \frac{ν σ^2 + \sum_t \hat w_{tj}^2}{ν + \sum_t g_{tj}}

    The factor :math:`r_j` is estimated from the weights that ridge regression gives the column in each task,
    in units of the task's scale, each counted as far as the task's data determine it,
    :math:`g_{tj} = |x_j|^2 / (|x_j|^2 + λ_t)`, and shrunk towards a common variance σ² by the most likely
    amount ν. Weights that differ no more than by chance make ν huge and the factors equal, and a column that
    no reference task has gets the common one.

    How much of this to believe is tried out on the reference tasks themselves: the powers a (0: rare or small
    columns are treated like others, 1: as if all columns were standardised) and b (0: no factors, 1: all of
    them) are those with which models of a few examples of one task, with the factors learnt from the others,
    predict the rest of it best; and unless they are better than a = b = 0 by more than their standard error
    over the tasks, the prior stays the plain one. A task on which nothing can be tried out, for want of rows
    or because every draw of examples is of one class, has no say in this, and a warning names it.

    Parameters
    ----------
    regularization : float or {"loo", "gcv", "reml"}, default="loo"
        That of the ridge regressions of the reference tasks; see `PriorRLSRegressor`.
    learn_mean : bool, default=False
        Whether the weights' mean is learnt too, shrunk towards zero as far as the tasks differ about it; the
        variances are then those about the mean. One task says nothing of a mean. That makes sense where
        targets have a common direction, as "spam" has; not where the sign is arbitrary, as in one topic
        against another.
    n_examples : int, default=40
        The size of the models that are tried out: about as many examples as the main task has.
    random_state : int, default=0
        Which examples these are.
    labels : "auto" or bool, default="auto"
        Whether the y of the reference tasks stands for classes (True) or numbers (False). "auto" takes
        integers, booleans and text for classes, and floats for numbers unless they are two whole ones, as
        -1.0 and 1.0.

    Attributes
    ----------
    covariance_ : ndarray of shape (d,)
        A variance for each column, 1 on average (geometrically).
    mean_ : ndarray of shape (d,) or None
        The weights' mean, with `learn_mean`.
    spread_power_ : float
        a.
    trust_ : float
        b.
    freedom_ : float
        ν, the degrees of freedom the common variance counts for.
    common_variance_ : float
        σ², the factor of a column that no task has.
    trials_ : dict of str to ndarray
        What each task that could be tried out says, for ``pandas.DataFrame(prior.trials_)``: "task", its
        place in the list; and the loss (share of wrong labels, or squared error as a share of the variance)
        with each a ("spread_power=0", …) and then with each b ("trust=0", …). Empty without data.
    n_tasks_ : int
        Number of weight vectors learnt from: one for each task with two classes or one target.
    n_features_in_ : int
        d, the number of columns.

    Notes
    -----
    The variances are relative: an estimator that uses them should choose its ``regularization`` by "loo".
    Reference tasks should not share classes, lest one vouches for another in the trial.

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

    def __init__(
        self,
        regularization: float | str = "loo",
        *,
        learn_mean: bool = False,
        n_examples: int = 40,
        random_state: int = 0,
        labels: bool | str = "auto",
    ) -> None:
        # No estimator in scikit-learn's sense: a clone of a model keeps the prior it was given.
        self.regularization = regularization
        self.learn_mean = learn_mean
        self.n_examples = n_examples
        self.random_state = random_state
        self.labels = labels

    def __repr__(self) -> str:
        learnt = f", learnt from {self.n_tasks_} tasks" if hasattr(self, "covariance_") else ""
        return (
            f"TransferPrior(regularization={self.regularization!r}, learn_mean={self.learn_mean!r}, "
            f"n_examples={self.n_examples!r}, random_state={self.random_state!r}, "
            f"labels={self.labels!r}{learnt})"
        )

    def fit(self, tasks: Any) -> TransferPrior:
        """Learn the prior.

        Parameters
        ----------
        tasks : sequence
            Reference tasks with the same columns: pairs (X, y) of data and labels or targets, fitted linear
            models (their ``coef_``), or vectors of weights; a weight of exactly 0 then counts as unknown.
            Without data nothing can be tried out: a is then 0 and b is 1. What y is, labels or targets, its
            dtype says: floats are targets, be they whole or not, unless there are only two whole values;
            integers, booleans and text are labels. Parameter `labels` says otherwise, as for counts.

        Returns
        -------
        TransferPrior
            The fitted prior.
        """
        number_or_choice(self.regularization, "regularization", regularization_choice.CRITERIA, above=0)
        integer(self.n_examples, "n_examples", minimum=_FEWEST)
        integer(self.random_state, "random_state", minimum=0)
        if not isinstance(self.labels, bool):
            choice(self.labels, "labels (unless it is a bool)", ("auto",))
        if not isinstance(tasks, list | tuple) or len(tasks) == 0:
            raise ValueError(
                "TransferPrior.fit takes a list of reference tasks: pairs (X, y), models or weights"
            )
        _refuse_a_lone_pair(tasks)
        given = [_read(task, number, self.labels) for number, task in enumerate(tasks)]
        n_columns = _common_columns(given)
        # In an order of their own, so that sums and draws do not depend on the order in which they come.
        place = sorted(range(len(given)), key=lambda number: _fingerprint(given[number]))
        read = [given[number] for number in place]
        data = [task for task in read if isinstance(task, _Task)]
        base, power = np.ones(n_columns), 0.0
        trials: dict[int, _Trial] = {}
        self.trials_: dict[str, Any] = {}
        if data:
            spread = _spread(data, n_columns)
            trials = self._trials(read, place)
            bases = {a: spread ** (-2 * a) for a in _POWERS}
            losses = {a: [trial.loss(v) for trial in trials.values()] for a, v in bases.items()}
            power = _better(losses)
            base = bases[power]
            self.trials_ = {"task": np.array([place[number] for number in trials], dtype=np.intp)}
            self.trials_ |= {f"spread_power={a:g}": np.array(values) for a, values in losses.items()}

        known = _Known.of([self._weights(task, base) for task in read], self.learn_mean)
        trust = 1.0
        if data:
            losses = {b: [] for b in _TRUSTS}
            for number, trial in trials.items():
                others = known.owner != number
                factors, mean = known.factors(others), known.mean(others)[0] * np.sqrt(base)
                for b in _TRUSTS:
                    losses[b].append(trial.loss(base * factors**b, mean))
            trust = _better(losses)
            self.trials_ |= {f"trust={b:g}": np.array(values) for b, values in losses.items()}

        covariance = base * known.factors(slice(None)) ** trust
        self.covariance_: FloatArray = covariance / np.exp(np.mean(np.log(covariance)))
        self.spread_power_, self.trust_ = power, trust
        self.freedom_, self.common_variance_ = known.freedom, known.common
        # w = base½ · (the weight of the scaled column)
        self.mean_ = known.mean(slice(None))[0] * np.sqrt(base) if self.learn_mean else None
        self.n_tasks_, self.n_features_in_ = known.W.shape
        return self

    def _weights(self, task: _Task | FloatArray, base: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return weights (k, d) of the scaled columns and how well each is determined, from 0 to 1."""
        if not isinstance(task, _Task):
            return task / np.sqrt(base), (task != 0).astype(np.float64)
        X = task.scaled(base)
        w, shift = _ridge(X, task.targets, self.regularization)
        seen = _centred_squares(X)
        return w.T, np.broadcast_to(seen / (seen + shift), w.T.shape)

    def _trials(self, tasks: list[_Task | FloatArray], place: list[int]) -> dict[int, _Trial]:
        """Return the trials by the number of their task; a warning names tasks with data that have none."""
        data = {number: task for number, task in enumerate(tasks) if isinstance(task, _Task)}
        trials = {
            number: _Trial(task, task.draws(self.n_examples, [self.random_state, order]))
            for order, (number, task) in enumerate(data.items())
        }
        lacking = sorted(place[number] for number, trial in trials.items() if not trial.draws)
        if lacking:
            names = ", ".join(map(str, lacking[:_SOME])) + (", …" if len(lacking) > _SOME else "")
            left = "the prior stays the plain one" if len(lacking) == len(data) else "the others decide"
            warn(
                f"nothing can be tried out on {len(lacking)} of {len(data)} reference tasks ({names}): they "
                f"have fewer than {2 * _FEWEST} rows, or one value of y only in each draw of at most "
                f"n_examples={self.n_examples} of their rows; {left}. Raise n_examples, or give tasks with "
                "more rows of their rarer classes",
                UserWarning,
            )
        return {number: trial for number, trial in trials.items() if trial.draws}

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


def _refuse_a_lone_pair(tasks: Any) -> None:
    """Raise ValueError where the list of tasks may be the data of a single one."""
    if len(tasks) == 2 and _is_matrix(tasks[0]) and np.shape(tasks[1]) == (np.shape(tasks[0])[0],):
        raise ValueError(
            "TransferPrior.fit got a matrix and a vector of as many values as it has rows, which looks like "
            "the data (X, y) of one task: give a list of tasks, [(X, y)]; vectors of weights as [*W, w]"
        )


def _fingerprint(task: _Task | FloatArray) -> list[bytes]:
    """Return what tells a task from others, whatever its place: its rows first, then its targets."""
    parts: list[Any] = [task.X, task.targets] if isinstance(task, _Task) else [task]
    prints = []
    for part in parts:
        arrays = (part.indptr, part.indices, part.data) if sparse.issparse(part) else (part,)
        prints.append(hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).digest())
    return prints


def _is_matrix(value: Any) -> bool:
    if sparse.issparse(value):
        return True
    try:
        return np.ndim(value) == 2
    except ValueError:  # a task: data beside targets
        return False


def _read(task: Any, number: int, labels: bool | str) -> _Task | FloatArray:
    """Return a reference task's data, or its weights (k, d) where it has none."""
    if isinstance(task, tuple | list) and len(task) == 2 and _is_matrix(task[0]) and np.ndim(task[1]) >= 1:
        try:
            X, y = check_X_y(
                *task, accept_sparse="csr", dtype=np.float64, multi_output=True, ensure_min_samples=2
            )
            if labels is True or (labels == "auto" and _names_classes(y)):
                return _Task(X, encode(y, None)[1], labels=True)
            return _Task(X, np.asarray(y, dtype=np.float64).reshape(len(y), -1), labels=False)
        except ValueError as error:
            raise ValueError(f"reference task {number}: {error}") from error
    name = f"the weights of reference task {number}"
    coef: FloatArray = check_array(
        getattr(task, "coef_", task), dtype=np.float64, ensure_2d=False, allow_nd=True, input_name=name
    )
    if coef.ndim not in (1, 2):
        raise ValueError(f"{name} have shape {coef.shape}, expected (d,)")
    return np.atleast_2d(coef)


def _names_classes(y: Any) -> bool:
    """Whether targets stand for classes: floats do where they are two whole numbers, all else does."""
    return y.dtype.kind != "f" or type_of_target(y) in ("binary", "multilabel-indicator")


def _common_columns(tasks: list[_Task | FloatArray]) -> int:
    counts = [(task.X if isinstance(task, _Task) else task).shape[1] for task in tasks]
    for number, count in enumerate(counts):
        if count != counts[0]:
            raise ValueError(f"reference task {number} has {count} columns, those before it {counts[0]}")
    return int(counts[0])


def _spread(tasks: list[_Task], n_columns: int) -> FloatArray:
    """Return the standard deviation of each column within the tasks; the least one where it is constant."""
    squares = sum((_centred_squares(task.X) for task in tasks), np.zeros(n_columns))
    spread = np.sqrt(squares / sum(task.X.shape[0] for task in tasks))
    seen = spread > 0
    if not seen.any():
        raise ValueError("all columns of the reference tasks are constant: nothing can be learnt from them")
    return np.asarray(np.where(seen, spread, spread[seen].min()))


def _ridge(X: Any, targets: FloatArray, regularization: float | str) -> tuple[FloatArray, float]:
    """Return the weights (d, k) of ridge regression with a free constant, and λ."""
    problem = RidgeProblem(X, np.ones((X.shape[0], 1)), None)
    if isinstance(regularization, str):
        selection = regularization_choice.select(
            problem,
            targets,
            regularization,
            50,
            lambda predictions: np.asarray(((targets - predictions) ** 2).mean(axis=0)),
            per_output=False,
        )
        regularization = float(selection.chosen)
    solver = problem.solver("auto", targets.shape[1])
    solution = problem.solve(targets, regularization, solver, tol=1e-6, max_iter=1000)
    return np.asarray(solution.V), regularization * X.shape[0]


def _better(losses: dict[float, list[float]]) -> float:
    """Return the choice of least mean loss over the tasks, or 0 unless it is better by its standard error."""
    if not losses[0.0]:  # nothing was tried out
        return 0.0
    best = min(losses, key=lambda choice: float(np.mean(losses[choice])))
    gain = np.subtract(losses[0.0], losses[best])
    error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else 0.0
    return best if gain.mean() > error else 0.0


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
    counted = freedoms > _LEAST
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
