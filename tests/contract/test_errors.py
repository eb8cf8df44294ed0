"""What cannot be done ends in an error that says what, where and how to get out; never in a crash."""

import pickle
import subprocess
import sys

import grls
import numpy as np
import pandas as pd
import pytest
from builders import classifier, regressor
from grls import GRLSClassifier, _core
from grls._solvers import memory as _memory
from grls.features import Columns, PolynomialTrend
from grls.kernels import Gaussian, Laplace, Linear, Precomputed, Sigmoid
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(30, 2))
Y = np.sin(3 * X[:, 0]) + X[:, 1]
LABELS = (Y > 0).astype(int)


def spoilt(array, value):
    copy = np.array(array, dtype=float)
    copy.flat[3] = value
    return copy


# Values that are not numbers.


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("estimator", [regressor(), classifier()])
def test_nan_and_infinity_are_refused_wherever_they_are(estimator, value):
    word = "NaN" if np.isnan(value) else "infinity"
    y = LABELS if isinstance(estimator, GRLSClassifier) else Y
    for form in (np.asarray, sparse.csr_matrix, pd.DataFrame, np.float32):
        with pytest.raises(ValueError, match=f"X contains {word}"):
            estimator.fit(form(spoilt(X, value)), y)
    with pytest.raises(ValueError, match=word):
        estimator.fit(X, spoilt(y, value))
    with pytest.raises(ValueError, match=f"sample_weight contains {word}"):
        estimator.fit(X, y, sample_weight=spoilt(np.ones(30), value))
    estimator.fit(X, y)
    with pytest.raises(ValueError, match=f"X contains {word}"):
        estimator.predict(spoilt(X, value))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_features_that_are_not_finite_are_refused_in_fit_and_predict(value):
    with pytest.raises(ValueError, match="features contains"):
        regressor(features=lambda X: spoilt(X, value)).fit(X, Y)
    model = regressor(features=lambda X: np.where(X > 5, value, X)).fit(X, Y)
    with pytest.raises(ValueError, match="features contains"):
        model.predict(10 + X)


def test_a_kernel_function_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="kernel function's values contains NaN"):
        regressor(lambda X, Z: np.full((len(X), len(Z)), np.nan)).fit(X, Y)


def test_a_kernel_that_overflows_is_an_error_and_not_a_model():
    with pytest.raises((ValueError, np.linalg.LinAlgError)):
        regressor((Linear() ** 9).exp()).fit(1e9 * X, Y)


@pytest.mark.parametrize(
    "y", [["a"] * 30, [None] * 30, np.array([object()] * 30)], ids=["str", "None", "object"]
)
def test_targets_that_are_no_numbers_are_refused(y):
    with pytest.raises((ValueError, TypeError)):
        regressor().fit(X, y)


def test_classes_must_be_classes():
    with pytest.raises(ValueError, match="continuous"):
        classifier().fit(X, Y)


CLASSIFIERS = [
    classifier(),
    grls.GRLogisticClassifier("gaussian", regularization=1e-2),
    grls.PriorRLSClassifier(),
    grls.SVMGBClassifier("gaussian", C=1.0),
    grls.NystromGRLSClassifier(n_centers=10, regularization=1e-2),
]
NAMES = np.array(["a", "m", "z"])[np.arange(30) % 3]


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_a_row_without_a_label_is_named(estimator, missing):
    y = NAMES.astype(object)
    y[[4, 9]] = missing
    for given in (y, y.tolist(), pd.Series(y)):
        message = "no label at 2 of 30 rows, the first is row 4 with (None|nan|<NA>): leave such rows out"
        with pytest.raises(ValueError, match=message):
            estimator.fit(X, given)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda each: type(each).__name__)
def test_labels_of_several_kinds_are_refused(estimator):
    y = NAMES.astype(object)
    y[4] = 3
    for given in (y, y.tolist()):
        with pytest.raises(ValueError, match="y holds both numbers and text, such as 3 and 'a': make it all"):
            estimator.fit(X, given)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda each: type(each).__name__)
def test_the_weight_of_a_class_without_rows_is_ignored_and_that_of_no_class_refused(estimator):
    there = (NAMES != "a").astype(float)
    for costs, weights in ({"a": 0.0, "m": 2.0}, None), ({"a": 5.0, "m": 2.0}, there):
        model = clone(estimator).set_params(class_weight=costs).fit(X, NAMES, sample_weight=weights)
        kept = there > 0
        alone = clone(estimator).set_params(class_weight={"m": 2.0}).fit(X[kept], NAMES[kept])
        assert_array_equal(model.classes_, ["m", "z"])
        if not hasattr(model, "n_centers"):  # which are drawn from all rows
            assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-6)
    with pytest.raises(ValueError, match=r"names \['A'\], which no row has .* the classes \['a', 'm', 'z'\]"):
        clone(estimator).set_params(class_weight={"A": 2.0}).fit(X, NAMES)


# Shapes.


@pytest.mark.parametrize("estimator", [regressor(), classifier()])
def test_shapes_that_do_not_fit_are_refused(estimator):
    y = LABELS
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        estimator.fit(X, y[:-1])
    with pytest.raises(ValueError, match="1D array"):
        estimator.fit(X[:, 0], y)
    with pytest.raises(ValueError, match=r"dim 3|3 dim|expected <= 2"):
        estimator.fit(X[:, :, None], y)
    with pytest.raises(ValueError, match="0 sample"):
        estimator.fit(X[:0], y[:0])
    with pytest.raises(ValueError, match="0 feature"):
        estimator.fit(X[:, :0], y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        estimator.fit(X, y, sample_weight=np.ones(29))
    with pytest.raises(ValueError, match="1D"):
        estimator.fit(X, y, sample_weight=np.ones((30, 2)))
    estimator.fit(X, y)
    with pytest.raises(ValueError, match=r"3 features.*expecting 2"):
        estimator.predict(np.ones((4, 3)))


def test_features_of_the_wrong_shape_are_refused():
    with pytest.raises(ValueError, match=r"shape \(29, 2\), expected \(30, l\)"):
        regressor(features=lambda X: X[1:]).fit(X, Y)
    with pytest.raises(ValueError, match=r"expected \(30, l\)"):
        regressor(features=lambda X: np.ones((len(X), 2, 2))).fit(X, Y)
    model = regressor(features=lambda X: np.eye(len(X), 2 if len(X) == 30 else 3)).fit(X, Y)
    with pytest.raises(ValueError, match="3 columns, but 2 when fitted"):
        model.predict(X[:5])


def test_a_precomputed_matrix_must_be_square():
    with pytest.raises(ValueError, match="square"):
        regressor("precomputed").fit(np.eye(30)[:, :20], Y)
    model = regressor("precomputed", features=None).fit(np.eye(30), Y)
    with pytest.raises(ValueError, match="expecting 30"):
        model.predict(np.eye(20))


@pytest.mark.parametrize("kernel", ["precomputed", Precomputed()], ids=str)
@pytest.mark.parametrize("estimator", [regressor, classifier])
def test_a_precomputed_kernel_says_that_it_takes_no_sparse_data(estimator, kernel):
    """Its tag says so, and scikit-learn wants the refusal to be explicit."""
    model = estimator(kernel, features=None)
    assert not model.__sklearn_tags__().input_tags.sparse
    with pytest.raises((TypeError, ValueError), match=r"[Ss]parse"):
        model.fit(sparse.csr_matrix(np.eye(30)), LABELS)


def test_one_sample_is_too_few():
    with pytest.raises(ValueError, match=r"n_samples=1|1 sample"):
        regressor().fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match="n_samples=1"):
        regressor().fit(X[:2], Y[:2], sample_weight=[1.0, 0.0])


def test_one_class_is_too_few():
    with pytest.raises(ValueError, match="class"):
        classifier().fit(X, np.zeros(30))
    with pytest.raises(ValueError, match="class"):
        classifier().fit(X, LABELS, sample_weight=LABELS.astype(float))


def test_weights_must_not_be_negative_or_all_zero():
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        regressor().fit(X, Y, sample_weight=spoilt(np.ones(30), -1.0))
    with pytest.raises(ValueError, match="zero for every sample"):
        regressor().fit(X, Y, sample_weight=np.zeros(30))


def test_an_unfitted_model_does_not_predict():
    from sklearn.exceptions import NotFittedError

    for call in (regressor().predict, classifier().decision_function, regressor().decompose):
        with pytest.raises(NotFittedError):
            call(X)


# Features.


def test_more_features_than_samples_are_refused():
    with pytest.raises(ValueError, match=r"more features \(6\) than samples \(n_samples=5\)"):
        regressor(features="quadratic").fit(X[:5], Y[:5])


def test_features_that_span_everything_leave_nothing_to_the_kernel():
    for formulation in ("exact", "published"):
        with pytest.raises(ValueError, match="6 independent features interpolate all n_samples=6"):
            regressor(features="quadratic", formulation=formulation).fit(X[:6], Y[:6])


@pytest.mark.parametrize("formulation", ["exact", "published"])
@pytest.mark.parametrize("estimator", [regressor, classifier])
def test_dependent_features_are_left_out_with_a_warning_that_names_them(estimator, formulation):
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "a again": X[:, 0]})
    y = Y if estimator is regressor else LABELS
    kernel = Gaussian(0.5).on(["a", "b"])
    model = estimator(kernel, features=Columns(["a", "b", "a again"]), formulation=formulation)
    with pytest.warns(grls.DependentFeaturesWarning, match=r"left out: (a|a again)$") as caught:
        model.fit(frame, y)
    assert caught[0].filename == __file__  # it points at the user's call
    without = estimator(kernel, features=Columns(["a", "b"]), formulation=formulation).fit(frame, y)
    values = "predict" if estimator is regressor else "decision_function"
    assert_allclose(getattr(model, values)(frame), getattr(without, values)(frame), rtol=0, atol=1e-8)
    assert model.feature_support_.tolist() in ([True, True, True, False], [True, False, True, True])
    assert np.all(model.feature_coef_[~model.feature_support_] == 0)


def test_a_feature_that_is_zero_everywhere_is_left_out():
    with pytest.warns(grls.DependentFeaturesWarning, match="feature1"):
        model = regressor(features=lambda X: np.column_stack([np.ones(len(X)), 0 * X[:, 0]])).fit(X, Y)
    assert_allclose(model.predict(X), regressor().fit(X, Y).predict(X), atol=1e-10)


def test_features_are_not_dependent_because_of_their_units():
    scaled = regressor(features=lambda X: np.column_stack([np.ones(len(X)), 1e-9 * X[:, 0], 1e9 * X[:, 1]]))
    assert_allclose(scaled.fit(X, Y).predict(X), regressor(features="linear").fit(X, Y).predict(X), atol=1e-8)


@pytest.mark.parametrize("formulation", ["exact", "published"])
def test_units_of_the_features_do_not_make_a_model_impossible(formulation):
    model = regressor(
        features=lambda X: np.column_stack([np.ones(len(X)), 1e-9 * X[:, 0], 1e9 * X[:, 1]]),
        formulation=formulation,
    )
    assert np.all(np.isfinite(model.fit(X, Y).predict(X)))


# Matrices that are not positive definite.


def test_repeated_rows_without_regularization_name_the_kernel_and_the_knob():
    twice = np.vstack([X, X])
    model = regressor(Gaussian(0.5), regularization=0.0)
    with pytest.raises(grls.NotPositiveDefiniteError) as caught:
        model.fit(twice, np.tile(Y, 2))
    message = str(caught.value)
    for words in (
        "Gaussian(sigma=0.5)",
        "regularization=0",
        "60 samples",
        "larger regularization",
        "repeated rows",
    ):
        assert words in message
    assert isinstance(caught.value, np.linalg.LinAlgError)
    model.set_params(regularization=1e-6).fit(twice, np.tile(Y, 2))


def test_an_indefinite_kernel_is_said_to_be_one():
    with pytest.raises(grls.NotPositiveDefiniteError, match=r"Sigmoid.*not positive definite by nature"):
        regressor(Sigmoid(2.0, -1.0), regularization=1e-8).fit(X, Y)
    regressor(Sigmoid(2.0, -1.0), regularization=10.0).fit(X, Y)


def test_a_matrix_that_is_no_kernels_is_an_error():
    with pytest.raises(grls.NotPositiveDefiniteError, match="check that the matrix is a kernel's"):
        regressor("precomputed", features=None).fit(-np.eye(30), Y)


@pytest.mark.parametrize("precision", ["single", "mixed", "auto"])
def test_no_precision_hides_an_indefinite_matrix(precision):
    with pytest.raises(grls.NotPositiveDefiniteError):
        regressor(Gaussian(0.5), regularization=0.0, precision=precision).fit(
            np.vstack([X, X]), np.tile(Y, 2)
        )


# Parameters.


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"regularization": -1.0}, ValueError, "regularization must be at least 0, got -1.0"),
        ({"regularization": np.nan}, ValueError, "regularization must be finite"),
        ({"regularization": np.inf}, ValueError, "regularization must be finite"),
        ({"regularization": "strong"}, ValueError, "regularization.*number.*got 'strong'"),
        ({"regularization": None}, TypeError, "regularization must be a number"),
        ({"regularization": True}, TypeError, "regularization must be a number"),
        ({"regularization": [1.0]}, TypeError, "regularization must be a number"),
        ({"kernel": "rbf"}, ValueError, "kernel must be one of .*'gaussian'.*got 'rbf'"),
        ({"kernel": 1.0}, TypeError, "kernel must be"),
        ({"kernel": None}, TypeError, "kernel must be"),
        ({"kernel": Gaussian(-1.0)}, ValueError, "Gaussian.sigma"),
        ({"kernel": Gaussian(1.0).on("a")}, ValueError, "no column names"),
        ({"kernel": Gaussian([1.0, 1.0, 1.0])}, ValueError, "3 widths"),
        ({"features": "cubic"}, ValueError, "features must be .*'quadratic'.*got 'cubic'"),
        ({"features": 2}, TypeError, "features must be"),
        ({"features": PolynomialTrend(-1)}, ValueError, "PolynomialTrend.degree"),
        ({"features": PolynomialTrend(1.5)}, TypeError, "PolynomialTrend.degree"),
        ({"features": Columns(7)}, ValueError, "no column 7"),
        ({"features": Columns("a")}, ValueError, "no column 'a'"),
        ({"formulation": "approximate"}, ValueError, "formulation must be one of 'exact', 'published'"),
        ({"formulation": None}, ValueError, "formulation must be one of"),
        ({"precision": "half"}, ValueError, "precision must be one of 'auto', 'double'.*got 'half'"),
    ],
    ids=str,
)
@pytest.mark.parametrize("estimator", [regressor, classifier])
def test_a_parameter_that_cannot_be_is_named(estimator, parameters, error, message):
    with pytest.raises(error, match=message):
        estimator(**parameters).fit(X, LABELS)


def test_the_number_of_threads_is_a_positive_whole_number(monkeypatch):
    for bad in (0, -1, "many", 1.5):
        with pytest.raises(ValueError, match="n_threads must be a positive whole number"):
            grls.set_num_threads(bad)
    monkeypatch.setenv("GRLS_NUM_THREADS", "none")
    with pytest.raises(ValueError, match="GRLS_NUM_THREADS must be a positive whole number"):
        grls.get_num_threads()
    monkeypatch.setenv("GRLS_NUM_THREADS", "3")
    assert grls.get_num_threads() == 3


# Memory.


@pytest.mark.parametrize("precision", ["auto", "double", "mixed", "single"])
def test_a_matrix_that_does_not_fit_is_refused_before_it_is_allocated(monkeypatch, precision):
    monkeypatch.setattr(_memory, "available", lambda: 1000)
    monkeypatch.setattr(_core, "solve", lambda **arguments: pytest.fail("the work was begun"))
    with pytest.raises(MemoryError) as caught:
        regressor(Gaussian(1.0), precision=precision).fit(X, Y)
    message = str(caught.value)
    for words in ("30 samples", "GiB", "free", "fewer samples"):
        assert words in message
    assert ('precision="single"' in message) == (precision != "single")


def test_automatic_precision_takes_what_fits(monkeypatch):
    double = _core.solve_bytes(order=31, precision="double")
    monkeypatch.setattr(_memory, "available", lambda: double)
    assert regressor(Gaussian(1.0)).fit(X, Y).precision_ == "double"
    monkeypatch.setattr(_memory, "available", lambda: double - 1)
    with pytest.raises(MemoryError):
        regressor(Gaussian(1.0)).fit(X, Y)
    regressor(Gaussian(1.0), precision="single").fit(X, Y)


def test_memory_that_is_not_known_is_no_limit(monkeypatch):
    monkeypatch.setattr(_memory, "available", lambda: None)
    regressor().fit(X, Y)


def test_the_estimate_is_about_half_a_square_matrix():
    for m in (1000, 5000, 20_000):
        assert 1.0 <= _core.solve_bytes(order=m, precision="double") / (4 * m**2) < 1.4
        assert 1.0 <= _core.solve_bytes(order=m, precision="single") / (2 * m**2) < 1.4


def test_the_matrix_of_a_kernel_function_counts_too(monkeypatch):
    calls = []

    def kernel(A, B):
        calls.append(len(A))
        return A @ B.T

    m = 400
    points = RNG.normal(size=(m, 2))
    needed = _core.solve_bytes(order=m + 1, precision="double") + 8 * m * m
    monkeypatch.setattr(_memory, "available", lambda: needed - 4 * m * m)
    with pytest.raises(MemoryError):
        regressor(kernel, precision="double").fit(points, points[:, 0])
    assert calls == []


# A failed refit.


def failing_refits():
    wide = np.hstack([X, X[:, :1] ** 2])
    return {
        "not positive definite": lambda m: m.set_params(kernel=Gaussian(0.5), regularization=0.0).fit(
            np.vstack([X, X]), np.tile(LABELS, 2)
        ),
        "unknown kernel": lambda m: m.set_params(kernel="rbf").fit(X, LABELS),
        "unknown kernel, other columns": lambda m: m.set_params(kernel="rbf").fit(wide, LABELS),
        "negative regularization, other columns": lambda m: m.set_params(regularization=-1.0).fit(
            wide, LABELS
        ),
        "named columns": lambda m: m.set_params(kernel="rbf").fit(
            pd.DataFrame(X, columns=["a", "b"]), LABELS
        ),
        "too many features": lambda m: m.set_params(features="quadratic").fit(X[:5], LABELS[:5]),
        "NaN": lambda m: m.fit(spoilt(X, np.nan), LABELS),
        "zero weights": lambda m: m.fit(X, LABELS, sample_weight=np.zeros(30)),
        "two outputs": lambda m: m.fit(X, np.column_stack([Y, spoilt(Y, np.nan)])),
    }


@pytest.mark.parametrize("estimator", [regressor, classifier])
@pytest.mark.parametrize("case", failing_refits())
def test_a_failed_refit_leaves_the_old_model_as_it_was(estimator, case):
    model = estimator(Gaussian(0.7), features="linear").fit(X, LABELS)
    before = model.predict(X)
    with pytest.raises((ValueError, TypeError, np.linalg.LinAlgError)):
        failing_refits()[case](model)
    assert_array_equal(model.predict(X), before)


# Tampered state.


def wrong_length(model):
    model.dual_coef_ = model.dual_coef_[:-1]


def too_long(model):
    model.dual_coef_ = np.concatenate([model.dual_coef_, model.dual_coef_])


def no_coefficients(model):
    model.dual_coef_ = model.dual_coef_[:0]


def coefficients_of_three_axes(model):
    model.dual_coef_ = model.dual_coef_[:, None, None]


def coefficients_of_objects(model):
    model.dual_coef_ = np.full(model.dual_coef_.shape, "c", dtype=object)


def other_columns(model):
    model.X_fit_ = np.ones((30, 5))


def fewer_columns(model):
    model.X_fit_ = np.ones((30, 1))


def cube(model):
    model.X_fit_ = np.ones((30, 2, 1))


def no_points(model):
    model.X_fit_ = None


def points_of_objects(model):
    model.X_fit_ = np.array([[None, None]] * 30)


def sparse_columns_out_of_range(model):
    matrix = sparse.csr_matrix(np.ones((30, 2)))
    matrix.indices[5] = 1_000_000_000
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    model.X_fit_ = matrix


def sparse_rows_out_of_range(model):
    matrix = sparse.csr_matrix(np.ones((30, 2)))
    matrix.indptr[4] = 1_000_000_000
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    model.X_fit_ = matrix


def sparse_rows_out_of_range_that_nobody_vouches_for(model):
    matrix = sparse.csr_matrix(np.ones((30, 2)))
    matrix.indptr[4] = 1_000_000_000
    model.X_fit_ = matrix


def sparse_rows_of_which_the_last_ends_at_zero(model):
    matrix = sparse.csr_matrix(np.ones((30, 2)))
    matrix.indptr[-1] = 0
    model.X_fit_ = matrix


def sparse_rows_without_their_values(model):
    matrix = sparse.csr_matrix(np.ones((30, 2)))
    matrix.data, matrix.indices = matrix.data[:5], matrix.indices[:5]
    model.X_fit_ = matrix


def short_feature_coefficients(model):
    model.feature_coef_ = model.feature_coef_[:-1]


def feature_coefficients_of_two_outputs(model):
    model.feature_coef_ = np.stack([model.feature_coef_, model.feature_coef_], axis=1)


def feature_coefficients_of_no_output(model):
    model.feature_coef_ = model.feature_coef_[:, None][:, :0]


def other_feature_coefficients(model):
    model.feature_coef_ = model.feature_coef_ + 1


def coefficients_that_are_not_numbers(model):
    model.dual_coef_[3] = np.nan


def points_at_infinity(model):
    model.X_fit_ = model.X_fit_.copy()
    model.X_fit_[5] = np.nan


def other_kernel(model):
    model.kernel_ = Laplace(-1.0)


def kernel_of_a_missing_column(model):
    model.kernel_ = Gaussian(1.0).on(10)


def kernel_of_too_many_widths(model):
    model.kernel_ = Gaussian([1.0] * 5)


@pytest.mark.parametrize(
    "tamper",
    [
        wrong_length,
        too_long,
        no_coefficients,
        coefficients_of_three_axes,
        coefficients_of_objects,
        other_columns,
        fewer_columns,
        cube,
        no_points,
        points_of_objects,
        sparse_columns_out_of_range,
        sparse_rows_out_of_range,
        sparse_rows_out_of_range_that_nobody_vouches_for,
        sparse_rows_of_which_the_last_ends_at_zero,
        sparse_rows_without_their_values,
        short_feature_coefficients,
        feature_coefficients_of_two_outputs,
        feature_coefficients_of_no_output,
        other_feature_coefficients,
        coefficients_that_are_not_numbers,
        points_at_infinity,
        other_kernel,
        kernel_of_a_missing_column,
        kernel_of_too_many_widths,
    ],
)
def test_a_model_that_was_tampered_with_raises(tamper):
    trend = regressor(Gaussian(0.7), features="linear").fit(X, Y)
    columns = regressor(Gaussian(0.7), features=lambda x: np.c_[np.ones(len(x)), x]).fit(X, Y)
    tamper(trend)
    again = pickle.loads(pickle.dumps(trend))
    broken_models = [trend, again]
    if tamper is not other_feature_coefficients:  # any coefficients of plain columns make a model
        tamper(columns)
        broken_models.append(columns)
    for broken in broken_models:
        with pytest.raises((ValueError, TypeError, IndexError, AttributeError, RuntimeError)):
            broken.predict(X)


def test_sparse_data_whose_indices_lead_nowhere_are_refused():
    data = sparse.csr_matrix(X)
    model = regressor(Gaussian(0.7)).fit(data, Y)
    for name, at, value in (
        ("indices", 3, 1_000_000_000),
        ("indices", 3, -5),
        ("indptr", 4, 1_000_000_000),
        ("indptr", -1, 0),  # SciPy takes that for a matrix without values
        ("indptr", -1, np.iinfo(np.int32).min),
    ):
        broken = data.copy()
        getattr(broken, name)[at] = value
        for action in (model.predict, lambda rows: regressor(Gaussian(0.7)).fit(rows, Y)):
            with pytest.raises(ValueError, match="ind"):
                action(broken)


def test_a_parameter_beyond_all_floats_is_not_finite():
    with pytest.raises(ValueError, match="regularization must be finite"):
        regressor(regularization=10**400).fit(X, Y)


def test_a_truncated_pickle_does_not_load():
    stored = pickle.dumps(regressor().fit(X, Y))
    for length in np.linspace(1, len(stored) - 1, 25).astype(int):
        with pytest.raises((pickle.UnpicklingError, EOFError, ValueError, AttributeError, IndexError)):
            pickle.loads(stored[:length])


def test_formulas_are_not_stored_in_a_model():
    model = regressor(Gaussian() + Linear()).fit(X, Y)
    assert not any(isinstance(value, _core.Formula) for value in vars(model).values())


# Interruption.

INTERRUPTED = """
import os, signal, threading, time
import numpy as np
import grls
from grls.kernels import Gaussian

rng = np.random.default_rng(0)
X = rng.normal(size=(12000, 20))
grls.set_num_threads(2)
model, y = MODEL, TARGETS
sent = []

def interrupt():
    time.sleep(0.5)
    print("signal", flush=True)
    sent.append(time.monotonic())
    if os.name == "posix":
        os.kill(os.getpid(), signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)

thread = threading.Thread(target=interrupt)
print("fitting", flush=True)
thread.start()
try:
    model.fit(X, y)
    print("fitted", flush=True)
except KeyboardInterrupt:
    print(f"interrupted after {time.monotonic() - sent[0]:.3f} s", flush=True)
thread.join()
print("unfitted" if not hasattr(model, "dual_coef_") else "half fitted", flush=True)
small = model.fit(X[:200], y[:200])
print("score", small.score(X[:200], y[:200]), flush=True)
"""


LOSS = "grls.GRRegressor(Gaussian(3.0), regularization=1e-9, tol=1e-12, delta=0.1, SOLVER)"
SVM = 'grls.SVMGBClassifier(Gaussian(3.0), C=1e4, tol=1e-12, solver="native")'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "targets"),
    [
        ('grls.GRLSRegressor(Gaussian(3.0), regularization=1e-3, precision="double")', "X[:, 0]"),
        ('grls.GRLSRegressor(Gaussian(3.0), regularization=1e-3, solver="cg", tol=1e-14)', "X[:, 0]"),
        ("grls.NystromGRLSRegressor(Gaussian(3.0), regularization=1e-3, n_centers=4000)", "X[:, 0]"),
        (SVM, "rng.integers(0, 2, 12000)"),
        (SVM, "rng.integers(0, 4, 12000)"),  # the pairs of classes are solved side by side
        (LOSS.replace("SOLVER", 'solver="native"'), "X[:, 0] + rng.normal(size=12000) / 9"),
        (LOSS.replace("SOLVER", 'solver="ipm"'), "X[:, 0] + rng.normal(size=12000) / 9"),
    ],
    ids=[
        *("least squares", "conjugate gradients", "centres", "one support vector machine", "several"),
        *("another loss", "another loss, interior point"),
    ],
)
def test_ctrl_c_stops_a_long_fit_and_leaves_everything_usable(model, targets):
    script = INTERRUPTED.replace("MODEL", model).replace("TARGETS", targets)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    events = done.stdout.splitlines()
    assert [event.split()[0] for event in events] == ["fitting", "signal", "interrupted", "unfitted", "score"]
    assert float(events[-1].split()[1]) > 0.9


@pytest.mark.parametrize("kernel", ["precomputed", lambda A, B: 100 * np.eye(len(A)) + A[:, :1] - B[:, 0]])
def test_a_kernel_matrix_that_is_not_symmetric_is_refused(kernel):
    """Only one of its triangles would be read."""
    points = 100 * np.eye(30) + np.arange(900).reshape(30, 30) / 900
    with pytest.raises(ValueError, match="must be symmetric"):
        regressor(kernel, features=None).fit(points, Y)


@pytest.mark.parametrize(
    "name", ["SVMGBClassifier", "GRLSClassifier", "GRLogisticClassifier", "PriorRLSClassifier"]
)
def test_more_columns_than_memory_are_refused(name):
    wide = sparse.csr_matrix((np.ones(10), 10**17 * np.arange(10), np.arange(11)), shape=(10, 2**60))
    with pytest.raises(MemoryError, match="1152921504606846976 columns of X"):
        getattr(grls, name)().fit(wide, np.arange(10) % 2)


@pytest.mark.parametrize(
    "model",
    [
        grls.GRLSRegressor(kernel="gaussian"),
        grls.PriorRLSRegressor(),
        grls.NystromGRLSRegressor("gaussian", n_centers=5),
    ],
    ids=lambda model: type(model).__name__,
)
def test_targets_whose_squares_vanish_are_refused_by_their_size(model):
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match=r"the largest value of y is .*e-200 in size.*change the unit of y"):
        model.fit(X, 1e-200 * X[:, 0])


def test_costs_of_classes_that_are_no_dictionary_are_named():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match='class_weight must be a dictionary, "balanced" or None'):
        grls.GRLSClassifier("gaussian", class_weight=[]).fit(X, X[:, 0] > 0, sample_weight=np.ones(30))
