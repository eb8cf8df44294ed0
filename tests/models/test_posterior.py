"""The factor that is kept: made once, right wherever the kernel values come from, and forgotten in time."""

import copy
import pickle

import numpy as np
import pytest
import reference
from builders import regressor, with_threads
from grls import GRLSRegressor
from grls._solvers import memory
from grls._solvers.kernel_problem import KernelProblem
from grls.kernels import Gaussian, Laplace, Linear, Polynomial
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

pytestmark = pytest.mark.filterwarnings("ignore::grls.exceptions.ExtrapolationWarning")

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(60, 2))
Y = X[:, 0] + np.sin(3 * X[:, 1]) + 0.1 * RNG.normal(size=60)
NEW = RNG.uniform(-3, 3, size=(700, 2))
WEIGHTS = RNG.uniform(0.5, 3, size=60)


@pytest.fixture
def factorisations(monkeypatch):
    """The γ of each factor that is made."""
    made = []
    original = KernelProblem.posterior

    def counted(self, regularization):
        made.append(regularization)
        return original(self, regularization)

    monkeypatch.setattr(KernelProblem, "posterior", counted)
    return made


def test_the_factor_is_made_once_and_anew_after_a_fit(factorisations):
    model = regressor(Gaussian(1.0)).fit(X, Y)
    model.predict(NEW)
    assert factorisations == []
    first = model.predict(NEW, return_std=True)[1]
    model.predict(NEW[:3], return_cov=True)
    assert len(factorisations) == 1
    model.fit(X[:30], Y[:30])
    assert np.max(np.abs(model.predict(NEW, return_std=True)[1] - first)) > 1e-3
    assert len(factorisations) == 2
    model.set_params(regularization=0.1).fit(X, Y)
    model.predict(NEW, return_std=True)
    assert factorisations == [1e-3, 1e-3, 0.1]


def test_a_fit_that_fails_keeps_the_factor_of_the_model_that_is_left(factorisations):
    model = regressor(Gaussian(1.0)).fit(X, Y)
    before = model.predict(NEW, return_std=True)[1]
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, np.full(60, np.nan))
    assert_array_equal(model.predict(NEW, return_std=True)[1], before)
    assert len(factorisations) == 1


def test_without_keeping_every_call_makes_it_and_nothing_is_left(factorisations):
    kept, anew = (regressor(Gaussian(1.0), keep_factor=keep).fit(X, Y) for keep in (True, False))
    for _ in range(2):
        assert_array_equal(anew.predict(NEW, return_std=True)[1], kept.predict(NEW, return_std=True)[1])
    assert len(factorisations) == 3
    kept.set_params(keep_factor=False).predict(NEW, return_std=True)
    assert not any("posterior" in name for model in (kept, anew) for name in vars(model))


def test_a_factor_is_part_of_no_copy(factorisations):
    model = regressor(Gaussian(1.0)).fit(X, Y)
    size = len(pickle.dumps(model))
    expected = model.predict(NEW, return_std=True)[1]
    assert len(pickle.dumps(model)) == size
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_array_equal(other.predict(NEW, return_std=True)[1], expected)
    assert clone(model).keep_factor is True
    assert len(factorisations) == 3
    model.predict(NEW, return_std=True)
    assert len(factorisations) == 3  # the model that was copied still has its own


def test_features_are_evaluated_once_in_a_call():
    calls = []

    def features(points):
        calls.append(len(points))
        return points

    model = regressor(Gaussian(1.0), features=features, regularization="reml").fit(X, Y)
    calls.clear()
    model.predict(NEW, return_std=True, unconditional=True)
    assert calls == [700]


def test_every_output_has_the_factor_of_its_own_gamma(factorisations):
    targets = np.column_stack([Y, RNG.normal(size=60), 2 * Y])
    model = GRLSRegressor(Gaussian(1.0), regularization="loo", per_output=True).fit(X, targets)
    std, cov = (model.predict(NEW[:40], **{f"return_{what}": True})[1] for what in ("std", "cov"))
    assert sorted(factorisations) == sorted(set(model.regularization_.tolist()))
    assert cov.shape == (40, 40, 3)
    for p in range(3):
        alone = regressor(Gaussian(1.0), regularization=model.regularization_[p]).fit(X, targets[:, p])
        assert_allclose(std[:, p], alone.predict(NEW[:40], return_std=True)[1], rtol=1e-9)
        assert_allclose(cov[:, :, p], alone.predict(NEW[:40], return_cov=True)[1], atol=1e-9)


KERNELS = {
    "gaussian": Gaussian(1.0),
    "formula": Laplace(1.0).on([0]) * Gaussian([1.0, 2.0]) + 0.1 * Polynomial(2).normalized(),
    "function": lambda A, B: Gaussian(1.0)(A, B),
}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("n_new", [1, 3, 50, 700])
@pytest.mark.parametrize("feature_variance", [np.inf, 0.5])
def test_variances_are_the_oracles_however_many_rows_there_are(kernel, n_new, feature_variance):
    model = regressor(kernel, features="linear", feature_variance=feature_variance)
    model.fit(X, Y, sample_weight=WEIGHTS)
    new = NEW[:n_new]
    T, T_new = (model.features_.transform(points) for points in (X, new))
    everywhere = np.vstack([X, new])
    K = model.kernel_.matrix(everywhere, everywhere)
    if feature_variance < np.inf:
        both = np.vstack([T, T_new])
        K = K + reference.feature_kernel(both, both, T, feature_variance, WEIGHTS)
        T, T_new = T[:, :1], T_new[:, :1]
    cov, _, _ = reference.universal_kriging(K[:60, :60], K[:60, 60:], K[60:, 60:], T, T_new, Y, 1e-3, WEIGHTS)
    std, got = (model.predict(new, **{f"return_{what}": True})[1] for what in ("std", "cov"))
    assert_allclose(std**2, np.diag(cov), rtol=1e-7, atol=1e-10 * cov.max())
    assert_allclose(got, cov, atol=1e-9 * cov.max())
    assert_array_equal(got, got.T)


def test_sparse_and_single_precision_rows_have_the_variances_of_the_dense_ones():
    rows = np.where(RNG.uniform(size=(60, 2)) < 0.4, 0.0, X)
    expected = regressor(Gaussian(1.0) + Linear()).fit(rows, Y).predict(NEW, return_std=True)[1]
    csr = regressor(Gaussian(1.0) + Linear()).fit(sparse.csr_matrix(rows), Y)
    assert_allclose(csr.predict(sparse.csr_matrix(NEW), return_std=True)[1], expected, rtol=1e-7)
    assert_allclose(csr.predict(sparse.csr_matrix(NEW[:2]), return_std=True)[1], expected[:2], rtol=1e-7)
    single = regressor(Gaussian(1.0) + Linear()).fit(rows.astype(np.float32), Y)
    assert_allclose(single.predict(NEW.astype(np.float32), return_std=True)[1], expected, rtol=1e-3)


def test_variances_do_not_depend_on_the_threads():
    model = regressor(Gaussian(1.0), features="linear").fit(X, Y)
    for options in ({"return_std": True}, {"return_cov": True}):
        first, *others = with_threads(lambda options=options: model.predict(NEW, **options)[1])
        for other in others:
            assert_array_equal(other, first)


@pytest.mark.parametrize("keep", [True, False])
def test_a_factor_or_a_covariance_that_does_not_fit_is_refused_before_it_is_made(monkeypatch, keep):
    model = regressor(Gaussian(1.0), keep_factor=keep).fit(X, Y)
    monkeypatch.setattr(memory, "available", lambda: 20_000)
    with pytest.raises(MemoryError, match="a variance beside 60 samples"):
        model.predict(NEW, return_std=True)
    monkeypatch.setattr(memory, "available", lambda: 1_000_000)
    assert model.predict(NEW, return_std=True)[1].shape == (700,)
    with pytest.raises(MemoryError, match=r"the covariance of 700 rows.*fewer rows"):
        model.predict(NEW, return_cov=True)
    assert model.predict(NEW[:50], return_cov=True)[1].shape == (50, 50)
    # Several outputs have a matrix each, beside the one that they are made of.
    assert model.predict(NEW[:100], return_cov=True)[1].shape == (100, 100)
    model.fit(X, np.outer(Y, np.arange(1, 13)))
    with pytest.raises(MemoryError, match="the covariance of 100 rows"):
        model.predict(NEW[:100], return_cov=True)
