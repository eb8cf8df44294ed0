"""The estimators with a fixed regularization, for tests that compare two fits and not the choice of γ."""

from grls import GRLSClassifier, GRLSRegressor


def regressor(kernel="gaussian", **parameters):
    return GRLSRegressor(kernel, **{"regularization": 1e-3, **parameters})


def classifier(kernel="gaussian", **parameters):
    return GRLSClassifier(kernel, **{"regularization": 1e-3, **parameters})
