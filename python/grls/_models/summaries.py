"""What the summaries of models of least squares share, and that of the classifiers.

A model says what it has solved (`Solved`); the numbers come from `fit_statistics`. See docs/math.md, section
"What a fit tells".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._selection.merged import Selectable
from .._validation import FloatArray
from ..summary import Summary, Table, Value, Values
from .classification import OneVersusAll, winner
from .fit_statistics import FitStatistics

DROPPED = "dropped: it depends linearly on others"


@dataclass(frozen=True)
class Solved:
    """The problem that a fitted model has solved, with what a summary says of it."""

    problem: Selectable  # of all samples; its features are those that are not penalised
    targets: FloatArray  # (m, k): less what a prior expects of them
    expected: FloatArray  # (m, k) or zero: that
    counts: FloatArray | None  # (m,) rows that samples stand for
    gammas: FloatArray  # (k,)
    n_points: int  # distinct ones
    symbol: str  # of the regularisation
    part: str  # what learns the rest: "kernel", or "weights"
    learner: str  # … in particular
    units: FloatArray | None  # R with β = Rb, where coefficients are not computed as users know them
    determinate: bool  # whether y has a likelihood: not beside a kernel that is definite up to polynomials
    penalises: bool  # whether some features have a prior
    know_targets: bool  # whether features are made from y: rows left out have told the others
    variances: FloatArray | None = None  # (k,) of the learnt part, where they were not left to the data

    def statistics(self, outputs: Any) -> FitStatistics:
        """Return those of some outputs, which share their γ."""
        return FitStatistics.of(
            self.problem,
            self.targets[:, outputs],
            self.counts,
            float(self.gammas[outputs][0]),
            units=self.units,
            determinate=self.determinate,
            leaves_out=not self.know_targets,
            variance=None if self.variances is None else float(self.variances[outputs][0]),
        )


def output_of(output: Any, n_outputs: int) -> int:
    """Return which output a summary is about."""
    if output is None and n_outputs == 1:
        return 0
    is_number = isinstance(output, Integral) and not isinstance(output, bool)
    if is_number and 0 <= output < n_outputs:
        return int(output)
    fault = "a summary is about one output" if output is None else f"there is no output {output!r}"
    if n_outputs == 1:
        raise ValueError(f"{fault}; the model has one output: output=0")
    numbers = [str(o) for o in range(n_outputs)]
    listed = ", ".join(numbers if n_outputs <= 8 else [*numbers[:3], "…", numbers[-1]])
    raise ValueError(f"{fault}; the model has {n_outputs} outputs: give output=… one of {listed}")


def shown_features(model: Any) -> list[str]:
    """Return the names of the features as people read them: the constant is the intercept.

    `feature_names_free_` has them as transformers name them.
    """
    named = [str(name) for name in getattr(model, "feature_names_in_", ())]
    constant = None if "1" in named else "1"
    return ["(Intercept)" if name == constant else name for name in model.feature_names_free_]


def require_exact(model: Any) -> None:
    """NotFittedError before a fit; ValueError for the published formula, which minimises nothing."""
    check_is_fitted(model)
    if model.formulation != "exact":
        raise ValueError(
            'summary() describes the minimiser: it needs formulation="exact", got '
            f"formulation={model.formulation!r}"
        )


def likelihoods(
    restricted: float, plain: float, n_parameters: float, n_free: float, n_rows: float
) -> list[Value]:
    """Return the log-likelihoods, and AIC and BIC of each; n_free: rows less features."""
    return [
        Value("restricted_log_likelihood", "log-likelihood, restricted", restricted),
        Value("log_likelihood", "log-likelihood", plain),
        Value("restricted_aic", "AIC, restricted", -2 * restricted + 2 * n_parameters),
        Value("aic", "AIC", -2 * plain + 2 * n_parameters),
        Value(
            "restricted_bic",
            "BIC, restricted",
            -2 * restricted + n_parameters * float(np.log(max(n_free, 1))),
        ),
        Value("bic", "BIC", -2 * plain + n_parameters * float(np.log(n_rows))),
    ]


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.6g}"


def facts(
    model: Any, solved: Solved, statistics: FitStatistics, outputs: Any, more: Sequence[Value] = ()
) -> Values:
    """Return what was fitted to what, for some outputs."""
    merged = statistics.merged
    kept, n_features = int(model.feature_support_.sum()), model.n_features_free_
    gammas = np.unique(solved.gammas[outputs])
    shown = f"{gammas[0]:.4g}" if len(gammas) == 1 else f"{gammas[0]:.4g} to {gammas[-1]:.4g}"
    by = "logo" if hasattr(model, "logo_score_") else model.regularization  # "loo" with groups
    how = f"chosen by {by!r}" if isinstance(model.regularization, str) else "given"
    values = [
        Value("n_rows", "rows", merged.n_rows),
        Value("n_points", "distinct points", solved.n_points),
        *([Value("n_copies", "rows that repeat others", merged.copies)] if merged.copies else []),
        Value("n_features", "features", kept, None if kept == n_features else f"{kept} of {n_features}"),
        *more,
        Value("kernel", solved.part, re.sub(r"\d+\.\d{6,}(e-?\d+)?", _rounded, solved.learner)),
        Value(
            "regularization",
            f"regularization {solved.symbol}",
            float(gammas[0]) if len(gammas) == 1 else solved.gammas[outputs],
            f"{shown}, {how}",
        ),
    ]
    variance = getattr(model, "feature_variance_", model.feature_variance)
    if np.isfinite(variance):
        values.append(Value("feature_variance", "variance of the coefficients", float(variance)))
    return Values("", values)


class ClassificationSummary(OneVersusAll):
    """A classifier of least squares whose fit can be summarised."""

    def summary(self) -> Summary:
        """Return what the fit tells: coefficients, the classes, and how well rows left out are classified.

        There are no standard errors and no likelihoods: labels ±1 are no values with noise of one variance.

        Returns
        -------
        Summary
            Tables ``coefficients``, features by classes, and ``classes``; single values such as ``accuracy``
            and ``loo_accuracy``.
        """
        solved = self._solved()
        judged = _Judged.of(solved)
        statistics, k = judged.statistics, solved.targets.shape[1]
        names = [str(label) for label in self.classes_]
        norms = np.asarray(self.rkhs_norm_)
        known = statistics.left_out.known
        rows = np.ones(len(known)) if solved.counts is None else solved.counts
        wrong = winner(judged.left_out) != judged.truth
        errors = [
            float(np.average(wrong[mine], weights=rows[mine])) if mine.any() else np.nan
            for mine in ((judged.truth == j) & known for j in range(len(names)))
        ]
        counts = [float(rows[judged.truth == j].sum()) for j in range(len(names))]
        classes: dict[str, Any] = {"rows": counts, "errors, left out": errors}
        values = []
        if k > 1:
            classes |= {"edf": judged.edf, "norm": norms}
        else:
            values = [
                Value("edf", "effective degrees of freedom", float(judged.edf[0])),
                Value("kernel_norm", "norm of the learnt part", float(norms[0])),
            ]
        right = float(np.average(~wrong[known], weights=rows[known])) if known.any() else np.nan
        values += [
            Value("accuracy", "accuracy", float(np.average(judged.right, weights=rows))),
            Value("loo_accuracy", "accuracy, rows left out", right),
            Value("loo_squared_error", "squared error, rows left out", judged.squared_error),
        ]
        sections: list[Table | Values] = [
            facts(self, solved, statistics, slice(None), [Value("n_classes", "classes", len(names))]),
            _class_coefficients(self, names if k > 1 else names[1:], k),
            Table("classes", "class", names, classes),
            Values("fit", values),
        ]
        notes = ["No standard errors: labels ±1 are no values with noise of one variance."]
        left_out_note = statistics.left_out.note
        return Summary(
            type(self).__name__,
            sections,
            [*notes, left_out_note] if left_out_note else notes,
            self.fit_warnings_,
        )


@dataclass(frozen=True)
class _Judged:
    """A classifier's decisions on its rows, with and without each of them."""

    statistics: FitStatistics  # of the last outputs: the rows and which of them are known are those of all
    truth: Any  # (m,) numbers of the classes
    right: Any  # (m,) bool
    left_out: FloatArray  # (m, k) decision values
    squared_error: float  # of these
    edf: FloatArray  # (k,)

    @classmethod
    def of(cls, solved: Solved) -> _Judged:
        targets = solved.targets + solved.expected
        k = targets.shape[1]
        fitted, left_out, edf = np.empty_like(targets), np.empty_like(targets), np.empty(k)
        for gamma in np.unique(solved.gammas):
            mine = np.flatnonzero(solved.gammas == gamma)
            statistics = solved.statistics(mine)
            fitted[:, mine] = targets[:, mine] - statistics.residuals
            left_out[:, mine] = targets[:, mine] - statistics.left_out.residuals
            edf[mine] = statistics.edf
        known, weights = statistics.left_out.known, statistics.merged.row_weights
        squares = ((left_out - targets) ** 2).mean(axis=1)
        error = float(np.average(squares[known], weights=weights[known])) if known.any() else np.nan
        truth = winner(targets)
        return cls(statistics, truth, winner(fitted) == truth, left_out, error, edf)


def _class_coefficients(model: Any, names: Sequence[str], n_outputs: int) -> Table:
    """Return the coefficients of the features, one column for each function of the model."""
    support, features = model.feature_support_, shown_features(model)
    values = np.asarray(model.feature_coef_).reshape(len(features), n_outputs)
    values = np.where(support[:, None], values, np.nan)
    remarks = {name: DROPPED for name, used in zip(features, support, strict=True) if not used}
    columns = {f"class {name}": values[:, j] for j, name in enumerate(names)}
    return Table("coefficients", "feature", features, columns, remarks)
