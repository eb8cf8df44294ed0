"""Kernel PCA: the thesis's equations, scikit-learn's answers, and what happens at the edges."""

import pickle

import grls
import numpy as np
import pandas as pd
import pytest
import reference
from builders import with_threads
from grls import IndefiniteKernelWarning, KernelPCA, _core, decomposition
from grls._solvers import memory as _memory
from grls.kernels import Gaussian, Laplace, Linear, Log, Multiquadric, Polynomial, Sigmoid, ThinPlate
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import decomposition as sklearn_decomposition
from sklearn.base import clone
from sklearn.datasets import make_circles
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
X_NEW = RNG.normal(size=(25, 4))
WIDE = RNG.normal(size=(700, 6))  # enough samples for more than one block column
GAUSSIAN = Gaussian(sigma=2.0)
SOLVERS = ["dense", "iterative"]


def peer(n_components=None, **parameters):
    return sklearn_decomposition.KernelPCA(n_components, kernel="rbf", gamma=1 / 8, **parameters)


def same_up_to_sign(got, expected, **tolerance):
    signs = np.sign(np.sum(got * expected, axis=0))
    assert_allclose(got * signs, expected, **tolerance)


# The equations.


@pytest.mark.parametrize(
    "kernel", [GAUSSIAN, Laplace(3.0), Linear() + Gaussian(1.0), Polynomial(2), Log(), Multiquadric(1.0)]
)
@pytest.mark.parametrize("solver", SOLVERS)
def test_components_are_those_of_the_equations(kernel, solver):
    model = KernelPCA(4, kernel, eigen_solver=solver, random_state=0).fit(X)
    K, K_new = kernel(X), kernel.matrix(X_NEW, X)
    values, alpha = reference.kernel_pca(K, 4)
    assert_allclose(model.eigenvalues_, values, rtol=1e-10)
    same_up_to_sign(model.dual_coef_, alpha, atol=1e-7)
    same_up_to_sign(model.transform(X_NEW), reference.project(K_new, K, alpha), atol=1e-7)


@pytest.mark.parametrize("m", [2, 3, 65, 700])
def test_the_core_centres_the_matrix(m, backend, threads):
    points = WIDE[:m]
    K = GAUSSIAN(points)
    for formula, data in ((GAUSSIAN.lower(6), points), (None, K)):
        got = _core.centred_gram(formula=formula, data=data, threads=threads)
        assert_allclose(got.lower, np.tril(reference.centred(K)), atol=1e-13)
        assert_allclose(got.means, K.mean(axis=0), rtol=1e-13)
        assert_allclose(got.trace, np.trace(reference.centred(K)), rtol=1e-12)


@pytest.mark.parametrize("parameters", [{}, {"eigen_solver": "iterative"}, {"n_centers": 60}])
def test_directions_are_orthonormal_in_feature_space(parameters):
    model = KernelPCA(5, GAUSSIAN, random_state=0, **parameters).fit(X)
    K = reference.centred(GAUSSIAN(model.X_fit_))
    assert_allclose(model.dual_coef_.T @ K @ model.dual_coef_, np.eye(5), atol=1e-9)
    assert_allclose(model.dual_coef_.sum(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("parameters", [{}, {"eigen_solver": "iterative"}, {"n_centers": 30}])
def test_training_components_are_centred_uncorrelated_and_those_of_transform(parameters):
    model = KernelPCA(5, GAUSSIAN, random_state=0, **parameters)
    Z = model.fit_transform(X)
    assert_allclose(Z, model.transform(X), atol=1e-9)
    assert_allclose(Z.mean(axis=0), 0, atol=1e-10)
    assert_allclose(Z.T @ Z, np.diag(model.eigenvalues_), atol=1e-8)
    assert_allclose(model.eigenvectors_.T @ model.eigenvectors_, np.eye(5), atol=1e-9)
    assert np.all(np.diff(model.eigenvalues_) <= 0)


def test_linear_components_are_those_of_pca_wherever_the_data_are():
    far = X + 100.0
    pca = sklearn_decomposition.PCA(3).fit(far)
    model = KernelPCA(3, "linear").fit(far)
    same_up_to_sign(model.transform(X_NEW + 100.0), pca.transform(X_NEW + 100.0), atol=1e-7)
    assert_allclose(model.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=1e-8)


@given(st.integers(3, 40), st.integers(1, 5), st.integers(0, 100))
def test_the_order_of_the_samples_does_not_matter(m, d, seed):
    rng = np.random.default_rng(seed)
    points, new = rng.normal(size=(m, d)), rng.normal(size=(4, d))
    permutation = rng.permutation(m)
    one = KernelPCA(1, Gaussian(1.5)).fit(points)
    other = KernelPCA(1, Gaussian(1.5)).fit(points[permutation])
    assert_allclose(one.eigenvalues_, other.eigenvalues_, rtol=1e-9)
    full = KernelPCA(kernel=Gaussian(1.5)).fit(points)
    # distances in the space of all components are those in feature space
    K = Gaussian(1.5)(points)
    Z = full.fit_transform(points)
    assert_allclose(reference.squared_distances(Z, Z), 2 - 2 * K, atol=1e-9)
    assert_allclose(np.abs(one.transform(new)), np.abs(other.transform(new)), atol=1e-5 + 1e-12 / gap(full))


def gap(model):
    values = np.append(model.eigenvalues_, 0.0)
    return (values[0] - values[1]) / values[0]


# scikit-learn's answers.


@pytest.mark.parametrize("n_components", [None, 1, 7, 40])
def test_components_of_old_and_new_points_are_scikit_learns(n_components):
    expected = peer(n_components).fit(X)
    model = KernelPCA(n_components, GAUSSIAN).fit(X)
    assert_allclose(model.eigenvalues_, expected.eigenvalues_, rtol=1e-9, atol=1e-12)
    k = 40 if n_components is None else n_components  # beyond, the vectors of tiny eigenvalues are noise
    assert_allclose(model.eigenvectors_[:, :k], expected.eigenvectors_[:, :k], atol=1e-9)
    assert_allclose(model.transform(X_NEW)[:, :k], expected.transform(X_NEW)[:, :k], atol=1e-9)
    assert_allclose(model.fit_transform(X)[:, :k], expected.fit_transform(X)[:, :k], atol=1e-9)


def test_sparse_points_float32_precomputed_matrices_and_functions_give_the_same():
    X32 = X.astype(np.float32)
    expected = peer(3).fit(X32.astype(float)).transform(X_NEW)
    assert_allclose(KernelPCA(3, GAUSSIAN).fit(X32).transform(X_NEW), expected, atol=1e-6)
    thin = sparse.csr_matrix(np.where(np.abs(X) > 1, X, 0))
    expected = peer(3).fit(thin)
    for solver in SOLVERS:
        model = KernelPCA(3, GAUSSIAN, eigen_solver=solver).fit(thin)
        assert_allclose(model.transform(thin[:9]), expected.transform(thin[:9]), atol=1e-8)
        assert_allclose(model.transform(X_NEW), expected.transform(X_NEW), atol=1e-8)
        model = KernelPCA(3, "precomputed", eigen_solver=solver).fit(GAUSSIAN(thin))
        got = model.transform(GAUSSIAN.matrix(sparse.csr_matrix(X_NEW), thin))
        assert_allclose(got, expected.transform(X_NEW), atol=1e-8)
    expected = peer(3).fit(X).transform(X_NEW)
    function = KernelPCA(3, lambda X, Z: reference.gaussian(X, Z, 2.0)).fit(X)
    assert_allclose(function.transform(X_NEW), expected, atol=1e-9)


@pytest.mark.parametrize("alpha", [1.0, 1e-3])
def test_the_pre_image_is_scikit_learns(alpha):
    expected = peer(3, fit_inverse_transform=True, alpha=alpha).fit(X)
    model = KernelPCA(
        3, GAUSSIAN, fit_inverse_transform=True, alpha=alpha, inverse_features=None, random_state=0
    ).fit(X)
    Z = expected.transform(X_NEW)
    assert_allclose(model.inverse_transform(Z), expected.inverse_transform(Z), atol=1e-8)


def test_the_constant_keeps_the_mean_of_the_data_in_the_pre_image():
    far = X + 50.0
    Z = (model := KernelPCA(4, "linear", fit_inverse_transform=True, alpha=1e-6)).fit_transform(far)
    assert_allclose(model.inverse_transform(Z), far, atol=1e-5)
    assert_allclose(
        KernelPCA(4, "linear", fit_inverse_transform=True).fit(far).inverse_.feature_coef_,
        far.mean(axis=0, keepdims=True),
    )


def test_the_pre_image_takes_its_width_from_the_components_and_another_kernel_where_asked():
    model = KernelPCA(3, "gaussian", fit_inverse_transform=True).fit(X)
    assert model.inverse_.kernel_.sigma == grls.kernels.widths.median_distance(model.fit_transform(X))
    anisotropic = Gaussian(sigma=[1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ValueError, match="set inverse_kernel"):
        KernelPCA(3, anisotropic, fit_inverse_transform=True).fit(X)
    model = KernelPCA(3, anisotropic, fit_inverse_transform=True, inverse_kernel=Laplace(1.0), alpha=1e-6)
    assert_allclose(model.inverse_transform(model.fit_transform(X)), X, atol=1e-3)


# The solvers.


@pytest.mark.parametrize("k", [1, 2, 20, 60])
@pytest.mark.parametrize("kernel", [Gaussian(3.0), Gaussian(1e-3), Linear(), Polynomial(2), Laplace(1.0)])
def test_the_iterative_solver_finds_what_lapack_finds(kernel, k):
    expected = KernelPCA(k, kernel, eigen_solver="dense").fit(WIDE)
    model = KernelPCA(k, kernel, eigen_solver="iterative", random_state=0).fit(WIDE)
    assert (model.eigen_solver_, expected.eigen_solver_) == ("iterative", "dense")
    assert_allclose(
        model.eigenvalues_, expected.eigenvalues_, rtol=1e-9, atol=1e-10 * expected.eigenvalues_[0]
    )
    assert_allclose(model.explained_variance_ratio_, expected.explained_variance_ratio_, atol=1e-10)
    positive = model.eigenvalues_ > 0
    U, K = model.eigenvectors_[:, positive], reference.centred(kernel(WIDE))
    assert_allclose(U.T @ U, np.eye(positive.sum()), atol=1e-10)
    residuals = np.linalg.norm(K @ U - U * model.eigenvalues_[positive], axis=0)
    assert np.all(residuals <= 1e-9 * model.eigenvalues_[0])


def test_the_iterative_solver_does_not_depend_on_threads_and_repeats_itself():
    model = KernelPCA(5, GAUSSIAN, eigen_solver="iterative", random_state=3)
    results = with_threads(lambda: clone(model).fit(WIDE), (1, 2, 3, 1))
    for other in results[1:]:
        assert_array_equal(other.eigenvectors_, results[0].eigenvectors_)


def test_the_solver_follows_the_size_of_the_question():
    assert KernelPCA(10, GAUSSIAN).fit(WIDE).eigen_solver_ == "iterative"
    assert KernelPCA(100, GAUSSIAN).fit(WIDE).eigen_solver_ == "dense"
    assert KernelPCA(1, GAUSSIAN).fit(X).eigen_solver_ == "dense"


@pytest.mark.parametrize("m", [2, 3, 5, 9])
def test_the_iterative_solver_works_on_a_handful_of_samples(m):
    for k in range(1, m):
        model = KernelPCA(k, GAUSSIAN, eigen_solver="iterative").fit(X[:m])
        assert_allclose(model.eigenvalues_, reference.kernel_pca(GAUSSIAN(X[:m]), k)[0], rtol=1e-9)


def test_too_few_iterations_are_told():
    with pytest.warns(ConvergenceWarning, match="max_iter=2 products"):
        model = KernelPCA(5, GAUSSIAN, eigen_solver="iterative", max_iter=2, random_state=0).fit(WIDE)
    assert model.eigenvalues_.shape == (5,)
    loose = KernelPCA(5, GAUSSIAN, eigen_solver="iterative", tol=1e-2, random_state=0).fit(WIDE)
    tight = KernelPCA(5, GAUSSIAN, eigen_solver="iterative", random_state=0).fit(WIDE)
    assert loose.n_iter_ < tight.n_iter_
    assert_allclose(loose.eigenvalues_, tight.eigenvalues_, rtol=1e-2)


# Nyström.


@pytest.mark.parametrize("kernel", [GAUSSIAN, Polynomial(2), Log()])
def test_all_points_as_centres_are_exact(kernel):
    exact = KernelPCA(5, kernel).fit(X)
    model = KernelPCA(5, kernel, n_centers=len(X), random_state=0).fit(X)
    assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=1e-8)
    assert_allclose(model.explained_variance_ratio_, exact.explained_variance_ratio_, rtol=1e-8)
    assert_allclose(model.transform(X_NEW), exact.transform(X_NEW), atol=1e-7)
    assert_allclose(model.eigenvectors_, exact.eigenvectors_, atol=1e-7)


def test_few_centres_approximate_from_below_in_one_block_or_many(monkeypatch):
    exact = KernelPCA(4, GAUSSIAN).fit(WIDE)
    few = KernelPCA(4, GAUSSIAN, n_centers=50, random_state=0).fit(WIDE)
    many = KernelPCA(4, GAUSSIAN, n_centers=300, random_state=0).fit(WIDE)
    assert few.dual_coef_.shape == (50, 4)
    assert few.eigenvectors_.shape == (700, 4)
    assert np.all(few.eigenvalues_ < many.eigenvalues_)
    assert np.all(many.eigenvalues_ < exact.eigenvalues_)
    assert_allclose(many.eigenvalues_, exact.eigenvalues_, rtol=0.02)
    assert_allclose(many.explained_variance_ratio_, exact.explained_variance_ratio_, rtol=0.03)
    C, Z = GAUSSIAN(few.X_fit_), GAUSSIAN.matrix(WIDE, few.X_fit_)
    approximate = reference.centred_nystrom(Z, C)
    assert_allclose(few.eigenvalues_, np.linalg.eigvalsh(approximate)[::-1][:4], rtol=1e-8)
    monkeypatch.setattr(decomposition, "_BLOCK", 128)
    again = KernelPCA(4, GAUSSIAN, n_centers=50, random_state=0).fit(WIDE)
    assert_allclose(again.eigenvalues_, few.eigenvalues_, rtol=1e-12)


def test_sparse_centres_and_a_pre_image_from_the_centres():
    thin = sparse.csr_matrix(np.where(np.abs(WIDE) > 1, WIDE, 0))
    model = KernelPCA(6, "linear", n_centers=100, fit_inverse_transform=True, alpha=1e-6, random_state=0)
    Z = model.fit_transform(thin)
    assert sparse.issparse(model.X_fit_)
    assert_allclose(model.inverse_transform(Z), thin.toarray(), atol=1e-4)


# Edges and errors.


def test_zero_eigenvalues_are_kept_or_left_out():
    line = np.linspace(0, 1, 20)[:, None]
    kept = KernelPCA(5, "linear").fit(line)
    assert_array_equal(kept.eigenvalues_ > 0, [True, False, False, False, False])
    assert_array_equal(kept.transform(line)[:, 1:], 0)
    assert KernelPCA(5, "linear", remove_zero_eig=True).fit(line).eigenvalues_.shape == (1,)
    assert KernelPCA(None, "linear").fit(line).eigenvalues_.shape == (1,)
    assert KernelPCA(5, "linear", n_centers=7, random_state=0).fit_transform(line).shape == (20, 5)


def test_repeated_rows_do_no_harm():
    doubled = np.vstack([X, X])
    same_up_to_sign(
        KernelPCA(3, GAUSSIAN).fit(doubled).transform(X_NEW),
        KernelPCA(3, GAUSSIAN).fit(X).transform(X_NEW),
        atol=1e-9,
    )
    assert_allclose(KernelPCA(kernel=GAUSSIAN).fit(doubled).explained_variance_ratio_.sum(), 1, rtol=1e-9)


@pytest.mark.parametrize("parameters", [{}, {"eigen_solver": "iterative"}, {"n_centers": 60}])
def test_an_indefinite_kernel_is_named_and_its_positive_part_is_used(parameters):
    with pytest.warns(IndefiniteKernelWarning, match=r"Sigmoid\(a=1.0, c=0.0\) is not positive definite"):
        model = KernelPCA(2, Sigmoid(), random_state=0, **parameters).fit(X)
    assert np.all(model.eigenvalues_ > 0)
    with pytest.warns(IndefiniteKernelWarning, match="Precomputed"):
        KernelPCA(2, "precomputed").fit(np.diag(np.linspace(-1, 1, 120)))


def test_a_kernel_of_higher_order_is_refused():
    with pytest.raises(ValueError, match=r"ThinPlate\(\).*order 2"):
        KernelPCA(2, ThinPlate()).fit(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 121}, "n_components=121 is more than n_samples=120"),
        ({"n_components": 0}, "n_components must be at least 1"),
        ({"n_components": 11, "n_centers": 10}, "n_components=11 is more than n_centers=10"),
        ({"n_centers": 121}, "n_centers=121 is more than n_samples=120"),
        ({"n_centers": 1}, "n_centers must be at least 2"),
        ({"eigen_solver": "arpack"}, "eigen_solver must be one of"),
        ({"eigen_solver": "iterative"}, "fewer components than n_samples=120"),
        ({"tol": -1.0}, "tol must be at least 0"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"alpha": -1.0}, "alpha must be at least 0"),
        ({"kernel": grls.kernels.Constant(2.0)}, "tells no samples apart"),
        ({"kernel": (Linear() ** 9).exp()}, "is not finite"),
        ({"kernel": (Linear() ** 9).exp(), "n_components": 3, "eigen_solver": "iterative"}, "is not finite"),
    ],
)
def test_what_cannot_be_asked_is_a_clear_error_and_changes_nothing(parameters, message):
    model = KernelPCA(2, GAUSSIAN).fit(X)
    before = pickle.dumps(model)
    model.set_params(**({"n_components": None} | parameters))
    with pytest.raises(ValueError, match=message):
        model.fit(100 * X)
    model.set_params(**KernelPCA(2, GAUSSIAN).get_params(deep=False))
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("m", range(3, 40))
@pytest.mark.parametrize("size", [0.1, 3e7])
def test_rounding_errors_of_centring_are_no_negative_eigenvalues(m, size):
    with pytest.raises(ValueError, match="tells no samples apart"):
        KernelPCA(kernel=grls.kernels.Constant(size)).fit(np.arange(m)[:, None])


def test_bad_data_are_refused():
    for value, word in ((np.nan, "NaN"), (np.inf, "infinity")):
        bad = X.copy()
        bad[3, 1] = value
        with pytest.raises(ValueError, match=word):
            KernelPCA().fit(bad)
        with pytest.raises(ValueError, match=word):
            KernelPCA(2).fit(X).transform(bad)
    with pytest.raises(ValueError, match="must be square"):
        KernelPCA(2, "precomputed").fit(X)
    with pytest.raises(ValueError, match="must be symmetric"):
        KernelPCA(2, "precomputed").fit(RNG.normal(size=(9, 9)))
    with pytest.raises(ValueError, match="n_samples=1"):
        KernelPCA().fit(X[:1])
    with pytest.raises(ValueError, match="features"):
        KernelPCA(2).fit(X).transform(X[:, :3])
    with pytest.raises(ValueError, match="the points themselves"):
        KernelPCA(2, "precomputed", fit_inverse_transform=True).fit(GAUSSIAN(X))
    with pytest.raises(ValueError, match="saves nothing"):
        KernelPCA(2, "precomputed", n_centers=5).fit(GAUSSIAN(X))
    with pytest.raises(NotFittedError, match="fit_inverse_transform=True"):
        KernelPCA(2).fit(X).inverse_transform(np.zeros((1, 2)))
    with pytest.raises(np.linalg.LinAlgError, match="larger alpha"):
        KernelPCA(1, "linear", fit_inverse_transform=True, alpha=0.0).fit(np.vstack([X, X]))


def test_more_memory_than_there_is_is_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr(_memory, "available", lambda: 1_000_000)
    with pytest.raises(MemoryError, match="n_centers"):
        KernelPCA(500, GAUSSIAN).fit(WIDE)
    with pytest.raises(MemoryError, match="n_centers"):
        KernelPCA(5, GAUSSIAN).fit(WIDE)
    KernelPCA(5, GAUSSIAN, n_centers=50).fit(WIDE)


def test_tampered_arrays_are_an_error_and_not_a_crash():
    model = KernelPCA(2, GAUSSIAN).fit(X)
    model.dual_coef_ = model.dual_coef_[:-1]
    with pytest.raises(ValueError, match="119 kernel coefficients for 120"):
        model.transform(X_NEW)


@pytest.mark.parametrize(
    ("k", "tolerance", "products"), [(0, 1e-9, 9), (120, 1e-9, 9), (2, -1.0, 9), (2, 1e-9, 0)]
)
def test_the_core_checks_its_arguments(k, tolerance, products):
    with pytest.raises(ValueError, match="eigen"):
        _core.top_spectrum(
            formula=None, data=GAUSSIAN(X), k=k, tolerance=tolerance, max_products=products, seed=0
        )


# Manners.


def test_names_and_data_frames():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = KernelPCA(2, Gaussian(1.0).on(["a", "c"]), fit_inverse_transform=True, inverse_kernel="gaussian")
    out = model.set_output(transform="pandas").fit_transform(frame)
    assert list(out.columns) == ["kernelpca0", "kernelpca1"]
    assert list(model.get_feature_names_out()) == ["kernelpca0", "kernelpca1"]
    expected = KernelPCA(2, Gaussian(1.0)).fit_transform(X[:, [0, 2]])
    assert_allclose(out.to_numpy(), expected, atol=1e-9)
    assert model.inverse_transform(out).shape == (120, 4)


def test_the_way_back_reads_components_whatever_columns_the_kernel_reads():
    rng = np.random.default_rng(0)
    wide = np.hstack([rng.normal(size=(120, 3)), rng.normal(size=(120, 1)), rng.normal(size=(120, 2))])
    of_last = KernelPCA(2, Gaussian(1.0).on([4, 5]), fit_inverse_transform=True, alpha=1e-3).fit(wide)
    alone = KernelPCA(2, Gaussian(1.0), fit_inverse_transform=True, alpha=1e-3).fit(wide[:, 4:])
    Z = of_last.transform(wide)
    assert_allclose(of_last.inverse_transform(Z)[:, 4:], alone.inverse_transform(Z), atol=1e-8)
    assert "on" not in repr(of_last.inverse_.kernel)
    with pytest.raises(ValueError, match=r"reads columns or views of X.*set inverse_kernel"):
        KernelPCA(2, Gaussian(1.0).on([0]) * Gaussian(1.0).on([1]), fit_inverse_transform=True).fit(wide)


@pytest.mark.parametrize("n_centers", [2, 5, 60])
@pytest.mark.parametrize("kernel", [GAUSSIAN, grls.kernels.Linear()])
def test_shares_on_centres_are_those_of_the_whole_variance(n_centers, kernel):
    model = KernelPCA(2, kernel, n_centers=n_centers, random_state=0).fit(X + 1)
    K = kernel(X + 1)
    trace = np.trace(K) - K.sum() / len(K)
    assert_allclose(model.explained_variance_ratio_, model.eigenvalues_ / trace, rtol=1e-9)


def test_the_mean_of_a_large_matrix_is_that_of_some_of_its_rows(monkeypatch):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(800, 2))
    exact = KernelPCA(3, GAUSSIAN, n_centers=40, random_state=0).fit(rows).explained_variance_ratio_
    monkeypatch.setattr(decomposition, "_PAIRED", 200)
    some = [
        KernelPCA(3, GAUSSIAN, n_centers=40, random_state=seed).fit(rows).explained_variance_ratio_.sum()
        for seed in range(20)
    ]
    assert 0 < abs(np.mean(some) / exact.sum() - 1) < 0.02


def test_components_serve_a_classifier_in_a_pipeline():
    points, labels = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    pca = KernelPCA(2, Gaussian(0.5))
    pipeline = make_pipeline(pca, grls.GRLSClassifier("linear")).fit(points, labels)
    assert pipeline.score(points, labels) == 1.0
    assert grls.GRLSClassifier("linear").fit(points, labels).score(points, labels) < 0.8


def test_a_fitted_transformer_survives_pickle():
    model = KernelPCA(3, GAUSSIAN, fit_inverse_transform=True).fit(X)
    copy = pickle.loads(pickle.dumps(model))
    assert_array_equal(copy.transform(X_NEW), model.transform(X_NEW))
    assert_array_equal(copy.inverse_transform(np.zeros((1, 3))), model.inverse_transform(np.zeros((1, 3))))


def test_verbose_tells_what_a_fit_is_doing(capsys):
    X = np.random.default_rng(0).normal(size=(250, 3))
    for settings, words in (
        ({"n_components": 3}, ["3 components of 250 samples by block Lanczos", "products"]),
        ({"n_components": 3, "eigen_solver": "dense"}, ["the whole spectrum of 250 samples"]),
        ({"n_centers": 20}, ["the whole spectrum of 20 centres", "250 of 250 rows"]),
        ({"n_components": 3, "fit_inverse_transform": True}, ["the way back"]),
    ):
        KernelPCA(**settings, random_state=0).fit(X)
        assert capsys.readouterr().out == ""
        KernelPCA(**settings, random_state=0, verbose=1).fit(X)
        told = capsys.readouterr().out
        assert all(word in told for word in [*words, "% of the variance"])
