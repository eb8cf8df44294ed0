"""What all transformers do alike: a failed fit leaves the last one, and names of columns are checked."""

import numpy as np
import pandas as pd
import pytest
from grls.features import (
    PLSA,
    Columns,
    EstimatorFeatures,
    GeodesicKNN,
    Groups,
    Indicators,
    LinearMap,
    NormalScores,
    PolynomialTrend,
)
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression

X = np.array([[1.0, 2.0], [2.0, 5.0], [1.0, 3.0], [2.0, 4.0], [1.0, 7.0], [2.0, 6.0]])
Y = np.array([0, 1, 0, 1, 0, 1])
TRANSFORMERS = {
    "PLSA": PLSA(2, random_state=0),
    "Columns": Columns([1]),
    "EstimatorFeatures": EstimatorFeatures(LogisticRegression(), cv=2),
    "GeodesicKNN": GeodesicKNN(1),
    "Groups": Groups(0, beside=Columns(1)),
    "Indicators": Indicators([0]),
    "functions": Indicators({"two": lambda X: np.asarray(X)[:, 0] == 2}),
    "LinearMap": LinearMap([[1.0], [2.0]]),
    "NormalScores": NormalScores([1]),
    "constant": PolynomialTrend(0),
    "PolynomialTrend": PolynomialTrend(2),
}
every = pytest.mark.parametrize("transformer", TRANSFORMERS.values(), ids=TRANSFORMERS)


@pytest.mark.parametrize(
    ("transformer", "wrong"),
    [
        (Columns([1]), {"columns": [5]}),
        (Groups(0), {"column": 5}),
        (Groups(0), {"beside": Columns([5])}),
        (Groups(0), {"unseen": "zero"}),
        (Indicators([0]), {"groups": [5]}),
        (Indicators([0]), {"groups": {}}),
        (Indicators([0]), {"groups": {"two": 2}}),
        (Indicators([0]), {"groups": {"two": lambda X: X[:1, 0] == 2}}),
        (Indicators({"two": lambda X: X[:, 0] == 2}), {"groups": {"one": lambda X: X[:, 7] == 1}}),
        (NormalScores([1]), {"columns": [5]}),
        (NormalScores([1]), {"n_knots": 1}),
        (PolynomialTrend(1), {"degree": -1}),
        (PLSA(2, random_state=0), {"n_topics": 0}),
        (GeodesicKNN(1), {"output": "shares"}),
        (EstimatorFeatures(LogisticRegression(), cv=2), {"method": "guess"}),
    ],
)
def test_a_fit_with_a_wrong_parameter_leaves_the_last_one(transformer, wrong):
    transformer.fit(X, Y)
    expected, names = transformer.transform(X), list(transformer.get_feature_names_out())
    transformer.set_params(**wrong)
    with pytest.raises((ValueError, TypeError, IndexError)):
        transformer.fit(np.column_stack([X, X[:, 0]]), Y)
    assert_array_equal(transformer.transform(X), expected)
    assert list(transformer.get_feature_names_out()) == names


@pytest.mark.parametrize("name", [name for name in TRANSFORMERS if name not in ("functions", "constant")])
def test_a_fit_to_wrong_data_leaves_the_last_one(name):
    transformer = TRANSFORMERS[name].fit(X, Y)
    before = dict(vars(transformer))
    wrong = pd.DataFrame({"a": ["x", 1.0] * 3, "b": "text", "c": "text"})
    with pytest.raises(ValueError, match=r"could not convert|both numbers and text"):
        transformer.fit(wrong, Y)
    after = vars(transformer)
    assert list(after) == list(before)
    assert all(after[name] is value for name, value in before.items())


@every
def test_names_of_columns_are_those_of_the_fit(transformer):
    transformer.fit(X, Y)
    names = list(transformer.get_feature_names_out())
    assert len(names) == transformer.transform(X).shape[1]
    assert len(transformer.get_feature_names_out(["p", "q"])) == len(names)
    with pytest.raises(ValueError, match="input_features should have length equal to number of features"):
        transformer.get_feature_names_out(["p", "q", "r"])
    transformer.fit(pd.DataFrame(X, columns=["p", "q"]), Y)
    names = list(transformer.get_feature_names_out())
    assert list(transformer.get_feature_names_out(["p", "q"])) == names
    for wrong in (["q", "p"], ["p", "q", "r"]):
        with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
            transformer.get_feature_names_out(wrong)


def test_names_that_are_given_are_those_of_the_columns():
    assert Columns([1]).fit(X).get_feature_names_out(["p", "q"]).tolist() == ["1", "q"]
    assert NormalScores([1]).fit(X).get_feature_names_out(["p", "q"]).tolist() == ["p", "q", "score_q"]
    assert PolynomialTrend(1).fit(X).get_feature_names_out(["p", "q"]).tolist() == ["1", "p", "q"]


def test_a_constant_of_documents_has_no_columns():
    trend = PolynomialTrend(0).fit(X).fit(["some", "words"])
    assert trend.get_feature_names_out(["p", "q", "r"]).tolist() == ["1"]
    assert not hasattr(trend, "n_features_in_")
