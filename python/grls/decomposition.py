"""Kernel principal components: `KernelPCA`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from . import kernels
from ._models.base import KernelEstimator
from ._models.kernel_components import NEGATIVE, finite_rows, fixed_signs, inverse_roots, require_finite
from ._models.kernel_components import cleaned as _clean
from ._models.progress import Stages
from ._models.samples import given_rows, own_copy
from ._solvers import memory, spectrum
from ._solvers.runtime import interruptible
from ._validation import FloatArray, choice, integer, is_table_of_numbers, real
from ._warnings import warn
from .exceptions import IndefiniteKernelWarning, NotPositiveDefiniteError
from .kernels.compose import OnColumns
from .kernels.origin import about_the_data
from .least_squares import GRLSRegressor

__all__ = ["KernelPCA"]
__dir__ = __all__.copy

_PAIRED = 4000  # rows whose pairs stand for all pairs
_BLOCK = 2**24  # values of Nyström features at a time: 128 MiB


@dataclass
class _Spectrum:
    """Eigenvalues, descending, and eigenvectors of a double-centred kernel matrix K̃."""

    values: FloatArray  # (k,)
    vectors: FloatArray  # (m, k)
    means: FloatArray  # (m,): the means of the columns of the matrix before centring
    trace: float  # of K̃
    smallest: float  # a value that the whole spectrum reaches down to
    products: int = 1  # with K̃ that the iterative solver took
    unconverged: str = ""  # what to tell when it did not get as far as asked

    @property
    def rounding(self) -> float:
        """What an eigenvalue of zero may come out as: centring takes means out, and leaves their rounding."""
        return float(10 * np.finfo(np.float64).eps * np.abs(self.means).sum())

    @property
    def is_indefinite(self) -> bool:
        """Whether a negative value is more than rounding."""
        largest = max(np.abs(self.values).max(initial=0), -self.smallest)
        return bool(-self.smallest > max(NEGATIVE * largest, self.rounding))

    def cleaned(self) -> FloatArray:
        """Return the eigenvalues with zeros for those that are rounding, or negative."""
        return np.where(self.values > self.rounding, _clean(self.values), 0.0)


def _dense_spectrum(kernel: kernels.Kernel, X: Any, k: int) -> _Spectrum:
    """Return the k largest eigenpairs by LAPACK."""
    m = X.shape[0]
    memory.require(
        8.0 * m * m * (3 + kernel.is_function),
        f"the whole spectrum of a kernel matrix of {m} samples",
        'ask for few components (eigen_solver="iterative" takes a sixth) or set n_centers',
    )
    centred = spectrum.centred_gram(kernel.gram(X))
    lower = centred.lower
    require_finite(lower, kernel)
    # Divide and conquer, even for some of the eigenvectors: bisection and inverse iteration are slower from
    # a tenth of them on, and may return fewer than asked where eigenvalues repeat.
    values, vectors = interruptible(
        m, linalg.eigh, lower, lower=True, overwrite_a=True, check_finite=False, driver="evd"
    )
    return _Spectrum(
        values[::-1][:k].copy(),
        np.asfortranarray(vectors[:, : -k - 1 : -1]),  # column by column, as LAPACK and the core hold them
        centred.means,
        centred.trace,
        values[0],
    )


def _top_spectrum(
    kernel: kernels.Kernel, X: Any, k: int, tolerance: float, max_products: int, seed: int
) -> _Spectrum:
    """Return the k largest eigenpairs by block Lanczos."""
    m = X.shape[0]
    memory.require(
        memory.solve_bytes(m, "double")
        + 8.0 * m * (3 * k + 200)
        + (8.0 * m * m if kernel.is_function else 0),
        f"the {k} largest eigenvalues of a kernel matrix of {m} samples",
        "set n_centers, which stores no matrix of all samples",
    )
    top = spectrum.top_spectrum(kernel.gram(X), k, tolerance=tolerance, max_products=max_products, seed=seed)
    require_finite(top.values, kernel)
    unconverged = ""
    if not top.converged:
        share = float(np.max(top.residuals / np.abs(top.values).max()))
        unconverged = (
            f"after max_iter={max_products} products the residual of the eigenvectors is {share:.1e} of the "
            f"largest eigenvalue, more than asked for: raise max_iter or tol, or use eigen_solver='dense'"
        )
    return _Spectrum(
        top.values,
        top.vectors,
        top.means,
        top.trace,
        top.smallest,
        top.products,
        unconverged,
    )


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    r"""Principal components in the feature space of a kernel.

    .. math:: \tilde K = (I - 1_m) K (I - 1_m) = U \operatorname{diag}(λ) U^T, \quad α_k = u_k / \sqrt{λ_k},
              \quad z_k(x) = \sum_i α_{ik} \tilde k(x_i, x)

    where :math:`1_m` has 1/m everywhere and :math:`\tilde k` is centred with the means of the training
    points. The directions have length one in feature space, :math:`α_k^T \tilde K α_l = δ_{kl}`.

    Parameters
    ----------
    n_components : int or None, default=None
        How many components; None keeps all that have a positive eigenvalue.
    kernel : Kernel, str or callable, default="gaussian"
        An object of `grls.kernels`, a name, a function ``k(X, Z)``, or ``"precomputed"``. Kernels that are
        conditionally positive definite of order 1 serve too, for centring projects the constants out.
    n_centers : int or None, default=None
        Nyström approximation by as many training points, drawn at random: time and memory then grow
        linearly with the samples. None takes them all, which is exact.
    eigen_solver : {"auto", "dense", "iterative"}, default="auto"
        "dense" is LAPACK's, for many components; "iterative" is block Lanczos on half the matrix, for few of
        many. Ctrl-C leaves either at once, but LAPACK finishes in the background.
    tol : float, default=1e-10
        "iterative" stops when every eigenvector's residual is below `tol` times its eigenvalue, or below
        rounding.
    max_iter : int or None, default=None
        Products with the kernel matrix that "iterative" may take; None means 1000.
    remove_zero_eig : bool, default=False
        Whether components of eigenvalue zero are left out when `n_components` asks for them.
    fit_inverse_transform : bool, default=False
        Whether to learn a way back from components to points, by `GRLSRegressor`.
    alpha : float, default=1.0
        Its ridge: what is added to the diagonal of the components' kernel matrix (γm).
    inverse_kernel : Kernel, str, callable or None, default=None
        Its kernel; None takes `kernel`, whose width, if left to the data, is that of the components, and for
        ``k.on(columns)`` takes ``k``.
    inverse_features : None, str, callable or transformer, default="constant"
        Its features that are not penalised. With the constant the mean of the data is not shrunk; None is
        scikit-learn's pre-image.
    random_state : int, RandomState instance or None, default=None
        Of the centres, and of the start of the iterative solver.
    verbose : int, default=0
        Whether to print what the fit is doing, and when. On a terminal or in a notebook, rows beside centres
        are a bar with the time left if tqdm is installed.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        λ, descending: m times the variance of each component.
    eigenvectors_ : ndarray of shape (m, n_components)
        U, orthonormal; the largest entry of each is positive.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        λ divided by the trace of the centred kernel matrix: the variance of all components together. With
        `n_centers` what the centres cannot see is part of that total, and the mean of the matrix of more than
        4,000 samples is that of as many drawn at random.
    dual_coef_ : ndarray of shape (m, n_components)
        α, one row per point of `X_fit_`; each column sums to zero.
    feature_coef_ : ndarray of shape (1, n_components)
        What is added to Σ α k(x_i, x) to centre new points with the training means.
    X_fit_ : {ndarray, CSR matrix} of shape (m, d)
        Training points, or the centres, as the views of the kernel show them where it has some.
    kernel_ : Kernel
        The kernel with its parameters fixed.
    eigen_solver_ : {"dense", "iterative"}
        The solver that was used.
    n_iter_ : int
        Products with the kernel matrix that "iterative" took; 1 for "dense".
    inverse_ : GRLSRegressor
        From components to points, with `fit_inverse_transform`.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (d,)
        Their names, when X was a DataFrame.

    See Also
    --------
    sklearn.decomposition.KernelPCA : The same components. Its ``dual_coef_`` is that of the pre-image.
    grls.plotting.ComponentsDisplay : The picture.

    Notes
    -----
    All components: about 9m³ operations and 24m² bytes. A few of them: 4m² bytes, and 2m² operations for
    each vector that is multiplied. ``transform`` stores no kernel matrix.

    A kernel that is not positive definite, such as `Sigmoid`, or a matrix that is not a kernel's, has
    negative eigenvalues; they belong to no direction in a feature space and are left out, with an
    `IndefiniteKernelWarning`.

    Examples
    --------
    Two circles, one inside the other, fall apart:

    >>> from grls import KernelPCA
    >>> from grls.kernels import Gaussian
    >>> from sklearn.datasets import make_circles
    >>> X, y = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    >>> Z = KernelPCA(n_components=1, kernel=Gaussian(sigma=0.5)).fit_transform(X)
    >>> bool(Z[y == 1].min() > Z[y == 0].max() or Z[y == 1].max() < Z[y == 0].min())
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        kernel: Any = "gaussian",
        *,
        n_centers: int | None = None,
        eigen_solver: str = "auto",
        tol: float = 1e-10,
        max_iter: int | None = None,
        remove_zero_eig: bool = False,
        fit_inverse_transform: bool = False,
        alpha: float = 1.0,
        inverse_kernel: Any = None,
        inverse_features: Any = "constant",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.n_centers = n_centers
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.remove_zero_eig = remove_zero_eig
        self.fit_inverse_transform = fit_inverse_transform
        self.alpha = alpha
        self.inverse_kernel = inverse_kernel
        self.inverse_features = inverse_features
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> KernelPCA:
        """Find the components.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (m, d)
            Training points, or the kernel matrix for a precomputed kernel.
        y : array-like of shape (m,), default=None
            For views of the kernel whose transformer wants it; else not used.

        Returns
        -------
        KernelPCA
            The fitted transformer.
        """
        with self._all_or_nothing():
            checked = self._validate(X)
            pairwise = isinstance(self._checked_kernel(checked), kernels.Precomputed)
            self._fit(checked if pairwise else own_copy(checked, X), given_rows(X, checked), y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> FloatArray:
        """Find the components and return those of the training points.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (m, d)
            Training points, or the kernel matrix for a precomputed kernel.
        y : array-like of shape (m,), default=None
            For views of the kernel whose transformer wants it; else not used.

        Returns
        -------
        ndarray of shape (m, n_components)
            U √λ.
        """
        self.fit(X, y)
        return self._training_components()

    def transform(self, X: Any) -> FloatArray:
        """Project points onto the components.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points, or their kernel values with the training points for a precomputed kernel.

        Returns
        -------
        ndarray of shape (n, n_components)
            Their components, centred with the means of the training points.
        """
        check_is_fitted(self)
        return self._project(self._view(X, self._validate(X, reset=False)))

    def inverse_transform(self, X: Any) -> FloatArray:
        """Return points whose components are about those given.

        Parameters
        ----------
        X : array-like of shape (n, n_components)
            Components.

        Returns
        -------
        ndarray of shape (n, d)
            The learned pre-image.
        """
        check_is_fitted(self)
        if not hasattr(self, "inverse_"):
            raise NotFittedError("inverse_transform needs KernelPCA(fit_inverse_transform=True)")
        return np.asarray(self.inverse_.predict(check_array(X, dtype=np.float64)))

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)

    def _training_components(self) -> FloatArray:
        return np.asarray(self.eigenvectors_ * np.sqrt(self.eigenvalues_))

    def _project(self, X: Any) -> FloatArray:
        components = self.kernel_.times(X, self.X_fit_, self.dual_coef_) + self.feature_coef_
        return finite_rows(components, "components")

    def _fit(self, X: Any, given: Any, y: Any) -> None:
        m = X.shape[0]
        if m == 1:
            raise ValueError("cannot fit to n_samples=1: at least 2 samples are needed")
        choice(self.eigen_solver, "eigen_solver", ("auto", "dense", "iterative"))
        real(self.alpha, "alpha", minimum=0)
        tolerance = real(self.tol, "tol", minimum=0)
        max_products = 1000 if self.max_iter is None else integer(self.max_iter, "max_iter", minimum=1)
        kernel = self._checked_kernel(X)
        pairwise = isinstance(kernel, kernels.Precomputed)
        if kernel.order is not None and kernel.order > 1:
            raise ValueError(
                f"the kernel {kernel!r} is conditionally positive definite of order {kernel.order}: centring "
                "projects out the constants only, which is enough for kernels of order 0 and 1"
            )
        if self.fit_inverse_transform and pairwise:
            raise ValueError(
                "fit_inverse_transform=True needs the points themselves, not a precomputed kernel matrix"
            )
        if self.fit_inverse_transform and kernel.reads_given and not is_table_of_numbers(given):
            raise ValueError("fit_inverse_transform=True needs rows of numbers: text has no pre-image")
        if self.fit_inverse_transform and self.inverse_kernel is None:
            _of_components(kernel)
        if self.n_centers is not None:
            if integer(self.n_centers, "n_centers", minimum=2) > m:
                raise ValueError(f"n_centers={self.n_centers} is more than n_samples={m}")
            if pairwise:
                raise ValueError(
                    "n_centers saves nothing where the whole kernel matrix is given: leave it None"
                )
        most, name = (m, "n_samples") if self.n_centers is None else (self.n_centers, "n_centers")
        if self.n_components is not None and integer(self.n_components, "n_components", minimum=1) > most:
            raise ValueError(f"n_components={self.n_components} is more than {name}={most}")
        n_components = most if self.n_components is None else self.n_components

        random = check_random_state(self.random_state)
        stages = Stages(self.verbose)
        rows, (resolved, X) = X, self._fitted_kernel(X, given, y)
        self.kernel_ = about_the_data(resolved, X, np.ones((m, 1)), free=True)  # it is centred in any case
        self.eigen_solver_ = "dense"
        if self.n_centers is None:
            if self._is_iterative(m, n_components):
                self.eigen_solver_ = "iterative"
                seed = int(random.randint(np.iinfo(np.int32).max))
                stages.report(f"{n_components} components of {m} samples by block Lanczos")
                found = _top_spectrum(self.kernel_, X, n_components, tolerance, max_products, seed)
            else:
                stages.report(f"the whole spectrum of {m} samples by LAPACK")
                found = _dense_spectrum(self.kernel_, X, n_components)
            self._store(X, found)
        else:
            chosen = np.sort(random.choice(m, self.n_centers, replace=False))
            self._fit_nystrom(X, X[chosen], n_components, random, stages)
            rows = rows[chosen] if self.fit_inverse_transform else rows
        self.__dict__.pop("inverse_", None)
        if self.fit_inverse_transform:
            stages.report("the way back from the components")
            self.inverse_ = self._fitted_inverse(rows)
        products = f", {self.n_iter_} products" if self.eigen_solver_ == "iterative" else ""
        share = self.explained_variance_ratio_.sum()
        stages.report(f"{len(self.eigenvalues_)} components, {share:.1%} of the variance{products}")

    def _is_iterative(self, m: int, n_components: int) -> bool:
        if self.eigen_solver == "iterative" and n_components == m:
            raise ValueError(
                f'eigen_solver="iterative" finds fewer components than n_samples={m}; set n_components'
            )
        if self.eigen_solver == "auto":
            return m >= 200 and n_components <= m // 25
        return self.eigen_solver == "iterative"

    def _store(self, X: Any, found: _Spectrum) -> None:
        """Keep a spectrum of the training points themselves."""
        if found.unconverged:
            warn(found.unconverged, ConvergenceWarning)
        self._warn_if_indefinite(found)
        values = found.cleaned()
        kept = self._kept(values)
        vectors = found.vectors if kept.all() else found.vectors[:, kept]
        vectors = vectors * fixed_signs(vectors)
        self.X_fit_ = X
        self.n_iter_ = found.products
        self.eigenvalues_, self.eigenvectors_ = values[kept], vectors
        self.explained_variance_ratio_ = self.eigenvalues_ / found.trace if found.trace else self.eigenvalues_
        self.dual_coef_ = self.eigenvectors_ * inverse_roots(self.eigenvalues_)  # eq. (3.10)
        self.dual_coef_ -= self.dual_coef_.mean(axis=0)
        self.feature_coef_ = -(found.means @ self.dual_coef_)[None, :]

    def _fit_nystrom(self, X: Any, centers: Any, n_components: int, random: Any, stages: Stages) -> None:
        """Principal components of what the centres span.

        With A = U Λ^(-1/2) of the centred matrix of the centres, F(x) = k(x, centres) A - μᵀA are orthonormal
        coordinates of that span; what is left is ordinary PCA of F.
        """
        n, c = X.shape[0], centers.shape[0]
        stages.report(f"the whole spectrum of {c} centres by LAPACK")
        own = _dense_spectrum(self.kernel_, centers, c)
        self._warn_if_indefinite(own)
        A = own.vectors * inverse_roots(own.cleaned())
        A -= A.mean(axis=0)
        offset = -own.means @ A
        scatter, total = np.zeros((c, c), order="F"), np.zeros(c)
        variance = -n * self._mean_value(X, random)  # Σ k(x, x) - n mean k(·, ·)
        step = max(_BLOCK // c, 1)
        with stages.steps(-(-n // step), "blocks") as steps:
            for start in range(0, n, step):
                block = X[start : start + step]
                F = np.asfortranarray((self.kernel_.times(block, centers, A) + offset).T)
                scatter = linalg.blas.dsyrk(1.0, F, beta=1.0, c=scatter, lower=1, overwrite_c=1)
                total += F.sum(axis=1)
                variance += float(self.kernel_.diagonal(block).sum())
                steps.done(f"{min(start + step, n)} of {n} rows")
        mean = total / n
        scatter -= n * np.outer(mean, mean)
        eigenvalues, W = interruptible(c, linalg.eigh, scatter, lower=True, overwrite_a=True, driver="evd")
        eigenvalues, W = _clean(eigenvalues[::-1][:n_components]), W[:, ::-1][:, :n_components]
        kept = self._kept(eigenvalues)
        eigenvalues, W = eigenvalues[kept], W[:, kept]
        self.X_fit_ = centers
        self.n_iter_ = own.products
        self.dual_coef_ = A @ W * (eigenvalues > 0)
        self.feature_coef_ = ((offset - mean) @ W * (eigenvalues > 0))[None, :]
        vectors = self._project(X) * inverse_roots(eigenvalues)
        signs = fixed_signs(vectors)
        self.dual_coef_ *= signs
        self.feature_coef_ *= signs
        self.eigenvalues_, self.eigenvectors_ = eigenvalues, vectors * signs
        self.explained_variance_ratio_ = eigenvalues / variance

    def _mean_value(self, X: Any, random: Any) -> float:
        """Return the mean of k over all pairs of rows; of many, over pairs of some that are drawn."""
        n = X.shape[0]
        own = float(self.kernel_.diagonal(X).mean())
        rows = X if n <= _PAIRED else X[np.sort(random.choice(n, _PAIRED, replace=False))]
        q = rows.shape[0]
        pairs = float(self.kernel_.times(rows, rows, np.full((q, 1), 1 / q)).mean())
        if q == n:
            return pairs
        others = (q * pairs - float(self.kernel_.diagonal(rows).mean())) / (q - 1)  # pairs of two rows
        return float(own / n + others * (n - 1) / n)

    def _kept(self, values: FloatArray) -> Any:
        """Return which components to keep: all, or those with a positive eigenvalue."""
        kept = values > 0 if self.remove_zero_eig or self.n_components is None else np.full(len(values), True)
        if not np.any(values > 0):
            raise ValueError(
                f"no component has a positive variance: the kernel {self.kernel_!r} tells no samples apart"
            )
        return kept

    def _warn_if_indefinite(self, found: _Spectrum) -> None:
        if found.is_indefinite:
            warn(
                f"the kernel {self.kernel_!r} is not positive definite on these samples: its centred matrix "
                f"has eigenvalues from {found.values.max():.3g} down to {found.smallest:.3g}; the negative "
                "ones are left out",
                IndefiniteKernelWarning,
            )

    def _fitted_inverse(self, points: Any) -> GRLSRegressor:
        """Learn the way back, from the components of the training points (or of the centres)."""
        if sparse.issparse(points):
            memory.require(
                8.0 * points.shape[0] * points.shape[1],
                "the pre-image of sparse points, which is dense,",
                "set fit_inverse_transform=False",
            )
            points = points.toarray()
        components = self._training_components() if self.n_centers is None else self._project(self.X_fit_)
        given = self.inverse_kernel
        kernel = _of_components(self._checked_kernel(points)) if given is None else clone(given, safe=False)
        model = GRLSRegressor(
            kernel,
            features=clone(self.inverse_features, safe=False),
            regularization=self.alpha / len(components),
        )
        try:
            return model.fit(components, points)
        except NotPositiveDefiniteError as error:
            raise NotPositiveDefiniteError(
                f"no pre-image can be learned with alpha={self.alpha!r} and the kernel {kernel!r} on "
                f"{len(components)} samples: choose a larger alpha or another inverse_kernel"
            ) from error
        except ValueError as error:
            raise ValueError(
                f"no pre-image can be learned with the kernel {kernel!r} on {components.shape[1]} components "
                f"(set inverse_kernel): {error}"
            ) from error


def _of_components(kernel: kernels.Kernel) -> kernels.Kernel:
    """Return the kernel that reads components as this one reads rows; ValueError where there is none.

    Numbers and names of columns are those of X, and mean nothing among the components.
    """
    inner = kernel
    while isinstance(inner, OnColumns):
        inner = inner.kernel
    parts = [inner, *inner.get_params().values()] if isinstance(inner, kernels.Kernel) else [inner]
    if any(isinstance(part, OnColumns) or getattr(part, "reads_given", False) for part in parts):
        raise ValueError(
            f"the kernel {kernel!r} reads columns or views of X, which its components do not have: set "
            "inverse_kernel for the way back"
        )
    copy: kernels.Kernel = clone(inner)
    return copy
