"""Levels of a column: the same in every dtype, none of them missing."""

from datetime import date

import numpy as np
import pandas as pd
import pytest
from grls import GRLSRegressor, NystromGRLSRegressor
from grls.features import Columns, Groups
from grls.kernels import Gaussian
from numpy.testing import assert_allclose, assert_array_equal

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"x": RNG.uniform(0, 6, 60), "shop": RNG.integers(0, 3, 60)})
Y = np.sin(FRAME.x) + np.array([0.0, 5.0, 10.0])[FRAME["shop"]]
DAYS = np.array(["2020-01-01", "2020-02-01", "2020-03-01"], dtype="M8[us]")[FRAME["shop"]]


def machine(kind, unseen="mean"):
    given = {"kernel": Gaussian(1.0).on(["x"]), "features": Groups("shop", unseen=unseen)}
    if kind == "centres":
        return NystromGRLSRegressor(**given, regularization=1e-3, n_centers=30)
    return GRLSRegressor(**given, regularization=1e-3, solver=kind)


@pytest.mark.parametrize("kind", ["cholesky", "cg", "centres"])
def test_numbers_in_a_column_of_objects_are_the_levels_of_training(kind):
    objects = FRAME.astype({"shop": object})
    model = machine(kind).fit(FRAME, Y)
    assert_allclose(model.predict(objects), model.predict(FRAME))
    row = FRAME.iloc[7].to_frame().T.astype(object)
    assert_allclose(machine(kind, "error").fit(FRAME, Y).predict(row), model.predict(FRAME)[7])
    assert_allclose(machine(kind).fit(objects, Y).predict(FRAME), model.predict(FRAME))


@pytest.mark.parametrize("unseen", ["mean", "error"])
@pytest.mark.parametrize("kind", ["cholesky", "cg", "centres"])
def test_text_is_not_numbers_whatever_is_done_with_new_levels(kind, unseen):
    text = FRAME.astype({"shop": str})
    model = machine(kind, unseen).fit(FRAME, Y)
    with pytest.raises(ValueError, match=r"holds text, such as '\d', but held numbers .* to int64"):
        model.predict(text)
    model.fit(text, Y)
    with pytest.raises(ValueError, match=r"Groups\('shop'\).* holds numbers, .* to text: \.astype\(str\)"):
        model.predict(FRAME)


SHOP = FRAME["shop"]


@pytest.mark.parametrize(
    "forms",
    [
        [SHOP, SHOP.astype(object), SHOP.astype(float), SHOP.astype("Int64"), SHOP.astype("category")],
        [SHOP > 0, (SHOP > 0).astype(object), (SHOP > 0).astype(int), (SHOP > 0).astype("boolean")],
        [SHOP / 10, (SHOP / 10).astype(object), (SHOP / 10).astype("float32")],
        [SHOP + 2**60, (SHOP + 2**60).astype("uint64"), (SHOP + 2**60).astype(object)],
        [SHOP.astype(str), SHOP.astype(str).astype(object), SHOP.astype("string"), SHOP.map("{}".format)],
        [DAYS, pd.Series(DAYS).astype(object), DAYS.astype("M8[ns]"), DAYS.astype(date)],
        [pd.Series(DAYS - DAYS[0]), pd.Series(DAYS - DAYS[0]).astype(object)],
        [SHOP.astype(object) * 2**70, SHOP.astype(object) * 2**70],
        [SHOP.astype(object) * 2**62 * 3 - 1, SHOP.astype(object) * 2**62 * 3 - 1],
        [pd.Series(DAYS).dt.to_period("M"), pd.Series(DAYS).dt.to_period("M").astype(object)],
    ],
    ids=["ints", "bools", "floats", "long", "text", "dates", "durations", "big", "bigger", "periods"],
)
def test_levels_are_the_same_in_every_dtype(forms):
    frames = [pd.DataFrame({"g": form, "name": "a"}) for form in forms]
    found = [Groups("g").fit(frame).transform(frame) for frame in frames]
    for frame in frames:
        fitted = Groups("g").fit(frame)
        for other, expected in zip(frames, found, strict=True):
            assert_array_equal(fitted.transform(other), expected)


def test_text_beside_numbers_in_a_column_is_refused():
    mixed = pd.DataFrame({"g": ["a", 1, 2.5], "x": 0.0})
    with pytest.raises(ValueError, match=r"Groups\('g'\).* both numbers and text, such as 1 and 'a'.*astype"):
        Groups("g").fit(mixed)
    fitted = Groups("g").fit(mixed.astype({"g": str}))
    assert fitted.get_feature_names_out().tolist() == ["g=1", "g=2.5", "g=a"]
    with pytest.raises(ValueError, match="both numbers and text"):
        fitted.transform(mixed)


@pytest.mark.parametrize(
    "column",
    [
        ["a", None, "b"],
        [1, None, 2],
        ["a", np.nan, "b"],
        pd.array(["a", None, "b"], dtype="string"),
        pd.array([1, None, 2], dtype="Int64"),
        pd.array([True, None, False], dtype="boolean"),
        pd.Categorical(["a", None, "b"]),
        pd.to_datetime(["2020-01-01", None, "2020-02-01"]),
        np.array(["2020-01-01", "NaT", "2020-02-01"], dtype="M8[s]").astype(object),
        [1.0, np.nan, 2.0],
    ],
    ids=["text", "objects", "nan", "string", "Int64", "boolean", "category", "dates", "days", "floats"],
)
def test_a_row_without_a_level_is_refused(column):
    for more in (0.0, "text"):
        frame = pd.DataFrame({"g": column, "v": more})
        for do in (Groups("g").fit, Groups("g").labels, Groups("g").fit(frame.iloc[[0, 2]]).transform):
            with pytest.raises(ValueError, match=r"Groups\('g'\): row 1 has no level: leave such rows out"):
                do(frame)


def test_no_rows_have_no_levels():
    with pytest.raises(ValueError, match="at least one row"):
        Groups("shop", beside=Columns("x")).fit(FRAME[:0])
