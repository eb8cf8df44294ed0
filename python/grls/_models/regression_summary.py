"""`summary()` of the regressors of least squares.

Numbers come from `fit_statistics` and `kernel_test`, and, where "reml" made the choices, from
`estimation_error`. See docs/math.md, section "What a fit tells".
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._selection.candidates import KernelChoice
from .._selection.estimation_error import (
    FEWEST_DEGREES,
    EstimationError,
    profile_intervals,
    tuned_parameters,
)
from .._selection.kernel_parameters import GridSearch, Optimization
from .._solvers.kernel_problem import KernelProblem
from .._solvers.runtime import single_threaded
from .._validation import FloatArray, integer
from ..kernels.wording import in_words
from ..summary import Summary, Table, Value, Values
from .fit_statistics import FitStatistics
from .fitted import FittedProblem
from .kernel_test import grid_of_kernels, kernel_test
from .regression import RegressionFunction
from .shown_coefficients import ShownCoefficients
from .summaries import DROPPED, Solved, facts, likelihoods, output_of, shown_features
from .uncertainty import Uncertainty, require_likelihood

_LOW, _HIGH = "2.5 %", "97.5 %"
_N_KERNELS = 15  # that stand for a search over widths, in the test of the kernel part
_MOST_POINTS = 1000  # beyond which their spectra cost too much
_QUANTILE = float(stats.norm.ppf(0.975))


@dataclass(frozen=True)
class CoefficientErrors:
    """Standard errors of the features' coefficients."""

    std: FloatArray  # (l,): NaN where there is none
    degrees: FloatArray  # (l,) of freedom
    note: str  # how they are meant
    values: FloatArray | None = None  # (l,) what is shown in place of the coefficients


@dataclass(frozen=True)
class Scales:
    """Variances and kernel parameters, with the standard errors of their logarithms."""

    names: list[str]
    values: FloatArray  # (p,)
    errors: FloatArray  # (p,): NaN where they are not known
    offsets: FloatArray  # (p,): the logarithm is that of the value and this
    note: str  # why there are no intervals, or ""
    ends: FloatArray | None = None  # (q, 2): of the last q, by their profile likelihood

    def table(self) -> Table:
        """Return them with intervals of 95 %."""
        centre, away = self.values + self.offsets, np.exp(_QUANTILE * self.errors)
        low, high = centre / away, centre * away
        if self.ends is not None:
            low[-len(self.ends) :], high[-len(self.ends) :] = self.ends.T
        columns = {"estimate": self.values, _LOW: low - self.offsets, _HIGH: high - self.offsets}
        return Table("scale", "scale", self.names, columns)


def scales_at_gamma(statistics: FitStatistics, note: str, part: str) -> Scales:
    """Return the variances of noise and of a part, with intervals unless a note says why there are none."""
    values = np.array([statistics.kernel_variance * statistics.shift, statistics.kernel_variance])
    errors = np.full(2, np.nan) if note else np.array(statistics.log_scale_errors())
    return Scales(["noise variance", f"{part} variance"], values, errors, np.zeros(2), note)


def title(model: Any, output: int, n_outputs: int) -> str:
    return type(model).__name__ + (f", output {output} of {n_outputs}" if n_outputs > 1 else "")


def coefficient_table(model: Any, coefficients: FloatArray, errors: CoefficientErrors) -> Table:
    """Return the coefficients (l,) with their tests and intervals."""
    names, support = shown_features(model), model.feature_support_
    value = np.where(support, coefficients, np.nan)
    std = np.where(support, errors.std, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = value / std
    away = stats.t.ppf(0.975, errors.degrees) * std
    columns = {
        "coefficient": value,
        "SE": std,
        "t": t,
        "df": np.where(np.isnan(std), np.nan, errors.degrees),
        "p": 2 * stats.t.sf(np.abs(t), errors.degrees),
        _LOW: value - away,
        _HIGH: value + away,
    }
    remarks = {}
    for name, used, known in zip(names, support, np.isfinite(std), strict=True):
        if not used:
            remarks[name] = DROPPED
        elif not known:
            remarks[name] = "not defined: see below"
    return Table("coefficients", "feature", names, columns, remarks)


def _r2(y: FloatArray, residuals: FloatArray, weights: FloatArray) -> float:
    if len(y) == 0:
        return np.nan
    spread = float(weights @ (y - np.average(y, weights=weights)) ** 2)
    return 1 - float(weights @ residuals**2) / spread if spread > 0 else np.nan


def _kernel_values(
    model: Any, solved: Solved, statistics: FitStatistics, output: int, n_simulations: int, random_state: Any
) -> tuple[Values, list[str]]:
    """Return what is known of the learnt part, and notes on its test."""
    others, on_search = model._other_kernels(solved)
    merged = statistics.merged
    edf, n_kept = statistics.edf, statistics.n_kept
    values = [
        Value("kernel_edf", "effective degrees of freedom", edf - n_kept),
        Value("edf", "… with the features", edf),
        Value("kernel_norm", "norm", float(model.rkhs_norm_[output])),
    ]
    notes: list[str] = []
    if n_simulations and solved.variances is not None:
        notes.append("No test of the kernel part: its variance, or that of the noise, was given.")
    elif n_simulations:
        random = check_random_state(random_state)
        # Threads cost more than they save on matrices of this order where others use the machine too.
        with single_threaded() if len(merged.targets) <= _MOST_POINTS else nullcontext():
            test = kernel_test(merged, statistics.reduced, n_simulations, random, others)
        if isinstance(test, str):
            notes.append(test[:1].upper() + test[1:] + ".")
        else:
            beyond_all = test.p_value * (n_simulations + 1) < 1.5
            text = f"{'<= ' if beyond_all else ''}{test.p_value:.2g}"
            values += [
                Value("likelihood_ratio", "restricted likelihood ratio", test.statistic),
                Value("p_value", "its p-value", test.p_value, text),
            ]
            notes.append(_on_the_test(solved, n_simulations) + on_search)
    return Values(f"{solved.part} part" if solved.part == "kernel" else solved.part, values), notes


def _on_the_test(solved: Solved, n_simulations: int) -> str:
    text = f"Ratio: against the features alone; p by {n_simulations} draws of it where they are all there is."
    if solved.penalises:
        text += " The features that have a prior count as part of what is tested."
    return text


def _column(values: FloatArray, output: int) -> FloatArray:
    return values[:, output] if np.ndim(values) == 2 else np.zeros(1)


def _fit_values(
    solved: Solved, statistics: FitStatistics, output: int, n_parameters: int, variance: float
) -> Values:
    """Return likelihoods and how well the fit does, on its rows and on rows left out."""
    merged, left, known = statistics.merged, statistics.left_out, statistics.left_out.known
    y = solved.targets[:, output] + _column(solved.expected, output)
    restricted, plain = statistics.restricted_log_likelihood, statistics.log_likelihood
    residuals, variances = left.residuals[:, 0], variance * left.variances
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = -0.5 * (np.log(2 * np.pi * variances) + residuals**2 / variances)
    rows = merged.n_rows
    return Values(
        "fit",
        [
            *likelihoods(restricted, plain, n_parameters, statistics.n_free, rows),
            Value("r2", "R²", _r2(y, statistics.residuals[:, 0], merged.row_weights)),
            Value("loo_r2", "R², rows left out", _r2(y[known], residuals[known], merged.row_weights[known])),
            Value("n_parameters", "parameters of AIC and BIC", n_parameters),
            Value(
                "loo_log_score",
                "log score, rows left out",
                float(np.average(scores[known], weights=merged.row_counts[known])) if known.any() else np.nan,
            ),
        ],
    )


class RegressionSummary(RegressionFunction):
    """A regressor of least squares whose fit can be summarised.

    A subclass has ``_solved`` (what it has solved), ``_coefficient_errors``, ``_scales`` and ``_n_estimated``
    (how many numbers were chosen from the data beside coefficients and scale).
    """

    def _other_kernels(self, solved: Solved) -> tuple[list[Any], str]:
        """Return kernels that might have been chosen in place of the one found, and what to say of them."""
        return [], ""

    def _more_tables(self, output: int) -> list[Table]:
        """Return what a model has beside its features' coefficients."""
        return []

    def summary(
        self,
        unconditional: bool | str = "auto",
        *,
        output: int | None = None,
        n_simulations: int = 10_000,
        random_state: Any = 0,
    ) -> Summary:
        """Return what the fit tells: coefficients with tests, the kernel part, scales, likelihoods, scores.

        Parameters
        ----------
        unconditional : bool or "auto", default="auto"
            Whether standard errors account for γ, and for the kernel's parameters with `optimize`, being
            estimates: "auto" where they can, after ``regularization="reml"`` with free features. The notes
            say which they are.
        output : int, default=None
            Which output, where there are several.
        n_simulations : int, default=10000
            Draws for the test whether the kernel part is needed; 0: no test, which costs the spectrum of the
            kernel matrix.
        random_state : int, RandomState or None, default=0
            Where the draws come from.

        Returns
        -------
        Summary
            Tables ``coefficients`` and ``scale``; single values such as ``edf``, ``likelihood_ratio``,
            ``p_value``, ``log_likelihood``, ``aic``, ``r2``, ``loo_r2`` and ``loo_log_score``. The last is
            the mean log density of the rows left out, larger is better. The restricted log-likelihood is that
            of nlme in R, constants included, and AIC and BIC count the parameters that were estimated.

        Notes
        -----
        It costs about as much as choosing γ by leave-one-out, and the test the eigenvalues of a matrix of the
        order of the samples. See docs/math.md, section "What a fit tells".

        Examples
        --------
        A line with a wave on it:

        >>> import numpy as np
        >>> from grls import GRLSRegressor
        >>> from grls.kernels import Matern
        >>> rng = np.random.default_rng(0)
        >>> x = np.sort(rng.uniform(0, 10, 60))[:, None]
        >>> y = 3 * x[:, 0] + np.sin(2 * x[:, 0]) + 0.3 * rng.normal(size=60)
        >>> model = GRLSRegressor(Matern(1.0), features="linear", regularization="reml").fit(x, y)
        >>> summary = model.summary()
        >>> bool(abs(summary.coefficients["coefficient"][1] - 3) < 2 * summary.coefficients["SE"][1])
        True
        >>> summary.p_value < 0.001
        True
        >>> print(summary.title, round(summary.r2, 2), round(summary.loo_r2, 2))
        GRLSRegressor 1.0 1.0
        """
        if unconditional not in (True, False, "auto"):
            raise ValueError(f'unconditional must be True, False or "auto", got {unconditional!r}')
        n_simulations = integer(n_simulations, "n_simulations", minimum=0)
        solved = self._solved()
        n_outputs = solved.targets.shape[1]
        o = output_of(output, n_outputs)
        statistics = solved.statistics([o])
        errors = self._coefficient_errors(statistics, o, unconditional)
        scales = self._scales(statistics, o)
        kernel, notes = _kernel_values(self, solved, statistics, o, n_simulations, random_state)
        coefficients = errors.values
        if coefficients is None:
            coefficients = np.asarray(self.feature_coef_).reshape(self.n_features_free_, n_outputs)[:, o]
        n_parameters = len(statistics.path.kept) + int(solved.variances is None) + self._n_estimated()
        sections: list[Table | Values] = [
            facts(self, solved, statistics, [o]),
            coefficient_table(self, coefficients, errors),
            *self._more_tables(o),
            kernel,
            scales.table(),
            _fit_values(solved, statistics, o, n_parameters, statistics.kernel_variance),
        ]
        about = errors.note if self.n_features_free_ else ""
        notes = [note for note in [about, *notes, scales.note, statistics.left_out.note] if note]
        if not solved.determinate:
            notes.append("The kernel is known up to polynomials only: there is no likelihood of the targets.")
        return Summary(title(self, o, n_outputs), sections, notes, self.fit_warnings_)


class UncertainSummary(RegressionSummary, Uncertainty):
    """A regressor whose standard errors and scales may account for what was estimated."""

    def _coefficient_errors(
        self, statistics: FitStatistics, output: int, unconditional: bool | str
    ) -> CoefficientErrors:
        if unconditional == "auto":
            unconditional = self._has_likelihood()
        shown = ShownCoefficients.of(self, output)
        values, variances = shown.of_model(self)
        degrees = np.full(len(values), self.degrees_of_freedom_)
        if not unconditional:
            note = "Standard errors take γ and the kernel as known"
            if self.regularization != "reml":
                note += '; after regularization="reml" they can account for the choice'
        else:
            error = self._error_of_estimation()
            estimated = "γ and the kernel's parameters" if hasattr(self, "optimization_") else "γ"
            note = f"Standard errors and df account for {estimated} being estimates"
            degrees = error.degrees_of_freedom(lambda end: shown(end)[1], self.degrees_of_freedom_)
            for slope in error.slopes(lambda end: shown(end)[0]):
                variances = variances + slope**2
            if np.any(degrees <= FEWEST_DEGREES):
                note += (
                    f". Where df is {FEWEST_DEGREES:g}, the fewest, the data leave open how much of the "
                    "coefficient the kernel part says: the interval allows for all of that, and may be many "
                    "times wider than the estimate scatters in new readings of the same curve"
                )
        note = " ".join([f"{note}.", *shown.notes, shown.on_the_constant(self)]).rstrip()
        return CoefficientErrors(np.sqrt(np.maximum(variances, 0)), degrees, note, values)

    def _has_likelihood(self) -> bool:
        """Whether γ was estimated by a likelihood that tells how sure it is."""
        try:
            require_likelihood(self)
        except ValueError:
            return False
        return True

    def _scales(self, statistics: FitStatistics, output: int) -> Scales:
        values = [float(self.noise_variance_[output]), float(self.kernel_variance_[output])]
        names = ["noise variance", "kernel variance"]
        record = getattr(self, "optimization_", None)
        if not self._has_likelihood():
            labels, more, offsets = self._tuned_values()
            missing = np.full(2 + len(more), np.nan)
            note = f"Scales have no intervals: {self._why_no_intervals()}."
            return Scales(
                [*names, *labels], np.append(values, more), missing, np.append(np.zeros(2), offsets), note
            )
        error = self._error_of_estimation()
        errors = _scale_errors(error, output, self.degrees_of_freedom_)
        labels = self._in_words(error.labels[:-1])
        own = np.sqrt(np.diag(error.covariance))[:-1]
        note, ends = "", None
        if record is not None and not _by_likelihood(record):
            own = np.full(len(own), np.nan)
            note = "The kernel was not chosen by the likelihood: its parameters have no intervals."
        elif np.any(own == 0):
            at_bound = [name for name, e in zip(labels, own, strict=True) if e == 0]
            own = np.where(own == 0, np.nan, own)
            note = f"At a bound of the search, and taken as known: {', '.join(at_bound)}."
        if (
            isinstance(record, Optimization)
            and record.by == "reml"
            and len(statistics.residuals) <= _MOST_POINTS
        ):
            fitted = FittedProblem.of(self)
            ends = profile_intervals(fitted.problem, fitted.targets, record, error, self._counts_fit)
            if np.any((ends == 0) | (ends == np.inf)):
                note += " An end at 0 or inf lies beyond the bounds of the search."
        return Scales(
            [*names, *labels],
            np.append(values, (error.values - error.offsets)[:-1]),
            np.append(errors, own),
            np.append(np.zeros(2), error.offsets[:-1]),
            note.strip(),
            ends,
        )

    def _other_kernels(self, solved: Solved) -> tuple[list[Any], str]:
        record = getattr(self, "optimization_", None)
        if record is None or solved.penalises or not isinstance(solved.problem, KernelProblem):
            return [], ""
        if len(solved.targets) > _MOST_POINTS:
            return [], " They keep the kernel, which was chosen on the same rows: p is too small."
        parameters = tuned_parameters(solved.problem, record)
        if parameters is None or len(parameters.get()) > 1 or isinstance(record, KernelChoice):
            kernels = grid_of_kernels(solved.problem.X)
            return (
                kernels,
                f" The data chose the kernel: the ratio is the largest over {len(kernels)} others.",
            )
        found, bounds = parameters.get(), parameters.bounds(solved.problem.X)
        chosen = self._in_words(parameters.labels)[0]
        note = f" The choice of {chosen} is repeated in them, among {_N_KERNELS} values."
        low, high = np.log(bounds / found[:, None]).T
        kernels = []
        for factor in np.linspace(low.min(), high.max(), _N_KERNELS):
            values = found.copy()
            values *= np.exp(np.clip(factor, low, high))
            parameters.set(values)
            kernels.append(clone(parameters.kernel))
        return kernels, note

    def _tuned_values(self) -> tuple[list[str], FloatArray, FloatArray]:
        """Return names, values and offsets of the kernel's parameters that were chosen."""
        record = getattr(self, "optimization_", None)
        parameters = None if record is None else tuned_parameters(FittedProblem.of(self).problem, record)
        if parameters is None:
            return [], np.empty(0), np.empty(0)
        labels = self._in_words(parameters.labels)
        return labels, parameters.get() - parameters.offsets, parameters.offsets

    def _in_words(self, labels: Sequence[str]) -> list[str]:
        return in_words(self.kernel_, labels, getattr(self, "feature_names_in_", None))

    def _why_no_intervals(self) -> str:
        if self.degrees_of_freedom_ == np.inf:
            return "variances were given, and not estimated"
        if not isinstance(self.regularization, str):
            return "γ was given, and not estimated"
        if self.regularization != "reml":
            return f'γ was chosen by {self.regularization!r}; regularization="reml" tells how sure it is'
        return "they need one γ for all outputs" if self.per_output else "they need features without a prior"

    def _n_estimated(self) -> int:
        return n_estimated(self)


def n_estimated(model: Any) -> int:
    """Return how many numbers were chosen from the data beside coefficients and scale."""
    chosen = int(hasattr(model, "regularization_path_")) + int(model.feature_variance == "auto")
    record = getattr(model, "optimization_", None)
    if isinstance(record, Optimization | GridSearch):
        return chosen + len(record.parameters)
    if hasattr(model, "metric_"):
        n_columns = int(np.count_nonzero(np.any(model.metric_, axis=1)))  # the kernel reads these
        return chosen + n_columns * (n_columns + 1) // 2
    return chosen + (0 if record is None else int(np.size(getattr(model.kernel_, "sigma", ()))))


def _by_likelihood(record: Any) -> bool:
    """Whether what was chosen is where the restricted likelihood is largest."""
    if isinstance(record, KernelChoice):
        return record.most_likely
    return isinstance(record, GridSearch) or (isinstance(record, Optimization) and record.by == "reml")


def _scale_errors(error: EstimationError, output: int, n_free: float) -> FloatArray:
    """Return standard errors of the logarithms of noise and kernel variance.

    Given all else the kernel variance is known to 2/n, in squares of its logarithm; its estimate goes with
    the other parameters.
    """
    return np.asarray(np.sqrt(2 / n_free + np.sum(error.scales[:, :, output] ** 2, axis=0)))
