"""`summary()` of regressions with a family: coefficients with Wald's tests, dispersion, deviances."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..summary import Summary, Table, Value, Values
from .smooth_regression import SmoothRegression
from .summaries import output_of, shown_features
from .wald import machine_facts, wald_table


class FamilySummary(SmoothRegression):
    """A regressor with a family whose fit can be summarised."""

    def _summary_smooth(self, output: int | None) -> Summary:
        """Return what the fit tells of an output."""
        check_is_fitted(self)
        p = output_of(output, self._f_fit.shape[1])
        sections: list[Table | Values] = [
            machine_facts(self, self._rows_in_fit(), [Value("loss", "loss", self.loss)]),
            self._family_coefficients(p),
            Values("fit", self._family_values(p)),
        ]
        notes = ["Standard errors take γ and the kernel as known (curvature of the loss at the minimum)."]
        if self._family.has_scale and isinstance(self.dispersion, str):
            notes.append("Dispersion: Pearson's statistic over the rows less the degrees of freedom.")
        if self._scales_fit[p] == 0:
            notes.append("The means are the values of y: no dispersion is left, the likelihood is infinite.")
        if self._family.shape is not None and isinstance(self.dispersion, str):
            notes.append("Dispersion α of the variance μ + αμ², by likelihood; taken as known.")
        if np.isfinite(self.feature_variance_):
            notes.append("The features have a prior, which draws their coefficients towards zero.")
        title = type(self).__name__ if self._one_output else f"{type(self).__name__}, output {p}"
        return Summary(title, sections, notes, self.fit_warnings_)

    def _rows_in_fit(self) -> float:
        return float(len(self._T_fit) if self._weights_fit is None else self._weights_fit.sum())

    def _family_coefficients(self, p: int) -> Table:
        support, names = self.feature_support_, shown_features(self)
        shape = (len(names), self._f_fit.shape[1])
        value = np.asarray(self.feature_coef_).reshape(shape)[:, p]
        std = np.asarray(self.feature_coef_std_).reshape(shape)[:, p]
        dropped = [names[j] for j in np.flatnonzero(~support)]
        return wald_table(names, np.where(support, value, np.nan), std, dropped)

    def _family_values(self, p: int) -> list[Value]:
        loss = self._loss_of(self._fitted_samples(), None).with_shapes(self._shapes_fit)
        f, family = self._f_fit, self._family
        a, scale, edf = float(self._shapes_fit[p]), float(self._scales_fit[p]), float(self._edf_fit[p])
        deviance, null = float(loss.deviances(f)[p]), float(loss.deviances(loss.null_functions())[p])
        left = self._rows_in_fit() - edf
        likelihood = np.nan  # of no dispersion it is infinite
        if scale != 0:
            likelihood = float(loss.s @ family.log_density(loss.y[:, p], loss.means(f)[:, p], a, scale))
        estimated = int(isinstance(self.dispersion, str) and (family.has_scale or family.shape is not None))
        pearson = float(loss.pearson(f)[p])
        values: list[Value] = [
            Value("edf", "effective degrees of freedom", edf),
            Value("dispersion", "dispersion", a if family.shape is not None else scale),
            Value("log_likelihood", "log-likelihood", likelihood),
            Value("deviance", "deviance", deviance),
            Value("null_deviance", "deviance of a constant", null),
            Value("pearson", "Pearson's statistic", pearson),
            Value("pearson_ratio", "… over its degrees of freedom", pearson / left if left > 0 else np.nan),
            Value("aic", "AIC", -2 * likelihood + 2 * (edf + estimated)),
            Value("explained", "share of the deviance explained", 1 - deviance / null if null else np.nan),
        ]
        if hasattr(self, "loo_deviance_"):
            values += [
                Value("loo_deviance", "mean deviance, rows left out", self.loo_deviance_),
                Value("loo_explained", "share explained, rows left out", self.loo_score_),
            ]
        return values

    def _fitted_samples(self) -> Any:
        samples = self._fitted_training().samples
        samples.offset = self._offset_fit
        return samples
