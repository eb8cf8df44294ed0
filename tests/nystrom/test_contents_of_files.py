"""What files may hold: nothing, empty columns, dates, arrays, and what is no table at all."""

import gzip

import numpy as np
import pytest
from grls import (
    Files,
    FourierGRLSRegressor,
    NystromGRLSClassifier,
    NystromGRLSRegressor,
    NystromGRRegressor,
)
from grls.kernels import Gaussian, Overlap
from numpy.testing import assert_allclose, assert_array_equal

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow.dataset")

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.uniform(-1, 1, size=(200, 2)), columns=["a", "b"])
TABLE["soil"] = np.where(RNG.random(200) > 0.5, "clay", "sand")
TABLE["y"] = np.sin(4 * TABLE.a) + TABLE.b + (TABLE.soil == "clay") + 0.1 * RNG.standard_normal(200)
BESIDE, READ = Gaussian(0.5).on(["a", "b"]), Gaussian(0.5).on(["a", "b"]) + Overlap().on(["soil"])
X, Y = TABLE[["a", "b"]].to_numpy(), TABLE.y.to_numpy()


def model(kernel=BESIDE, kind=NystromGRLSRegressor, **parameters):
    return kind(**{"kernel": kernel, "n_centers": 50, "regularization": 1e-3, **parameters})


@pytest.fixture
def folder(tmp_path):
    TABLE[:100].to_csv(tmp_path / "part1.csv", index=False)
    TABLE[100:].to_csv(tmp_path / "part2.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("several", [False, True])
def test_no_rows_give_a_file_of_predictions_without_rows(folder, ending, several):
    y = TABLE[["y", "a"]].rename(columns={"a": "z"}) if several else TABLE.y
    fitted = model().fit(TABLE[["a", "b", "soil"]], y)
    TABLE[:0].to_csv(folder / "none.csv", index=False)
    for name, rows in (("none", folder / "none.csv"), ("some", folder / "part1.csv")):
        fitted.predict_to_file(rows, folder / f"of_{name}.{ending}", keep="soil", return_std=True)
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "arrow": pd.read_feather}[ending]
    none, some = read(folder / f"of_none.{ending}"), read(folder / f"of_some.{ending}")
    assert list(none.columns) == list(some.columns)
    assert (len(none), len(some)) == (0, 100)
    labels = model(kind=NystromGRLSClassifier).fit(TABLE[["a", "b"]], TABLE.soil)
    labels.predict_to_file(folder / "none.csv", folder / "labels.csv")
    assert (folder / "labels.csv").read_text() == '"prediction"\n'


def test_no_rows_to_fit_to_are_an_error(folder):
    TABLE[:0].to_csv(folder / "none.csv", index=False)
    with pytest.raises(ValueError, match=r"none\.csv has no rows: nothing is there to read"):
        model().fit(folder / "none.csv", "y")


@pytest.mark.parametrize("kernel", [BESIDE, READ])
@pytest.mark.parametrize("first", [True, False])
def test_a_file_without_rows_changes_nothing(folder, kernel, first):
    whole = model(kernel).fit(Files(folder), "y").predict(TABLE.drop(columns="y"))
    TABLE[:0].to_csv(folder / ("a_none.csv" if first else "z_none.csv"), index=False)
    found = model(kernel).fit(Files(folder), "y")
    assert found.n_samples_seen_ == 200
    assert_array_equal(found.predict(TABLE.drop(columns="y")), whole)


@pytest.mark.parametrize("kernel", [BESIDE, READ])
@pytest.mark.parametrize("first", [True, False])
def test_a_column_that_is_empty_in_a_file_holds_what_it_does_in_others(folder, kernel, first):
    """As if all rows were in one file, where the cells are empty text."""
    parts = [TABLE[:100], TABLE[100:].assign(soil="")]
    parts = parts[::-1] if first else parts
    for number, part in enumerate(parts, start=1):
        part.to_csv(folder / f"part{number}.csv", index=False)
    pd.concat(parts).to_csv(folder / "whole.csv", index=False)
    rows = pd.concat(parts).drop(columns="y")
    names = [folder / "part1.csv", folder / "part2.csv"]
    whole, found = (model(kernel).fit(paths, "y") for paths in (folder / "whole.csv", names))
    assert_allclose(found.predict(rows), whole.predict(rows), atol=1e-9)


@pytest.mark.parametrize("kernel", [BESIDE, READ])
def test_a_column_that_is_empty_in_the_first_mebibyte_may_hold_values_later(tmp_path, kernel):
    long = pd.concat([TABLE] * 200, ignore_index=True)
    long["soil"] = np.where(np.arange(len(long)) < 39_000, "", "sand")
    long.to_csv(tmp_path / "long.csv", index=False)
    assert (tmp_path / "long.csv").stat().st_size > 2**20
    assert model(kernel).fit(tmp_path / "long.csv", "y").n_samples_seen_ == 40_000
    long["soil"] = long["soil"].replace("sand", "2.5")  # numbers then, which are missing above as in memory
    long.to_csv(tmp_path / "long.csv", index=False)
    with pytest.raises(ValueError, match="column 'soil', row 0 of these: nan is no number"):
        model(kernel).fit(tmp_path / "long.csv", "y")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_dates_are_called_dates(folder, ending):
    dated, path = TABLE.assign(soil=pd.date_range("2020-01-01", periods=200)), folder / f"dated.{ending}"
    dated.to_csv(path, index=False) if ending == "csv" else dated.to_parquet(path)
    with pytest.raises(TypeError, match=r"dated.*column 'soil' of X holds dates or durations.*convert them"):
        model(Gaussian(0.5)).fit(path, "y")
    with pytest.raises(ValueError, match=r"'soil' holds dates, and text in .*part1\.csv.*exclude='soil'"):
        model().fit([folder / "part1.csv", path], "y")
    assert model().fit(path, "y").n_samples_seen_ == 200  # nobody reads them


CONTENTS = {
    "ragged.csv": (b"a,b,y\n1,2,3\n1,2\n", r"row 3 of the file has 2 fields, and the first row 3 names"),
    "long.csv": (b"a,b,y\n1,2,3,4\n", r"has 4 fields, and the first row 3 names"),
    "repeated.csv": (b"a,b,b,y\n1,2,3,4\n", "the column 'b' is there twice"),
    "binary.csv": (bytes(range(256)) * 9, r"holds bytes that are no text: is it a CSV file\?"),
    "packed.csv.gz": (gzip.compress(bytes(range(256))), "holds bytes that are no text"),
    "broken.csv.gz": (gzip.compress(b"a,y\n1,2\n")[:-4], "cannot be read as csv"),
    "wide.csv": ("a,b,y\n1,2,3\n".encode("utf-16"), "written in UTF-16: save it as UTF-8"),
    "latin.csv": ("a,b,y\n1,\xe9,3\n".encode("latin-1"), "'b' has letters that are not written in UTF-8"),
    "text.parquet": (b"a,b,y\n1,2,3\n", "cannot be read as parquet: .*Parquet magic bytes not found"),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_what_is_no_table_is_told_in_one_plain_line(tmp_path, name):
    content, said = CONTENTS[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=said) as caught:
        model().fit(tmp_path / name, "y")
    assert str(caught.value).startswith(str(tmp_path / name))
    assert "\n" not in str(caught.value)
    assert "schema" not in str(caught.value)


# Arrays in files.

KINDS = {
    "values": (NystromGRLSRegressor, Y),
    "labels": (NystromGRLSClassifier, (Y > 0).astype(int)),
    "counts": (NystromGRRegressor, np.round(np.exp(Y))),
    "modes": (FourierGRLSRegressor, Y),
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("of_targets", [False, True])
def test_an_array_may_be_named_by_its_path(tmp_path, name, of_targets):
    kind, y = KINDS[name]
    weights = np.linspace(0.5, 1.5, 200)
    for each, values in (("X", X), ("y", y), ("w", weights)):
        np.save(tmp_path / f"{each}.npy", values)
    parameters = {"kernel": Gaussian(0.5), "regularization": 1e-3}
    parameters |= {} if name == "modes" else {"n_centers": 50}
    whole = kind(**parameters).fit(X, y, sample_weight=weights)
    beside = (tmp_path / "y.npy", str(tmp_path / "w.npy")) if of_targets else (y, weights)
    found = kind(**parameters).fit(tmp_path / "X.npy", beside[0], sample_weight=beside[1])
    assert_allclose(found.predict(X), whole.predict(X), atol=1e-7)


def test_predictions_of_an_array_in_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr("grls._nystrom.streams._BLOCK_BYTES", 8 * 2 * 30)  # thirty rows in a block
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "none.npy", X[:0])
    fitted = model(Gaussian(0.5)).fit(str(tmp_path / "X.npy"), Y)
    fitted.predict_to_file(tmp_path / "X.npy", tmp_path / "out.parquet", return_std=True)
    read = pd.read_parquet(tmp_path / "out.parquet")
    assert_allclose(read.to_numpy().T, fitted.predict(X, return_std=True))
    fitted.predict_to_file(str(tmp_path / "none.npy"), tmp_path / "none.csv")
    assert (tmp_path / "none.csv").read_text() == '"prediction"\n'
    with pytest.raises(ValueError, match="arrays have no names of columns"):
        fitted.predict_to_file(tmp_path / "X.npy", tmp_path / "out.csv", keep="a")
    with pytest.raises(ValueError, match="arrays have no names of columns"):
        model().fit(TABLE[["a", "b"]], Y).predict_to_file(tmp_path / "X.npy", tmp_path / "out.csv")


def test_what_cannot_be_an_array_of_rows_is_named(tmp_path):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "flat.npy", Y)
    np.save(tmp_path / "objects.npy", np.array([{"a": 1}, None], dtype=object), allow_pickle=True)
    (tmp_path / "text.npy").write_text("a,b\n1,2\n")
    for name, y, said in (
        ("X.npy", "y", "arrays in files have no names of columns: give y as an array"),
        ("X.npy", None, "give y as an array, or as the path"),
        ("X.npy", Y[:9], r"y has shape \(9,\), and .*X\.npy 200 rows"),
        ("flat.npy", Y, r"flat\.npy: the array has shape \(200,\), expected rows and columns"),
        ("objects.npy", Y, r"objects\.npy: it cannot be read as an array of numbers"),
        ("text.npy", Y, r"text\.npy: it cannot be read as an array of numbers"),
        ("none.npy", Y, "there is no file '.*none.npy'"),
    ):
        with pytest.raises(ValueError, match=said):
            model(Gaussian(0.5)).fit(tmp_path / name, y)
    with pytest.raises(ValueError, match=r"X\.npy: files of .* this is none; an array is given by its path"):
        model().fit(Files(tmp_path / "X.npy"), "y")
