"""Data frames of Dask as they come from Parquet files, and what a cluster does when something is wrong."""

import numpy as np
import pytest
from grls import NystromGRLSClassifier, NystromGRLSRegressor
from grls.exceptions import PrecisionWarning
from grls.features import Columns
from grls.kernels import Gaussian, Overlap
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import OneHotEncoder

dask = pytest.importorskip("dask")
pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
on_dask = pytest.importorskip("grls.dask")

# Dask's own, of a newer pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")

RNG = np.random.default_rng(0)
NAMES = [f"c{i}" for i in range(12)]
TABLE = pd.DataFrame(RNG.uniform(-1, 1, size=(600, 12)), columns=NAMES)
TABLE["w"] = RNG.uniform(0.5, 1.5, size=600)
TABLE["y"] = np.sin(3 * TABLE.c0) + TABLE.c1 + 0.1 * RNG.standard_normal(600)


@pytest.fixture(autouse=True)
def _threads():
    with dask.config.set(scheduler="threads"):
        yield


@pytest.fixture
def folder(tmp_path):
    for number, rows in enumerate(np.split(np.arange(600), 10)):
        TABLE.iloc[rows].to_parquet(tmp_path / f"part{number}.parquet", index=False)
    return tmp_path


def model(kind=on_dask.NystromGRLSRegressor, **parameters):
    return kind(Gaussian(2.0), **{"features": "linear", "n_centers": 60, **parameters})


@pytest.mark.slow
@pytest.mark.parametrize("columns", [["c0"], ["c0", "c1", "c2"], NAMES])
def test_frames_that_are_read_from_parquet_stay_together(folder, columns):
    frame = dd.read_parquet(folder / "*.parquet")
    X, y, w = frame[columns], frame["y"], frame["w"]
    # Apart, X and y end with different partitions: that is what this is about.
    expected = model(NystromGRLSRegressor).fit(TABLE[columns], TABLE.y, TABLE.w)
    by_name = model().fit(frame[[*columns, "y", "w"]], "y", "w")
    apart = model().fit(X, y, w)
    several = model().fit(X, frame[["y"]], w)
    for fitted in (by_name, apart, several):
        assert list(fitted.feature_names_in_) == columns
        assert_allclose(fitted.predict(TABLE[columns]).ravel(), expected.predict(TABLE[columns]), atol=1e-8)
    assert_allclose(apart.predict(X).compute(), expected.predict(TABLE[columns]), atol=1e-8)
    assert_allclose(apart.feature_coef_std_, expected.feature_coef_std_, rtol=1e-7)
    score = expected.score(TABLE[columns], TABLE.y, TABLE.w)
    assert apart.score(X, y, w) == pytest.approx(score, rel=1e-9)
    assert apart.score(frame[[*columns, "y"]], "y") == pytest.approx(
        expected.score(TABLE[columns], TABLE.y), rel=1e-9
    )


@pytest.mark.parametrize("kind", ["string[pyarrow]", "str", "category", "Int64", "boolean", "int64"])
def test_labels_of_any_type_are_learnt_by_name_and_as_a_series(kind):
    right = TABLE.c0 > 0
    labels = right.map({True: "x", False: "z"}) if kind in ("string[pyarrow]", "str", "category") else right
    table = TABLE[["c0", "c1"]].assign(k=labels.astype(kind))
    X, y = table[["c0", "c1"]], np.asarray(table["k"])
    expected = NystromGRLSClassifier(n_centers=20).fit(X, y)
    frame = dd.from_pandas(table, npartitions=4)
    apart = frame[["c0", "c1"]], frame["k"]
    for rows, target in ((frame, "k"), apart):
        fitted = on_dask.NystromGRLSClassifier(n_centers=20).fit(rows, target)
        assert_array_equal(fitted.classes_, expected.classes_)
        assert_allclose(fitted.decision_function(X), expected.decision_function(X), atol=1e-8)
        assert fitted.score(rows, target) == pytest.approx(expected.score(X, y), rel=1e-12)


def test_weights_of_a_type_of_pandas_are_weights(folder):
    weights = (TABLE.w > 1).astype("Int64") + 1
    frame = dd.from_pandas(TABLE[["c0", "c1", "y"]].assign(w=weights), npartitions=4)
    fitted = model().fit(frame[["c0", "c1"]], frame["y"], frame["w"])
    expected = model(NystromGRLSRegressor).fit(TABLE[["c0", "c1"]], TABLE.y, weights.to_numpy(float))
    assert_allclose(fitted.predict(TABLE[["c0", "c1"]]), expected.predict(TABLE[["c0", "c1"]]), atol=1e-8)


def test_rows_whose_distances_leave_single_precision_are_refused_on_a_cluster_too():
    frame = dd.from_pandas(TABLE[["c0", "c1"]] * 2.0**64, npartitions=4)
    y = dd.from_pandas(TABLE["y"], npartitions=4)
    with pytest.raises(ValueError, match=r'partition \d: rows of X are .* works for .* precision="double"'):
        model(precision="single").fit(frame, y)


def test_filtered_frames_and_arrays_of_frames_stay_together(folder):
    frame = dd.read_parquet(folder / "*.parquet")
    kept = frame[frame["c2"] > 0]
    few = TABLE[TABLE.c2 > 0]
    expected = model(NystromGRLSRegressor).fit(few[["c0", "c1"]], few.y)
    fitted = model().fit(kept[["c0", "c1"]], kept["y"])
    assert_allclose(fitted.predict(TABLE[["c0", "c1"]]), expected.predict(TABLE[["c0", "c1"]]), atol=1e-8)
    fitted = model().fit(kept[["c0", "c1"]].to_dask_array(), kept["y"].to_dask_array())
    assert_allclose(
        fitted.predict(TABLE[["c0", "c1"]].to_numpy()), expected.predict(TABLE[["c0", "c1"]]), atol=1e-8
    )


def test_columns_that_are_not_there_and_partitions_that_do_not_match_are_named(folder):
    frame = dd.read_parquet(folder / "*.parquet")
    with pytest.raises(ValueError, match="there is no column 'z' among"):
        model().fit(frame, "z")
    with pytest.raises(ValueError, match="X has 10 partitions, y or sample_weight 5"):
        model().fit(frame[NAMES], frame["y"].repartition(npartitions=5))
    with pytest.raises(ValueError, match=r"must be cut along the same rows|rows in a partition"):
        model().fit(frame[NAMES], frame["y"][frame["c0"] > 0])


def test_what_is_no_number_is_named_with_its_partition_and_column(folder):
    bad = TABLE.iloc[:60].copy()
    bad.loc[7, "c3"] = np.nan
    bad.to_parquet(folder / "part4.parquet", index=False)
    frame = dd.read_parquet(folder / "*.parquet", aggregate_files=False)
    with pytest.raises(ValueError, match=r"partition \d: column 'c3', row \d+ of these: nan is no number"):
        model().fit(frame, "y", "w")


@pytest.mark.parametrize("regularization", ["reml", 1e-3])
def test_a_cluster_chooses_centres_and_kernel_as_memory_does(folder, regularization):
    frame = dd.read_parquet(folder / "*.parquet")[["c0", "c1", "y"]]
    parameters = {
        "n_centers": "auto",
        "regularization": regularization,
        "optimize": {"sigma": [0.3, 1.0, 9.0]},
    }
    fitted = model(**parameters).fit(frame, "y")
    expected = model(NystromGRLSRegressor, **parameters).fit(TABLE[["c0", "c1"]], TABLE.y)
    assert fitted.kernel_.sigma == expected.kernel_.sigma
    assert_array_equal(fitted.n_centers_path_, expected.n_centers_path_)
    assert_allclose(fitted.n_centers_criterion_, expected.n_centers_criterion_, rtol=1e-6)
    ours, theirs = (m.predict(TABLE[["c0", "c1"]], return_std=True) for m in (fitted, expected))
    assert_allclose(ours[0], theirs[0], atol=1e-7)
    assert_allclose(ours[1], theirs[1], rtol=1e-6)
    assert fitted.summary().r2 == pytest.approx(expected.summary().r2, rel=1e-8)
    with pytest.raises(ValueError, match="not lazy"):
        fitted.predict(frame[["c0", "c1"]], return_std=True)


TEXTS = TABLE[["c0", "c1"]].assign(
    soil=np.where(TABLE.c2 > 0, "clay", "sand"),
    code=np.repeat(["7", "7a", "8", "12"], 150),  # numbers in some partitions, by the look of them
    y=TABLE.y + (TABLE.c2 > 0),
)


@pytest.mark.parametrize("features", ["constant", Columns("c0")])
@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.0).on(["c0", "c1"]),  # beside text
        Gaussian(1.0).on(["c0", "c1"]) + Overlap().on(["soil", "code"]),
        Gaussian(1.0).on(["c0"]) * Gaussian(1.0).after(OneHotEncoder()).on(["soil"]),
    ],
)
def test_tables_with_text_are_what_they_are_in_memory(kernel, features):
    X, parameters = TEXTS.drop(columns="y"), {"features": features, "n_centers": 60}
    expected = NystromGRLSRegressor(kernel, **parameters).fit(X, TEXTS.y).predict(X)
    frame = dd.from_pandas(TEXTS, npartitions=4)
    fitted = on_dask.NystromGRLSRegressor(kernel, **parameters).fit(frame, "y")
    assert_allclose(fitted.predict(frame[list(X)]).compute(), expected, atol=1e-6)
    assert_allclose(fitted.predict(X), expected, atol=1e-6)
    blocks = [(X[i : i + 150], TEXTS.y[i : i + 150]) for i in range(0, 600, 150)]
    assert_allclose(NystromGRLSRegressor(kernel, **parameters).fit(blocks).predict(X), expected, atol=1e-6)


@pytest.mark.parametrize(("n_centers", "gamma", "heaviest"), [(60, 1e-17, 1.0), ("auto", 1e-3, 1e14)])
def test_what_workers_warn_of_is_told_to_the_user(n_centers, gamma, heaviest):
    """Of the solution on the one hand, of a partition's weights on the other."""
    X, y = TABLE[["c0", "c1"]].to_numpy() + 1e3, TABLE.y.to_numpy()
    weights = np.where(np.arange(600) == 0, heaviest, 1.0)
    parameters = {"n_centers": n_centers, "regularization": gamma, "features": "constant"}
    rows = [da.from_array(v, chunks=(150, *v.shape[1:])) for v in (X, y, weights)]
    with pytest.warns(PrecisionWarning) as given:
        fitted = model(**parameters).fit(*rows)
    assert [f"{each.category.__name__}: {each.message}" for each in given] == fitted.fit_warnings_
    assert {each.filename for each in given} == {__file__}
    blocks = [tuple(v[i : i + 150] for v in (X, y, weights)) for i in range(0, 600, 150)]
    with pytest.warns(PrecisionWarning):
        expected = model(NystromGRLSRegressor, **parameters).fit(blocks)
    assert {*fitted.fit_warnings_} == {*expected.fit_warnings_}
    assert fitted.set_params(regularization=1e-3).fit(*rows[:2]).fit_warnings_ == []
