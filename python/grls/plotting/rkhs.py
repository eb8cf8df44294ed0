"""What the space of a kernel is like: frequencies, eigenvalues, functions, norms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._validation import FloatArray, integer, real
from ..kernels import Kernel, as_kernel
from ..mercer import MercerExpansion
from ._display import SingleDisplay, require_fitted
from ._style import class_colors

__all__ = ["EigenvalueDisplay", "FunctionSamplesDisplay", "RoughnessDisplay", "SpectralDensityDisplay"]
__dir__ = __all__.copy

_APART = 1.3  # samples of different kernels are drawn above each other, in units of their range


def _named(kernels: Any, X: FloatArray | None = None) -> dict[str, Kernel]:
    """Return kernels by name: a dictionary, or kernels that name themselves; fixed to X if they need it."""
    given = kernels if isinstance(kernels, dict) else None
    if given is None:
        several = [kernels] if isinstance(kernels, Kernel | str) or callable(kernels) else list(kernels)
        made = [as_kernel(kernel) for kernel in several]
        given = {repr(kernel): kernel for kernel in made}
    if not given:
        raise ValueError("there are no kernels to show")
    out = {name: as_kernel(kernel) for name, kernel in given.items()}
    return out if X is None else {name: kernel.resolve(X) for name, kernel in out.items()}


def _interval(interval: tuple[float, float]) -> tuple[float, float]:
    low, high = (real(end, "interval") for end in interval)
    if not low < high:
        raise ValueError(f"interval must go from a smaller to a larger number, got {interval}")
    return low, high


@dataclass
class SpectralDensityDisplay(SingleDisplay):
    """Spectral densities of kernels of one variable: how much of which frequency their functions have.

    Parameters
    ----------
    omega : ndarray of shape (n,)
        Angular frequencies.
    densities : dict of str to ndarray of shape (n,)
        The densities there, by the kernels' names.
    """

    omega: FloatArray
    densities: dict[str, FloatArray]

    @classmethod
    def from_kernels(
        cls, kernels: Any, *, largest: float = 30.0, n_points: int = 300, ax: Any = None
    ) -> SpectralDensityDisplay:
        """Evaluate and draw spectral densities.

        Parameters
        ----------
        kernels : Kernel, sequence of them, or dict of them by name
            Stationary, with their widths fixed; see `grls.kernels.Kernel.spectral_density`.
        largest : float, default=30.0
            The highest angular frequency.
        n_points : int, default=300
            How many frequencies.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        SpectralDensityDisplay
            The display.
        """
        top = real(largest, "largest", above=0)
        omega = np.geomspace(1e-3 * top, top, integer(n_points, "n_points", minimum=2))
        densities = {name: k.spectral_density(omega[:, None]) for name, k in _named(kernels).items()}
        return cls(omega, densities).plot(ax=ax)

    def _draw(self, axes: Any, **options: Any) -> None:
        for (name, values), color in zip(
            self.densities.items(), class_colors(len(self.densities)), strict=True
        ):
            axes.plot(self.omega, values, color=color, label=name, **options)
        largest = max(values[np.isfinite(values)].max() for values in self.densities.values())
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(1e-12 * largest, 3 * largest)  # beyond, nothing is left that rounding would keep
        axes.set_xlabel("angular frequency ω")
        axes.set_ylabel("spectral density S(ω)")
        axes.legend(frameon=False)


@dataclass
class EigenvalueDisplay(SingleDisplay):
    """The decay of eigenvalues.

    Parameters
    ----------
    eigenvalues : dict of str to ndarray
        Descending, by the models' names.
    """

    eigenvalues: dict[str, FloatArray]

    @classmethod
    def from_estimator(cls, model: Any, *, relative: bool = True, ax: Any = None) -> EigenvalueDisplay:
        """Draw the eigenvalues of models.

        Parameters
        ----------
        model : MercerExpansion, KernelPCA or another with ``eigenvalues_``, or a dict of them by name
            Fitted.
        relative : bool, default=True
            Whether in units of the largest.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        EigenvalueDisplay
            The display.
        """
        models = model if isinstance(model, dict) else {repr(getattr(model, "kernel_", model)): model}
        for one in models.values():
            require_fitted(one, "eigenvalues_", f"{type(one).__name__} has no eigenvalues_ to show")
        values = {
            name: np.asarray(one.eigenvalues_) / (one.eigenvalues_[0] if relative else 1.0)
            for name, one in models.items()
        }
        return cls(values).plot(ax=ax)

    def _draw(self, axes: Any, **options: Any) -> None:
        colors = class_colors(len(self.eigenvalues))
        for (name, values), color in zip(self.eigenvalues.items(), colors, strict=True):
            places = np.arange(1, len(values) + 1)
            axes.plot(places, values, ".-", ms=3, lw=0.8, color=color, label=name, **options)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("component")
        axes.set_ylabel("eigenvalue")
        axes.legend(frameon=False)


@dataclass
class FunctionSamplesDisplay(SingleDisplay):
    """Functions of one variable drawn from Gaussian processes with the kernels as covariances.

    Parameters
    ----------
    x : ndarray of shape (n,)
        Where they are evaluated.
    samples : dict of str to ndarray of shape (n, n_samples)
        The functions, by the kernels' names.
    """

    x: FloatArray
    samples: dict[str, FloatArray]

    @classmethod
    def from_kernels(
        cls,
        kernels: Any,
        *,
        interval: tuple[float, float] = (0.0, 1.0),
        n_samples: int = 3,
        n_points: int = 400,
        random_state: Any = None,
        ax: Any = None,
    ) -> FunctionSamplesDisplay:
        """Draw functions of kernels, all by the same random numbers.

        Parameters
        ----------
        kernels : Kernel, sequence of them, or dict of them by name
            Positive definite.
        interval : pair of float, default=(0, 1)
            Where.
        n_samples : int, default=3
            How many of each kernel.
        n_points : int, default=400
            At how many points.
        random_state : int or None, default=None
            Of the draws.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        FunctionSamplesDisplay
            The display.
        """
        x = np.linspace(*_interval(interval), integer(n_points, "n_points", minimum=2))
        seed = np.random.default_rng(random_state).integers(2**31)
        samples = {
            name: MercerExpansion(kernel=kernel)
            .fit(x[:, None])
            .sample(x[:, None], n_samples, np.random.RandomState(seed))
            for name, kernel in _named(kernels, x[:, None]).items()
        }
        return cls(x, samples).plot(ax=ax)

    def _draw(self, axes: Any, **options: Any) -> None:
        step = _APART * max(np.ptp(values) for values in self.samples.values())
        colors = class_colors(len(self.samples))
        places = -step * np.arange(len(colors))
        for values, color, place in zip(self.samples.values(), colors, places, strict=True):
            axes.axhline(place, color="0.85", lw=0.6, zorder=0)
            axes.plot(self.x, values + place, color=color, lw=0.9, **options)
        axes.set_yticks(places, list(self.samples), rotation=90, va="center")
        axes.set_xlabel("x")


@dataclass
class RoughnessDisplay(SingleDisplay):
    """What it costs to be rough: the norm of sin(ωx) in the kernels' spaces, as ω grows.

    Parameters
    ----------
    omega : ndarray of shape (n,)
        Angular frequencies.
    norms : dict of str to ndarray of shape (n,)
        ‖sin(ωx)‖² there, by the kernels' names.
    """

    omega: FloatArray
    norms: dict[str, FloatArray]

    @classmethod
    def from_kernels(
        cls,
        kernels: Any,
        *,
        omega: ArrayLike | None = None,
        interval: tuple[float, float] = (0.0, 1.0),
        n_points: int = 200,
        ax: Any = None,
    ) -> RoughnessDisplay:
        """Measure and draw the norms.

        Parameters
        ----------
        kernels : Kernel, sequence of them, or dict of them by name
            Positive definite.
        omega : array-like of shape (n,), default=None
            Angular frequencies; None takes half a wave to ten waves in the interval.
        interval : pair of float, default=(0, 1)
            On which the functions are known.
        n_points : int, default=200
            At how many points.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        RoughnessDisplay
            The display. Where a norm is beyond what rounding leaves of the smallest eigenvalues, the curve
            ends.
        """
        low, high = _interval(interval)
        x = np.linspace(low, high, integer(n_points, "n_points", minimum=2))
        if omega is None:
            frequencies = np.linspace(1, 20, 77) * np.pi / (high - low)
        else:
            frequencies = np.ravel(np.asarray(omega, dtype=np.float64))
        waves = np.sin(x[:, None] * frequencies)
        norms = {}
        for name, kernel in _named(kernels, x[:, None]).items():
            model = MercerExpansion(kernel=kernel).fit(x[:, None])
            E = model.transform(x[:, None])
            left_over = waves - E @ (E.T @ waves) / len(x)
            seen = np.linalg.norm(left_over, axis=0) <= 1e-4 * np.linalg.norm(waves, axis=0)
            norms[name] = np.where(seen, model.rkhs_norm(waves) ** 2, np.nan)
        return cls(frequencies, norms).plot(ax=ax)

    def _draw(self, axes: Any, **options: Any) -> None:
        for (name, values), color in zip(self.norms.items(), class_colors(len(self.norms)), strict=True):
            axes.plot(self.omega, values, color=color, label=name, **options)
        axes.set_yscale("log")
        axes.set_xlabel("angular frequency ω")
        axes.set_ylabel("‖sin(ωx)‖²")
        axes.legend(frameon=False)
