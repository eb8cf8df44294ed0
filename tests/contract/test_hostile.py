"""What no sensible caller does: absurd sizes, tampered models, arrays at odd addresses. Errors, no crash."""

import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc

import grls
import numpy as np
import pandas as pd
import pytest
from grls import GRLSRegressor, PriorRLSRegressor, _core
from grls._solvers import memory
from grls._solvers.rows import taken_columns
from grls._solvers.runtime import interruptible
from grls.features import GeodesicKNN, PolynomialTrend
from grls.kernels import (
    ArcCosine,
    Categorical,
    Function,
    Gaussian,
    Kernel,
    Laplace,
    Linear,
    Periodic,
    Polyharmonic,
    Polynomial,
    ThinPlate,
)
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = X[:, 0] + np.sin(X[:, 1])
GAUSSIAN = _core.Formula([([], [], [])], [("gaussian", 0, 3.0, 0.0, 0)])

# One formula for each way in which sparse rows are read.
READINGS = {
    "products": ("linear", 0, 0.0, 0.0, 0),
    "distances": ("gaussian", 0, 3.0, 0.0, 0),
    "histograms": ("chi_squared", 0, 1.0, 0.0, 0),
    "absolute differences": ("laplace_l1", 0, 3.0, 0.0, 0),
    "labels": ("overlap", 0, 1.0, 0.0, 0),
    "labels with widths": ("hamming", 0, 1.0, 0.0, 0),
}


def sparse_rows(seed, n, d, scattered):
    """CSR rows as the core takes them; `scattered` takes column 0, …, 19 to columns among the d."""
    A = sparse.random(n, 20, density=0.4, random_state=seed, format="csr")
    A.data = np.round(4 * A.data, 1) + 0.1
    return A.data, scattered[A.indices], A.indptr.astype(np.int64), d


@pytest.mark.parametrize("d", [2**20 + 1, 10**9, 2**40, 2**60, 2**62, 2**63 - 1])
@pytest.mark.parametrize("reading", READINGS)
def test_columns_without_entries_cost_nothing(reading, d):
    """Values are those of the columns that have entries, however many there are between them."""
    formula = _core.Formula([([], [], [])], [READINGS[reading]])
    near, far = (
        np.arange(20),
        np.sort(
            RNG.choice(min(d, 2**62), 20, replace=False)
            if d < 2**22
            else RNG.integers(0, d - 1, size=20, dtype=np.int64)
        ),
    )
    for seed, n in ((0, 30), (1, 1)):
        expected = _core.kernel_matrix(
            formula=formula, a=sparse_rows(seed, n, 20, near), b=sparse_rows(2, 21, 20, near)
        )
        got = _core.kernel_matrix(
            formula=formula, a=sparse_rows(seed, n, d, far), b=sparse_rows(2, 21, d, far)
        )
        assert_array_equal(got, expected)


@pytest.mark.parametrize("shift", [20, 32, 44])
def test_multiples_of_a_power_of_two_are_found_as_fast_as_other_columns(shift):
    """Their last bits are the same; one place for all of them would take 130 times as long."""
    formula = _core.Formula([([], [], [])], [READINGS["histograms"]])
    columns = [np.sort(RNG.choice(2**17 - 1, 2000, replace=False)) for _ in range(16)]
    values = RNG.uniform(size=16 * 2000)

    def timed(shift):
        rows = values, np.concatenate(columns) << shift, 2000 * np.arange(17), 2**61
        start = time.perf_counter()
        return _core.kernel_matrix(formula=formula, a=rows, b=rows), time.perf_counter() - start

    near, one = timed(0)
    far, other = timed(shift)
    assert_array_equal(far, near)
    assert other < 50 * max(one, timed(0)[1])


def test_columns_that_are_named_are_found_among_many():
    d = 2**61
    columns = np.sort(RNG.integers(0, d, size=20))
    wide = _core.Formula(
        [(columns[[7, 2, 11]].tolist(), [0.5, 1.0, 2.0], [])], [("gaussian", 0, 3.0, 0.0, 0)]
    )
    narrow = _core.Formula([([7, 2, 11], [0.5, 1.0, 2.0], [])], [("gaussian", 0, 3.0, 0.0, 0)])
    rows = sparse_rows(0, 30, d, columns)
    assert_array_equal(
        _core.kernel_matrix(formula=wide, a=rows, b=rows),
        _core.kernel_matrix(
            formula=narrow, a=sparse_rows(0, 30, 20, np.arange(20)), b=sparse_rows(0, 30, 20, np.arange(20))
        ),
    )


def test_a_histogram_value_that_underflows_in_single_precision_is_zero():
    rows = (np.array([1e-60, 0.5, 0.25]), np.array([0, 1, 1]), np.array([0, 2, 3]), 2)
    formula = _core.Formula([([], [], [])], [("chi_squared", 0, 1.0, 0.0, 0)])
    K = _core.symmetric_kernel_times(formula=formula, data=rows, c=np.eye(2), precision="single")
    assert np.isfinite(K).all()


MANY_COLUMNS = [2**31 + 3, 2**61]


def wide_and_narrow(d):
    """The same 20 columns among d, and by themselves."""
    values, columns, starts, _ = sparse_rows(0, 12, d, np.append(np.arange(19), d - 1))
    near = np.where(columns == d - 1, 19, columns)
    return (
        sparse.csr_matrix((values, columns, starts), shape=(12, d)),
        sparse.csr_matrix((values, near, starts), shape=(12, 20)),
    )


@pytest.mark.parametrize("d", MANY_COLUMNS)
@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(),
        Laplace(),
        Laplace(norm="l1"),
        Categorical(),
        Gaussian().on([5, 0, -1]),
        Linear().on([0, 5]),
        Periodic(period=[3.0, 2.0]).on([4, 2]),
        Gaussian("medians").on([3, 1]),
        ThinPlate().on([0, 1]) + Gaussian(2.0),
    ],
    ids=repr,
)
def test_a_kernel_that_is_called_takes_sparse_rows_of_any_width(kernel, d):
    wide, narrow = wide_and_narrow(d)
    assert_array_equal(kernel(wide), kernel(narrow))


@pytest.mark.parametrize("kernel", [Periodic(), Periodic(1.0), Gaussian("medians")], ids=repr)
def test_a_number_for_each_of_absurdly_many_columns_is_refused_in_plain_words(kernel):
    with pytest.raises(
        MemoryError, match=r"one number for each of the 2305843009213693952 columns of X needs"
    ):
        kernel(wide_and_narrow(2**61)[0])


def test_neighbours_among_absurdly_many_columns_are_refused_in_plain_words():
    with pytest.raises(MemoryError, match=r"one number for each of the 2305843009213693952 columns of X"):
        GeodesicKNN(1).fit(wide_and_narrow(2**61)[0], np.arange(12) % 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fit", [GRLSRegressor(Linear()).fit, PriorRLSRegressor().fit], ids=["kernel", "weights"]
)
def test_means_of_wide_sparse_columns_are_told_of_before_they_are_taken(fit, monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 2**31)
    with pytest.raises(MemoryError, match=r"5 numbers for each of the 67108864 columns of X needs 2.5 GiB"):
        fit(wide_and_narrow(2**26)[0], np.arange(12.0))


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
def test_columns_are_taken_of_sparse_rows_as_scipy_takes_them(kind):
    dense = sparse.random(30, 40, density=0.3, random_state=0).toarray()
    dense[3] = 0
    A = kind(dense)
    for columns in ([7], [5, 0, 39], list(range(40))[::-1], [2, 3]):
        taken = taken_columns(A, columns)
        assert type(taken) is kind
        assert taken.has_sorted_indices
        assert_array_equal(taken.toarray(), A.toarray()[:, columns])


def test_all_columns_are_no_list():
    """Which takes five times as much as a number for each."""
    n = 10**6
    for kernel, of in ((Linear() + Gaussian(1.0), Kernel.inner_products), (ThinPlate(), Kernel.demands)):
        tracemalloc.start()
        try:
            assert [len(part[1]) for part in of(kernel, n)] == [n]
            assert tracemalloc.get_traced_memory()[1] < n
        finally:
            tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        grls.GRLSRegressor(Gaussian(1.0), regularization=0.1),
        grls.GRRegressor(Gaussian(1.0), regularization=0.1),
        grls.NystromGRLSRegressor(Gaussian(1.0), regularization=0.1, n_centers=100),
        grls.KernelPCA(2, Gaussian(1.0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_estimators_take_sparse_rows_with_many_empty_columns(model):
    A = sparse.random(40, 20, density=0.4, random_state=0, format="csr")
    wide = sparse.csr_matrix(
        (A.data, A.indices.astype(np.int64) * 2_000_000, A.indptr), shape=(40, 40_000_000)
    )
    expected = model.fit(A, Y)
    expected = expected.transform(A) if hasattr(model, "transform") else expected.predict(A)
    model.fit(wide, Y)
    got = model.transform(wide) if hasattr(model, "transform") else model.predict(wide)
    assert_allclose(np.abs(got), np.abs(expected), rtol=1e-9, atol=1e-9)


# Tampered models.


def spoiled(matrix):
    out = matrix.copy()
    out.indices = out.indices.copy()
    out.indices[0] = 10**6
    return out


@pytest.mark.parametrize("verb", ["merge into", "merge", "solve", "partial_fit"])
def test_sums_on_tampered_sparse_centres_are_refused(verb):
    A = sparse.random(60, 10, density=0.5, random_state=0, format="csr")
    y = np.asarray(A.sum(axis=1)).ravel()

    def made():
        return grls.NystromGRLSRegressor(
            Gaussian(1.0),
            features="linear",
            n_centers=20,
            regularization=0.1,
            feature_variance=1.0,
            centers=A[:20],
        ).partial_fit(A, y)

    model, other = made(), made()
    model.merge(other)  # as it should be
    partial = (other if verb == "merge" else model)._partial
    broken = spoiled(partial.plan.centers.X)
    object.__setattr__(partial.plan.centers, "X", broken)
    actions = {"solve": model.solve, "partial_fit": lambda: model.partial_fit(A, y)}
    with pytest.raises(ValueError, match=r"indices|index"):
        actions.get(verb, lambda: model.merge(other))()


@pytest.mark.parametrize("estimator", [grls.KernelPCA, grls.MercerExpansion])
def test_components_of_a_tampered_model_are_refused(estimator):
    model = estimator(2, Gaussian(1.0)).fit(X)
    model.dual_coef_[3] = np.nan
    with pytest.raises(ValueError, match=r"are not finite at row 0.*changed after the fit"):
        model.transform(X[:2])


def test_monomials_of_a_tampered_trend_are_refused():
    """More columns than there are monomials would be memory that nothing was written to."""
    trend = PolynomialTrend(2).fit(X)
    trend._monomials._n_out_full += 3
    with pytest.raises(ValueError, match="the monomials have 13 columns, expected 10"):
        trend.transform(X)


def test_a_degree_of_a_tampered_trend_is_refused():
    """scikit-learn would multiply out powers for ever."""
    model = grls.GRLSRegressor(Gaussian(1.0), features="linear", regularization=0.1).fit(X, Y)
    model.features_._monomials._max_degree = 2**62
    with pytest.raises(ValueError, match=r"of degree 4611686018427387904, expected 1: .* changed after the"):
        model.predict(X)


@pytest.mark.parametrize("labels", [Y > 0, np.digitize(Y, [-0.5, 0.5])], ids=["two", "three"])
def test_probabilities_of_a_tampered_calibration_are_refused(labels):
    model = grls.SVMGBClassifier(Gaussian(1.0), probability=True, C=1.0).fit(X, labels)
    model.calibrated_.calibrated_classifiers_[0].calibrators[0].b_ = np.nan
    with pytest.raises(ValueError, match="calibrated probabilities are not finite"):
        model.predict_proba(X)


@pytest.mark.parametrize("ask", [{"return_std": True}, {"return_cov": True}])
def test_variances_of_a_tampered_model_are_refused(ask):
    model = grls.GRLSRegressor(Gaussian(1.0), regularization=0.1).fit(X, Y)
    model.kernel_variance_[:] = np.nan
    with pytest.raises(ValueError, match=r"variances .* not finite.*changed after the fit"):
        model.predict(X[:2], **ask)


@pytest.mark.parametrize("variance", [-1.0, np.inf, np.nan])
def test_draws_of_a_tampered_model_are_refused(variance):
    model = grls.GRLSRegressor(Gaussian(1.0), regularization=0.1).fit(X, Y)
    model.kernel_variance_[:] = variance
    with pytest.raises(ValueError, match=r"cannot be drawn.*not negative.*changed after the fit"):
        model.sample_y(X[:2])


def test_gradients_of_a_tampered_model_are_refused():
    model = grls.GRLSRegressor(Gaussian(1.0), regularization=0.1).fit(X, Y)
    model.kernel_.sigma = 0.01
    model.dual_coef_[:] = 1e307
    new = X[:2] + 0.005
    assert np.isfinite(model.predict(new)).all()
    with pytest.raises(ValueError, match=r"gradient is not finite at row 0.*changed after the fit"):
        model.predict(new, return_gradient=True)


# Arguments of the compiled core.

T1, Y1 = np.ones((6, 1)), X[:6, :1].copy()
DOCUMENTS = (np.ones(2), np.array([0, 1]), np.array([0, 1, 2]), 2)


@pytest.mark.parametrize("criterion", ["reml", "loo", "logo"])
def test_a_gradient_needs_targets(criterion):
    with pytest.raises(ValueError, match="at least one column of targets"):
        _core.gradient(
            formula=GAUSSIAN,
            data=X[:6].copy(),
            T=T1,
            Y=np.empty((6, 0)),
            weights=None,
            shift=1.0,
            criterion=criterion,
            groups=[],
            tolerance=1e-9,
            left_out_rows=range(6),
            left_out_starts=[0, 3, 6],
        )


@pytest.mark.parametrize("d", [2**60, 2**62])
def test_moments_of_absurdly_many_columns_are_refused_in_plain_words(d):
    rows = (np.ones(6), np.zeros(6, dtype=np.int64), np.arange(7), d)
    with pytest.raises(MemoryError, match="do not fit in memory"):
        _core.gradient(
            formula=GAUSSIAN,
            data=rows,
            T=T1,
            Y=Y1,
            weights=None,
            shift=1.0,
            criterion="reml",
            groups=[0],
            tolerance=1e-9,
        )


@pytest.mark.parametrize("rows", [np.empty((6, 0)), (np.empty(0), np.empty(0, int), np.zeros(7, int), 0)])
@pytest.mark.parametrize("outputs", [0, 1, 3])
def test_gradients_of_no_columns_leave_the_features(rows, outputs):
    targets = np.tile(Y1, outputs)
    found = _core.ridge_cg(
        rows=rows, T=T1, Y=targets, weights=None, dependence=1e-9, shift=1.0, tolerance=1e-9, max_iterations=9
    )
    assert found.V.shape == (0, outputs)
    assert_allclose(found.beta, targets.mean(axis=0, keepdims=True), atol=1e-12)


def test_a_number_of_updates_of_topics_is_not_negative():
    topics = np.array([[0.3, 0.7], [0.6, 0.4]])
    with pytest.raises(ValueError, match="iterations must not be negative, got -2"):
        _core.plsa(documents=DOCUMENTS, words=DOCUMENTS, topics=topics, max_iterations=-2, tolerance=0.0)
    with pytest.raises(ValueError, match="iterations must not be negative, got -2"):
        _core.plsa_fold_in(
            documents=DOCUMENTS, topics=topics, start=np.full(2, 0.5), max_iterations=-2, tolerance=0.0
        )


def test_a_store_takes_blocks_of_any_number():
    store = _core.KernelStore(precision="double", bytes=1e6)
    given = {
        "formula": GAUSSIAN,
        "data": X,
        "centres": X[:5].copy(),
        "weights": None,
        "B": None,
        "precision": "double",
    }
    expected = store.normal_times(block=0, a=np.ones((5, 1)), **given)
    assert_array_equal(store.normal_times(block=2**62, a=np.ones((5, 1)), **given), expected)


@pytest.mark.parametrize("kernel", [Polynomial(2**31), Polyharmonic(2**31), Gaussian(1.0) ** 2**31])
def test_a_power_beyond_what_the_core_counts_is_told_by_name(kernel):
    with pytest.raises(ValueError, match=r"(degree|exponent) must be at most 2147483647, got 2147483648"):
        kernel(X)


def test_so_many_layers_are_no_layers():
    with pytest.raises(ValueError, match=r"ArcCosine\.layers must be at most 1000"):
        ArcCosine(1, layers=2**32)(X)


def test_the_largest_power_keeps_its_sign():
    odd, even = (
        _core.Formula([([], [], [])], [("polyharmonic", 0, 0.0, 0.0, n)]) for n in (2**31 - 1, 2**31 - 2)
    )
    points = np.array([[0.0], [1.0], [2.0]])
    assert _core.kernel_matrix(formula=odd, a=points, b=points)[0, 1] == 1.0  # (-1)^(2^30)
    assert _core.kernel_matrix(formula=even, a=points, b=points)[0, 2] == np.inf


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arrays_at_odd_addresses_are_read_as_others(dtype):
    aligned = np.ascontiguousarray(X, dtype=dtype)
    odd = np.empty(aligned.nbytes + 1, dtype=np.uint8)[1:].view(dtype).reshape(aligned.shape)
    odd[:] = aligned
    assert not odd.flags.aligned
    assert_array_equal(
        _core.kernel_matrix(formula=GAUSSIAN, a=odd, b=odd),
        _core.kernel_matrix(formula=GAUSSIAN, a=aligned, b=aligned),
    )
    assert_array_equal(Gaussian(1.0)(odd), Gaussian(1.0)(aligned))


def test_verbose_is_a_number():
    for model in (grls.KernelPCA(verbose="loud"), grls.GRLSRegressor(Gaussian(1.0), verbose="loud")):
        with pytest.raises(TypeError, match="verbose must be a whole number, got 'loud'"):
            model.fit(X, Y)


def test_functions_that_the_features_explain_leave_the_terminal_alone(capfd):
    """A linear kernel beside linear features: no function is left on the centres."""
    model = grls.NystromGRLSRegressor(
        grls.kernels.Linear(), features="linear", solver="cg", regularization=0.1, n_centers=20
    )
    model.fit(X, Y)
    assert capfd.readouterr() == ("", "")


# Memory.


@pytest.fixture
def little_memory(monkeypatch):
    """As if 100 MB were left."""
    monkeypatch.setattr(memory, "available", lambda: 10**8)


def test_a_kernel_matrix_beyond_memory_is_refused(little_memory):
    points = np.zeros((4000, 1))
    for kernel in (Gaussian(1.0), Function(lambda X, Z: pytest.fail("called"))):
        with pytest.raises(MemoryError, match="a kernel matrix of 4000 times 4000 values"):
            kernel(points)
        with pytest.raises(MemoryError, match="a kernel matrix of 4000 times 5000 values"):
            kernel(points, np.zeros((5000, 1)))


def test_a_covariance_beyond_memory_is_refused_before_the_factor_is_made(little_memory):
    model = grls.GRLSRegressor(Gaussian(1.0), regularization=0.1).fit(X, Y)
    with pytest.raises(MemoryError, match="the covariance of 4000 rows"):
        model.predict(RNG.normal(size=(4000, 3)), return_cov=True)
    assert "_posterior_kept" not in vars(model)


@pytest.mark.parametrize("centers", ["uniform", "leverage", "kmeans"])
def test_centres_beyond_memory_are_refused_before_they_are_chosen(little_memory, centers, monkeypatch):
    monkeypatch.setattr("grls._nystrom.centers._k_means", pytest.fail)
    monkeypatch.setattr("grls._nystrom.centers._by_leverage", pytest.fail)
    points = RNG.normal(size=(3000, 2))
    model = grls.NystromGRLSRegressor(Gaussian(1.0), n_centers=2500, centers=centers, regularization=0.1)
    with pytest.raises(MemoryError, match="the kernel matrix of 2500 centres"):
        model.fit(points, points[:, 0])


@pytest.mark.slow
def test_dense_means_of_sparse_rows_beyond_memory_are_refused(little_memory):
    A = sparse.random(300, 200_000, density=1e-4, random_state=0, format="csr")
    model = grls.NystromGRLSRegressor(Gaussian(1.0), n_centers=100, centers="kmeans", regularization=0.1)
    with pytest.raises(MemoryError, match="the means of 100 clusters"):
        model.fit(A, np.ones(300))


def control_groups(tmp_path, membership, files):
    """A tree of control groups, and what the process's own file says."""
    for name, text in files.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "self").write_text(membership)
    return memory._control_group_free(str(tmp_path / "root"), str(tmp_path / "self"))


def test_the_limit_of_a_control_group_is_that_of_its_own_path(tmp_path):
    job = "system.slice/slurmstepd.scope/job_7"
    files = {
        f"{job}/memory.max": "5000\n",
        f"{job}/memory.current": "1500\n",
        f"{job}/memory.stat": "anon 1200\ninactive_file 300\nactive_file 10\n",
        "system.slice/memory.max": "max\n",
        "system.slice/memory.current": "90000\n",
        "memory.current": "100000\n",
    }
    assert control_groups(tmp_path, f"0::/{job}\n", files) == 5000 - (1500 - 300)


def test_a_group_above_may_have_less_left(tmp_path):
    files = {
        "a/b/memory.max": "5000",
        "a/b/memory.current": "0",
        "a/memory.max": "6000",
        "a/memory.current": "5500",
    }
    assert control_groups(tmp_path, "0::/a/b", files) == 500


def test_the_first_version_of_control_groups_has_a_tree_of_its_own(tmp_path):
    files = {
        "memory/user.slice/job/memory.limit_in_bytes": "4000\n",
        "memory/user.slice/job/memory.usage_in_bytes": "1000\n",
        "memory/user.slice/job/memory.stat": "cache 500\ninactive_file 7\ntotal_inactive_file 200\n",
        "memory/memory.limit_in_bytes": f"{2**63 - 4096}\n",
        "memory/memory.usage_in_bytes": "9000\n",
    }
    text = "12:cpu,cpuacct:/\n5:memory:/user.slice/job\n1:name=systemd:/user.slice\n0::/\n"
    assert control_groups(tmp_path, text, files) == 4000 - 800


@pytest.mark.parametrize(
    "membership", ["", "0::/\n", "0::/of/the/host\n", "nonsense\n", "0::/../../elsewhere\n"]
)
def test_a_container_sees_its_own_group_at_the_root(tmp_path, membership):
    files = {"memory.max": "3000\n", "memory.current": "1000\n"}
    assert control_groups(tmp_path, membership, files) == 2000


def test_without_a_limit_nothing_is_known(tmp_path):
    assert control_groups(tmp_path, "0::/a", {"a/memory.max": "max", "a/memory.current": "5"}) is None


# Ctrl-C where other libraries work.


def interrupted(action, after=0.3):
    """How long `action` goes on after Ctrl-C; None where it was done before."""
    sent = []

    def send():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, send)
    timer.start()
    try:
        action()
    except KeyboardInterrupt:
        return time.perf_counter() - sent[0]
    finally:
        timer.cancel()
        timer.join()
    return None


def test_lapack_is_left_in_the_background():
    release = threading.Event()
    try:
        delay = interrupted(lambda: interruptible(10**4, release.wait, 60), after=0.1)
        assert delay is not None  # it would have waited for a minute
        assert not release.is_set()
    finally:
        release.set()


def test_the_answer_and_the_error_of_lapack_come_back():
    assert interruptible(10**4, divmod, 7, 3) == (2, 1)
    with pytest.raises(ZeroDivisionError):
        interruptible(10**4, divmod, 7, 0)


CTRL_C = """
import os, signal, sys, threading, time
import numpy as np
import grls
from grls.features import GeodesicKNN
from grls.kernels import Gaussian

signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
X = rng.normal(size=(int(sys.argv[2]), 40))
if sys.argv[1] == "dense":
    model, y = grls.KernelPCA(kernel=Gaussian(6.0), eigen_solver="dense"), None
else:
    model, y = GeodesicKNN(graph_neighbors=5), rng.integers(2, size=len(X))
model.fit(X[:50], None if y is None else y[:50])
before = vars(model).copy()
times = []
threading.Timer(1.0, lambda: (times.append(time.perf_counter()), os.kill(os.getpid(), signal.SIGINT))).start()
try:
    model.fit(X, y)
    print("finished")
except KeyboardInterrupt:
    print(time.perf_counter() - times[0])
assert vars(model).keys() == before.keys() and all(vars(model)[name] is before[name] for name in before)
os._exit(0)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("case", "rows"), [("dense", 6000), ("neighbours", 60000)])
def test_ctrl_c_leaves_the_whole_spectrum_and_the_neighbours(case, rows):
    """Both take much longer than the interrupt; an earlier fit is still there afterwards."""
    command = [sys.executable, "-c", CTRL_C, case, str(rows)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 30  # "finished" is no number
    print(f"delay {float(done.stdout):.2f} s")


def deviations(model):
    return model.predict(X, return_std=True)[1]


@pytest.mark.parametrize(
    ("model", "way", "ask"),
    [
        (grls.NystromGRLSRegressor, ("_posterior", "shift"), deviations),
        (grls.NystromGRLSRegressor, ("_posterior", "factor"), deviations),
        (grls.NystromGRLSRegressor, ("_computed_cov",), lambda model: model.decompose(X, return_std=True)),
        (grls.GRLSRegressor, ("_computed_cov",), lambda model: model.decompose(X, return_std=True)),
        (grls.GRLSRegressor, ("_T_fit",), deviations),
        (grls.GRLSRegressor, ("_targets_fit",), lambda model: model.predict_interval(X)),
        (grls.GRLogisticClassifier, ("_T_fit",), lambda model: model.decision_function(X, return_std=True)),
    ],
)
def test_deviations_of_a_tampered_model_are_numbers_or_refused(model, way, ask):
    given = {"n_centers": 8} if model is grls.NystromGRLSRegressor else {}
    fitted = model(Gaussian(1.0), features="linear", regularization=0.1, **given)
    fitted.fit(X, np.arange(len(X)) % 2 if model is grls.GRLogisticClassifier else Y)
    *holders, name = way
    holder = fitted
    for each in holders:
        holder = vars(holder)[each]
    object.__setattr__(holder, name, vars(holder)[name] * np.nan)
    with pytest.raises(ValueError, match=r"changed after the fit|must be (finite|positive)|NaN"):
        ask(fitted)


def test_ctrl_c_is_heard_between_parts_of_the_search_for_neighbours(monkeypatch):
    labels = RNG.integers(3, size=len(X))
    model = GeodesicKNN(2, graph_neighbors=3).fit(X, labels)
    before = vars(model).copy()
    searched = []

    def search(self, points, n_neighbors):
        searched.append(len(points))
        os.kill(os.getpid(), signal.SIGINT)  # during the first part
        return found(self, points, n_neighbors)

    found = NearestNeighbors.kneighbors
    monkeypatch.setattr(NearestNeighbors, "kneighbors", search)
    monkeypatch.setattr("grls.features._geodesic._PRODUCTS", 5 * X.size)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, labels)
    assert searched == [5]
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)


def test_neighbours_are_the_same_in_parts(monkeypatch):
    labels = RNG.integers(3, size=len(X))
    grid = np.array([[i, j] for i in range(6) for j in range(6)], dtype=float)  # ties everywhere
    for points, metric in ((X, "euclidean"), (grid, "cityblock"), (sparse.csr_matrix(X), "cosine")):
        y = labels[: points.shape[0]]
        whole = GeodesicKNN(2, graph_neighbors=3, metric=metric).fit(points, y)
        with monkeypatch.context() as patch:
            patch.setattr("grls.features._geodesic._PRODUCTS", 1)
            parts = GeodesicKNN(2, graph_neighbors=3, metric=metric).fit(points, y)
            assert_allclose(parts.graph_.toarray(), whole.graph_.toarray(), rtol=1e-12)
            assert_allclose(parts.transform(points[:7]), whole.transform(points[:7]))


def test_scores_norms_and_draws_of_a_tampered_model_are_refused():
    X = np.random.default_rng(0).normal(size=(30, 2))
    machine = grls.OneClassSVMGB(Gaussian(1.0)).fit(X)
    machine.offset_ = np.nan
    with pytest.raises(ValueError, match="scores are not finite"):
        machine.score_samples(X[:2])
    expansion = grls.MercerExpansion(3, Gaussian(1.0)).fit(X)
    expansion.eigenvalues_ = np.array([np.nan, *expansion.eigenvalues_[1:]])
    for ask in (lambda: expansion.rkhs_norm(X[:, 0]), lambda: expansion.sample(X[:2], 2)):
        with pytest.raises(ValueError, match="eigenvalues must be positive"):
            ask()


def test_a_second_interrupt_while_a_fit_is_undone_finds_all_or_nothing():
    """The state is put back by one assignment: nothing lies between an empty estimator and a whole one."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = grls.GRLSRegressor(Gaussian(1.0)).fit(X, X[:, 0])
    before, seen = vars(model).copy(), []

    def tracer(frame, event, arg):
        if frame.f_code.co_name == "all_or_nothing":
            seen.append(len(vars(model)))
        return tracer

    sys.settrace(tracer)
    try:
        with pytest.raises(ValueError, match="NaN"):
            model.fit(X, np.full(30, np.nan))
    finally:
        sys.settrace(None)
    assert seen
    assert min(seen) >= len(model.get_params(deep=False))
    assert vars(model) == before


def test_a_number_of_threads_beyond_all_bounds_is_as_many_as_there_may_be(monkeypatch):
    monkeypatch.setenv("GRLS_NUM_THREADS", "9" * 30)
    assert grls.get_num_threads() == 1024
    X = np.random.default_rng(0).normal(size=(30, 2))
    assert np.isfinite(grls.GRLSRegressor(Gaussian(1.0)).fit(X, X[:, 0]).predict(X)).all()


@pytest.mark.parametrize(
    "made", [np.array, np.asfortranarray, np.float32, pd.DataFrame, sparse.csr_matrix, sparse.csr_array]
)
@pytest.mark.parametrize(
    "model",
    [
        GRLSRegressor(Gaussian(1.0), regularization=0.1, features="linear"),
        GRLSRegressor(Linear(), regularization=0.1, solver="cg"),
        grls.GRRegressor(Gaussian(1.0), loss="poisson", regularization=0.1),
        grls.SVMGBClassifier(Gaussian(1.0)),
        grls.KernelPCA(2, kernel=Gaussian(1.0)),
        grls.MercerExpansion(2, kernel=Gaussian(1.0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_model_stays_as_it_is_whatever_becomes_of_what_it_was_fitted_to(model, made):
    random = np.random.default_rng(0)
    rows, y, weights = random.normal(size=(40, 3)), random.poisson(2, 40) + 0.0, random.uniform(0.5, 1, 40)
    y = np.sign(y - 1.5) if isinstance(model, grls.SVMGBClassifier) else y
    X = made(rows)
    new = made(random.normal(size=(5, 3)))

    def answers():
        if hasattr(fitted, "transform"):
            return [fitted.transform(new)]
        if isinstance(fitted, grls.SVMGBClassifier):
            return [fitted.decision_function(new)]
        if isinstance(fitted, grls.GRRegressor):
            return [fitted.predict(new), fitted.predict_interval(new)]
        left_out = [] if fitted.solver == "cg" else [fitted.cross_validate(cv=4).z]
        return [*fitted.predict(new, return_std=True), *left_out]

    weighted = {} if hasattr(model, "transform") else {"sample_weight": weights}
    fitted = clone(model).fit(X, y, **weighted)
    before = answers()
    if sparse.issparse(X):
        X.data += 5
    elif isinstance(X, pd.DataFrame):
        X.iloc[:] = 5.0
    else:
        X += 5
    y *= 0
    weights *= 3
    for now, then in zip(answers(), before, strict=True):
        assert_array_equal(now, then)
