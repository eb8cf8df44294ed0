"""`summary()` of `FourierGRLSRegressor` against that of the exact model."""

import pickle

import numpy as np
import pytest
from grls import FourierGRLSRegressor, GRLSRegressor
from grls._fourier import system as system_
from grls.kernels import Gaussian
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

pytest.importorskip("finufft")

LIKELIHOODS = (
    "restricted_log_likelihood",
    "log_likelihood",
    "restricted_aic",
    "aic",
    "restricted_bic",
    "bic",
)


def drawn(m=200):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(m, 2))
    y = np.sin(7 * X[:, 0]) + X.sum(axis=1) ** 2 + 0.3 * rng.normal(size=m)
    return X, np.column_stack([y, np.cos(y)]), rng.integers(1, 4, m).astype(float)


@pytest.mark.parametrize("features", ["linear", "quadratic", None])
def test_it_is_that_of_the_exact_model(features):
    X, Y, w = drawn()
    model = FourierGRLSRegressor(Gaussian(0.4), features=features, regularization=1e-3, tol=1e-8)
    exact = GRLSRegressor(Gaussian(0.4), features=features, regularization=1e-3)
    for output in (0, 1):
        found = model.fit(X, Y, w).summary(output=output)
        expected = exact.fit(X, Y, w).summary(False, output=output, n_simulations=0)
        for name in (*LIKELIHOODS, "edf", "kernel_edf", "kernel_norm", "r2", "n_parameters"):
            assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-4, err_msg=name)
        assert_allclose(found.scale["estimate"], expected.scale["estimate"], rtol=1e-4)
        for column in ("coefficient", "SE", "p") if features else ():
            # Far from zero in units of the standard error, p has no digits to compare.
            assert_allclose(
                found.coefficients[column],
                expected.coefficients[column],
                rtol=1e-3,
                atol=1e-6,
                err_msg=column,
            )
    text = str(found)
    assert "Fourier modes" in text
    assert "given" in text
    assert "random vectors" not in text


def test_beyond_the_low_modes_it_is_estimated_and_says_so(monkeypatch):
    X, Y, _ = drawn()
    model = FourierGRLSRegressor(Gaussian(0.3), features="linear", regularization=1e-3, tol=1e-4)
    whole = model.fit(X, Y[:, 0]).summary()
    monkeypatch.setattr(system_, "LOW_MODES", 100)
    estimated = model.fit(X, Y[:, 0]).summary()
    assert "random vectors" in str(estimated)
    assert_allclose(estimated.edf, whole.edf, rtol=0.05)
    assert_allclose(estimated.log_likelihood, whole.log_likelihood, atol=5.0)
    assert_allclose(estimated.r2, whole.r2, rtol=1e-4)


def test_what_was_chosen_is_counted_and_a_model_from_a_file_has_one_too():
    X, Y, _ = drawn()
    given = FourierGRLSRegressor(Gaussian(0.4), regularization=1e-2, tol=1e-6).fit(X, Y[:, 0])
    chosen = FourierGRLSRegressor(Gaussian(0.4), regularization="reml", tol=1e-6).fit(X, Y[:, 0])
    widths = FourierGRLSRegressor(
        Gaussian(0.4), regularization="reml", optimize={"sigma": [0.3, 0.4]}, tol=1e-6
    ).fit(X, Y[:, 0])
    counts = [model.summary().n_parameters for model in (given, chosen, widths)]
    assert counts == [2, 3, 4]
    assert "chosen by 'reml'" in str(chosen.summary())
    assert str(pickle.loads(pickle.dumps(widths)).summary()) == str(widths.summary())


def test_what_cannot_be_told_is_refused():
    X, Y, _ = drawn(50)
    model = FourierGRLSRegressor(Gaussian(0.4), regularization=1e-2, tol=1e-4)
    with pytest.raises(NotFittedError):
        model.summary()
    model.fit(X, Y)
    with pytest.raises(ValueError, match="a summary is about one output; the model has 2 outputs"):
        model.summary()
    with pytest.raises(ValueError, match="there is no output 2"):
        model.summary(output=2)
