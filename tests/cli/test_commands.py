"""``grls fit``, ``predict``, ``cv``, ``plot`` and ``info`` on real files, good and bad."""

import gzip
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import grls
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from command_line import FIT, RNG, SOIL, TABLE, ZINC, N, X, refused, run
from grls import GRLSRegressor, cli
from grls.cli import commands, report
from grls.cli.app import grls as command
from grls.cli.models import _labels
from grls.features import Columns
from grls.kernels import Gaussian, Matern
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from pandas.testing import assert_frame_equal
from sklearn.datasets import dump_svmlight_file, load_iris
from sklearn.model_selection import KFold

# Fitting and predicting.


def test_fit_and_predict_are_those_of_the_library(data, model):
    printed = run("predict", model, data, "--std", "--quiet").stdout
    got = pd.read_csv(io.StringIO(printed))
    encoded = pd.DataFrame(
        {"x": X[:, 0], "dist": X[:, 1]}
        | {f"soil={s}": np.float64(s == SOIL) for s in ("clay", "loam", "sand")}
    )
    roots = encoded.assign(root=np.sqrt(encoded["dist"]))
    inputs = list(encoded.columns)
    expected = GRLSRegressor(Matern("medians").on(inputs), features=Columns("root")).fit(roots, ZINC)
    mean, std = expected.predict(roots, return_std=True)
    assert_allclose(got["prediction"], mean, rtol=1e-9)
    assert_allclose(got["std"], std, rtol=1e-6)


def test_fit_tells_what_it_found(data):
    printed = run("fit", data, *FIT).stdout
    for said in (
        "80 of 3 columns",
        "GRLSRegressor",
        "1, sqrt(dist)",
        "Matern(",
        "3 categories",
        "task: regression",
    ):
        assert said in printed
    assert re.search(r"error of rows left out +0\.\d+ \(of the mean alone: 2\.\d", printed)
    assert "written to" in printed


def test_summary_is_printed_on_request(data, model):
    assert "sqrt(dist)" in run("fit", data, *FIT, "--summary", "--quiet").stdout
    assert "coefficient" in run("info", model, "--summary").stdout


def test_the_order_of_columns_does_not_matter_and_others_are_ignored(data, model):
    shuffled = TABLE[["soil", "dist", "x"]].assign(comment="free text", when="2020-01-01")
    shuffled.to_csv("new.csv", index=False)
    run("predict", model, "new.csv", "--out", "p.csv", "-q")
    run("predict", model, data, "--out", "q.csv", "-q")
    assert_array_equal(pd.read_csv("p.csv")["prediction"], pd.read_csv("q.csv")["prediction"])


def test_predictions_keep_columns_and_take_other_formats(data, model):
    TABLE.to_parquet("new.parquet")
    run("predict", model, "new.parquet", "--out", "p.parquet", "--keep", "soil,x", "-q")
    run("predict", model, data, "--out", "p.tsv", "-q")
    got = pd.read_parquet("p.parquet")
    assert list(got.columns) == ["soil", "x", "prediction"]
    assert_array_equal(got["soil"], SOIL)
    assert_allclose(pd.read_csv("p.tsv", sep="\t")["prediction"], got["prediction"])


def test_a_target_that_is_known_is_compared(data, model):
    result = run("predict", model, data, "--out", "p.csv")
    assert "80 rows written to p.csv" in result.stderr
    assert re.search(r"root mean squared error 0\.\d+, R² 0\.9", result.stderr)
    assert not result.stdout


@pytest.mark.parametrize(
    ("family", "name"),
    [("least-squares", "GRLSRegressor"), ("nystrom", "NystromGRLSRegressor"), ("prior", "PriorRLSRegressor")],
)
def test_families_of_regression(data, family, name):
    printed = run("fit", data, "--target", "zinc", "--model", family, "--out", "m.grls").stdout
    assert name in printed
    run("predict", "m.grls", data, "--out", "p.csv", "-q")
    assert np.corrcoef(pd.read_csv("p.csv")["prediction"], ZINC)[0, 1] > 0.9


def test_maps_of_many_rows(data):
    pytest.importorskip("finufft")
    fit = ("fit", data, "--target", "zinc", "--out", "model.grls", "--model", "fourier")
    chosen = ("--features", "sqrt(dist)", "--on", "x", "--regularization", "reml", "--set", "tol=1e-4")
    printed = run(*fit, *chosen, "--summary").stdout
    assert "FourierGRLSRegressor" in printed
    assert "Fourier modes" in printed
    run("predict", "model.grls", data, "--out", "p.csv", "--std", "-q")
    predictions = pd.read_csv("p.csv")
    assert np.corrcoef(predictions["prediction"], ZINC)[0, 1] > 0.9
    assert (predictions["std"] > 0).all()
    assert "Fourier modes" in run("info", "model.grls", "--summary").stdout
    assert "is not for classification" in refused(
        "fit", data, "--target", "soil", "--model", "fourier", "--out", "m.grls"
    )
    wide = TABLE.assign(more=ZINC**2, other=RNG.normal(size=N))
    wide.to_csv("wide.csv", index=False)
    assert "Fourier modes are for one to 3" in refused(
        "fit", "wide.csv", "--target", "zinc", "--model", "fourier", "--out", "m.grls"
    )


@pytest.mark.parametrize("family", ["least-squares", "svm", "logistic", "nystrom", "prior"])
def test_families_of_classification(data, family):
    printed = run("fit", data, "--target", "soil", "--model", family, "--out", "m.grls").stdout
    assert "classification" in printed
    assert "clay, loam, sand" in printed
    result = run("predict", "m.grls", data, "--out", "p.csv")
    assert re.search(r"accuracy (0\.[4-9]|1)", result.stderr)
    assert set(pd.read_csv("p.csv")["prediction"]) <= {"clay", "loam", "sand"}


def test_other_losses(data):
    TABLE.assign(count=np.random.default_rng(1).poisson(np.exp(X[:, 0] / 5))).to_csv(
        "counts.csv", index=False
    )
    options = ("--target", "count", "--out", "m.grls", "--drop", "zinc")
    assert "GRRegressor" in run("fit", "counts.csv", *options, "--loss", "poisson").stdout
    run("predict", "m.grls", "counts.csv", "--out", "p.csv", "-q")
    assert (pd.read_csv("p.csv")["prediction"] > 0).all()
    options = (
        "--target",
        "zinc",
        "--out",
        "m.grls",
        "--loss",
        "quantile",
        "--set",
        "quantiles=0.9",
        "--kernel",
        "gaussian",
    )
    run("fit", data, *options, "-q")
    run("predict", "m.grls", data, "--out", "p.csv", "-q")
    assert 0.8 < np.mean(pd.read_csv("p.csv")["prediction"] >= ZINC) < 0.97
    assert "--loss is for regression" in refused(
        "fit", data, "--target", "soil", "--loss", "huber", "--out", "m.grls"
    )
    assert "loss" in refused("fit", data, "--target", "zinc", "--loss", "hubert", "--out", "m.grls")


def test_probabilities(data):
    run("fit", data, "--target", "soil", "--model", "logistic", "--out", "m.grls", "-q")
    run("predict", "m.grls", data, "--proba", "--out", "p.csv", "-q")
    got = pd.read_csv("p.csv")
    assert list(got.columns) == ["prediction", "p(clay)", "p(loam)", "p(sand)"]
    assert_allclose(got.iloc[:, 1:].sum(axis=1), 1)
    run("fit", data, "--target", "soil", "--out", "m.grls", "-q")
    assert "no probabilities" in refused("predict", "m.grls", data, "--proba")
    assert "no standard deviations" in refused("predict", "m.grls", data, "--std")


@pytest.mark.parametrize(
    ("labels", "task"),
    [
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        ([0, 1], "classification"),
        ([-1, 1], "classification"),
        ([1, 2, 3], "regression"),
        ([0.5, 1.5, 7.0], "regression"),
    ],
)
def test_the_task_is_guessed_from_the_target(labels, task):
    TABLE.assign(y=np.resize(labels, N)).to_csv("data.csv", index=False)
    assert f"task: {task}" in run("fit", "data.csv", "--target", "y", "--out", "m.grls").stdout


def test_the_task_can_be_said():
    TABLE.assign(y=np.resize([1, 2, 3], N)).to_csv("data.csv", index=False)
    printed = run("fit", "data.csv", "--target", "y", "--task", "classification", "--out", "m.grls").stdout
    assert "classes" in printed
    assert "1, 2, 3" in printed


def test_libsvm_files(folder):
    points, labels = load_iris(return_X_y=True)
    dump_svmlight_file(points, labels, "iris.svm", zero_based=False)
    run("fit", "iris.svm", "--target", "target", "--task", "classification", "--out", "m.grls", "-q")
    few = points[:5].copy()
    few[:, 3] = 0  # the last column is not in the file at all
    dump_svmlight_file(few, labels[:5], "few.svm", zero_based=False)
    result = run("predict", "m.grls", "few.svm")
    assert pd.read_csv(io.StringIO(result.stdout)).shape == (5, 1)
    frame = pd.DataFrame(points, columns=["x1", "x2", "x3", "x4"])
    frame.to_csv("iris.csv", index=False)
    run("predict", "m.grls", "iris.csv", "--out", "p.csv", "-q")
    assert np.mean(pd.read_csv("p.csv")["prediction"] == labels) > 0.9


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "csv.xz", "tsv.bz2", "parquet"])
def test_all_formats_give_the_same_model(data, model, ending):
    name = f"other.{ending}"
    if ending == "parquet":
        TABLE.to_parquet(name)
    else:
        TABLE.to_csv(name, index=False, sep="\t" if "tsv" in ending else ",")
    run("fit", name, *FIT[:-1], "other.grls", "-q")
    run("predict", "other.grls", data, "--out", "p.csv", "-q")
    run("predict", model, name, "--out", "q.csv", "-q")
    assert_allclose(pd.read_csv("p.csv")["prediction"], pd.read_csv("q.csv")["prediction"], rtol=1e-9)


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_separators(separator, model, data):
    TABLE.to_csv("other.csv", index=False, sep=separator)
    given = ["--sep", "|"] if separator == "|" else []
    run("predict", model, "other.csv", "--out", "separated.csv", "-q", *given)
    run("predict", model, data, "--out", "commas.csv", "-q")
    assert_frame_equal(pd.read_csv("separated.csv"), pd.read_csv("commas.csv"))


def test_encodings(data):
    names = {"x": "größe", "dist": "été"}
    TABLE.rename(columns=names).to_csv("latin.csv", index=False, encoding="latin-1")
    error = refused("fit", "latin.csv", "--target", "zinc", "--out", "m.grls")
    assert re.search(r"latin\.csv is not utf-8: byte 0x.. in line 1; say --encoding latin-1", error)
    printed = run("fit", "latin.csv", "--target", "zinc", "--out", "m.grls", "--encoding", "latin-1").stdout
    assert "GRLSRegressor" in printed
    assert "größe: number" in run("info", "m.grls").stdout
    TABLE.to_csv("marked.csv", index=False, encoding="utf-8-sig")
    run("fit", "marked.csv", *FIT, "-q")


def test_columns_of_the_kernel_settings_and_categories(data):
    options = ("--on", "x", "--set", "feature_variance=2.5", "--regularization", "0.01", "--drop", "soil")
    run("fit", data, *FIT, *options, "-q")
    final = grls.load("model.grls")[-1]
    assert (final.feature_variance, final.regularization) == (2.5, 0.01)
    assert final.kernel.columns == ["x"]
    TABLE.assign(plot=np.resize([1, 2, 7], N)).to_csv("codes.csv", index=False)
    run("fit", "codes.csv", *FIT, "--categorical", "plot", "-q")
    assert "plot: one of 1, 2, 7" in run("info", "model.grls").stdout
    TABLE.assign(plot=np.resize([1.0, 2.0, 7.0], N)).to_csv("codes.csv", index=False)
    run("predict", "model.grls", "codes.csv", "-q")


def test_columns_that_neither_kernel_nor_formula_name_are_not_asked_for(data):
    run("fit", data, *FIT, "--on", "x", "-q")
    TABLE[["dist", "x"]].to_csv("few.csv", index=False)
    run("predict", "model.grls", "few.csv", "-q")
    assert grls.load("model.grls")[0].numbers == ["x", "dist"]


def test_more_rows_than_fit_a_matrix_go_to_centres(data, monkeypatch):
    monkeypatch.setattr("grls.cli.models._MOST_ROWS", 50)
    assert "NystromGRLSRegressor" in run("fit", data, *FIT).stdout


def test_a_saved_model_predicts_frames_in_python(model, data):
    loaded = grls.load(model)
    run("predict", model, data, "--out", "p.csv", "-q")
    assert_allclose(loaded.predict(TABLE), pd.read_csv("p.csv")["prediction"], rtol=1e-12)


def test_models_of_the_library_predict_files_too(data):
    frame = TABLE[["x", "dist"]]
    named = GRLSRegressor(Gaussian(1.0)).fit(frame, ZINC)
    plain = GRLSRegressor(Gaussian(1.0)).fit(frame.to_numpy(), ZINC)
    frame.to_csv("plain.csv", index=False)
    for fitted, name in ((named, data), (plain, "plain.csv")):
        grls.save(fitted, "m.grls")
        run("predict", "m.grls", name, "--out", "p.csv", "-q")
        assert_allclose(
            pd.read_csv("p.csv")["prediction"], fitted.predict(frame if fitted is named else X), rtol=1e-9
        )
    grls.save(plain, "m.grls")
    assert "2 columns without names" in refused("predict", "m.grls", data)


# Bad files.


def write(text, name="bad.csv"):
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


ROWS = "".join(f"{i},{2 * i},{i % 7}\n" for i in range(30))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "bad.csv is empty"),
        ("\n\n", "bad.csv is empty"),
        ("a,b,y\n", "bad.csv has no rows"),
        ("a,b,c\n" + ROWS, "has no column 'y'; it has a, b, c"),
        ("a,a,y\n" + ROWS, "more than one column called 'a'"),
        ("a,,y\n" + ROWS, "column 2 has no name"),
        ("a,b,y\n" + ROWS + "1,2,3,4\n", "fields"),
        ("a,b,y\n" + ROWS.replace("\n", ",9\n"), "more fields than the first line has names"),
        ("a,b,y\n" + ROWS + "7,many,3\n", "column 'b', row 31: 'many' is not a number"),
        ("a,b,y\n" + ROWS + "7,3,many\n", "column 'y', row 31: 'many' is not a number"),
        ("a,b,y\n" + ROWS + "7,,3\n" + "7,,3\n", "column 'b' has 2 missing values, the first in row 31"),
        ("a,b,y\n" + ROWS + "7,3,nan\n", "column 'y' has 1 missing value, the first in row 31"),
        ("a,b,y\n" + ROWS + "7,inf,3\n", "column 'b', row 31: inf is not a finite number"),
        ("a,b,y\n" + ROWS + f"7,{2**60},3\n", "column 'b' has whole numbers beyond 2**53"),
        ("a,b,y\n" + ROWS + f"7,{10**40},3\n", "column 'b'"),
        ("a,b,y\n" + "".join(f"{i},name{i},{i}\n" for i in range(30)), "column 'b' holds 30 different texts"),
        ("y\n" + "".join(f"{i}\n" for i in range(30)), "no columns beside the target"),
        (b"a,b,y\n1,\xe9,3\n", "is not utf-8: byte 0xe9 in line 2"),
        (b"PAR1\0\0\0\1", "holds no text"),
        ('a,b,y\n1,"2,3\n', "bad.csv: "),
        ("a,b,y\n1,2,3\n", "the target 'y' has the same value in all rows .1."),
    ],
)
def test_bad_tables_are_refused_in_one_line(content, said):
    error = refused("fit", write(content), "--target", "y", "--out", "m.grls")
    assert re.search(said.replace("**", r"\*\*"), error), error
    assert not os.path.exists("m.grls")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("data.xlsx", b"PK\3\4", r"the ending '.xlsx' is none of .csv"),
        ("data", b"a,y\n1,2\n", r"the ending '' is none of"),
        ("data.parquet", b"a,y\n1,2\n", "cannot be read as Parquet"),
        ("data.svm", b"a,y\n1,2\n", "cannot be read as LIBSVM"),
        ("data.svm", b"1 1:2 1:3 x:4\n", "cannot be read as LIBSVM"),
        ("data.csv.gz", b"a,y\n1,2\n", r"data\.csv\.gz"),
        ("data.csv.xz", b"a,y\n1,2\n", r"data\.csv\.xz"),
        ("data.csv.gz", gzip.compress(b"a,y\n1,2\n", mtime=0)[:-5], r"data\.csv\.gz"),
    ],
)
def test_wrong_endings_are_refused(name, content, said):
    assert re.search(said, refused("fit", write(content, name), "--target", "y", "--out", "m.grls"))


def test_files_that_are_not_there(data, model, folder):
    assert "none.csv: there is no such file" in refused("fit", "none.csv", *FIT)
    assert "is a folder" in refused("fit", folder, *FIT)
    assert "none.grls: No such file" in refused("predict", "none.grls", data)
    assert "there is no folder" in refused("fit", data, *FIT[:-1], "no/folder/m.grls")
    assert "there is no folder" in refused("fit", data, *FIT, "--report", "no/folder/r.html")
    assert "is a folder" in refused("predict", model, data, "--out", folder)
    assert "'.doc'" in refused("predict", model, data, "--out", "p.doc")
    assert "written as .csv" in refused("predict", model, data, "--out", "p.svm")


def test_dates_are_refused_by_name():
    TABLE.assign(when=pd.date_range("2020-01-01", periods=N)).to_parquet("data.parquet")
    assert "column 'when' holds dates" in refused("fit", "data.parquet", *FIT)
    run("fit", "data.parquet", *FIT, "--drop", "when", "-q")


def test_duplicate_names_in_parquet():
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table([[1.0, 2.0], [3.0, 4.0]], names=["a", "a"]), "data.parquet")
    assert "more than one column called 'a'" in refused(
        "fit", "data.parquet", "--target", "a", "--out", "m.grls"
    )


def test_rows_with_missing_values_are_left_out_on_request(model):
    holes = TABLE.copy()
    holes.loc[[3, 5], "x"] = np.nan
    holes.to_csv("holes.csv", index=False)
    assert "column 'x' has 2 missing values, the first in row 4" in refused("fit", "holes.csv", *FIT)
    assert "2 of 80 rows have missing values" in run("fit", "holes.csv", *FIT, "--missing", "drop").stdout
    assert "column 'x' has 2 missing values" in refused("predict", model, "holes.csv")
    run("predict", model, "holes.csv", "--missing", "blank", "--out", "p.csv", "-q")
    assert_array_equal(np.flatnonzero(pd.read_csv("p.csv")["prediction"].isna()), [3, 5])


def test_categories_that_were_not_seen(model, data):
    new = TABLE.copy()
    new.loc[7, "soil"] = "peat"
    new.to_csv("new.csv", index=False)
    error = refused("predict", model, "new.csv")
    assert (
        "column 'soil', row 8: 'peat' is a category that the model has not seen (it knows clay, loam, sand)"
        in error
    )
    result = run("predict", model, "new.csv", "--unknown", "ignore", "-q")
    assert len(result.stdout.splitlines()) == N + 1


def test_columns_that_are_missing_at_prediction(model):
    TABLE.drop(columns=["dist", "soil"]).to_csv("new.csv", index=False)
    assert "has no columns 'dist', 'soil'; it has x, zinc" in refused("predict", model, "new.csv")


def test_text_in_a_column_of_numbers_at_prediction(model):
    TABLE.assign(x=["?", *X[1:, 0]]).to_csv("new.csv", index=False)
    assert "column 'x', row 1: '?' is not a number" in refused("predict", model, "new.csv")


# Bad models.


def test_damaged_models_are_refused(model, data):
    content = Path(model).read_bytes()
    for damaged in (content[: len(content) // 2], b"", b"x,y\n", content[:-40]):
        write(damaged, model)
        assert "model.grls" in refused("predict", model, data)
        assert "model.grls" in refused("info", model)
        assert "model.grls" in refused("plot", model, "--out", "p.png")


def test_a_model_of_another_version_is_warned_of(model, data):
    from grls import saving

    with zipfile.ZipFile(model) as archive:
        header, content = json.loads(archive.read("grls.json")), archive.read("model.skops")
    header["grls"] = "0.0.3"
    header["sha256"] = saving._digest(header, content)
    with zipfile.ZipFile(model, "w") as archive:
        archive.writestr("grls.json", json.dumps(header))
        archive.writestr("model.skops", content)
    result = run("predict", model, data, "--out", "p.csv", "-q")
    assert result.stderr.startswith("warning: model.grls was written with grls 0.0.3")
    assert "written by" in run("info", model).stdout


def test_types_of_others_are_refused_unless_trusted(data):
    grls.save(GRLSRegressor(features=os.path.abspath), "m.grls")
    assert "refers to posixpath.abspath" in refused("info", "m.grls") or os.name == "nt"
    if os.name != "nt":
        run("info", "m.grls", "--trust", "posixpath.abspath")


# Bad command lines.


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--kernel", "matrn"], "did you mean matern"),
        (["--kernel", "__import__('os')"], "there is no kernel"),
        (["--kernel", "Gaussian().on('nowhere')"], "no column 'nowhere'"),
        (["--kernel", "auto", "--on", "x"], "--on needs a kernel with a name"),
        (["--set", "sloth=3"], "did you mean|there are"),
        (["--set", "regularisation=3"], "did you mean regularization"),
        (["--set", "kernel=3"], "has no parameter 'kernel' to set"),
        (["--model", "tree"], "least-squares"),
        (["--task", "guess"], "regression"),
        (["--missing", "fill"], "drop"),
        (["--bogus"], "No such option"),
    ],
)
def test_usage_errors_have_status_two(data, options, said):
    error = refused("fit", data, "--target", "zinc", "--out", "m.grls", *options, status=2)
    assert re.search(said, error)
    assert error.startswith("Usage: ")


def test_svm_has_no_regularization(data):
    options = ("--target", "soil", "--model", "svm", "--out", "m.grls")
    assert "--set C=10" in refused("fit", data, *options, "--regularization", "1", status=2)
    run("fit", data, *options, "--set", "C=10", "-q")
    assert grls.load("m.grls")[-1].C == 10


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--features", "sqr(dist)"], "did you mean sqrt"),
        (["--features", "lime"], "lime in the formula is not a column; there are x, dist, soil"),
        (["--features", "log(-dist)"], "nan in row 1"),
        (["--model", "svm"], "--model svm is not for regression"),
        (["--drop", "nothing"], "no column 'nothing'"),
        (["--regularization", "huge"], "regularization"),
        (["--regularization", "-1"], "regularization"),
    ],
)
def test_options_that_do_not_fit_the_data_have_status_one(data, options, said):
    assert said in refused("fit", data, "--target", "zinc", "--out", "m.grls", *options)


def test_debug_shows_the_traceback(data):
    result = CliRunner().invoke(command, ["fit", "none.csv", *FIT, "--debug"])
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert "none.csv: there is no such file" in result.stderr


def test_what_is_no_error_of_the_user_is_said_to_be_a_bug(data, monkeypatch):
    def broken(*args, **options):
        raise KeyError("oops")

    monkeypatch.setattr(commands, "fit", broken)
    assert "KeyError: 'oops' (a bug of grls? --debug shows where)" in refused("fit", data, *FIT)


def test_interruption_is_no_traceback(data, monkeypatch):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "fit", interrupted)
    assert "grls fit: stopped" in run("fit", data, *FIT, status=130).stderr


@pytest.mark.parametrize(
    ("package", "arguments", "wanted"),
    [
        ("pandas", ("fit",), "reading tables needs pandas"),
        ("formulaic", ("fit",), "a formula needs formulaic"),
        ("rich", ("fit",), "the command line needs rich"),
    ],
)
def test_without_the_extra_it_is_said_what_to_install(data, monkeypatch, package, arguments, wanted):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    if package == "rich":
        monkeypatch.setitem(sys.modules, "rich.console", None)
    error = refused(*arguments, data, *FIT)
    assert wanted in error
    assert 'pip install "grls[cli]"' in error


# The report, cross-validation, pictures, information.


def test_the_report_is_one_page_with_everything(data):
    run("fit", data, *FIT, "--report", "report.html", "-q")
    page = Path("report.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    for part in (
        "zinc of data.csv",
        "sqrt(dist)",
        "GRLSRegressor",
        "data:image/png;base64,",
        grls.__version__,
        "numpy",
    ):
        assert part in page
    assert "grls fit data.csv --target zinc --features &#x27;sqrt(dist)&#x27;" in page
    assert not re.search(r'(src|href)="(?!data:)', page)


def test_the_report_escapes_and_warns(folder):
    named = TABLE.rename(columns={"x": "<script>alert(1)</script>"}).assign(double=2 * X[:, 1])
    named.to_csv("data.csv", index=False)
    options = ("--target", "zinc", "--features", "dist + double", "--kernel", "matern", "--out", "m.grls")
    result = run("fit", "data.csv", *options, "--report", "report.html", "-q")
    assert "warning: features that depend linearly" in result.stderr
    page = Path("report.html").read_text(encoding="utf-8")
    assert "features that depend linearly" in page
    assert "<script>" not in page


def test_the_report_of_a_classifier(data):
    run("fit", data, "--target", "soil", "--out", "m.grls", "--report", "report.html", "-q")
    assert "data:image/png;base64," in Path("report.html").read_text(encoding="utf-8")


def test_cross_validation_is_that_of_the_library(data):
    printed = run("cv", data, *FIT[:-2], "--folds", "4", "--seed", "3").stdout
    run("fit", data, *FIT, "-q")
    fitted = grls.load("model.grls")
    inputs = TABLE[["x", "dist", "soil"]]
    errors = []
    for train, test in KFold(4, shuffle=True, random_state=3).split(inputs):
        fitted.fit(inputs.iloc[train], ZINC[train])
        errors.append(np.sqrt(np.mean((fitted.predict(inputs.iloc[test]) - ZINC[test]) ** 2)))
    (mean,) = re.findall(r"^mean +(\S+)", printed, re.MULTILINE)
    assert float(mean) == pytest.approx(np.mean(errors), rel=1e-3)


def test_cross_validation_of_classes_and_groups(data):
    assert "most frequent class" in run("cv", data, "--target", "soil").stdout
    TABLE.assign(site=np.resize(list("abcdefg"), N)).to_csv("sites.csv", index=False)
    run("cv", "sites.csv", *FIT[:-2], "--groups", "site")
    assert "7 groups, fewer than --folds 9" in refused(
        "cv", "sites.csv", *FIT[:-2], "--groups", "site", "--folds", "9"
    )
    assert "fewer than --folds" in refused("cv", data, *FIT[:-2], "--folds", "99")


@pytest.mark.parametrize("name", ["p.png", "p.svg", "p.pdf"])
def test_plot_writes_a_picture(model, data, name):
    run("plot", model, "--data", data, "--out", name)
    head = Path(name).read_bytes()[:200]
    assert head.startswith((b"\x89PNG", b"%PDF")) or b"<?xml" in head


def test_what_is_observed_is_drawn_beside_the_diagonal():
    ax = Figure().add_subplot()
    report._predicted_against(ax, SimpleNamespace(predict=lambda rows: rows), np.array([1.0, 5.0]), ZINC[:2])
    points, line = ax.lines
    assert_allclose(points.get_xydata(), np.column_stack([[1.0, 5.0], ZINC[:2]]))
    assert (line.get_xy1(), line.get_slope()) == ((ZINC[:2].mean(), ZINC[:2].mean()), 1)


def test_plot_without_rows(model, data):
    run("plot", model, "--out", "p.png", "-q")
    run("fit", data, "--target", "soil", "--model", "svm", "--out", "m.grls", "-q")
    assert "give --data" in refused("plot", "m.grls", "--out", "p.png")
    run("plot", "m.grls", "--data", data, "--out", "p.png", "-q")
    assert "pictures are .png" in refused("plot", model, "--out", "p.txt")


def test_info_of_a_model(model):
    facts = json.loads(run("info", model, "--json").stdout)
    assert facts["model"] == "GRLSRegressor"
    assert (facts["task"], facts["target"], facts["features"]) == ("regression", "zinc", "1, sqrt(dist)")
    assert facts["column"] == ["x: number", "dist: number", "soil: one of clay, loam, sand"]
    assert len(facts["sha256"]) == 64
    assert json.loads(run("info", "--json").stdout)["grls"] == grls.__version__


# The real thing.


def real(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "grls", *map(str, arguments)], capture_output=True, text=True, check=False
    )


def test_the_command_in_a_process_of_its_own(data):
    fitted = real("fit", data, *FIT)
    assert (fitted.returncode, fitted.stderr) == (0, "")
    predicted = real("predict", "model.grls", data)
    assert predicted.returncode == 0
    assert predicted.stdout.splitlines()[0] == "prediction"
    assert len(predicted.stdout.splitlines()) == N + 1
    missing = real("predict", "model.grls", "none.csv")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert missing.stderr == "grls predict: error: none.csv: there is no such file\n"
    assert real("--version").stdout == f"grls {grls.__version__}\n"


def test_main_returns_the_status(data, capsys):
    assert cli.main(["fit", "none.csv", *FIT]) == 1
    assert cli.main(["fit"]) == 2
    assert cli.main(["info"]) == 0
    capsys.readouterr()


def test_labels_that_are_whole_numbers_stay_numbers():
    assert _labels(pd.Series([1.0, 2000.0, -300.0])).dtype == np.int64
    assert _labels(pd.Series([1.0, 2.5])).tolist() == [1.0, 2.5]
    assert _labels(pd.Series([1.0, 2.0**53])).dtype == np.float64  # neighbours are not told apart any more
    assert _labels(pd.Series(["a", "b"])).tolist() == ["a", "b"]


@pytest.mark.parametrize("values", [("1e20", "1e21"), ("1e19", "inf")])
def test_categories_that_are_huge_numbers_stay_apart(values):
    import pandas as pd
    from grls.cli.tables import _categories

    column = _categories(pd.Series([float(value) for value in values] * 3), "a")
    assert len(column.categories) == 2


def test_a_first_line_that_is_no_line_of_names_is_told(tmp_path):
    from grls.cli.errors import TableError
    from grls.cli.reading import read_table

    path = tmp_path / "long.csv"
    path.write_text('"' + "a" * 200_000 + '",b\n1,2\n')
    with pytest.raises(TableError, match=r"the first line, of names: field larger than"):
        read_table(path)
