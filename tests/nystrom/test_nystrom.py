"""Nyström models: the sums against NumPy, the exact model at M = n, any split of the rows, bad blocks."""

import copy
import io
import pickle
from dataclasses import replace
from itertools import pairwise

import grls
import numpy as np
import pandas as pd
import pytest
import reference
from builders import with_threads
from grls import (
    DependentFeaturesWarning,
    GRLSClassifier,
    GRLSRegressor,
    NystromGRLSClassifier,
    NystromGRLSRegressor,
    _core,
)
from grls._nystrom import centers as _centers
from grls._nystrom import sums as _sums
from grls._nystrom.plan import Plan
from grls._solvers.rows import fits_single
from grls.features import Columns, PolynomialTrend
from grls.kernels import Gaussian, Laplace, Linear, Log, Multiquadric, Sigmoid, ThinPlate
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(240, 3))
Y = np.column_stack([np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * RNG.standard_normal(240), X[:, 2] ** 2])
LABELS = np.array(["a", "b", "c"])[np.digitize(Y[:, 0], [-0.5, 0.5])]
X_NEW = RNG.uniform(-1, 1, size=(40, 3))
WEIGHTS = RNG.uniform(0.2, 2.0, size=240)


def model(**parameters):
    return NystromGRLSRegressor(
        **{"kernel": Gaussian(0.8), "features": "linear", "n_centers": 60, **parameters}
    )


def classifier(**parameters):
    return NystromGRLSClassifier(**{"kernel": Gaussian(0.8), "n_centers": 60, **parameters})


def linear_features(points):
    return np.column_stack([np.ones(len(points)), points])


# The sums.


def direct_rows(centers, points):
    """b(x) by the definition in the module's documentation."""
    Z = reference.gaussian(points, centers.X, 0.8)
    return reference.whitened(Z, centers.whitening.L, centers.whitening.E)


def build(precision="double", n_centers=60):
    centers = X[:n_centers]
    return _centers.build(Gaussian(0.8), centers, linear_features(centers), precision)


def centers_of(fitted):
    """The functions of a model with features="linear", on its centres."""
    return _centers.build(fitted.kernel_, fitted.X_fit_, linear_features(fitted.X_fit_), "double")


@pytest.mark.parametrize("weighted", [False, True])
def test_block_sums_equal_those_of_numpy(backend, threads, weighted):
    centers = build()
    T, weights = linear_features(X), WEIGHTS if weighted else None
    sums = centers.sums(X, T, Y, weights, "double")
    A = np.hstack([direct_rows(centers, X), T @ centers.A, Y])
    W = np.eye(len(X)) if weights is None else np.diag(weights)
    assert_allclose(sums, A.T @ W @ A, rtol=1e-9, atol=1e-9)
    assert_allclose(centers.rows(X), direct_rows(centers, X), rtol=1e-7, atol=1e-9)


def test_sums_in_single_precision_are_close():
    centers = build("single")
    double, single = (centers.sums(X, linear_features(X), Y, None, p) for p in ("double", "single"))
    assert_allclose(single, double, atol=2e-3 * np.abs(double).max())
    assert not np.array_equal(single, double)


def test_sums_do_not_depend_on_the_number_of_threads():
    points = RNG.uniform(-1, 1, size=(3000, 3))
    centers = build()
    T = linear_features(points)
    answers = with_threads(lambda: centers.sums(points, T, points, None, "double"))
    assert_array_equal(answers[0], answers[1])
    assert_array_equal(answers[0], answers[2])


def test_the_functions_are_orthonormal_for_the_penalty_and_orthogonal_to_the_features():
    centers = build()
    a = centers.coefficients(np.eye(centers.rank))
    Phi = reference.gaussian(centers.X, centers.X, 0.8)
    assert_allclose(a.T @ Phi @ a, np.eye(centers.rank), atol=1e-6)
    assert_allclose(centers.T.T @ a, 0, atol=1e-6 * np.abs(a).max())


def test_products_with_the_kernel_matrix_are_those_of_numpy(backend, threads):
    formula = Gaussian(0.8).lower(3)
    points = RNG.uniform(-1, 1, size=(1100, 3))
    c = RNG.standard_normal((1100, 2))
    expected = reference.gaussian(points, points, 0.8) @ c
    for precision, tolerance in (("double", 1e-9), ("single", 1e-2)):
        product = _core.symmetric_kernel_times(
            formula=formula, data=points, c=c, precision=precision, threads=threads
        )
        assert_allclose(product, expected, atol=tolerance)


def test_pivoted_cholesky_finds_the_rank(backend):
    B = RNG.standard_normal((30, 7))
    A = B @ B.T
    L, order = _core.pivoted_llt(matrix=A, tolerance=1e-10)
    assert L.shape == (30, 7)
    assert_allclose(L @ L.T, A[np.ix_(order, order)], atol=1e-10)
    assert sorted(order) == list(range(30))
    assert _core.pivoted_llt(matrix=np.zeros((3, 3)), tolerance=0.0)[0].shape == (3, 0)


def test_keys_depend_on_the_contents_of_a_row_alone():
    keys = _core.row_keys(data=X, seed=1)
    shuffled = RNG.permutation(240)
    assert_array_equal(_core.row_keys(data=X[shuffled], seed=1), keys[shuffled])
    S = sparse.random(50, 20, 0.2, format="csr", random_state=0)
    parts = (S.data, S.indices, S.indptr, 20)
    assert_array_equal(_core.row_keys(data=parts, seed=3), _core.row_keys(data=S.toarray(), seed=3))
    assert len(np.unique(keys)) == 240
    assert not np.any(_core.row_keys(data=X, seed=2) == keys)
    uniform = _core.row_keys(data=RNG.standard_normal((20_000, 2)), seed=0) / 2.0**64
    assert abs(uniform.mean() - 0.5) < 0.01
    assert abs(np.mean(uniform < 0.1) - 0.1) < 0.01


# The exact model.


@pytest.mark.parametrize(
    "features", [None, "constant", "linear", "quadratic", Columns([1]), StandardScaler()]
)
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_with_every_row_as_a_centre_it_is_the_exact_model(features, weights):
    kernel = Laplace(1.0)
    exact = GRLSRegressor(kernel, features=features, regularization=1e-3).fit(X, Y, weights)
    centred = model(kernel=kernel, features=features, regularization=1e-3, n_centers=240).fit(X, Y, weights)
    assert_allclose(centred.predict(X_NEW), exact.predict(X_NEW), atol=1e-8)
    assert_allclose(centred.feature_coef_, exact.feature_coef_, atol=1e-7)
    if features is not None:
        assert_allclose(centred.features_.transform(centred.X_fit_).T @ centred.dual_coef_, 0, atol=1e-8)
    # Centres in another order than the rows: the coefficients are those of the same points.
    order = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in centred.X_fit_]
    assert_allclose(centred.dual_coef_, exact.dual_coef_[order], atol=1e-6 * np.abs(exact.dual_coef_).max())


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_a_classifier_with_every_row_as_a_centre_is_the_exact_one(solver):
    exact = GRLSClassifier(Laplace(1.0), regularization=1e-3, class_weight="balanced").fit(X, LABELS)
    centred = classifier(
        kernel=Laplace(1.0),
        regularization=1e-3,
        n_centers=240,
        class_weight="balanced",
        solver=solver,
        tol=1e-11,
    ).fit(X, LABELS)
    assert_allclose(centred.decision_function(X_NEW), exact.decision_function(X_NEW), atol=1e-7)
    assert_array_equal(centred.predict(X_NEW), exact.predict(X_NEW))
    two = LABELS == "a"
    exact = GRLSClassifier(Laplace(1.0), regularization=1e-3).fit(X, two)
    centred = classifier(kernel=Laplace(1.0), regularization=1e-3, n_centers=240, solver=solver, tol=1e-11)
    assert_allclose(centred.fit(X, two).decision_function(X_NEW), exact.decision_function(X_NEW), atol=1e-7)


def test_with_every_row_as_a_centre_gcv_is_that_of_the_exact_model():
    exact = GRLSRegressor(Laplace(1.0), features="linear", regularization="gcv").fit(X, Y)
    centred = model(kernel=Laplace(1.0), n_centers=240).fit(X, Y)
    assert_allclose(centred.regularization_path_, exact.regularization_path_, rtol=1e-9)
    # Where the rows are all but interpolated, the residual is lost in the rounding errors of yᵀy.
    known = exact.regularization_path_ > 1e-7
    assert known.sum() > 25
    assert_allclose(centred.criterion_path_[known], exact.criterion_path_[known], rtol=1e-3)
    tried = np.isfinite(exact.criterion_path_)  # below them a solution would be rounding
    assert np.all((centred.criterion_path_ > (1 - 1e-5) * exact.criterion_path_)[tried])
    at_ours = np.isclose(exact.regularization_path_, centred.regularization_)
    assert exact.criterion_path_[at_ours] < 1.01 * exact.criterion_path_.min()


@pytest.mark.parametrize("kernel", [ThinPlate(), Log(), Multiquadric(0.5)], ids=repr)
def test_conditionally_positive_definite_kernels_give_the_exact_model_too(kernel):
    exact = GRLSRegressor(kernel, features="linear", regularization=1e-4).fit(X, Y)
    for parameters in ({}, {"solver": "cg", "tol": 1e-12}):
        centred = model(kernel=kernel, regularization=1e-4, n_centers=240, **parameters).fit(X, Y)
        assert_allclose(centred.predict(X_NEW), exact.predict(X_NEW), atol=1e-7)
    assert model(kernel=kernel, n_centers=100).fit(X, Y).score(X, Y) > 0.9
    with pytest.raises(ValueError, match="conditionally positive definite"):
        model(kernel=kernel, features=None).fit(X, Y)


def test_the_median_width_is_that_of_the_exact_model():
    exact = GRLSRegressor("gaussian", regularization=1e-2).fit(X, Y)
    centred = model(kernel="gaussian", features="constant", regularization=1e-2, n_centers=240).fit(X, Y)
    assert centred.kernel_.sigma == exact.kernel_.sigma
    assert_allclose(centred.predict(X_NEW), exact.predict(X_NEW), atol=1e-7)


def test_fewer_centres_minimise_the_objective_over_their_functions():
    fitted = model(regularization=1e-3, n_centers=30).fit(X, Y[:, 0])
    centers = fitted.X_fit_
    Z, Phi = reference.gaussian(X, centers, 0.8), reference.gaussian(centers, centers, 0.8)
    c, beta = reference.solve_nystrom(Z, Phi, linear_features(X), linear_features(centers), Y[:, 0], 1e-3)
    expected = reference.gaussian(X_NEW, centers, 0.8) @ c + linear_features(X_NEW) @ beta
    assert_allclose(fitted.predict(X_NEW), expected, atol=1e-8)


def test_what_the_features_express_can_be_added_to_the_kernel_without_effect():
    plain = model(regularization=1e-3).fit(X, Y)
    shifted = model(kernel=Gaussian(0.8) + 5.0 * Linear() + 3.0, regularization=1e-3).fit(X, Y)
    assert_allclose(shifted.predict(X_NEW), plain.predict(X_NEW), atol=1e-6)


def test_a_kernel_that_the_features_express_leaves_them_alone():
    fitted = model(kernel=Linear(), regularization=1e-3).fit(X, Y)
    expected = linear_features(X_NEW) @ np.linalg.lstsq(linear_features(X), Y, rcond=None)[0]
    assert_allclose(fitted.predict(X_NEW), expected, atol=1e-8)
    assert_allclose(model(kernel=Linear()).fit(X, Y).predict(X_NEW), expected, atol=1e-8)


# The choice of γ.


def test_gcv_equals_brute_force():
    grid = np.geomspace(1e-6, 1.0, 7)
    fitted = model(regularization="gcv", regularization_grid=grid, n_centers=40).fit(X, Y)
    centers = centers_of(fitted)
    B, T = direct_rows(centers, X), linear_features(X)
    expected = [reference.nystrom_gcv(B, T, Y, gamma) for gamma in grid]
    assert_allclose(fitted.regularization_path_, grid)
    assert_allclose(fitted.criterion_path_, expected, rtol=1e-6)
    assert_allclose(fitted.regularization_, grid[np.argmin(expected)])


def test_hold_out_equals_brute_force():
    grid = np.geomspace(1e-6, 1.0, 7)
    parameters = {"n_centers": 40, "validation_fraction": 0.3}
    fitted = model(regularization="holdout", regularization_grid=grid, **parameters).fit(X, Y, WEIGHTS)
    held = Plan(centers_of(fitted), None, "double", 0.3, fitted._seed())._is_held_out(X)
    assert 30 < held.sum() < 110
    centers = fitted.X_fit_
    expected = []
    for gamma in grid:
        part = model(regularization=gamma, centers=centers).fit(X[~held], Y[~held], WEIGHTS[~held])
        squared = (part.predict(X[held]) - Y[held]) ** 2
        expected.append(np.average(squared, axis=0, weights=WEIGHTS[held]).mean())
    assert_allclose(fitted.criterion_path_, expected, rtol=1e-6)
    assert_allclose(fitted.regularization_, grid[np.argmin(expected)])
    all_rows = model(regularization=fitted.regularization_, centers=centers).fit(X, Y, WEIGHTS)
    assert_allclose(fitted.predict(X_NEW), all_rows.predict(X_NEW), atol=1e-8)


def test_rows_given_twice_are_held_out_together_and_count_as_weight_two():
    twice = np.concatenate([np.arange(240), np.arange(100)])
    weights = np.bincount(twice).astype(float)
    for regularization in ("holdout", "gcv"):
        repeated = model(regularization=regularization).fit(X[twice], Y[twice])
        weighted = model(regularization=regularization).fit(X, Y, weights)
        assert_allclose(repeated.regularization_, weighted.regularization_, rtol=1e-9)
        assert_allclose(repeated.predict(X_NEW), weighted.predict(X_NEW), atol=1e-8)


# Any split of the rows.

CUTS = st.lists(st.integers(1, 239), max_size=6, unique=True).map(sorted)


def split(cuts, *arrays):
    bounds = [0, *cuts, 240]
    return [tuple(a[i:j] for a in arrays) for i, j in pairwise(bounds)]


@given(CUTS, st.randoms(use_true_random=False), st.sampled_from(["gcv", "holdout", 1e-3]))
def test_any_split_and_order_of_the_rows_gives_the_same_model(cuts, random, regularization):
    whole = model(regularization=regularization).fit(X, Y, WEIGHTS)
    parts = split(cuts, X, Y, WEIGHTS)
    random.shuffle(parts)
    blocks = model(regularization=regularization).fit(parts)
    assert_allclose(blocks.regularization_, whole.regularization_, rtol=1e-8)
    assert_allclose(blocks.predict(X_NEW), whole.predict(X_NEW), atol=1e-8)
    assert blocks.n_samples_seen_ == 240


@given(CUTS, st.randoms(use_true_random=False))
def test_any_order_of_partial_fits_and_merges_gives_the_same_model(cuts, random):
    centers = X[:50]
    whole = classifier(centers=centers).fit(X, LABELS, WEIGHTS)
    models = [
        classifier(centers=centers).partial_fit(points, labels, sample_weight=weights, solve=False)
        for points, labels, weights in split(cuts, X, LABELS, WEIGHTS)
    ]
    random.shuffle(models)
    while len(models) > 1:
        first, second = models.pop(), models.pop()
        models.insert(random.randrange(len(models) + 1), first.merge(second, solve=False))
    merged = models[0].solve()
    assert_array_equal(merged.classes_, ["a", "b", "c"])
    assert_allclose(merged.decision_function(X_NEW), whole.decision_function(X_NEW), atol=1e-8)


def test_partial_fits_one_by_one_end_at_the_whole():
    streamed = model(centers=X[:50])
    for points, targets in split([100, 101, 230], X, Y):
        streamed.partial_fit(points, targets)
    assert streamed.n_samples_seen_ == 240
    assert_allclose(streamed.predict(X_NEW), model(centers=X[:50]).fit(X, Y).predict(X_NEW), atol=1e-8)


def test_copies_of_a_model_can_go_on_apart_and_merge():
    first = model(kernel="gaussian").partial_fit(X[:80], Y[:80])
    second = pickle.loads(pickle.dumps(first))
    alone = copy.deepcopy(first).partial_fit(X[80:160], Y[80:160]).partial_fit(X[160:], Y[160:])
    first.partial_fit(X[80:160], Y[80:160])
    # Both copies hold the first block: take it off one of them by starting afresh on the same centres.
    rest = model(kernel=second.kernel_, centers=X[:80], n_centers=80)
    with pytest.raises(ValueError, match="different centres"):
        first.merge(rest.partial_fit(X[160:], Y[160:]))
    assert first.partial_fit(X[160:], Y[160:]).n_samples_seen_ == 240
    assert_allclose(first.predict(X_NEW), alone.predict(X_NEW), atol=1e-10)


def test_sparse_blocks_give_the_model_of_the_dense_rows():
    S = sparse.random(300, 12, 0.3, format="csr", random_state=1)
    S = sparse.hstack([S, 1e-9 * np.arange(300)[:, None]]).tocsr()  # copies are told in memory alone
    y = np.asarray(S.sum(axis=1)).ravel() + np.sin(S.toarray()[:, 0])
    dense = model(n_centers=80).fit(S.toarray(), y)
    whole = model(n_centers=80).fit(S, y)
    blocks = model(n_centers=80).fit([(S[i : i + 70], y[i : i + 70]) for i in range(0, 300, 70)])
    assert_allclose(whole.predict(S[:30]), dense.predict(S[:30].toarray()), atol=1e-8)
    assert_allclose(blocks.predict(S[:30]), dense.predict(S[:30].toarray()), atol=1e-8)
    assert sparse.issparse(blocks.X_fit_)


def test_memory_mapped_arrays_are_read_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("grls._nystrom.streams._BLOCK_BYTES", 37 * 24)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", Y)
    mapped = [np.load(tmp_path / name, mmap_mode="r") for name in ("X.npy", "y.npy")]
    for solver in ("cholesky", "cg"):
        parameters = {"regularization": 1e-3, "solver": solver, "tol": 1e-12}
        from_disk = model(**parameters).fit(*mapped, WEIGHTS)
        assert type(from_disk.X_fit_) is np.ndarray
        assert_allclose(
            from_disk.predict(X_NEW), model(**parameters).fit(X, Y, WEIGHTS).predict(X_NEW), atol=1e-7
        )


def test_an_iterator_is_read_once():
    parts = split([120], X, Y)
    once = model(regularization=1e-3).fit(iter(parts))
    centred = model(regularization=1e-3, centers=once.X_fit_).fit(X, Y)
    assert_allclose(once.predict(X_NEW), centred.predict(X_NEW), atol=1e-8)
    with pytest.raises(ValueError, match="iterator can be read once"):
        model(regularization=1e-3, solver="cg").fit(iter(parts))


def test_data_frames_with_a_named_target_are_blocks():
    frame = pd.DataFrame(np.column_stack([X, Y, WEIGHTS]), columns=["a", "b", "c", "y", "z", "w"])
    blocks = [frame[:100], frame[100:]]
    kernel = Gaussian(0.8).on(["a", "b"])
    parts = [block.drop(columns="z") for block in blocks]
    fitted = model(kernel=kernel, features=Columns("c")).fit(parts, "y", sample_weight="w")
    whole = model(kernel=kernel, features=Columns("c")).fit(frame[["a", "b", "c"]], Y[:, 0], WEIGHTS)
    assert list(fitted.feature_names_in_) == ["a", "b", "c"]
    new = pd.DataFrame(X_NEW, columns=["a", "b", "c"])
    assert_allclose(fitted.predict(new), whole.predict(new), atol=1e-8)
    both = model(features=None).fit(blocks, ["y", "z"])
    assert both.predict(frame[["a", "b", "c", "w"]]).shape == (240, 2)


def test_parquet_files_and_record_batches_are_blocks(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": Y[:, 0]})
    parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=70)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    new = pd.DataFrame(X_NEW, columns=["a", "b", "c"])
    expected = model().fit(frame, Y[:, 0]).predict(new)
    file = parquet.ParquetFile(tmp_path / "rows.parquet")
    for source in (file, table, table.to_batches(max_chunksize=50)):
        assert_allclose(model().fit(source, "y").predict(new), expected, atol=1e-8)
    file.close()
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=50))
    assert model().fit(iter(reader), "y").n_samples_seen_ == 240
    with pytest.raises(ValueError, match="y must name the target column"):
        model().fit(table, Y[:, 0])
    with pytest.raises(ValueError, match="no column 'price'"):
        model().fit(table, "price")


def test_labels_may_come_up_late():
    order = np.argsort(LABELS, kind="stable")
    points, labels = X[order], LABELS[order]
    streamed = classifier(centers=X[:50]).partial_fit(points[:40], labels[:40], classes=["a", "b"])
    for i in range(40, 240, 50):
        streamed.partial_fit(points[i : i + 50], labels[i : i + 50])
    whole = classifier(centers=X[:50]).fit(X, LABELS)
    assert_array_equal(streamed.classes_, whole.classes_)
    assert_allclose(streamed.decision_function(X_NEW), whole.decision_function(X_NEW), atol=1e-8)
    with pytest.raises(ValueError, match="one class"):
        classifier().partial_fit(points[:40], labels[:40])
    late = classifier(centers=X[:50]).partial_fit(points[:40], labels[:40], solve=False)
    late.partial_fit(points[40:], labels[40:])
    assert_allclose(late.decision_function(X_NEW), whole.decision_function(X_NEW), atol=1e-8)


# Bad blocks.


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ((np.full((5, 3), np.nan), np.zeros(5)), "block 2: Input X contains NaN"),
        ((X[:5], np.full(5, np.inf)), "block 2: Input y contains infinity"),
        ((X[:5, :2], np.zeros(5)), "block 2: X has 2 features"),
        ((np.empty((0, 3)), np.empty(0)), "block 2: Found array with 0 sample"),
        ((X[:5], np.zeros(4)), "block 2: Found input variables with inconsistent numbers of samples"),
        ((X[:5], np.zeros((5, 2))), "block 2: y has shape"),
        ((X[:5], np.zeros(5), -np.ones(5)), "block 2: sample_weight must not be negative"),
        ((X[:5], np.array(["x"] * 5)), "block 2: "),
    ],
)
def test_a_bad_block_is_named_and_nothing_is_lost(bad, message):
    good = [(X[:100], Y[:100, 0]), (X[100:200], Y[100:200, 0])]
    with pytest.raises(ValueError, match=message):
        model().fit([*good, bad])
    fitted = model()
    for block in good:
        fitted.partial_fit(*block)
    before = fitted.predict(X_NEW)
    sums = fitted._partial.sums.total.matrix.copy()
    with pytest.raises(ValueError, match=message):
        fitted.partial_fit(*bad)
    assert_array_equal(fitted.predict(X_NEW), before)
    assert_array_equal(fitted._partial.sums.total.matrix, sums)
    assert fitted.n_samples_seen_ == 200
    fitted.partial_fit(X[200:], Y[200:, 0])
    expected = model().partial_fit(*good[0]).partial_fit(X[100:], Y[100:, 0])
    assert_allclose(fitted.predict(X_NEW), expected.predict(X_NEW), atol=1e-8)


def test_nan_in_block_1000_is_named():
    blocks = [(X[i % 200 : i % 200 + 20], Y[i % 200 : i % 200 + 20]) for i in range(1010)]
    blocks[1000] = (blocks[1000][0] * np.nan, blocks[1000][1])
    with pytest.raises(ValueError, match="block 1000: Input X contains NaN"):
        model(n_centers=20).fit(blocks)
    fitted = model(n_centers=20).fit(X, Y)
    before = fitted.predict(X_NEW)
    with pytest.raises(ValueError, match="block 1000: Input X contains NaN"):
        fitted.fit(iter(blocks))
    assert_array_equal(fitted.predict(X_NEW), before)


def test_things_that_are_no_blocks_are_refused():
    with pytest.raises(ValueError, match="no blocks"):
        model().fit(iter([]))
    with pytest.raises(TypeError, match="block 1 is a str"):
        model().fit(iter([(X, Y), "rows"]))
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        model().fit(X)


def test_features_that_change_their_width_are_refused():
    def unsteady(points):
        return np.ones((len(points), 2 if len(points) == 40 else 1))  # in the second block

    with pytest.raises(ValueError, match="block 1: the features gave 2 columns, but 1"):
        model(features=unsteady, n_centers=60).fit([(X[:200], Y[:200]), (X[200:], Y[200:])])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_centers": 0}, "n_centers must be at least 1"),
        ({"centers": "random"}, "centers .* must be one of"),
        ({"centers": X[:, :2]}, "centers have 2 columns, the data 3"),
        ({"centers": np.full((9, 3), np.nan)}, "centers contains NaN"),
        ({"regularization": "loo"}, "regularization .* must be one of 'gcv', 'reml', 'holdout'"),
        ({"regularization": -1.0}, "regularization must be at least 0"),
        ({"validation_fraction": 1.0}, "validation_fraction must be less than 1"),
        ({"precision": "mixed"}, "precision must be one of"),
        ({"solver": "cg"}, 'solver="cg" solves for one regularization.*give regularization a number'),
        ({"solver": "magic"}, "solver must be one of"),
        ({"kernel": "precomputed"}, "precomputed kernel"),
        ({"n_centers": 3}, "raise n_centers above the number of features"),
        ({"regularization_grid": [0.0]}, "regularization_grid must hold positive"),
        ({"tol": 0}, "tol must be greater than 0"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        model(**parameters).fit(X, Y)


def test_an_indefinite_kernel_is_refused():
    with pytest.raises(grls.NotPositiveDefiniteError, match="Sigmoid"):
        model(kernel=Sigmoid(3.0, -1.0)).fit(X, Y)
    with pytest.raises(grls.NotPositiveDefiniteError, match="larger regularization"):
        model(kernel=Laplace(1.0), regularization=0.0, centers=X).fit(X[:50], Y[:50])


def test_more_centres_than_memory_are_refused(monkeypatch):
    monkeypatch.setattr("grls._solvers.memory.available", lambda: 1000)
    with pytest.raises(MemoryError, match="lower n_centers"):
        model().fit(X, Y)


def test_values_that_overflow_are_refused():
    with pytest.raises(ValueError, match="change the unit of y"):
        model().fit(X, 1e200 * Y)
    with pytest.raises(ValueError, match="overflow"):
        model().fit(X, 1e149 * Y, sample_weight=np.full(240, 1e20))


def test_models_whose_kernels_only_look_the_same_are_not_merged():
    """Of many widths a kernel's repr shows the first and the last."""
    rng = np.random.default_rng(0)
    wide, y = rng.normal(size=(60, 40)), rng.normal(size=60)
    widths = np.full(40, 5.0)
    others = widths.copy()
    others[20] = 6.0
    assert repr(Gaussian(widths)) == repr(Gaussian(others))
    # As if by chance all else were the same.
    models = [
        NystromGRLSRegressor(
            Gaussian(sigma), regularization=0.1, centers=wide[:20], features=None
        ).partial_fit(wide, y)
        for sigma in (widths, widths.copy(), others)
    ]
    partial = models[2]._partial
    centers = replace(models[0]._partial.plan.centers, kernel=partial.plan.centers.kernel)
    models[2]._partial = replace(partial, plan=replace(partial.plan, centers=centers))
    with pytest.raises(ValueError, match="kernels"):
        models[0].merge(models[2])
    assert models[0].merge(models[1]).n_samples_seen_ == 120


@pytest.mark.parametrize("trend", ["constant", "linear", PolynomialTrend(2)])
@pytest.mark.parametrize("regularization", ["gcv", "holdout", "reml"])
def test_models_with_a_trend_and_the_same_centres_are_merged(trend, regularization):
    parameters = {"features": trend, "centers": X[:50], "regularization": regularization}
    order = np.argsort(X[:, 0])  # the middle of the rows is another in each block
    parts = [model(**parameters).partial_fit(X[rows], Y[rows, 0]) for rows in np.array_split(order, 3)]
    whole = model(**parameters).fit(X, Y[:, 0])
    merged = parts[0].merge(*parts[1:])
    assert merged.n_samples_seen_ == 240
    assert_allclose(merged.predict(X_NEW), whole.predict(X_NEW), atol=1e-7)
    assert_allclose(merged.feature_coef_, whole.feature_coef_, atol=1e-6)
    assert_allclose(merged.feature_coef_std_, whole.feature_coef_std_, rtol=1e-5)


def test_a_merge_that_is_refused_says_what_may_differ():
    first, second = (
        model(kernel="gaussian", centers=X[:40]).partial_fit(X[rows], Y[rows])
        for rows in (slice(99), slice(99, 240))
    )
    with pytest.raises(ValueError, match=r'numbers \(no "median".*fitted to no data, feature_variance=inf'):
        first.merge(second)


def test_models_that_do_not_match_are_not_merged():
    first = model().partial_fit(X[:100], Y[:100])
    with pytest.raises(ValueError, match="different centres"):
        first.merge(model().partial_fit(X[100:], Y[100:]))
    with pytest.raises(ValueError, match="made by partial_fit"):
        first.merge(model().fit(X, Y))
    with pytest.raises(ValueError, match="same kind"):
        first.merge(classifier().partial_fit(X, LABELS))
    with pytest.raises(ValueError, match="number of targets"):
        model(centers=X[:40]).partial_fit(X, Y).merge(model(centers=X[:40]).partial_fit(X, Y[:, 0]))
    S = sparse.csr_matrix(X)
    for mine, others in ((S, X), (X, S)):
        with pytest.raises(ValueError, match="different centres"):
            model(centers=mine[:40]).partial_fit(mine, Y).merge(
                model(centers=others[:40]).partial_fit(others, Y)
            )
    assert first.n_samples_seen_ == 100


# Features, centres, solvers.


def test_dependent_features_are_left_out_with_a_warning():
    def doubled(points):
        return np.column_stack([np.ones(len(points)), points[:, 0], 3 * points[:, 0] - 2])

    with pytest.warns(DependentFeaturesWarning, match="left out: feature"):
        fitted = model(features=doubled, regularization=1e-3).fit(X, Y)
    assert fitted.feature_support_.sum() == 2
    plain = model(features=Columns([0]), regularization=1e-3).fit(X, Y)
    assert_allclose(fitted.predict(X_NEW), plain.predict(X_NEW), atol=1e-8)


def test_a_feature_that_no_centre_knows_is_fitted_all_the_same():
    def rare(points):
        return np.column_stack([np.ones(len(points)), points[:, 0] > 0.9, points[:, 0] > 0.9])[:, :2]

    centers = X[X[:, 0] <= 0.9][:60]
    fitted = model(features=rare, centers=centers, regularization=1e-3).fit(X, Y)
    assert fitted.feature_support_.all()
    residual = Y - fitted.predict(X)
    assert_allclose(rare(X).T @ residual, 0, atol=1e-8)


def test_residuals_are_orthogonal_to_the_features_in_any_units():
    def wild(points):
        return np.column_stack([np.ones(len(points)), 1e9 + 1e3 * points[:, 0], 1e-8 * points[:, 1]])

    fitted = model(features=wild, regularization=1e-4).fit(X, Y)
    plain = model(features=Columns([0, 1]), regularization=1e-4).fit(X, Y)
    assert fitted.feature_support_.all()
    assert_allclose(fitted.predict(X_NEW), plain.predict(X_NEW), atol=1e-6)


@pytest.mark.parametrize("centers", ["uniform", "leverage", "kmeans"])
def test_every_choice_of_centres_learns_and_is_reproducible(centers):
    points = RNG.standard_normal((800, 2))
    y = np.sin(2 * points[:, 0]) * points[:, 1]
    fitted = model(kernel=Gaussian(0.7), centers=centers, n_centers=80).fit(points, y)
    assert fitted.score(points, y) > 0.9
    shuffled = RNG.permutation(800)
    again = model(kernel=Gaussian(0.7), centers=centers, n_centers=80).fit(points[shuffled], y[shuffled])
    assert_allclose(again.predict(points), fitted.predict(points), atol=1e-6)
    other = model(kernel=Gaussian(0.7), centers="uniform", n_centers=80, random_state=1).fit(points, y)
    assert not np.allclose(other.X_fit_.sum(axis=0), fitted.X_fit_.sum(axis=0))


def test_repeated_rows_are_one_centre():
    fitted = model(n_centers=1000).fit(np.vstack([X, X]), np.vstack([Y, Y]))
    assert fitted.X_fit_.shape[0] <= 240


def test_centres_that_add_nothing_are_left_out():
    close = np.vstack([X[:50], X[:50] + 1e-12])
    assert model(centers=close, regularization=1e-3).fit(X, Y).X_fit_.shape[0] <= 54


def test_conjugate_gradients_give_the_answer_of_cholesky():
    for weights in (None, WEIGHTS):
        expected = model(regularization=1e-4).fit(X, Y, weights).predict(X_NEW)
        fitted = model(regularization=1e-4, solver="cg", tol=1e-12).fit(X, Y, weights)
        assert_allclose(fitted.predict(X_NEW), expected, atol=1e-7)
        assert 0 < fitted.n_iter_ < 100
        blocks = model(regularization=1e-4, solver="cg", tol=1e-12)
        given = split([60, 130], X, Y) if weights is None else split([60, 130], X, Y, weights)
        assert_allclose(blocks.fit(given).predict(X_NEW), expected, atol=1e-7)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model(regularization=1e-6, solver="cg", tol=1e-14, max_iter=1).fit(X, Y)
    with pytest.raises(AttributeError, match="partial_fit"):
        model(regularization=1e-6, solver="cg").partial_fit(X, Y)


@pytest.mark.parametrize("precision", ["double", "single"])
def test_the_room_for_kernel_values_changes_nothing_but_time(precision):
    many = np.random.default_rng(5).standard_normal((3000, 3))
    targets = np.sin(many.sum(axis=1))
    options = {"n_centers": 60, "regularization": 1e-4, "solver": "cg", "precision": precision}
    models = [model(**options, cache_size=size).fit(many, targets) for size in (0, 0.5, 100)]
    for other in models[1:]:
        assert_array_equal(other.dual_coef_, models[0].dual_coef_)
    expected = model(n_centers=60, regularization=1e-4).fit(many, targets).predict(X_NEW)
    assert_allclose(models[0].predict(X_NEW), expected, atol={"double": 1e-5, "single": 2e-3}[precision])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("stored", "digits", "tolerance"),
    [
        ("double", "double", 1e-13),
        ("single", "double", 1e-6),
        ("single", "single", 1e-5),
    ],
)
def test_products_of_stored_kernel_values(backend, stored, digits, tolerance, threads):
    rng = np.random.default_rng(6)
    rows, centers = rng.standard_normal((700, 4)), rng.standard_normal((30, 4))
    a, B, weights = rng.standard_normal((30, 2)), rng.standard_normal((700, 2)), rng.random(700)
    Z, formula = reference.gaussian(rows, centers, 1.5), Gaussian(1.5).lower(4)
    both = {"formula": formula, "data": rows, "centres": centers, "precision": digits}
    for room in (0.0, 1e4, 1e9):
        store = _core.KernelStore(precision=stored, bytes=room)
        for given_a, given_B in ((a, B), (a, None), (None, B)):
            values = (0 if given_a is None else Z @ a) + (0 if given_B is None else B)
            expected = Z.T @ (weights[:, None] * values)
            found = store.normal_times(
                **both, block=0, weights=weights, a=given_a, B=given_B, threads=threads
            )
            assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())
        with pytest.raises(ValueError, match="block 0 had strips of shape"):
            store.normal_times(**{**both, "data": rows[:100]}, block=0, weights=None, a=a, B=None)
        with pytest.raises(ValueError, match="29 coefficients for 30 centres"):
            store.normal_times(**both, block=1, weights=None, a=a[1:], B=None)
        with pytest.raises(ValueError, match="699 values to add to those of 700 rows"):
            store.normal_times(**both, block=1, weights=None, a=None, B=B[1:])
    with pytest.raises(ValueError, match="precision must be 'double' or 'single', got 'half'"):
        _core.KernelStore(precision="half", bytes=0.0)


def test_a_kernel_that_is_a_function_works_in_every_solver():
    def function(A, B):
        return reference.gaussian(A, B, 0.8)

    for solver in ("cholesky", "cg"):
        parameters = {"regularization": 1e-3, "solver": solver, "tol": 1e-12}
        expected = model(**parameters).fit(X, Y).predict(X_NEW)
        fitted = model(kernel=function, **parameters).fit(X, Y)
        assert_allclose(fitted.predict(X_NEW), expected, atol=1e-8)


def test_single_precision_is_close():
    double, single = (model(precision=p, regularization=1e-4).fit(X, Y) for p in ("double", "single"))
    assert_allclose(single.predict(X_NEW), double.predict(X_NEW), atol=1e-3)


@pytest.mark.parametrize("unit", [2.0**64, 2.0**-64])
@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_rows_whose_distances_leave_single_precision_are_refused_there(unit, solver):
    options = {"kernel": Gaussian(0.8 * unit), "regularization": 1e-3, "solver": solver, "tol": 1e-10}
    rows, options["centers"] = unit * X, unit * X[:60]
    single = model(**options, precision="single")
    refused = pytest.raises(ValueError, match=r'rows of X are .* works for .*, or precision="double"')
    with refused:
        single.fit(rows, Y)
    with refused:
        single.fit([(rows[:100], Y[:100]), (rows[100:], Y[100:])])
    if solver == "cholesky":
        with refused:
            single.partial_fit(rows, Y)
    usual = model(regularization=1e-3, centers=X[:60]).fit(X, Y).predict(X_NEW)
    assert_allclose(model(**options).fit(rows, Y).predict(unit * X_NEW), usual, atol=1e-6)


def test_a_row_that_leaves_single_precision_far_from_the_centres_is_refused():
    single = model(precision="single").partial_fit(X, Y)
    with pytest.raises(ValueError, match="block 1: rows of X are 1e\\+20 apart"):
        single.partial_fit(np.full((1, 3), 1e20), Y[:1])
    assert single.partial_fit(single.X_fit_[:1] + 1e-16, Y[:1]).n_samples_seen_ == 241  # near a centre


def test_what_fits_single_precision_is_told_of_any_rows():
    S = sparse.csr_matrix(X)
    for rows in (X, S, X[:0], np.ones((3, 2)), np.ones((3, 0)), 1e30 + np.zeros((3, 2))):
        assert fits_single(rows)
    for rows in (1e20 * X, 1e-20 * X, 1e20 * S, 1e-20 * S, np.array([[-1e308], [1e308]])):
        assert not fits_single(rows)
    assert fits_single(X, X[:1] + 1e-16)
    assert not fits_single(X, X + 1e20)
    assert not fits_single(X[:0], 1e20 * X)
    assert fits_single(S, X)


def test_progress_is_told_when_asked_for(capsys):
    model().fit(X, Y)
    assert capsys.readouterr().out == ""
    model(verbose=1).fit([(X[:100], Y[:100]), (X[100:], Y[100:])])
    told = capsys.readouterr().out
    assert "block 1: 240 rows so far" in told
    assert "solved, regularization" in told
    model(verbose=1, solver="cg", regularization=1e-3).fit(X, Y)
    assert "step 1, relative residual" in capsys.readouterr().out


def test_a_model_of_many_rows_pickles_small():
    points = RNG.uniform(-1, 1, size=(20_000, 3))
    for keep_factor, most in ((False, 20_000), (True, 20_000 + 16 * 30**2)):
        fitted = model(n_centers=30, keep_factor=keep_factor).fit(points, points[:, 0])
        buffer = io.BytesIO()
        pickle.dump(fitted, buffer)
        assert buffer.tell() < most


def test_the_core_trusts_no_shape():
    built = build()
    formula, centers = Gaussian(0.8).lower(3), built.X
    T, r = np.ones((240, 1)), built.rank
    both = {"formula": formula, "data": X, "centres": centers, "precision": "double"}
    good = {**both, "E": built.whitening.E, "L": built.whitening.L, "T": T, "Y": Y, "weights": None}
    _core.row_sums(**good)
    for name, wrong, message in [
        ("centres", centers[:-1].copy(), "centres"),
        ("E", built.whitening.E[:-1], "features"),
        ("L", built.whitening.L[:, :-1], "factor"),
        ("T", T[:-1], "240 rows, the features 239"),
        ("Y", Y[:-1], "the targets 239"),
        ("weights", np.ones(3), "3 sample weights for 240"),
        ("weights", -np.ones(240), "negative"),
        ("precision", "half", "precision"),
        ("data", X[:, :2].copy(), "columns"),
    ]:
        with pytest.raises(ValueError, match=message):
            _core.row_sums(**{**good, name: wrong})
    store = _core.KernelStore(precision="double", bytes=1e6)
    with pytest.raises(ValueError, match="coefficients"):
        store.normal_times(**both, block=0, weights=None, a=np.ones((3, 1)), B=None)
    with pytest.raises(ValueError, match="weights"):
        store.normal_times(**both, block=0, weights=np.ones(3), a=np.ones((r + 4, 1)), B=None)
    with pytest.raises(ValueError, match="coefficients"):
        _core.symmetric_kernel_times(formula=formula, data=X, c=np.ones((3, 1)))
    with pytest.raises(ValueError, match="square"):
        _core.pivoted_llt(matrix=np.ones((3, 2)), tolerance=0.0)


def test_sums_with_new_classes_have_zeros_for_them():
    sums = _sums.Sums(_sums.Part(np.arange(9.0).reshape(3, 3), 5, 5.0), None, np.array(["b", "d"]))
    wide = sums.with_classes(np.array(["a", "c"]))
    assert list(wide.classes) == ["a", "b", "c", "d"]
    assert_array_equal(wide.fitted.matrix[np.ix_([0, 2, 4], [0, 2, 4])], sums.fitted.matrix)
    assert wide.fitted.matrix.sum() == sums.fitted.matrix.sum()


@pytest.mark.parametrize("scale", [1e-139, 1e-100, 1e100, 1e149])
def test_conjugate_gradients_take_targets_of_any_size(scale):
    by_gradients = model(solver="cg", regularization=1e-3, tol=1e-10)
    expected = by_gradients.fit(X, Y).predict(X_NEW)
    assert_allclose(by_gradients.fit(X, scale * Y).predict(X_NEW) / scale, expected, atol=1e-7)


def test_weights_beyond_whole_numbers_leave_a_grid():
    fitted = model(regularization="gcv").fit(X, Y, sample_weight=np.full(240, 1e30))
    assert np.all(np.isfinite(fitted.regularization_path_))
    assert np.isfinite(fitted.predict(X_NEW)).all()


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_finite_variance_of_the_features_is_that_of_the_exact_model(solver, form):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(150, 2))
    values = 2 * points[:, 0] + np.sin(3 * points[:, 1]) + 0.1 * rng.normal(size=150)
    options = {"features": "linear", "feature_variance": 0.4, "regularization": 1e-3}
    exact = GRLSRegressor(Gaussian(0.8), **options).fit(form(points), values)
    model = NystromGRLSRegressor(Gaussian(0.8), n_centers=150, solver=solver, tol=1e-12, **options)
    model.fit(form(points), values)
    assert_allclose(model.predict(form(points)), exact.predict(form(points)), atol=1e-5)
    assert_allclose(model.feature_coef_, exact.feature_coef_, atol=1e-4)
    assert model.X_fit_.shape[1] == 2
    with pytest.raises(ValueError, match=r"kernel of grls\.kernels"):
        NystromGRLSRegressor(lambda A, B: A @ B.T, **options).fit(points, values)


def test_a_constant_alone_has_no_prior():
    """The mean is free whatever the feature variance: both are the same model."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = 3 + np.sin(X[:, 0])
    free, told = (
        NystromGRLSRegressor(Gaussian(1.0), n_centers=20, regularization=0.1, feature_variance=variance).fit(
            X, y
        )
        for variance in (np.inf, 2.0)
    )
    assert_allclose(told.predict(X), free.predict(X), rtol=1e-12)
