"""Dask: the model of the same rows in memory, whatever the partitions and whatever happens to workers."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
from grls import nystrom
from grls.kernels import Gaussian
from numpy.testing import assert_allclose, assert_array_equal
from repository import ROOT
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score
from sklearn.preprocessing import StandardScaler

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

import dask.dataframe as dd  # noqa: E402
import grls.dask as on_dask  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(600, 3))
Y = np.column_stack([np.sin(3 * X[:, 0]) + X[:, 1], X[:, 2] ** 2]) + 0.1 * RNG.standard_normal((600, 2))
LABELS = np.array(["a", "b", "c"])[np.digitize(Y[:, 0], [-0.5, 0.5])]
WEIGHTS = RNG.uniform(0.2, 2.0, size=600)
PARAMETERS = {"kernel": Gaussian(0.8), "features": "linear", "n_centers": 60}


@pytest.fixture(scope="module")
def client():
    """Two workers, each a process of its own."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as connected,
    ):
        yield connected


@pytest.fixture(params=["synchronous", "threads", "distributed"])
def scheduler(request):
    """Each test with this fixture runs on a local scheduler and on the cluster."""
    if request.param == "distributed":
        request.getfixturevalue("client")
        yield request.param
    else:
        with dask.config.set(scheduler=request.param):
            yield request.param


def arrays(*chunks, values=(X, Y, WEIGHTS)):
    return [da.from_array(v, chunks=(chunks, *v.shape[1:])) for v in values]


@pytest.mark.parametrize("regularization", ["gcv", "holdout", 1e-3])
@pytest.mark.parametrize("chunks", [(600,), (100, 200, 7, 293)])
def test_any_partitions_give_the_model_in_memory(scheduler, regularization, chunks):
    local = nystrom.NystromGRLSRegressor(**PARAMETERS, regularization=regularization).fit(X, Y, WEIGHTS)
    model = on_dask.NystromGRLSRegressor(**PARAMETERS, regularization=regularization).fit(*arrays(*chunks))
    assert_allclose(model.regularization_, local.regularization_, rtol=1e-8)
    assert_allclose(model.predict(X), local.predict(X), atol=1e-8)
    assert_array_equal(model.X_fit_, local.X_fit_)
    assert model.n_samples_seen_ == 600
    assert model.n_features_in_ == 3
    lazy = model.predict(da.from_array(X, chunks=(250, 2)))
    assert isinstance(lazy, da.Array)
    assert lazy.shape == (600, 2)
    assert_allclose(lazy.compute(), local.predict(X), atol=1e-8)


def test_a_classifier_learns_labels_that_not_every_partition_has(scheduler):
    order = np.argsort(LABELS, kind="stable")
    points, labels = (da.from_array(v[order], chunks=(90, *v.shape[1:])) for v in (X, LABELS))
    local = nystrom.NystromGRLSClassifier(**PARAMETERS).fit(X, LABELS)
    model = on_dask.NystromGRLSClassifier(**PARAMETERS).fit(points, labels)
    assert_array_equal(model.classes_, ["a", "b", "c"])
    assert_allclose(model.decision_function(X), local.decision_function(X), atol=1e-8)
    assert_array_equal(model.predict(points).compute(), local.predict(X[order]))
    assert model.decision_function(points).shape == (600, 3)
    assert_allclose(model.score(points, labels), local.score(X, LABELS))
    two = on_dask.NystromGRLSClassifier(**PARAMETERS).fit(points, labels == "a")
    assert two.decision_function(points).compute().shape == (600,)
    assert two.predict(points).dtype == bool


def test_data_frames_keep_their_names_and_their_index(scheduler):
    frame = pd.DataFrame(X, columns=["p", "q", "r"]).assign(y=Y[:, 0], z=Y[:, 1], w=WEIGHTS)
    frame.index += 1000
    rows = dd.from_pandas(frame, npartitions=4)
    kernel = Gaussian(0.8).on(["p", "q"])
    local = nystrom.NystromGRLSRegressor(kernel, features="linear", n_centers=60)
    local.fit(frame[["p", "q", "r"]], Y[:, 0], WEIGHTS)
    model = on_dask.NystromGRLSRegressor(kernel, features="linear", n_centers=60)
    model.fit(rows.drop(columns="z"), "y", sample_weight="w")
    assert list(model.feature_names_in_) == ["p", "q", "r"]
    predictions = model.predict(rows[["p", "q", "r"]])
    assert_allclose(predictions.compute().to_numpy(), local.predict(frame[["p", "q", "r"]]), atol=1e-8)
    assert predictions.compute().index.equals(frame.index)
    both = clone(model).set_params(kernel=Gaussian(0.8)).fit(rows.drop(columns="w"), ["y", "z"])
    assert both.predict(rows[["p", "q", "r"]]).compute().shape == (600, 2)
    assert_allclose(
        both.score(rows[["p", "q", "r"]], rows[["y", "z"]], rows["w"]),
        r2_score(Y, both.predict(frame[["p", "q", "r"]]), sample_weight=WEIGHTS),
    )


def test_empty_partitions_are_no_matter(scheduler):
    frame = pd.DataFrame(X, columns=["p", "q", "r"]).assign(y=Y[:, 0], i=np.arange(600))
    rows = dd.from_pandas(frame, npartitions=6, sort=False)
    some = rows[rows["i"] >= 250].drop(columns="i")
    local = nystrom.NystromGRLSRegressor(**PARAMETERS).fit(frame[["p", "q", "r"]][250:], Y[250:, 0])
    model = on_dask.NystromGRLSRegressor(**PARAMETERS).fit(some, "y")
    assert_allclose(model.predict(frame[["p", "q", "r"]]), local.predict(frame[["p", "q", "r"]]), atol=1e-8)
    assert len(model.predict(some[["p", "q", "r"]]).compute()) == 350
    with pytest.raises(ValueError, match="all partitions are empty"):
        on_dask.NystromGRLSRegressor(**PARAMETERS).fit(rows[rows["i"] < 0], "y")


def test_any_transformer_serves_as_features(scheduler):
    model = on_dask.NystromGRLSRegressor(Gaussian(0.8), features=StandardScaler(), n_centers=700)
    local = nystrom.NystromGRLSRegressor(Gaussian(0.8), features=StandardScaler(), n_centers=700).fit(X, Y)
    assert_allclose(model.fit(*arrays(300, 300)[:2]).predict(X), local.predict(X), atol=1e-6)


def test_rows_in_memory_still_work():
    local = nystrom.NystromGRLSRegressor(**PARAMETERS).fit(X, Y)
    model = on_dask.NystromGRLSRegressor(**PARAMETERS).fit(X, Y)
    assert_array_equal(model.predict(X), local.predict(X))
    assert model.score(X, Y) == local.score(X, Y)
    labelled = on_dask.NystromGRLSClassifier(**PARAMETERS).fit(X, LABELS)
    assert labelled.score(X, LABELS) == np.mean(labelled.predict(X) == LABELS)


# What goes wrong.


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.parametrize("stage", ["centres", "sums"])
def test_a_killed_worker_does_not_change_the_answer(client, tmp_path, stage):
    marker = tmp_path / "killed"

    # Inside the test, so that workers get these functions whole: they cannot import this module.
    def die_once():
        try:
            marker.touch(exist_ok=False)
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)

    def load(number, values):  # asked for where the centres are chosen
        if stage == "centres" and number == 3:
            die_once()
        return values

    def features(rows):  # called where the sums are made
        if stage == "sums" and len(rows) == 100:
            die_once()
        return np.column_stack([np.ones(len(rows)), rows])

    def partition(number, values):
        return da.from_delayed(dask.delayed(load)(number, values), shape=values.shape, dtype=values.dtype)

    points = da.concatenate([partition(i, part) for i, part in enumerate(np.split(X, 6))])
    parameters = {**PARAMETERS, "features": features}
    model = on_dask.NystromGRLSRegressor(**parameters).fit(points, da.from_array(Y, chunks=(100, 2)))
    assert marker.exists()
    local = nystrom.NystromGRLSRegressor(**parameters).fit(X, Y)
    assert_allclose(model.predict(X), local.predict(X), atol=1e-8)


def test_no_partition_comes_to_the_client(client, monkeypatch):
    received = []
    gather = distributed.Client.gather

    def watched(self, *args, **kwargs):
        values = gather(self, *args, **kwargs)
        received.append(values)
        return values

    monkeypatch.setattr(distributed.Client, "gather", watched)
    points = da.random.default_rng(0).uniform(-1, 1, size=(20_000, 3), chunks=(5000, 3))
    model = on_dask.NystromGRLSRegressor(Gaussian(0.8), n_centers=20).fit(points, points[:, 0])
    model.predict(points)
    assert received
    # Centres, sums and their factors: a partition has 120,000 bytes.
    assert sum(len(pickle.dumps(state)) for state in received) < 40_000


def slow_features(rows):
    time.sleep(1.0)
    return np.ones((len(rows), 1))


def test_a_scheduler_that_restarts_while_a_model_is_fitted_is_said():
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as own,
    ):
        points = da.random.default_rng(0).uniform(-1, 1, size=(4000, 3), chunks=(200, 3))
        model = on_dask.NystromGRLSRegressor(Gaussian(0.8), features=slow_features, n_centers=20)
        restart = threading.Timer(2.0, own.restart, kwargs={"wait_for_workers": False})
        restart.start()
        with pytest.raises(RuntimeError, match="the scheduler was restarted or lost"):
            model.fit(points, points[:, 0])
        restart.join()
        assert not hasattr(model, "dual_coef_")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda x, y: (da.where(da.arange(600, chunks=x.chunks[0])[:, None] == 450, np.nan, x), y),
            "partition 2",
        ),
        (lambda x, y: (x, y[:590]), "y has 590 rows, X has 600"),
        (lambda x, y: (x, da.where(da.arange(600, chunks=y.chunks[0]) == 450, np.inf, y)), "partition 2.*y"),
    ],
)
def test_a_bad_partition_is_named(scheduler, change, message):
    x, y = (da.from_array(v, chunks=(200, *v.shape[1:])) for v in (X, Y[:, 0]))
    model = on_dask.NystromGRLSRegressor(**PARAMETERS).fit(x, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match=message):
        model.fit(*change(x, y))
    assert_array_equal(model.predict(X), before)


def test_partitions_of_different_widths_are_named(scheduler):
    parts = [dask.delayed(lambda v: v)(X[:300]), dask.delayed(lambda v: v)(X[300:, :2])]
    x = da.concatenate([da.from_delayed(p, shape=(300, 3), dtype=float) for p in parts])
    with pytest.raises(ValueError, match="partition 1 has other columns than partition 0: 2, not 3"):
        on_dask.NystromGRLSRegressor(**PARAMETERS).fit(x, da.from_array(Y[:, 0], chunks=300))


def test_what_dask_cannot_do_is_said():
    x, y, _ = arrays(300, 300)
    with pytest.raises(ValueError, match='use solver="cholesky"'):
        on_dask.NystromGRLSRegressor(solver="cg", regularization=1e-3).fit(x, y)
    with pytest.raises(TypeError, match="must be Dask collections"):
        on_dask.NystromGRLSRegressor().fit(x, Y)
    labels = da.from_array(LABELS, chunks=300)
    with dask.config.set(scheduler="synchronous"), pytest.raises(ValueError, match="give a dict"):
        on_dask.NystromGRLSClassifier(class_weight="balanced").fit(x, labels)


@pytest.mark.slow
def test_the_example_runs():
    example = ROOT / "examples" / "dask_cluster.py"
    if not example.exists():
        pytest.skip("the examples are not part of this distribution")
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "R² = 0.9" in done.stdout
    assert "a grid of 6" in done.stdout


@pytest.mark.parametrize("level", [0.0, 1e9])
def test_the_score_is_that_of_the_rows_whatever_their_level(level):
    rows, targets, weights = arrays(100, 200, 7, 293, values=(X, Y + level, WEIGHTS))
    model = on_dask.NystromGRLSRegressor(**PARAMETERS, regularization=1e-3)
    with dask.config.set(scheduler="synchronous"):
        model.fit(rows, targets)
        expected = r2_score(Y + level, model.predict(X), sample_weight=WEIGHTS)
        assert_allclose(model.score(rows, targets, weights), expected, rtol=1e-6)
        constant = da.full(600, 3.0, chunks=(rows.chunks[0],))
        assert clone(model).fit(rows, targets[:, 0]).score(rows, constant) == 0.0


def test_a_model_that_is_not_fitted_says_so():
    for model in (on_dask.NystromGRLSRegressor(), on_dask.NystromGRLSClassifier()):
        with pytest.raises(NotFittedError):
            model.predict(arrays(600)[0])
