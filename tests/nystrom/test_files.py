"""Rows as people have them: files by pattern, data frames of pandas and polars, columns by name."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from grls import (
    Files,
    GRLogisticClassifier,
    GRLSClassifier,
    GRLSRegressor,
    GRRegressor,
    NystromGRLSClassifier,
    NystromGRLSRegressor,
    SVMGBClassifier,
)
from grls.features import Columns
from grls.kernels import Gaussian
from numpy.testing import assert_allclose, assert_array_equal

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.dataset")

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.uniform(-1, 1, size=(600, 2)), columns=["a", "b"])
TABLE["id"] = np.arange(600) * 1000
TABLE["w"] = RNG.uniform(0.5, 1.5, size=600)
TABLE["y"] = np.sin(4 * TABLE.a) + TABLE.b + 0.1 * RNG.standard_normal(600)


def model(**parameters):
    return NystromGRLSRegressor(Gaussian(0.5), features="linear", n_centers=50, **parameters)


def write(table, path):
    if path.suffix == ".parquet":
        table.to_parquet(path, index=False)
    elif path.suffix == ".csv":
        table.to_csv(path, index=False)
    else:
        table.reset_index(drop=True).to_feather(path)


def parts(folder, suffix=".parquet", n=4):
    for number, rows in enumerate(np.array_split(np.arange(len(TABLE)), n)):
        write(TABLE.iloc[rows], folder / f"part{number}{suffix}")
    return folder


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".feather", ".arrow"])
def test_files_by_pattern_give_the_model_in_memory(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr("grls._nystrom.files._BLOCK_BYTES", 8 * 5 * 70)  # seventy rows in a block
    parts(tmp_path, suffix)
    rows = Files(tmp_path / f"*{suffix}", exclude="id")
    read = model().fit(rows, "y", "w")
    whole = model().fit(TABLE[["a", "b"]], TABLE.y, TABLE.w)
    assert list(read.feature_names_in_) == ["a", "b"]
    assert read.n_samples_seen_ == 600
    assert_allclose(read.predict(TABLE[["a", "b"]]), whole.predict(TABLE[["a", "b"]]), rtol=1e-9, atol=1e-9)
    assert_allclose(read.feature_coef_std_, whole.feature_coef_std_, rtol=1e-8)
    assert read.regularization_ == pytest.approx(whole.regularization_, rel=1e-12)


def test_a_folder_a_file_and_a_list_of_paths_are_files_too(tmp_path):
    parts(tmp_path)
    whole = model().fit(TABLE[["a", "b"]], TABLE.y)
    names = sorted(tmp_path.iterdir())
    for rows in (Files(tmp_path, columns=["a", "b"]), Files(names, exclude=["id", "w"])):
        read = model().fit(rows, "y")
        assert_allclose(read.predict(TABLE[["a", "b"]]), whole.predict(TABLE[["a", "b"]]), atol=1e-9)
    all_columns = model().fit(str(tmp_path / "*.parquet"), "y")
    assert list(all_columns.feature_names_in_) == ["a", "b", "id", "w"]
    assert model().fit(names[0], "y").n_samples_seen_ == 150


def test_several_targets_and_labels_have_names(tmp_path):
    table = TABLE.assign(z=TABLE.a**2, label=np.where(TABLE.a > 0, "right", "left"))
    table.to_parquet(tmp_path / "t.parquet")
    both = model().fit(Files(tmp_path / "t.parquet", columns=["a", "b"]), ["y", "z"])
    assert both.predict(TABLE[["a", "b"]]).shape == (600, 2)
    labels = NystromGRLSClassifier(Gaussian(0.5), n_centers=50)
    labels.fit(Files(tmp_path / "t.parquet", columns=["a", "b"]), "label", "w")
    assert list(labels.classes_) == ["left", "right"]
    labels.predict_to_file(tmp_path / "t.parquet", tmp_path / "out.csv", keep="id")
    out = pd.read_csv(tmp_path / "out.csv")
    assert_array_equal(out["prediction"], labels.predict(TABLE[["a", "b"]]))


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".feather"])
def test_predictions_go_to_a_file_block_by_block(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr("grls._nystrom.files._BLOCK_BYTES", 8 * 3 * 70)
    parts(tmp_path)
    fitted = model().fit(TABLE[["a", "b"]], TABLE.y)
    out = tmp_path / f"out{suffix}"
    fitted.predict_to_file(tmp_path / "part*.parquet", out, keep=["id"], return_std=True)
    read = {".parquet": pd.read_parquet, ".csv": pd.read_csv, ".feather": pd.read_feather}[suffix](out)
    values, std = fitted.predict(TABLE[["a", "b"]], return_std=True)
    assert list(read.columns) == ["id", "prediction", "std"]
    assert_array_equal(read["id"], TABLE.id)
    assert_allclose(read["prediction"], values, rtol=1e-12, atol=1e-12)
    assert_allclose(read["std"], std, rtol=1e-9)
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith(".")) == []


def test_a_prediction_that_fails_leaves_no_file(tmp_path):
    fitted = model().fit(TABLE[["a", "b"]], TABLE.y)
    parts(tmp_path)
    TABLE.assign(b=np.nan).to_parquet(tmp_path / "part9.parquet")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ValueError, match=r"part9.parquet, rows 0 to 599: column 'b', row 0"):
        fitted.predict_to_file(tmp_path / "*.parquet", tmp_path / "out.parquet")
    assert sorted(tmp_path.iterdir()) == before
    with pytest.raises(ValueError, match="predictions are written to"):
        fitted.predict_to_file(tmp_path / "*.parquet", tmp_path / "out.xlsx")
    with pytest.raises(ValueError, match="there is no folder"):
        fitted.predict_to_file(tmp_path / "*.parquet", tmp_path / "nowhere" / "out.csv")
    with pytest.raises(TypeError, match="a path, a pattern or Files"):
        fitted.predict_to_file(TABLE, tmp_path / "out.csv")
    with pytest.raises(ValueError, match="without names of columns"):
        model().fit(TABLE[["a", "b"]].to_numpy(), TABLE.y).predict_to_file(tmp_path, tmp_path / "out.csv")


def bad_cell(folder):
    text = (folder / "part2.csv").read_text().split("\n")
    text[7] = "0.5,oops,1,1.0,2.0"
    (folder / "part2.csv").write_text("\n".join(text))


def bad_first_file(folder):
    text = (folder / "part0.csv").read_text().split("\n")
    text[7] = "0.5,oops,1,1.0,2.0"
    (folder / "part0.csv").write_text("\n".join(text))


def missing_cell(folder):
    text = (folder / "part1.csv").read_text().split("\n")
    text[3] = "0.5,,1,1.0,2.0"
    (folder / "part1.csv").write_text("\n".join(text))


def without_column(folder):
    TABLE.drop(columns="b").to_csv(folder / "part3.csv", index=False)


def without_target(folder):
    TABLE.drop(columns="y").to_csv(folder / "part3.csv", index=False)


def with_column(folder):
    TABLE.assign(more=1.0).to_csv(folder / "part3.csv", index=False)


def ragged(folder):
    with (folder / "part3.csv").open("a") as file:
        file.write("1,2\n")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (bad_cell, r"part2\.csv: the column 'b' holds text, and numbers in .*part0\.csv"),
        (bad_first_file, r"part0\.csv, rows 0 to 149: column 'b', row 6 of these: 'oops' is no number"),
        (missing_cell, r"part1\.csv, rows 0 to 149: column 'b', row 2 of these: nan is no number"),
        (without_column, r"part3\.csv: there is no column 'b', which .*part0\.csv has"),
        (without_target, r"part3\.csv: there is no column 'y' among"),
        (with_column, r"part3\.csv: the column 'more' is not in .*part0\.csv"),
        (ragged, r"part3\.csv: .*row \d+ of the file has 2 fields, and the first row 5 names"),
        (lambda folder: (folder / "part1.csv").write_text(""), r"part1\.csv: the file is empty"),
    ],
)
def test_what_is_wrong_is_named_with_its_file_and_column(tmp_path, spoil, message):
    parts(tmp_path, ".csv")
    spoil(tmp_path)
    with pytest.raises(ValueError, match=message):
        model().fit(tmp_path / "*.csv", "y")


def test_text_in_the_only_file_is_named_with_its_column(tmp_path):
    TABLE.assign(b=["oops" if i == 5 else str(b) for i, b in enumerate(TABLE.b)]).to_csv(
        tmp_path / "t.csv", index=False
    )
    with pytest.raises(ValueError, match=r"t\.csv, rows 0 to 599: column 'b', row 5 of these: 'oops'"):
        model().fit(tmp_path / "t.csv", "y")


def test_a_bad_cell_far_down_a_csv_file_is_named(tmp_path):
    long = pd.concat([TABLE] * 60, ignore_index=True)  # beyond what types are inferred from
    text = long.to_csv(index=False).split("\n")
    text[30_000] = "0.5,oops,1,1.0,2.0"
    (tmp_path / "t.csv").write_text("\n".join(text))
    with pytest.raises(ValueError, match=r"t\.csv: .*'b'.*oops"):
        model().fit(tmp_path / "t.csv", "y")


def long_csv(folder, **columns):
    """Write a file with other cells in row 50,000, beyond what types are inferred from; return its rows."""
    rng = np.random.default_rng(0)
    long = pd.DataFrame({"a": rng.integers(0, 9, 60_000), "b": rng.uniform(-1, 1, 60_000)})
    long = long.assign(label=2**53 + rng.integers(0, 3, 60_000), y=rng.integers(0, 9, 60_000), more=10**9)
    cells = long.astype(str)
    for name, value in columns.items():
        cells.loc[50_000, name] = value
    cells.to_csv(folder / "t.csv", index=False)
    return pd.read_csv(folder / "t.csv")


def test_whole_numbers_of_csv_may_have_decimals_far_down(tmp_path, monkeypatch):
    monkeypatch.setattr("grls._nystrom.files._BLOCK_BYTES", 8 * 3 * 7_000)
    table = long_csv(tmp_path, a="0.5", y="2.25")
    rows = Files(tmp_path / "t.csv", columns=["a", "b"])
    parameters = {"kernel": Gaussian(2.0), "n_centers": 30, "regularization": 1e-3}
    read = NystromGRLSRegressor(**parameters).fit(rows, "y")
    whole = NystromGRLSRegressor(**parameters).fit(table[["a", "b"]], table.y)
    assert read.n_samples_seen_ == 60_000
    assert_allclose(read.predict(table[["a", "b"]]), whole.predict(table[["a", "b"]]), atol=1e-8)
    labels = NystromGRLSClassifier(**parameters).fit(rows, "label")  # which a float could not tell apart
    assert labels.classes_.tolist() == [2**53, 2**53 + 1, 2**53 + 2]
    read.predict_to_file(tmp_path / "t.csv", tmp_path / "out.parquet", keep="label")
    out = pd.read_parquet(tmp_path / "out.parquet")
    assert_array_equal(out["label"], table["label"])
    assert_allclose(out["prediction"], read.predict(table[["a", "b"]]), rtol=1e-12)


def test_text_far_down_a_csv_file_is_told_of_with_a_remedy(tmp_path):
    remedy = r"leave the column out with Files\(path, exclude='a'\), or convert the file to Parquet"
    long_csv(tmp_path, a="oops")
    with pytest.raises(ValueError, match=rf"t\.csv: column 'a': .*'oops'.*{remedy}"):
        model().fit(Files(tmp_path / "t.csv", columns=["a", "b"]), "y")
    fitted = model().fit(TABLE[["b"]], TABLE.y)
    table = long_csv(tmp_path, a="0.5")
    with pytest.raises(ValueError, match=remedy):  # what is kept has the type of its first rows
        fitted.predict_to_file(tmp_path / "t.csv", tmp_path / "out.csv", keep="a")
    fitted.predict_to_file(tmp_path / "t.csv", tmp_path / "out.csv", keep="label")
    assert_array_equal(pd.read_csv(tmp_path / "out.csv")["label"], table["label"])


def test_an_index_of_pandas_is_no_predictor_and_can_be_named(tmp_path):
    named = TABLE.assign(when=pd.date_range("2020-01-01", periods=600)).set_index("when")
    for table in (TABLE[TABLE.a > -2].iloc[::-1], named):
        table[["a", "b", "y"]].to_parquet(tmp_path / "t.parquet")
        whole = model().fit(table[["a", "b"]], table.y)
        for rows in (tmp_path / "t.parquet", pa.parquet.ParquetFile(tmp_path / "t.parquet")):
            read = model().fit(rows, "y")
            assert list(read.feature_names_in_) == ["a", "b"]
            assert_allclose(read.predict(TABLE[["a", "b"]]), whole.predict(TABLE[["a", "b"]]), atol=1e-9)
    fitted = model().fit(TABLE[["a", "b"]], TABLE.y)
    TABLE.set_index("a").to_parquet(tmp_path / "t.parquet")
    fitted.predict_to_file(tmp_path / "t.parquet", tmp_path / "out.csv", keep="a")
    out = pd.read_csv(tmp_path / "out.csv")
    assert_allclose(out["a"], TABLE.a, rtol=1e-12)
    assert_allclose(out["prediction"], fitted.predict(TABLE[["a", "b"]]), rtol=1e-9)
    again = model().fit(Files(tmp_path / "t.parquet", columns=["a", "b"]), "y")
    assert_allclose(again.predict(TABLE[["a", "b"]]), fitted.predict(TABLE[["a", "b"]]), atol=1e-9)


def test_a_folder_has_its_compressed_files_too(tmp_path):
    TABLE[:200].to_csv(tmp_path / "a.csv.gz", index=False)
    (tmp_path / "notes.txt.gz").write_bytes(b"")
    rows = Files(tmp_path, columns=["a", "b"])
    assert model().fit(rows, "y").n_samples_seen_ == 200
    TABLE[200:].to_csv(tmp_path / "b.csv", index=False)
    assert model().fit(rows, "y").n_samples_seen_ == 600
    (tmp_path / "c.parquet.gz").write_bytes(b"")
    with pytest.raises(ValueError, match=r"\.csv\.gz are read, and this is none"):
        model().fit(tmp_path / "c.parquet.gz", "y")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("*.parquet", r"no file matches '.*\*\.parquet'"),
        ("there.parquet", "there is no file"),
        ("", "has no file of"),
        ("t.txt", "and this is none"),
        ("broken.parquet", r"broken\.parquet: it cannot be read as parquet"),
        ("none.csv", "no rows"),
    ],
)
def test_files_that_cannot_be_read_are_named(tmp_path, path, message):
    if path == "":
        tmp_path = tmp_path / "folder"
        tmp_path.mkdir()
    else:
        (tmp_path / "t.txt").write_text("1")
        (tmp_path / "none.csv").write_text("a,b,y\n")
        if path == "broken.parquet":
            (tmp_path / path).write_bytes(b"PAR1 nothing")
    with pytest.raises(ValueError, match=message):
        model().fit(str(tmp_path / path), "y")


def test_names_that_are_needed_are_asked_for(tmp_path):
    parts(tmp_path)
    with pytest.raises(ValueError, match="y must name the target column"):
        model().fit(tmp_path / "*.parquet", TABLE.y)
    with pytest.raises(ValueError, match="sample_weight must name a column"):
        model().fit(tmp_path / "*.parquet", "y", TABLE.w)
    with pytest.raises(ValueError, match="there is no column 'x' among"):
        model().fit(Files(tmp_path, columns=["x"]), "y")
    with pytest.raises(ValueError, match="no column is left as a predictor"):
        model().fit(Files(tmp_path, columns=["y"]), "y")
    with pytest.raises(TypeError, match="must name columns"):
        Files(tmp_path, columns=[0])
    assert repr(Files("a.csv", exclude="id")) == "Files('a.csv', exclude=['id'])"


def test_files_are_left_out_block_by_block(tmp_path):
    parts(tmp_path)
    rows = Files(tmp_path, columns=["a", "b"])
    fitted = model(regularization=1e-3).fit(rows, "y")
    found = fitted.cross_validate(rows, "y", cv="blocks")
    splits = [(np.delete(np.arange(600), part), part) for part in np.array_split(np.arange(600), 4)]
    in_memory = fitted.cross_validate(TABLE[["a", "b"]], TABLE.y, cv=splits)
    assert_allclose(found.predictions, in_memory.predictions, rtol=1e-8, atol=1e-9)


MEMORY = """
import sys
import numpy as np, pandas as pd, pyarrow as pa, pyarrow.parquet as pq
from grls import NystromGRLSRegressor, Files
from grls.kernels import Gaussian
folder, n_files = sys.argv[1], int(sys.argv[2])
fitted = NystromGRLSRegressor(Gaussian(1.0), n_centers=30, regularization=1e-3).fit(
    Files([f"{folder}/a.parquet"] * n_files), "y")
fitted.predict_to_file(Files([f"{folder}/a.parquet"] * n_files), f"{folder}/out{n_files}.parquet")
assert fitted.n_samples_seen_ == 200_000 * n_files
status = open("/proc/self/status").read()  # of this program alone: ru_maxrss may be inherited
print(status.split("VmHWM:")[1].split()[0])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_the_files(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(size=(200_000, 8)), columns=list("abcdefgh"))
    table["y"] = table.a
    table.to_parquet(tmp_path / "a.parquet", row_group_size=50_000)

    def peak(n_files):
        command = [sys.executable, "-c", MEMORY, str(tmp_path), str(n_files)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return int(done.stdout) * 1024

    few, many = peak(2), peak(10)
    # eight further files hold 8 × 14 MB of numbers; a few blocks' worth of allocator slack is allowed
    assert many - few < 0.5 * 8 * 200_000 * 9 * 8


# Data frames in memory.


def test_targets_and_weights_may_be_columns_of_a_frame():
    named = model().fit(TABLE.drop(columns="id"), "y", "w")
    apart = model().fit(TABLE[["a", "b"]], TABLE.y, TABLE.w)
    assert_allclose(named.predict(TABLE[["a", "b"]]), apart.predict(TABLE[["a", "b"]]), rtol=1e-12)
    only_weight = model().fit(TABLE[["a", "b", "w"]], TABLE.y, "w")
    assert_allclose(only_weight.predict(TABLE[["a", "b"]]), apart.predict(TABLE[["a", "b"]]), rtol=1e-12)
    partial = model().partial_fit(TABLE.drop(columns="id"), "y", "w")
    assert_allclose(partial.predict(TABLE[["a", "b"]]), apart.predict(TABLE[["a", "b"]]), rtol=1e-7)
    with pytest.raises(ValueError, match="there is no column 'z' among"):
        model().fit(TABLE, "z")


@pytest.mark.parametrize("n_centers", [50, "auto"])
def test_a_frame_of_polars_gives_the_model_of_pandas(n_centers):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({name: TABLE[name].to_numpy() for name in ("a", "b", "y", "w")})
    parameters = {"kernel": Gaussian(0.5).on(["a", "b"]), "features": Columns(["b"]), "n_centers": n_centers}
    whole = NystromGRLSRegressor(**parameters).fit(TABLE[["a", "b"]], TABLE.y, TABLE.w)
    new, expected = frame.select("a", "b"), whole.predict(TABLE[["a", "b"]])
    named = NystromGRLSRegressor(**parameters).fit(frame, "y", "w")
    assert list(named.feature_names_in_) == ["a", "b"]
    assert_allclose(named.predict(new), expected, rtol=1e-9)
    blocks = [frame[:300], frame[300:]]
    assert_allclose(
        NystromGRLSRegressor(**parameters).fit(blocks, "y", "w").predict(new), expected, rtol=1e-7
    )
    labels = np.where(TABLE.a > 0, "right", "left")
    both = [
        NystromGRLSClassifier(Gaussian(0.5), n_centers=30).fit(f, labels) for f in (new, TABLE[["a", "b"]])
    ]
    assert_array_equal(both[0].predict(new), both[1].predict(TABLE[["a", "b"]]))


@pytest.mark.parametrize(
    "estimator",
    [
        GRLSRegressor(Gaussian(0.5).on(["a"]), features=Columns(["b"]), regularization=1e-2),
        GRLSRegressor(Gaussian(0.5), features="linear", regularization="reml"),
        GRRegressor(Gaussian(0.5), features=Columns(["b"]), regularization=1e-2),
        GRLSClassifier(Gaussian(0.5), features=Columns(["b"]), regularization=1e-2),
        SVMGBClassifier(Gaussian(0.5), features=Columns(["b"])),
        GRLogisticClassifier(Gaussian(0.5), features=Columns(["b"]), regularization=1e-2),
    ],
    ids=lambda e: type(e).__name__,
)
def test_every_estimator_takes_frames_of_polars(estimator):
    pl = pytest.importorskip("polars")
    few = TABLE[:80]
    frame = pl.DataFrame({name: few[name].to_numpy() for name in ("a", "b")})
    y = few.y if hasattr(estimator, "kernel_variance") or isinstance(estimator, GRRegressor) else few.a > 0
    y = y.to_numpy()
    expected = estimator.fit(few[["a", "b"]], y).predict(few[["a", "b"]])
    assert_allclose(estimator.fit(frame, pl.Series(y)).predict(frame), expected, rtol=1e-9)


def test_a_path_is_a_path_of_any_kind(tmp_path):
    parts(tmp_path)
    for path in (str(tmp_path), tmp_path, Path(tmp_path)):
        assert model().fit(Files(path, columns=["a"]), "y").n_samples_seen_ == 600


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow"])
def test_a_file_of_predictions_keeps_its_permissions_and_stays_where_a_link_points(tmp_path, ending):
    fitted = model().fit(TABLE[["a", "b"]], TABLE.y)
    TABLE.to_parquet(tmp_path / "t.parquet")
    out, link = tmp_path / f"private.{ending}", tmp_path / f"link.{ending}"
    out.touch(mode=0o600)
    link.symlink_to(out)
    fitted.predict_to_file(tmp_path / "t.parquet", link)
    assert link.is_symlink()
    assert out.stat().st_mode & 0o777 == 0o600
    assert out.stat().st_size > 0
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    out.unlink()
    link.unlink()
    out.mkdir()
    with pytest.raises(ValueError, match="is not a file that could be replaced"):
        fitted.predict_to_file(tmp_path / "t.parquet", out)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_what_is_kept_has_not_the_name_of_what_is_written(tmp_path):
    fitted = model().fit(TABLE[["a", "b"]], TABLE.y)
    TABLE.assign(prediction=1.0).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="the column 'prediction' cannot be kept"):
        fitted.predict_to_file(tmp_path / "t.parquet", tmp_path / "out.csv", keep="prediction")
