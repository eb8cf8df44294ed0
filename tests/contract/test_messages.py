"""What is said of input that cannot be read: what, where, and a line that mends it, which runs."""

import re

import grls
import numpy as np
import pandas as pd
import pytest
from grls import (
    GRLSClassifier,
    GRLSRegressor,
    GRRegressor,
    NystromGRLSClassifier,
    PriorRLSClassifier,
    SVMGBClassifier,
    plotting,
)
from grls.kernels import Gaussian, Linear, Overlap, Precomputed
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(40, 3))
Y = X @ [1.0, 2.0, 3.0] + 0.1 * RNG.standard_normal(40)
FRAME = pd.DataFrame(X, columns=["width", "depth", "age"])
TEXT = FRAME.assign(soil=RNG.choice(["clay", "sand"], 40))
MODEL = GRLSRegressor(Gaussian(1.0), regularization=1e-2)


def said(call, kind=ValueError):
    with pytest.raises(kind) as raised:
        call()
    return str(raised.value)


@pytest.mark.parametrize(
    "machine", [GRLSClassifier(), NystromGRLSClassifier(), PriorRLSClassifier()], ids=repr
)
def test_classifiers_without_probabilities_name_those_that_have_them(machine):
    assert not hasattr(machine, "predict_proba")
    for name in ("predict_proba", "predict_log_proba"):
        assert "GRLogisticClassifier" in said(lambda name=name: getattr(machine, name), AttributeError)


def test_a_support_vector_machine_says_which_parameter_gives_it_probabilities():
    assert not hasattr(SVMGBClassifier(), "predict_proba")
    assert hasattr(SVMGBClassifier(probability=True), "predict_proba")
    assert "probability=True" in said(lambda: SVMGBClassifier().predict_proba, AttributeError)


@pytest.mark.parametrize("data", [FRAME, X], ids=["frame", "array"])
def test_a_list_of_columns_is_features_beside_a_constant(data):
    names = ["depth", "age"] if data is FRAME else [1, 2]
    model = clone(MODEL).set_params(features=names).fit(data, Y)
    assert model.feature_names_free_ == ["1", *(names if data is FRAME else ["x1", "x2"])]
    plain = clone(MODEL).set_params(features=lambda Z: np.c_[np.ones(len(Z)), np.asarray(Z)[:, 1:]])
    assert_allclose(model.predict(data), plain.fit(X, Y).predict(X))
    assert "did you mean 'depth'" in said(lambda: clone(MODEL).set_params(features=["dept"]).fit(FRAME, Y))


@pytest.mark.parametrize(
    ("parameters", "meant"),
    [
        ({"features": "lineer"}, "linear"),
        ({"regularization": "remml"}, "reml"),
        ({"solver": "choleski"}, "cholesky"),
        ({"kernel": "Gausian"}, "gaussian"),
    ],
)
def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(parameters, meant):
    assert re.search(f"did you mean .{meant}.", said(lambda: clone(MODEL).set_params(**parameters).fit(X, Y)))


def test_names_of_parts_may_have_capitals():
    found = GRLSRegressor("Gaussian", features="Linear", regularization="REML", solver="Cholesky").fit(X, Y)
    plain = GRLSRegressor("gaussian", features="linear", regularization="reml").fit(X, Y)
    assert found.regularization_ == plain.regularization_
    assert_allclose(found.predict(X, return_std=True), plain.predict(X, return_std=True))
    assert clone(found).set_params(regularization="LOO").regularization == "loo"
    assert GRRegressor(Gaussian(1.0), loss="Absolute", regularization=0.1).fit(X, Y).loss == "absolute"


@pytest.mark.parametrize("columns", ["note", ["note"]])
@pytest.mark.parametrize("transformer", [TfidfVectorizer(), make_pipeline(TfidfVectorizer(), MaxAbsScaler())])
def test_a_list_of_one_column_is_text_for_a_vectoriser(columns, transformer):
    notes = FRAME.assign(note=["wet clay soil", "dry sand", "wet sand", "clay"] * 10)
    model = GRLSRegressor(Linear().after(transformer).on(columns), regularization=1e-2).fit(notes, Y)
    plain = GRLSRegressor(Linear().after(transformer), regularization=1e-2).fit(list(notes["note"]), Y)
    assert_allclose(model.predict(notes), plain.predict(list(notes["note"])))


def test_columns_of_the_same_name_are_named_with_a_line_that_parts_them():
    twice = FRAME.set_axis(["a", "a", "b"], axis=1)
    message = said(lambda: clone(MODEL).fit(twice, Y))
    assert "several columns called 'a'" in message
    space = {"X": twice.copy()}
    exec(re.search(r"(X\.columns = .*?), or drop", message)[1], space)
    clone(MODEL).fit(space["X"], Y)
    assert "called 'a'" in said(lambda: clone(MODEL).set_params(kernel=Gaussian(1.0).on(["a"])).fit(twice, Y))


@pytest.mark.parametrize("labels", [np.where(Y > 3, "a", "b"), [*Y[:-1], "n/a"], [*Y[:-1], None]])
def test_text_among_the_values_of_a_regressor_is_shown_with_its_row(labels):
    message = said(lambda: clone(MODEL).fit(X, labels))
    row = 0 if isinstance(labels, np.ndarray) else 39
    assert f"row {row}" in message
    assert "Overlap" not in message
    assert ("GRLSClassifier" in message) == (labels[-1] is not None)


def test_values_that_are_missing_are_left_out_by_the_line_that_is_said():
    space = {"np": np, "X": X, "y": np.where(np.arange(40) == 7, np.nan, Y)}
    message = said(lambda: clone(MODEL).fit(X, space["y"]))
    assert "NaN in row 7" in message
    exec(message[message.index("keep =") :], space)
    assert len(clone(MODEL).fit(space["X"], space["y"]).X_fit_) == 39


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(
    "kind", [lambda Z: Z, np.asarray, lambda Z: sparse.csr_matrix(Z)], ids=["frame", "array", "csr"]
)
def test_a_value_that_is_no_number_is_placed_and_left_out_by_the_line_that_is_said(value, kind):
    wrong = FRAME.copy()
    wrong.iloc[[7, 9], 1] = value
    data = kind(wrong)
    column = "'depth'" if data is wrong else "1"
    space = {"np": np, "X": data, "y": Y}
    message = said(lambda: clone(MODEL).fit(data, Y))
    assert f"column {column} in row 7" in message
    assert ("NaN" if np.isnan(value) else "infinity") in message
    exec(re.search(r"keep = .*y\[keep\]", message)[0], space)
    model = clone(MODEL).fit(space["X"], space["y"])
    assert model.X_fit_.shape == (38, 3)
    assert "row 7" in said(lambda: model.predict(data))


@pytest.mark.parametrize(
    "data", [TEXT, TEXT.to_numpy(), TEXT.to_numpy().tolist()], ids=["frame", "array", "list"]
)
@pytest.mark.parametrize("kernel", ["auto", Gaussian(1.0)], ids=repr)
def test_text_among_columns_is_placed_and_read_by_the_kernel_that_is_said(data, kernel):
    message = said(lambda: GRLSRegressor(kernel).fit(data, Y))
    column = "'soil'" if data is TEXT else "3"
    assert f"{TEXT['soil'][0]!r} in column {column}, row 0" in message
    line = re.search(r"kernel=(.*?);", message)[1]
    model = GRLSRegressor(eval(line, {"Gaussian": Gaussian, "Overlap": Overlap})).fit(data, Y)
    assert model.score(data, Y) > 0.8


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.0).on([1]) + Linear().after(StandardScaler()).on([0]),
        Gaussian(1.0).on([0]) + Linear().after(StandardScaler()).on([2, 1]),
        Gaussian(1.0).after(StandardScaler()),
    ],
)
def test_what_a_view_cannot_read_is_placed_in_the_rows_as_they_were_given(kernel):
    wrong, text = FRAME.copy(), TEXT.assign(depth=TEXT["soil"])
    wrong.iloc[[7, 9], 1] = np.nan
    for data, column in ((wrong, "'depth'"), (wrong.to_numpy(), "1")):
        assert f"column {column} in row 7" in said(
            lambda data=data: clone(MODEL).set_params(kernel=kernel).fit(data, Y)
        )
    message = said(lambda: clone(MODEL).set_params(kernel=kernel).fit(text, Y))
    assert "in column 'depth', row 0" in message


def test_rows_that_are_all_the_same_are_told():
    for model in (MODEL, GRLSRegressor()):
        model = clone(model).set_params(regularization="loo")
        assert "all rows of X are the same" in said(lambda model=model: model.fit(np.ones((40, 2)), Y))


def test_trends_have_no_columns_beside_a_matrix_of_kernel_values():
    for features in ("linear", "quadratic", [0]):
        model = GRLSRegressor(Precomputed(), features=features, regularization=1e-2)
        assert "made of the columns of X" in said(lambda model=model: model.fit(X @ X.T, Y))


def test_displays_take_columns_in_third_place_as_those_of_scikit_learn():
    model = clone(MODEL).fit(FRAME, Y)
    display = plotting.PartialEffectsDisplay.from_estimator(model, FRAME, ["age"])
    assert [effect.name for effect in display.effects] == ["age"]
    assert plotting.MapDisplay.from_estimator(model, FRAME, ["age", "width"]).axes_ is not None
    with pytest.raises(ValueError, match="PartialEffectsDisplay"):
        plotting.FitDisplay.from_estimator(model, FRAME, Y)


@pytest.mark.parametrize(
    "model",
    [grls.PriorRLSClassifier(), grls.GRLSClassifier("gaussian"), grls.SVMGBClassifier("gaussian", C=1.0)],
    ids=lambda model: type(model).__name__,
)
def test_a_wrong_argument_of_a_method_names_no_inner_class(model):
    X = np.arange(12.0)[:, None]
    model.fit(X, X[:, 0] > 5)
    with pytest.raises(
        TypeError, match=r"^(SVMGBClassifier\.)?predict\(\) got an unexpected keyword argument 'return_std'"
    ):
        model.predict(X, return_std=True)
