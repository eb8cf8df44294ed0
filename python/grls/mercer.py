"""A kernel's expansion in eigenfunctions, estimated from points: `MercerExpansion`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from ._models.base import KernelEstimator
from ._models.kernel_components import find_components, finite_rows, inverse_roots
from ._models.samples import given_rows, own_copy
from ._validation import FloatArray, integer, require_two_samples
from .kernels.origin import about_the_data

__all__ = ["MercerExpansion"]
__dir__ = __all__.copy


class MercerExpansion(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    r"""The empirical Mercer expansion of a kernel.

    .. math:: k(x, z) = \sum_j μ_j e_j(x) e_j(z), \qquad \frac1m \sum_i k(x, x_i)\, e_j(x_i) = μ_j e_j(x)

    The eigenfunctions of the kernel as an integral operator, with the mean over the training points in the
    place of the integral: orthonormal in that mean, :math:`\frac1m \sum_i e_j(x_i) e_l(x_i) = δ_{jl}`, and
    given at any point by Nyström's formula. A function :math:`f = \sum_j a_j e_j` has the norm
    :math:`‖f‖² = \sum_j a_j²/μ_j` in the kernel's space: the faster the eigenvalues fall, the more it costs
    to be rough.

    Parameters
    ----------
    n_components : int or None, default=None
        How many eigenfunctions, those of the largest eigenvalues; None takes all whose eigenvalue is more
        than rounding.
    kernel : Kernel, str or callable, default="gaussian"
        An object of `grls.kernels`, a name, a function ``k(X, Z)``, or ``"precomputed"``; positive definite.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        μ, descending: the eigenvalues of K/m.
    trace_ : float
        The mean of k(x, x), which all eigenvalues add up to.
    dual_coef_ : ndarray of shape (m, n_components)
        A with e_j(x) = Σ_i A_ij k(x_i, x).
    X_fit_ : {ndarray, CSR matrix} of shape (m, d)
        The training points.
    kernel_ : Kernel
        The kernel with its parameters fixed.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (d,)
        Their names, when X was a DataFrame.

    See Also
    --------
    KernelPCA : Components of the centred matrix, scaled to length one in the kernel's space.
    PriorRLSRegressor : Regression with a prior on these components.
    grls.plotting.EigenvalueDisplay : The picture of the decay.

    Notes
    -----
    About 9m³ operations and 32m² bytes. `KernelPCA` is about the scatter of points, and centres them; the
    expansion is about the kernel itself, and must not. Both rest on one matrix: with the same matrix, not
    centred, z_j = √μ_j e_j would be its components.

    Examples
    --------
    Brownian motion, whose eigenvalues on [0, 1] are known to be 1/((j − ½)π)²:

    >>> import numpy as np
    >>> from grls import MercerExpansion
    >>> x = (np.arange(400)[:, None] + 0.5) / 400
    >>> model = MercerExpansion(3, lambda X, Z: np.minimum(X, Z.T)).fit(x)
    >>> model.eigenvalues_.round(3)
    array([0.405, 0.045, 0.016])
    """

    def __init__(self, n_components: int | None = None, kernel: Any = "gaussian") -> None:
        self.n_components = n_components
        self.kernel = kernel

    def fit(self, X: Any, y: Any = None) -> MercerExpansion:
        """Find eigenvalues and eigenfunctions.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (m, d)
            Points, or the kernel matrix for a precomputed kernel. They stand for the distribution that the
            eigenfunctions belong to.
        y : array-like of shape (m,), default=None
            For views of the kernel whose transformer wants it; else not used.

        Returns
        -------
        MercerExpansion
            The fitted transformer.
        """
        if self.n_components is not None:
            integer(self.n_components, "n_components", minimum=1)
        with self._all_or_nothing():
            checked = self._validate(X)
            n_samples = checked.shape[0]
            require_two_samples(n_samples)
            self._checked_kernel(checked)
            kernel, points = self._fitted_kernel(checked, given_rows(X, checked), y)
            # The kernel about another centre would be another kernel.
            kernel = about_the_data(kernel, points, np.empty((n_samples, 0)), free=False)
            found = find_components(kernel, points, None, "the expansion of a kernel")
            there = len(found.eigenvalues)
            if self.n_components is not None and self.n_components > there:
                raise ValueError(
                    f"n_components={self.n_components}, but the matrix of {kernel!r} has {there} positive "
                    f"eigenvalues in n_samples={n_samples}"
                )
            found = found.first(there if self.n_components is None else self.n_components)
            self.kernel_, self.X_fit_ = kernel, points if kernel.pairwise else own_copy(points, X)
            self.eigenvalues_, self.trace_ = found.eigenvalues, found.trace
            self.dual_coef_ = np.ascontiguousarray(found.coefficients * inverse_roots(found.eigenvalues))
            self._values = found.training * inverse_roots(found.eigenvalues)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the eigenfunctions at points.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points, or their kernel values with the training points for a precomputed kernel.

        Returns
        -------
        ndarray of shape (n, n_components)
            e_j(x), of mean square one over the training points; the largest value there is positive.
        """
        check_is_fitted(self)
        points = self._view(X, self._validate(X, reset=False))
        return finite_rows(self.kernel_.times(points, self.X_fit_, self.dual_coef_), "eigenfunctions")

    def rkhs_norm(self, values: ArrayLike) -> Any:
        """Return the norm, in the kernel's space, of functions known at the training points.

        Parameters
        ----------
        values : array-like of shape (m,) or (m, k)
            f(x_i), a column for each function. What the eigenfunctions cannot express is left out.

        Returns
        -------
        float or ndarray of shape (k,)
            √(Σ a_j²/μ_j), a_j = mean of f e_j.
        """
        check_is_fitted(self)
        checked = check_array(values, dtype=np.float64, ensure_2d=False, input_name="values")
        if len(checked) != len(self._values):
            raise ValueError(f"values are of {len(checked)} points, the expansion of {len(self._values)}")
        a = self._values.T @ checked / len(checked)
        norms = np.linalg.norm((a.T / np.sqrt(self._positive_eigenvalues())).T, axis=0)
        if not np.all(np.isfinite(norms)):
            raise ValueError("the norms are not finite: values or eigenfunctions are too large")
        return norms

    def sample(self, X: Any, n_samples: int = 1, random_state: Any = None) -> FloatArray:
        """Draw functions: Gaussian processes whose covariance is the expansion.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Where to evaluate them.
        n_samples : int, default=1
            How many functions.
        random_state : int, RandomState instance or None, default=None
            Of the draws.

        Returns
        -------
        ndarray of shape (n, n_samples)
            Σ_j √μ_j ξ_j e_j(x), with independent standard normal ξ (Karhunen and Loève).
        """
        E = self.transform(X)
        normal = check_random_state(random_state).normal(
            size=(E.shape[1], integer(n_samples, "n_samples", minimum=1))
        )
        draws = E @ (np.sqrt(self._positive_eigenvalues())[:, None] * normal)
        return finite_rows(draws, "functions")

    def _positive_eigenvalues(self) -> FloatArray:
        if not np.all((self.eigenvalues_ > 0) & np.isfinite(self.eigenvalues_)):
            raise ValueError("the eigenvalues must be positive: the model was changed after the fit")
        return np.asarray(self.eigenvalues_)

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)
