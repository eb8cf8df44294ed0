"""What the summaries of models of least squares share, and that of the classifiers.

A model says what it has solved (`Solved`); the numbers come from `fit_statistics`. See docs/math.md, section
"What a fit tells".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._selection.regularization import Selectable
from .._validation import FloatArray
from ..summary import Summary, Table, Value, Values
from .classification import OneVersusAll, winner
from .fit_statistics import FitStatistics


@dataclass(frozen=True)
class Solved:
    """The problem that a fitted model has solved, with what a summary says of it."""

    problem: Selectable  # of all samples; its features are those that are not penalised
    targets: FloatArray  # (m, k): less what a prior expects of them
    expected: FloatArray  # (m, k) or zero: that
    counts: FloatArray | None  # (m,) rows that samples stand for
    gammas: FloatArray  # (k,)
    feature_part: FloatArray  # (m, k): what all features say at the samples
    n_points: int  # distinct ones
    symbol: str  # of the regularisation
    part: str  # what learns the rest: "kernel", or "weights"
    learner: str  # … in particular
    units: FloatArray | None  # R with β = Rb, where coefficients are not computed as users know them
    determinate: bool  # whether y has a likelihood: not beside a kernel that is definite up to polynomials
    penalises: bool  # whether some features have a prior

    def statistics(self, outputs: Any) -> FitStatistics:
        """Return those of some outputs, which share their γ."""
        return FitStatistics.of(
            self.problem,
            self.targets[:, outputs],
            self.counts,
            float(self.gammas[outputs][0]),
            units=self.units,
            determinate=self.determinate,
        )


def require_exact(model: Any) -> None:
    """NotFittedError before a fit; ValueError for the published formula, which minimises nothing."""
    check_is_fitted(model)
    if model.formulation != "exact":
        raise ValueError(
            'summary() describes the minimiser: it needs formulation="exact", got '
            f"formulation={model.formulation!r}"
        )


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.6g}"


def facts(model: Any, solved: Solved, statistics: FitStatistics, more: Sequence[Value] = ()) -> Values:
    """Return what was fitted to what."""
    merged = statistics.merged
    kept, n_features = int(model.feature_support_.sum()), model.n_features_free_
    gamma = statistics.shift / merged.total_weight
    how = f"chosen by {model.regularization!r}" if isinstance(model.regularization, str) else "given"
    values = [
        Value("n_rows", "rows", merged.n_rows),
        Value("n_points", "distinct points", solved.n_points),
        Value("n_features", "features", kept, None if kept == n_features else f"{kept} of {n_features}"),
        *more,
        Value("kernel", solved.part, re.sub(r"\d+\.\d{6,}(e-?\d+)?", _rounded, solved.learner)),
        Value("regularization", f"regularization {solved.symbol}", gamma, f"{gamma:.4g}, {how}"),
    ]
    if np.isfinite(getattr(model, "feature_variance_", model.feature_variance)):
        values.append(
            Value("feature_variance", "variance of the features' coefficients", model.feature_variance_)
        )
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
        targets = solved.targets + solved.expected
        k = targets.shape[1]
        fitted, left_out, edf = np.empty_like(targets), np.empty_like(targets), np.empty(k)
        for gamma in np.unique(solved.gammas):
            mine = np.flatnonzero(solved.gammas == gamma)
            statistics = solved.statistics(mine)
            fitted[:, mine] = targets[:, mine] - statistics.residuals
            left_out[:, mine] = targets[:, mine] - statistics.left_out.residuals
            edf[mine] = statistics.edf
        merged = statistics.merged
        names = [str(label) for label in self.classes_]
        of_outputs = names if k > 1 else [names[1]]
        coefficients = np.where(
            self.feature_support_[:, None],
            np.asarray(self.feature_coef_).reshape(self.n_features_free_, k),
            np.nan,
        )
        remarks = {
            name: "dropped: it depends linearly on others"
            for name, used in zip(self.feature_names_free_, self.feature_support_, strict=True)
            if not used
        }
        truth, rows = winner(targets), merged.counts
        wrong = winner(left_out) != truth
        per_class: dict[str, Any] = {
            "rows": [float(rows[truth == j].sum()) for j in range(len(names))],
            "errors, left out": [
                float(np.average(wrong[truth == j], weights=rows[truth == j])) for j in range(len(names))
            ],
        }
        if k > 1:
            per_class |= {"edf": edf, "norm": np.asarray(self.rkhs_norm_)}
        single = (
            []
            if k > 1
            else [
                Value("edf", "effective degrees of freedom", float(edf[0])),
                Value("kernel_norm", "norm of the kernel part", float(self.rkhs_norm_[0])),
            ]
        )
        squared = float(np.average((left_out - targets) ** 2 @ np.full(k, 1 / k), weights=merged.weights))
        fit = [
            Value("accuracy", "accuracy", float(np.average(winner(fitted) == truth, weights=rows))),
            Value("loo_accuracy", "accuracy, rows left out", float(np.average(~wrong, weights=rows))),
            Value("loo_squared_error", "squared error, rows left out", squared),
        ]
        columns = {f"class {name}": coefficients[:, j] for j, name in enumerate(of_outputs)}
        sections: list[Table | Values] = [
            facts(self, solved, statistics, [Value("n_classes", "classes", len(names))]),
            Table("coefficients", "feature", list(self.feature_names_free_), columns, remarks),
            Table("classes", "class", names, per_class),
            Values("fit", [*single, *fit]),
        ]
        note = "No standard errors: labels ±1 are no values with noise of one variance."
        return Summary(type(self).__name__, sections, [note], self.fit_warnings_)
