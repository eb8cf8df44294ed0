"""Thesis, sections 2.2-2.4 and appendix B.4: Gaussian against Laplace, in frequencies and in functions."""

import numpy as np
from grls import MercerExpansion
from grls.kernels import Gaussian, Laplace, Matern
from grls.plotting import (
    EigenvalueDisplay,
    FunctionSamplesDisplay,
    RoughnessDisplay,
    SpectralDensityDisplay,
)
from matplotlib import pyplot as plt

from ..registry import Finding, experiment


@experiment(
    title="Gaussian against Laplace: frequencies, eigenvalues, functions, norms",
    source="RKHS thesis, appendix B.4",
    claim="the Laplace kernel's Fourier transform is a Cauchy distribution, which drops much slower than the "
    "Gaussian's: its functions are rougher",
    parameters={"sigma": 0.2, "points": 300, "largest": 200.0},
    quick={"points": 100},
)
def figure_b_4(run):
    kernels = {
        "Gaussian": Gaussian(run.sigma),
        "Matérn 5/2": Matern(run.sigma, 2.5),
        "Laplace": Laplace(run.sigma),
    }
    x = np.linspace(0, 1, run.points)[:, None]
    figure, axes = plt.subplots(2, 2, figsize=(11, 8.4), layout="constrained")
    densities = SpectralDensityDisplay.from_kernels(kernels, largest=run.largest, ax=axes[0, 0])
    models = {name: MercerExpansion(kernel=kernel).fit(x) for name, kernel in kernels.items()}
    EigenvalueDisplay.from_estimator(models, ax=axes[0, 1])
    FunctionSamplesDisplay.from_kernels(kernels, n_points=run.points, random_state=run.seed, ax=axes[1, 0])
    norms = RoughnessDisplay.from_kernels(kernels, n_points=run.points, ax=axes[1, 1]).norms
    for ax, letter, what in zip(
        axes.flat, "abcd", ("frequencies", "eigenvalues", "functions", "the price of roughness"), strict=True
    ):
        ax.set_title(f"({letter}) {what}")
    run.save(figure)
    steepness = {}
    omega, place = densities.omega, 20 / run.sigma
    for name, kernel in kernels.items():
        S = kernel.spectral_density([[place], [1.001 * place]])
        steepness[name] = float(np.diff(np.log(S))[0] / np.log(1.001))
        mu = models[name].eigenvalues_
        run.add(
            kernel=name,
            slope_of_log_density=steepness[name],
            eigenvalues_above_rounding=len(mu),
            above_a_thousandth=int((mu > 1e-3 * mu[0]).sum()),
        )
    cauchy = run.sigma / np.pi / (1 + (run.sigma * omega) ** 2)
    error = np.abs(densities.densities["Laplace"] / cauchy - 1).max()
    dearer = (
        norms["Gaussian"][np.isfinite(norms["Gaussian"])][-1]
        / norms["Laplace"][np.flatnonzero(np.isfinite(norms["Gaussian"]))[-1]]
    )
    return [
        Finding(
            "the Laplace kernel's transform is a Cauchy distribution",
            f"equal to {error:.0e}; at ω = {place:g} it falls as ω^{steepness['Laplace']:.2f}, the "
            f"Gaussian's as ω^{steepness['Gaussian']:.0f}",
            bool(error < 1e-12),
        ),
        Finding(
            "the Gaussian's drops much faster, so that Laplace's functions are rougher",
            "at the highest frequency that the Gaussian kernel's space holds to rounding, sin(ωx) costs "
            f"{dearer:.0e} times as much there",
            bool(dearer > 100),
        ),
    ]
