"""What a logistic fit tells, beside R's glm and multinom, and where a kernel part is added."""

import numpy as np
import pytest
from grls import GRLogisticClassifier
from grls.kernels import Gaussian, ThinPlate
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

WITHOUT_KERNEL = 1e8  # γ that leaves nothing to the kernel


def petals():
    X, y = load_iris(return_X_y=True)
    return X[:, :2], y


def test_features_alone_are_those_of_glm():
    X, y = petals()
    model = GRLogisticClassifier(Gaussian(1.0), features="linear", regularization=WITHOUT_KERNEL, tol=1e-13)
    summary = model.fit(X, y == 2).summary()
    # glm(I(y == 2) ~ a + b, binomial)
    table = summary.coefficients
    assert_allclose(table["coefficient"], [-14.183607076046, 2.602530631815, -0.745785160604], rtol=1e-6)
    assert_allclose(table["SE"], [3.117228817843, 0.440586897262, 0.641303105795], rtol=1e-5)
    assert_allclose(table["z"], [-4.55006927783, 5.90696329825, -1.16292148575], rtol=1e-5)
    assert_allclose(table["p"], [5.36282562245e-06, 3.48471346649e-09, 0.244861359195], rtol=1e-4)
    assert summary.deviance == pytest.approx(115.8991112584, abs=1e-6)
    assert summary.null_deviance == pytest.approx(190.9542504884, abs=1e-8)
    assert summary.log_likelihood == pytest.approx(-57.9495556292, abs=1e-6)
    assert summary.edf == pytest.approx(3, abs=1e-5)
    assert summary.aic == pytest.approx(121.8991112584, abs=1e-5)
    assert summary.explained == pytest.approx(1 - 115.8991112584 / 190.9542504884)


def test_several_classes_are_those_of_multinom():
    X, y = petals()
    y = np.where((y == 0) & (X[:, 1] < 3), 1, y)  # else the first class is separated
    model = GRLogisticClassifier(Gaussian(1.0), features="linear", regularization=WITHOUT_KERNEL, tol=1e-13)
    summary = model.fit(X, y).summary()
    # multinom(factor(y) ~ a + b), of classes 1 and 2 against class 0, and vcov of the six coefficients
    against = np.array([[14.070138440939, 7.49065399442, -17.2322699876],
                        [0.772663629837, 9.41675167679, -16.7904597367]])  # fmt: skip
    covariance = np.array([
        [275.0668767080, 20.96504324711, -122.9706544800, 273.8168159438, 20.76975692439, -122.0828355510],
        [20.9650432473, 8.22156965564, -20.3939146219, 21.0934843113, 8.23454805669, -20.4720967826],
        [-122.9706544802, -20.39391462183, 73.3839254529, -122.7965105060, -20.34122416160, 73.2075591854],
        [273.8168159439, 21.09348431116, -122.7965105058, 282.0330103833, 19.84390036912, -122.9021986759],
        [20.7697569246, 8.23454805669, -20.3412241617, 19.8439003693, 8.50367996388, -20.6068759184],
        [-122.0828355513, -20.47209678255, 73.2075591855, -122.9021986762, -20.60687591837, 73.7825507224],
    ])  # fmt: skip
    coefficients = np.vstack([np.zeros(3), against])
    expected = coefficients - coefficients.mean(axis=0)
    to_centred = np.kron(np.vstack([np.zeros(2), np.eye(2)]) - 1 / 3, np.eye(3))
    std = np.sqrt(np.diag(to_centred @ covariance @ to_centred.T))
    assert_allclose(summary.coefficients["coefficient"], expected.ravel(), rtol=1e-4)
    assert_allclose(summary.coefficients["SE"], std, rtol=1e-3)
    assert summary.deviance == pytest.approx(120.825977136, abs=1e-5)
    assert summary.edf == pytest.approx(6, abs=1e-3)
    assert list(summary.coefficients.rows)[:3] == ["0: (Intercept)", "0: x0", "0: x1"]
    assert "add up to zero" in str(summary)


@pytest.mark.parametrize("options", [{}, {"multi_class": "ovr"}, {"feature_variance": 2.0}])
def test_a_kernel_part_takes_degrees_of_freedom(options):
    X, y = petals()
    y = np.where((y == 0) & (X[:, 1] < 3), 1, y)
    edf = []
    for gamma in (1e-1, 1e-2, 1e-3):
        model = GRLogisticClassifier(Gaussian(1.0), features="linear", regularization=gamma, **options)
        summary = model.fit(X, y).summary()
        edf.append(summary.edf)
        assert summary.deviance < summary.null_deviance
        assert np.all(np.isfinite(summary.coefficients["SE"]))
        assert not hasattr(summary, "loo_log_loss")
    assert np.all(np.diff(edf) > 0)
    assert max(len(line) for line in str(summary).splitlines()) <= 80


def test_the_degrees_of_freedom_of_one_versus_rest_and_two_classes_agree():
    X, y = petals()
    two = GRLogisticClassifier(Gaussian(1.0), regularization=1e-2).fit(X, y == 2)
    weights = two.summary().edf
    f, s = two.decision_function(X, return_std=True)
    p = 1 / (1 + np.exp(-f))
    assert weights == pytest.approx(np.sum(p * (1 - p) * s**2), rel=1e-6)


def test_what_chose_the_regularization_is_there():
    X, y = petals()
    model = GRLogisticClassifier(Gaussian(1.0)).fit(X, y == 2)
    summary = model.summary()
    assert summary.loo_log_loss == model.loo_log_loss_
    assert summary.loo_accuracy == model.loo_score_
    assert "chosen by 'loo'" in str(summary)


def test_dropped_features_and_shared_polynomials_have_no_error():
    X, y = petals()
    doubled = np.column_stack([X, X[:, 0]])
    model = GRLogisticClassifier(Gaussian(1.0), features="linear", regularization=1e-2)
    with pytest.warns(UserWarning, match="depend linearly"):
        model.fit(doubled, y == 2)
    assert np.isnan(model.summary().coefficients["SE"][3])
    assert "dropped" in str(model.summary())
    assert any("depend linearly" in message for message in model.fit_warnings_)
    spline = GRLogisticClassifier(ThinPlate(), features="linear", regularization=1e-2).fit(X, y == 2)
    assert np.all(np.isnan(spline.summary().coefficients["SE"]))


def test_there_is_no_summary_before_a_fit():
    with pytest.raises(NotFittedError):
        GRLogisticClassifier().summary()
