"""Tables as they come in files: texts that look like numbers, empty cells, odd indices and names."""

import io
import re
from pathlib import Path

import grls
import numpy as np
import pandas as pd
import pytest
from command_line import FIT, SOIL, TABLE, ZINC, N, X, refused, run
from grls import GRLSRegressor
from grls.cli.tables import TableColumns, matched, texts_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline

# What is text in one file and looks like numbers in another.


def levels(*texts, **more):
    """Write a file of rows whose targets follow a column of texts, and one without the last text."""
    codes = np.resize(texts, N)
    frame = pd.DataFrame({"x": X[:, 0], "code": codes, "y": [3.0 * texts.index(c) for c in codes] + X[:, 0]})
    frame.assign(**more).to_csv("levels.csv", index=False)
    frame.assign(**more)[codes != texts[-1]].to_csv("fewer.csv", index=False)


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        (("007", "010", "A1"), ("--categorical", "code")),
        (("TRUE", "FALSE", "maybe"), ()),
        (("1.50", "2.50", "none"), ("--categorical", "code")),
        (("1", "2", "1.5"), ("--categorical", "code")),
        (("01", "02", "3"), ("--categorical", "code")),
    ],
)
def test_categories_are_those_of_the_fit_where_a_level_is_absent(texts, options):
    levels(*texts)
    run("fit", "levels.csv", "--target", "y", "--out", "m.grls", "-q", *options)
    assert f"one of {', '.join(sorted(texts))}" in run("info", "m.grls").stdout
    error = re.search(r"error (\S+),", run("predict", "m.grls", "fewer.csv", "--out", "p.csv").stderr)
    assert float(error[1]) < 0.1
    run("plot", "m.grls", "--data", "fewer.csv", "--out", "p.png", "-q")
    kept = run("predict", "m.grls", "fewer.csv", "--keep", "code", "-q").stdout.splitlines()
    assert kept[1].startswith(f"{texts[0]},")  # as it was written


@pytest.mark.parametrize("texts", [("01", "02", "A"), ("TRUE", "FALSE", "maybe"), ("1.0", "2.0", "A")])
def test_labels_are_compared_as_they_were_written(texts):
    labels = np.resize(texts, N)
    frame = pd.DataFrame({"x": np.searchsorted(np.sort(texts), labels) + X[:, 0] / 100, "y": labels})
    frame.to_csv("levels.csv", index=False)
    frame[labels != texts[-1]].to_csv("fewer.csv", index=False)
    run("fit", "levels.csv", "--target", "y", "--task", "classification", "--out", "m.grls", "-q")
    assert "accuracy 1\n" in run("predict", "m.grls", "fewer.csv", "--out", "p.csv").stderr


def test_labels_of_numbers_are_compared_as_numbers():
    TABLE.assign(y=np.resize([1, 2], N), x=np.resize([1, 2], N) + X[:, 0] / 100).to_csv("a.csv", index=False)
    run("fit", "a.csv", "--target", "y", "--inputs", "x", "--out", "m.grls", "-q")
    new = TABLE.assign(y=np.resize(["01", "02"], N), x=np.resize([1, 2], N) + X[:, 0] / 100)
    pd.concat([new, new[:1].assign(y="other")]).to_csv("b.csv", index=False)
    assert "accuracy 0.9877\n" in run("predict", "m.grls", "b.csv", "--out", "p.csv").stderr


def test_codes_are_found_letter_by_letter_and_numbers_by_value():
    levels("007", "010", "A1")
    run("fit", "levels.csv", "--target", "y", "--categorical", "code", "--out", "m.grls", "-q")
    Path("short.csv").write_text("x,code\n1,7\n", encoding="utf-8")
    error = refused("predict", "m.grls", "short.csv")
    assert "row 1: '7' is a category that the model has not seen (it knows 007, 010, A1)" in error
    numbers = pd.DataFrame({"x": [1.0, 1.0], "code": [7, 10]})  # what pandas reads of 007 and 010
    numbers.to_parquet("numbers.parquet")
    from_numbers = run("predict", "m.grls", "numbers.parquet", "-q").stdout
    Path("texts.csv").write_text("x,code\n1,007\n1,010\n", encoding="utf-8")
    assert run("predict", "m.grls", "texts.csv", "-q").stdout == from_numbers
    numbers.assign(code=9).to_parquet("others.parquet")
    assert "row 1: '9' is a category that the model has not seen" in refused(
        "predict", "m.grls", "others.parquet"
    )
    got = pd.read_csv(io.StringIO(from_numbers))["prediction"]
    assert_allclose(got, grls.load("m.grls").predict(numbers), rtol=1e-12)


def test_models_that_were_saved_before_texts_were_kept_still_predict():
    levels("1", "2", "1.5")
    frame = pd.read_csv("levels.csv")
    table = TableColumns(["x"], {"code": ["1.0", "1.5", "2.0"]}, "y", "regression")
    del table.as_written  # there was none, and categories were numbers as Python writes them
    old = make_pipeline(table, GRLSRegressor("matern")).fit(frame[["x", "code"]], frame["y"])
    grls.save(old, "old.grls")
    for name in ("levels.csv", "fewer.csv"):
        said = run("predict", "old.grls", name, "--out", "p.csv", "--unknown", "ignore").stderr
        assert float(re.search(r"error (\S+),", said)[1]) < 0.1
        assert "as_written" not in vars(grls.load("old.grls")[0])


def test_whole_numbers_are_the_same_with_and_without_a_decimal_point_each_by_itself():
    assert texts_of(pd.Series([1.0, 1.5, 2.0, -0.0])).tolist() == ["1", "1.5", "2", "0"]
    written = pd.Series([" 1.0", "1.50", "2.", "007", "a ", "1.0.0"])
    assert texts_of(written).tolist() == ["1", "1.50", "2", "007", "a", "1.0.0"]


def test_numbers_that_several_categories_stand_for_are_not_seen():
    values = pd.Series([7, 8])
    assert matched(values, ["007", "07", "8.0"], as_written=True).tolist() == ["7", "8.0"]
    assert matched(pd.Series([True]), ["TRUE", "FALSE"], as_written=True).tolist() == ["TRUE"]


def test_the_target_is_what_its_values_say_even_if_it_is_called_categorical():
    TABLE.assign(y=np.resize([0, 1], N)).to_csv("data.csv", index=False)
    fit = ("fit", "data.csv", "--target", "y", "--out", "m.grls")
    assert "task: classification" in run(*fit, "--categorical", "y").stdout
    assert grls.load("m.grls").classes_.dtype.kind == "i"


def test_truth_values_beside_an_empty_cell_stay_numbers():
    flag = np.resize(["TRUE", "FALSE", "FALSE"], N)
    frame = TABLE.assign(flag=flag, zinc=ZINC + 5 * (flag == "TRUE"))
    frame.to_csv("whole.csv", index=False)
    frame.assign(flag=["", *flag[1:]]).to_csv("holes.csv", index=False)
    run("fit", "whole.csv", *FIT, "-q")
    said = run("predict", "model.grls", "holes.csv", "--missing", "blank", "--out", "p.csv").stderr
    assert "79 rows" in said
    run("predict", "model.grls", "whole.csv", "--out", "q.csv", "-q")
    blank, whole = pd.read_csv("p.csv")["prediction"], pd.read_csv("q.csv")["prediction"]
    assert np.isnan(blank[0])
    assert_allclose(blank[1:], whole[1:])
    assert "flag: number" in run("info", "model.grls").stdout
    run("fit", "holes.csv", *FIT, "--missing", "drop", "-q")
    assert "flag: number" in run("info", "model.grls").stdout
    run("fit", "holes.csv", "--target", "flag", "--missing", "drop", "--out", "m.grls", "-q")
    assert grls.load("m.grls").classes_.dtype == bool


def test_blanks_around_labels_are_no_part_of_them():
    labels = np.resize(["yes", "no", "yes ", "no"], N)
    TABLE.assign(y=labels).to_csv("data.csv", index=False)
    printed = run("fit", "data.csv", "--target", "y", "--out", "m.grls").stdout
    assert "the target has 2 different values" in printed
    assert grls.load("m.grls").classes_.tolist() == ["no", "yes"]
    TABLE.assign(y=np.resize(["yes", "yes "], N)).to_csv("data.csv", index=False)
    assert "has the same value in all rows" in refused("fit", "data.csv", "--target", "y", "--out", "m.grls")


# What is written, and where.


@pytest.mark.parametrize("ending", ["csv.gz", "csv.bz2", "tsv.xz"])
def test_predictions_are_compressed_as_their_ending_says(model, data, ending):
    run("predict", model, data, "--out", "p.csv", "-q")
    run("predict", model, data, "--out", f"q.{ending}", "-q")
    got = pd.read_csv(f"q.{ending}", sep="\t" if "tsv" in ending else ",")  # fails where it is plain text
    assert_array_equal(got["prediction"], pd.read_csv("p.csv")["prediction"])


def test_compressed_parquet_is_refused(model, data):
    said = "p.parquet.gz: Parquet is compressed inside; name the file without .gz"
    assert said in refused("predict", model, data, "--out", "p.parquet.gz")
    Path("p.parquet.gz").write_bytes(b"PAR1")
    assert said in refused("predict", model, "p.parquet.gz")


def test_columns_named_as_predictions_are_not_kept(model, data):
    TABLE.assign(prediction=1.0, std=2.0).to_csv("new.csv", index=False)
    for out in ("p.csv", "p.parquet"):
        said = refused("predict", model, "new.csv", "--keep", "x,prediction", "--out", out)
        assert "--keep prediction: predictions are written by that name" in said
    assert "--keep std" in refused("predict", model, "new.csv", "--keep", "std", "--std")
    assert run("predict", model, "new.csv", "--keep", "std", "-q").stdout.startswith("std,prediction\n")
    run("fit", data, "--target", "soil", "--model", "logistic", "--out", "m.grls", "-q")
    TABLE.assign(**{"p(clay)": 1.0}).to_csv("new.csv", index=False)
    assert "--keep p(clay)" in refused("predict", "m.grls", "new.csv", "--keep", "p(clay)", "--proba")


def test_a_column_with_the_name_of_an_indicator_is_refused():
    TABLE.assign(**{"soil=clay": X[:, 0]}).to_csv("data.csv", index=False)
    error = refused("fit", "data.csv", "--target", "zinc", "--out", "m.grls")
    assert "two columns become 'soil=clay'" in error
    run("fit", "data.csv", "--target", "zinc", "--out", "m.grls", "--drop", "soil=clay", "-q")


# Rows of Parquet, groups with empty cells, names over several lines.


def test_rows_of_parquet_are_counted_whatever_their_index_was(model, data):
    twice = pd.concat([TABLE, TABLE])
    twice.to_parquet("twice.parquet")
    run("predict", model, "twice.parquet", "--missing", "blank", "--out", "p.csv", "-q")
    run("predict", model, data, "--out", "q.csv", "-q")
    once = pd.read_csv("q.csv")["prediction"]
    assert_allclose(pd.read_csv("p.csv")["prediction"], np.tile(once, 2), rtol=1e-9)
    twice.assign(site=np.resize(list("abcdefg"), 2 * N)).to_parquet("sites.parquet")
    assert "160" in run("cv", "sites.parquet", *FIT[:-2], "--groups", "site").stdout
    bad = TABLE.assign(soil=["peat", *SOIL[1:]])
    bad.set_axis(range(1000, 1000 + N)).to_parquet("bad.parquet")
    assert "column 'soil', row 1:" in refused("predict", model, "bad.parquet")


def test_an_index_with_a_name_is_a_column_of_parquet(data):
    TABLE.set_index("x").to_parquet("named.parquet")
    run("fit", "named.parquet", *FIT, "-q")
    assert "x" in grls.load("model.grls")[0].numbers


def test_groups_with_empty_cells(data):
    sites = np.resize(np.array([*"abcdefg"], dtype=object), N)
    sites[4] = ""
    TABLE.assign(site=sites).to_csv("sites.csv", index=False)
    cross_validation = ("cv", "sites.csv", *FIT[:-2], "--groups", "site")
    assert "column 'site' has 1 missing value, the first in row 5" in refused(*cross_validation)
    assert "1 of 80 rows have missing values" in run(*cross_validation, "--missing", "drop").stdout


@pytest.mark.parametrize("separator", [",", ";"])
def test_names_with_line_breaks(separator):
    frame = TABLE.rename(columns={"x": "x, in\nmetres"})[["x, in\nmetres", "dist", "zinc"]]
    frame.to_csv("data.csv", index=False, sep=separator)
    run("fit", "data.csv", *FIT, "-q")
    assert grls.load("model.grls")[0].numbers == ["x, in\nmetres", "dist"]


@pytest.mark.parametrize("ending", ["csv", "tsv.gz", "parquet"])
def test_no_rows_give_predictions_without_rows(model, ending):
    TABLE[:0].to_csv("none.csv", index=False)
    out = f"out.{ending}"
    told = run("predict", model, "none.csv", "--std", "--keep", "soil", "--out", out).stderr
    assert "0 rows written" in told
    read = pd.read_parquet(out) if ending == "parquet" else pd.read_csv(out, sep=None, engine="python")
    assert (list(read.columns), len(read)) == (["soil", "prediction", "std"], 0)
    assert run("predict", model, "none.csv").stdout == "prediction\n"
    for command in (("fit", "none.csv", *FIT), ("cv", "none.csv", "--target", "zinc")):
        assert "none.csv has no rows" in refused(*command)


def test_rows_that_all_have_blanks_are_predicted_as_blanks(model):
    TABLE[:3].assign(dist=np.nan).to_csv("blank.csv", index=False)
    printed = run("predict", model, "blank.csv", "--missing", "blank", "--keep", "x").stdout
    assert [line.rpartition(",")[2] for line in printed.splitlines()] == ["prediction", "", "", ""]


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        (("--target", "soil", "--model", "svm"), "SVMGBClassifier"),
        (("--target", "zinc", "--drop", "soil", "--loss", "quantile"), "GRRegressor"),
    ],
)
def test_a_summary_that_a_model_does_not_have_is_refused_before_the_fit(data, options, kind):
    said = refused("fit", data, *options, "--out", "other.grls", "--summary")
    assert f"{kind} has no summary: leave out --summary" in said
    assert not Path("other.grls").exists()
