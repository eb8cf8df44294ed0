"""The displays of a kernel's space draw what the kernel says."""

import matplotlib as mpl
import numpy as np
import pytest
from grls import GRLSRegressor, KernelPCA, MercerExpansion, plotting
from grls.kernels import Gaussian, Laplace, Linear, Matern
from numpy.testing import assert_allclose, assert_array_equal

mpl.use("Agg")

KERNELS = {"smooth": Gaussian(0.2), "rough": Laplace(0.2)}
X = np.linspace(0, 1, 60)[:, None]


@pytest.fixture(autouse=True)
def figures():
    from matplotlib import pyplot as plt

    yield plt
    plt.close("all")


def texts(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_densities_are_drawn_over_frequencies():
    display = plotting.SpectralDensityDisplay.from_kernels(KERNELS, largest=50.0, n_points=40)
    smooth, rough = display.ax_.lines
    for line, kernel in ((smooth, Gaussian(0.2)), (rough, Laplace(0.2))):
        assert_allclose(line.get_ydata(), kernel.spectral_density(np.asarray(line.get_xdata())[:, None]))
    assert texts(display) == ["smooth", "rough"]
    assert smooth.get_ydata()[-1] < 1e-9 * rough.get_ydata()[-1]
    assert display.figure_ is display.ax_.figure


def test_kernels_may_name_themselves():
    display = plotting.SpectralDensityDisplay.from_kernels([Gaussian(0.2), Matern(0.2, 2.5)])
    assert texts(display) == ["Gaussian(sigma=0.2)", "Matern(sigma=0.2, nu=2.5)"]
    one = plotting.SpectralDensityDisplay.from_kernels(Gaussian(0.2))
    assert list(one.densities) == ["Gaussian(sigma=0.2)"]
    with pytest.raises(ValueError, match="no spectral density"):
        plotting.SpectralDensityDisplay.from_kernels(Linear())
    with pytest.raises(ValueError, match="no kernels"):
        plotting.SpectralDensityDisplay.from_kernels([])


def test_eigenvalues_fall():
    models = {name: MercerExpansion(10, kernel).fit(X) for name, kernel in KERNELS.items()}
    display = plotting.EigenvalueDisplay.from_estimator(models)
    for line, model in zip(display.ax_.lines, models.values(), strict=True):
        assert_allclose(line.get_ydata(), model.eigenvalues_ / model.eigenvalues_[0])
        assert_array_equal(line.get_xdata(), np.arange(1, 11))
    pca = KernelPCA(4, Gaussian(0.2)).fit(X)
    alone = plotting.EigenvalueDisplay.from_estimator(pca, relative=False)
    assert_allclose(alone.ax_.lines[0].get_ydata(), pca.eigenvalues_)
    with pytest.raises(ValueError, match="has no eigenvalues_"):
        plotting.EigenvalueDisplay.from_estimator(GRLSRegressor().fit(X, X[:, 0]))


def test_samples_stand_one_kernel_below_the_other():
    display = plotting.FunctionSamplesDisplay.from_kernels(KERNELS, n_samples=2, n_points=80, random_state=0)
    assert [values.shape for values in display.samples.values()] == [(80, 2), (80, 2)]
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["smooth", "rough"]
    steps = {name: np.abs(np.diff(values, axis=0)).mean() for name, values in display.samples.items()}
    assert steps["rough"] > 2 * steps["smooth"]
    again = plotting.FunctionSamplesDisplay.from_kernels(KERNELS, n_samples=2, n_points=80, random_state=0)
    assert_array_equal(again.samples["rough"], display.samples["rough"])
    with pytest.raises(ValueError, match="interval"):
        plotting.FunctionSamplesDisplay.from_kernels(KERNELS, interval=(1.0, 0.0))


def test_the_norm_grows_with_roughness_and_ends_where_rounding_begins():
    display = plotting.RoughnessDisplay.from_kernels(KERNELS, omega=[3.0, 12.0, 30.0, 90.0], n_points=80)
    smooth, rough = display.norms["smooth"], display.norms["rough"]
    assert np.all(np.diff(rough) > 0)
    assert smooth[1] / smooth[0] > rough[1] / rough[0]
    assert np.isnan(smooth[-1])
    x = np.linspace(0, 1, 80)[:, None]
    wave = np.sin(12.0 * x[:, 0])
    c = np.linalg.solve(Laplace(0.2)(x), wave)
    assert_allclose(rough[1], wave @ c, rtol=1e-6)
    default = plotting.RoughnessDisplay.from_kernels(Laplace(0.2), n_points=50)
    assert_allclose(default.omega[[0, -1]], [np.pi, 20 * np.pi])
