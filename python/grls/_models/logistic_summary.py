"""`summary()` of logistic regression: coefficients with Wald's tests, deviances, rows left out."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..summary import Summary, Table, Value, Values
from .classification import OneVersusAll, winner
from .summaries import shown_features
from .wald import machine_facts, wald_table


class LogisticSummary(OneVersusAll):
    """A logistic classifier whose fit can be summarised."""

    def summary(self) -> Summary:
        """Return what the fit tells: coefficients with tests, degrees of freedom, deviances, rows left out.

        Standard errors are those of Laplace's approximation, the curvature of the loss at the minimum, with γ
        and the kernel taken as known; without a kernel part they are those of a generalised linear model.

        Returns
        -------
        Summary
            The table ``coefficients``; single values such as ``edf``, ``log_likelihood``, ``deviance``,
            ``null_deviance``, ``aic``, ``accuracy``, ``loo_log_loss`` and ``loo_accuracy``. The last two are
            there where ``regularization="loo"`` chose γ.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from grls import GRLogisticClassifier
        >>> from grls.kernels import Gaussian
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> X = (X[:, :2] - X[:, :2].mean(axis=0)) / X[:, :2].std(axis=0)
        >>> model = GRLogisticClassifier(Gaussian(2.0), features="linear").fit(X, y)
        >>> summary = model.summary()
        >>> bool(summary.deviance < summary.null_deviance)
        True
        """
        check_is_fitted(self)
        _, loss = self._fitted_loss()
        f, gamma, weights = self._f_fit, float(self.regularization_), loss.s
        truth = winner(self._targets_fit)
        rows = float(weights.sum())
        likelihood = -rows * loss.criterion(f)
        shares = np.bincount(truth, weights, minlength=len(self.classes_)) / rows
        null = -2 * rows * float(np.sum(shares[shares > 0] * np.log(shares[shares > 0])))
        edf = loss.degrees_of_freedom(f, gamma)
        values = [
            Value("edf", "effective degrees of freedom", edf),
            Value("log_likelihood", "log-likelihood", likelihood),
            Value("deviance", "deviance", -2 * likelihood),
            Value("null_deviance", "deviance of the classes' shares", null),
            Value("aic", "AIC", -2 * likelihood + 2 * edf),
            Value("explained", "share of the deviance explained", 1 + 2 * likelihood / null),
            Value("accuracy", "accuracy", float(np.average(winner(f) == truth, weights=weights))),
        ]
        if hasattr(self, "loo_log_loss_"):
            values += [
                Value("loo_log_loss", "log loss, rows left out", self.loo_log_loss_),
                Value("loo_accuracy", "accuracy, rows left out", self.loo_score_),
            ]
        names = [str(label) for label in self.classes_]
        counts = [float(weights[truth == j].sum()) for j in range(len(names))]
        sections: list[Table | Values] = [
            machine_facts(self, rows, [Value("n_classes", "classes", len(self.classes_))]),
            self._coefficients(names),
            Table("classes", "class", names, {"rows": counts}),
            Values("fit", values),
        ]
        notes = ["Standard errors take γ and the kernel as known (curvature of the loss at the minimum)."]
        if self._multinomial:
            notes.append("Functions of the classes are less their mean: coefficients add up to zero.")
        if np.isfinite(self.feature_variance_):
            notes.append("The features have a prior, which draws their coefficients towards zero.")
        return Summary(type(self).__name__, sections, notes, self.fit_warnings_)

    def _coefficients(self, names: list[str]) -> Table:
        """Return the coefficients of all functions with Wald's tests."""
        features, support = shown_features(self), self.feature_support_
        coefficients = np.asarray(self.feature_coef_)
        std = np.sqrt(np.maximum(self._coefficient_variance(), 0))
        k = coefficients.shape[1]
        labels = [f if k == 1 else f"{name}: {f}" for name in (names if k > 1 else [""]) for f in features]
        dropped = [labels[p * len(features) + j] for p in range(k) for j in np.flatnonzero(~support)]
        return wald_table(labels, np.where(support[:, None], coefficients, np.nan).T, std.T, dropped)
