"""Indicators of groups of rows."""

import numpy as np
import pandas as pd
import pytest
from grls.features import Indicators
from numpy.testing import assert_array_equal
from scipy import sparse

X = np.array([[20.0, 1.0], [40.0, 2.0], [60.0, 1.0], [50.0, np.nan]])
FRAME = pd.DataFrame({"age": X[:, 0], "town": ["Ulm", "Bonn", None, "Ulm"]})


def test_each_label_of_each_column_is_a_group_beside_the_constant():
    found = Indicators([1, 0]).fit(X)
    expected = [[1, 1, 0, 1, 0, 0, 0], [1, 0, 1, 0, 1, 0, 0], [1, 1, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 1, 0]]
    assert_array_equal(found.transform(X), expected)
    names = ["1", "x1=1.0", "x1=2.0", "x0=20.0", "x0=40.0", "x0=50.0", "x0=60.0"]
    assert list(found.get_feature_names_out()) == names
    filled = np.nan_to_num(X)
    assert_array_equal(
        Indicators(1).fit_transform(sparse.csr_matrix(filled)), Indicators(1).fit_transform(filled)
    )


def test_labels_of_a_frame_are_found_by_name_and_new_or_missing_ones_are_in_no_group():
    found = Indicators("town").fit(FRAME)
    assert list(found.get_feature_names_out()) == ["1", "town=Bonn", "town=Ulm"]
    assert_array_equal(found.transform(FRAME), [[1, 0, 1], [1, 1, 0], [1, 0, 0], [1, 0, 1]])
    assert_array_equal(found.transform(FRAME.assign(town="Kiel")), np.eye(3)[np.zeros(4, dtype=int)])


def test_functions_of_the_rows_are_groups_that_may_overlap():
    groups = Indicators({"over 30": lambda X: X[:, 0] > 30, "over 50": lambda X: (X[:, 0] > 50).astype(int)})
    assert_array_equal(groups.fit_transform(X), [[1, 0, 0], [1, 1, 0], [1, 1, 1], [1, 1, 0]])
    assert list(groups.get_feature_names_out()) == ["1", "over 30", "over 50"]
    of_frame = Indicators({"Ulm": lambda X: X["town"] == "Ulm"})
    assert_array_equal(of_frame.fit_transform(FRAME), [[1, 1], [1, 0], [1, 0], [1, 1]])


@pytest.mark.parametrize(
    ("groups", "error", "message"),
    [
        ({}, ValueError, "names no group"),
        ({"a": [True, False]}, TypeError, "group 'a' must be a function of X"),
        ({"a": lambda X: X[:, 0]}, ValueError, "group 'a' must have one boolean for each of the 4 rows"),
        ({"a": lambda X: 2 * (X[:, 0] > 30)}, ValueError, "one boolean for each"),
        ({"a": lambda X: X[:2, 0] > 30}, ValueError, r"an array of shape \(2,\) and type bool"),
        ({"a": lambda X: X > 30}, ValueError, r"an array of shape \(4, 2\)"),
    ],
)
def test_what_is_no_group_is_named(groups, error, message):
    with pytest.raises(error, match=message):
        Indicators(groups).fit(X)


@pytest.mark.parametrize(
    ("column", "names"),
    [
        (["a", None, "b"], ["a", "b"]),
        (pd.array(["a", None, "b"], dtype="string"), ["a", "b"]),
        (pd.array([1, None, 2], dtype="Int64"), ["1", "2"]),
        ([1, None, 2], ["1", "2"]),
        (pd.array([True, None, False], dtype="boolean").astype(object), ["False", "True"]),
        (pd.Categorical(["a", None, "b"]), ["a", "b"]),
        (np.array(["2020-01-01", "NaT", "2021-01-01"], dtype="M8[s]"), ["2020-01-01", "2021-01-01"]),
        ([None, None, None], []),
    ],
    ids=["objects", "string", "Int64", "numbers", "booleans", "category", "dates", "none"],
)
def test_a_missing_label_of_any_kind_is_in_no_group(column, names):
    frame = pd.DataFrame({"g": column, "v": ["text", "and", "more"]})
    found = Indicators("g").fit(frame)
    for given in (frame, frame.astype({"g": object})):
        transformed = found.transform(given)
        assert transformed.shape == (3, 1 + len(names))
        assert_array_equal(transformed[1], np.eye(1, 1 + len(names))[0])
        assert_array_equal(transformed.sum(axis=1), [2, 1, 2] if names else [1, 1, 1])
    for name, start in zip(found.get_feature_names_out()[1:], names, strict=True):
        assert name.startswith(f"g={start}")


def test_labels_are_the_same_in_every_dtype_but_text_is_not_numbers():
    numbers = pd.DataFrame({"g": [1, 2, 1], "v": ["some", "more", "text"]})
    found = Indicators("g").fit(numbers)
    for dtype in (object, float, "Int64", "category"):
        assert_array_equal(found.transform(numbers.astype({"g": dtype})), [[1, 1, 0], [1, 0, 1], [1, 1, 0]])
    text = numbers.astype({"g": str})
    with pytest.raises(ValueError, match=r"Indicators: column 'g' holds text, such as '1', .* to int64"):
        found.transform(text)
    with pytest.raises(ValueError, match=r"column 'g' holds numbers, .* convert it to text: \.astype\(str\)"):
        Indicators("g").fit(text).transform(numbers)
    with pytest.raises(ValueError, match=r"column 'g' holds both numbers and text, such as 1 and 'a'"):
        Indicators("g").fit(numbers.assign(g=["a", 1, None]))


def test_rows_may_be_lists_with_text():
    rows = [[1, "a"], [2, "b"], [3, None]]
    assert_array_equal(Indicators([1]).fit_transform(rows), [[1, 1, 0], [1, 0, 1], [1, 0, 0]])
