"""What several test files make: estimators with a fixed γ, answers by threads, names, a line of progress."""

import re

import grls
from grls import GRLSClassifier, GRLSRegressor
from grls.kernels import Gaussian

PROGRESS = r"\[grls +\d+\.\d s\] "  # what every line of progress begins with, as a regular expression


def regressor(kernel="gaussian", **parameters):
    return GRLSRegressor(kernel, **{"regularization": 1e-3, **parameters})


def classifier(kernel="gaussian", **parameters):
    return GRLSClassifier(kernel, **{"regularization": 1e-3, **parameters})


def named(value):
    """A parameter in the name of its test: a function without its address, which changes from run to run."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def with_threads(function, counts=(1, 2, 5)):
    """What a function returns with each number of threads."""
    answers = []
    try:
        for count in counts:
            grls.set_num_threads(count)
            answers.append(function())
    finally:
        grls.set_num_threads(None)
    return answers


def fit_and_predict(X, y):
    """Return predictions of values and of classes by two threads, for children of a process."""
    grls.set_num_threads(2)
    model = regressor(Gaussian(0.5), features="linear").fit(X, y)
    return model.predict(X), classifier(Gaussian(0.5)).fit(X, y > 0).predict(X)
