r"""Least squares on centres: `NystromGRLSRegressor` and `NystromGRLSClassifier`, for more rows than memory.

The model function stands on M centres z_j instead of all m rows,

    f(x) = Σ_j a_j k(z_j, x) + Σ_p β_p φ_p(x),   T_zᵀa = 0,

T_z the features at the centres, and minimises the same objective as `GRLSRegressor`,

    1/Σw Σ_i w_i (y_i − f(x_i))² + γ aᵀΦ_zz a.

**Why T_zᵀa = 0.** What G-RLS penalises is f − Pf, the part of f that the features cannot express; its norm is
that of the kernel H of eq. (11), Φ with the features' part taken off at q pivots. A Nyström model of it is
made of H(z_j, ·), and with the pivots among the centres these are exactly the functions above. So with all
rows as centres the model *is* the exact one, Tᵀc = 0 included; terms that the features express can be added
to the kernel without changing anything; and kernels that are positive definite only where Tᵀa = 0 holds need
nothing special.

**Whitening.** Let E hold φ' of the pivots at the other centres, N = [I ; −E] (T_zᵀN = 0) and NᵀΦ_zzN = H_zz =
L Lᵀ by Cholesky with pivoting, which stops where a centre adds nothing to those before it (a pivot below
1e-12 of the largest kernel value, 1e-6 in single precision); such centres are left out. Then

    b(x) = L⁻¹ (k(z, x) − E k(z', x)),   f = uᵀb + βᵀφ,   aᵀΦ_zz a = uᵀu,   a = N L⁻ᵀ u,

z' the pivots: the penalty is a plain square. Everything a fit needs is now the sum over rows of

    [b t y]ᵀ w [b t y],   t = φ(x)ᵀA,

A an invertible matrix that makes the features the pivots' φ' (their sums are then well conditioned, whatever
their units). Sums of b bᵀ, not of kernel values: those would square the condition number of Φ_zz, and lose γ
in rounding errors. The sums are symmetric, of order r + l + k, and add up: blocks of rows, threads, processes
and machines can compute them in any order.

**Solving.** With Π the projection off the features, G = BᵀΠB and h = BᵀΠY follow from the sums by eliminating
the features, and (G + γΣw I) u = h. One reduction of G gives generalised cross-validation for all γ,

    GCV(γ) = Σw · RSS / (Σw − l − tr G(G + s)⁻¹)²,   RSS = yᵀΠy − hᵀu − s uᵀu,   s = γΣw,

and one eigendecomposition the squared error on rows held out, themselves only a sum: vᵀS_held v with
v = [u ; β̃ ; −1]. Which rows are held out, and which become centres, depends on their contents and the seed
alone, not on their order or on the blocks; rows that are equal are held out together. The coefficients are
those of all rows.

**Conjugate gradients** (``solver="cg"``) need no sum of order M: G u is computed from kernel values that are
kept, or evaluated again in every step, preconditioned by (Σw / M) LᵀL + s, which is what G would be if the
centres stood for all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, lapack
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils import _safe_indexing, assert_all_finite, check_array, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from . import _core, features, kernels
from ._models.base import KernelMachine, Training, class_weighted
from ._models.classification import OneVersusAll
from ._models.progress import Stages
from ._nystrom import centers as _landmarks
from ._nystrom import sums as _sums
from ._nystrom.centers import Landmarks, Pool
from ._nystrom.streams import Stream, as_stream
from ._nystrom.sums import Summation, Sums
from ._solvers import memory as _memory
from ._solvers.conjugate_gradients import conjugate_gradients, refined_gradients, warn_unless_converged
from ._validation import FloatArray, choice, integer, real, sample_weights
from .exceptions import NotPositiveDefiniteError
from .kernels.polynomials import require_polynomials

__all__ = ["NystromGRLSClassifier", "NystromGRLSRegressor"]


@dataclass
class Block:
    """Checked rows, all of positive weight."""

    X: Any
    raw: Any  # as given where it has column names, for the features
    y: Any
    weights: FloatArray | None
    counts: FloatArray | None  # the sample weights without those of the classes
    T: Any = None  # the features, where they are known already


def _keeps_sums(model: Any) -> bool:
    if model.solver == "cg":
        raise AttributeError('solver="cg" needs the rows again: partial_fit and merge go with "cholesky"')
    return True


_adds_up = available_if(_keeps_sums)


class _Nystrom(KernelMachine):
    """What the two estimators share. Subclasses say what targets are."""

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        features: Any = "constant",
        regularization: float | str = "gcv",
        regularization_grid: Any = 50,
        n_centers: int = 1000,
        centers: Any = "uniform",
        validation_fraction: float = 0.1,
        solver: str = "cholesky",
        tol: float = 1e-6,
        max_iter: int = 200,
        cache_size: float = 1000,
        precision: str = "double",
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.features = features
        self.regularization = regularization
        self.regularization_grid = regularization_grid
        self.n_centers = n_centers
        self.centers = centers
        self.validation_fraction = validation_fraction
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.precision = precision
        self.random_state = random_state
        self.verbose = verbose

    # Subclasses: what is y?

    def _check_rows(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        """Return X and y, checked."""
        raise NotImplementedError

    def _weighted(self, y: Any, weights: FloatArray | None, *, whole: bool) -> FloatArray | None:
        """Return the weights that the labels change; `whole`: y is all there is."""
        return weights

    def _targets(self, y: Any) -> tuple[FloatArray, Any]:
        """Return the columns that are summed, (n, k), and the classes they stand for."""
        raise NotImplementedError

    def _coding(self, sums: Sums, n_summed: int) -> FloatArray | None:
        """Return C, where the targets are the summed columns times C; None: the columns themselves."""
        return None

    # Parameters and rows.

    def _check_parameters(self) -> None:
        if isinstance(self.regularization, str):
            choice(self.regularization, "regularization (unless it is a number)", _sums.CRITERIA)
        else:
            real(self.regularization, "regularization", minimum=0)
        integer(self.n_centers, "n_centers", minimum=1)
        if isinstance(self.centers, str):
            choice(self.centers, "centers (unless it is an array)", _landmarks.STRATEGIES)
        fraction = real(self.validation_fraction, "validation_fraction", above=0)
        if fraction >= 1:
            raise ValueError(f"validation_fraction must be less than 1, got {fraction}")
        choice(self.precision, "precision", ("double", "single"))
        real(self.tol, "tol", above=0)
        integer(self.max_iter, "max_iter", minimum=1)
        real(self.cache_size, "cache_size", minimum=0)
        if choice(self.solver, "solver", ("cholesky", "cg")) == "cg" and isinstance(self.regularization, str):
            raise ValueError(
                f'solver="cg" solves for one regularization, and cannot choose it by '
                f'{self.regularization!r}: give regularization a number, or use solver="cholesky"'
            )
        if isinstance(kernels.as_kernel(self.kernel), kernels.Precomputed):
            raise ValueError(
                "a precomputed kernel has no values at the centres of other blocks: use GRLSRegressor or "
                "GRLSClassifier, or give the kernel as a function"
            )

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _block(self, X: Any, y: Any, sample_weight: Any, *, reset: bool, whole: bool = False) -> Block:
        """Return checked rows without those of weight zero."""
        checked, targets = self._check_rows(X, y, reset=reset)
        counts = sample_weights(sample_weight, checked)
        weights = self._weighted(targets, counts, whole=whole)
        raw = X if hasattr(X, "columns") else None
        if weights is not None and not np.all(weights > 0):
            rows = np.flatnonzero(weights > 0)
            checked, raw, targets, weights, counts = (
                None if v is None else _safe_indexing(v, rows)
                for v in (checked, raw, targets, weights, counts)
            )
        return Block(checked, raw, targets, weights, counts)

    def _blocks(self, stream: Stream, *, reset: bool) -> Iterator[Block]:
        number = -1
        for number, (X, y, weight) in enumerate(stream):
            try:
                if isinstance(X, np.memmap):
                    X = np.asarray(X)
                block = self._block(X, y, weight, reset=reset and number == 0)
            except (ValueError, TypeError) as error:
                raise type(error)(f"block {number}: {error}") from error
            yield block
        if number < 0:
            raise ValueError("there are no blocks: nothing is there to fit")

    # Before the first sum: centres, kernel, features.

    def _pool(self, seed: int) -> Pool:
        return Pool(Pool.size_for(self.n_centers, self.centers), seed)

    def _place(self, pool: Pool, transformer: Any, like: Any) -> tuple[Landmarks, list[str]]:
        """Choose the centres and build their functions; `like` is a data frame, if the rows are one."""
        names = getattr(self, "feature_names_in_", None)
        kernel = kernels.as_kernel(self.kernel).resolve(pool.X, names)
        if isinstance(self.centers, str):
            centers = _landmarks.choose(self.centers, kernel, pool, self.n_centers)
        else:
            centers = check_array(
                self.centers, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="centers"
            )
            if centers.shape[1] != pool.X.shape[1]:
                raise ValueError(f"centers have {centers.shape[1]} columns, the data {pool.X.shape[1]}")
            if sparse.issparse(centers) != sparse.issparse(pool.X):
                centers = centers.toarray() if sparse.issparse(centers) else sparse.csr_matrix(centers)
        T = np.empty((centers.shape[0], 0))
        if transformer is not None:
            given = centers if like is None else type(like)(centers, columns=like.columns)
            T = features.evaluate(transformer.transform(given), centers.shape[0])
        if T.shape[1] >= centers.shape[0]:
            raise ValueError(
                f"n_samples={centers.shape[0]} centres cannot tell {T.shape[1]} features from the kernel's "
                "part: raise n_centers above the number of features, or give more rows"
            )
        require_polynomials(kernel, centers, T, None if names is None else list(names))
        landmarks = _landmarks.build(kernel, centers, T, self.precision)
        return landmarks, features.names(transformer, T.shape[1])

    def _begin(self, pool: Pool, like: Any, transformer: Any, seed: int) -> None:
        """Fix everything that all blocks share, from sampled rows and a fitted transformer."""
        landmarks, names = self._place(pool, transformer, like)
        fraction = float(self.validation_fraction) if self.regularization == "holdout" else 0.0
        self._summation = Summation(landmarks, self.precision, fraction, seed)
        self._transformer, self._names = transformer, names

    def _features_of(self, block: Block) -> FloatArray:
        if block.T is not None:
            return np.asarray(block.T)
        n_rows, expected = block.X.shape[0], len(self._names)
        if self._transformer is None:
            return np.empty((n_rows, 0))
        given = block.X if block.raw is None else block.raw
        T = features.evaluate(self._transformer.transform(given), n_rows)
        if T.shape[1] != expected:
            raise ValueError(f"the features gave {T.shape[1]} columns, but {expected} in the first block")
        return T

    def _sum(self, block: Block) -> Sums:
        Y, classes = self._targets(block.y)
        T = self._features_of(block)
        return self._summation(block.X, T, Y, block.weights, block.counts, classes)

    # Fitting.

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (m, d), or blocks
            Training points. Or rows that come in blocks: a memory-mapped array; an iterable of (X, y) or
            (X, y, sample_weight); an Arrow table, data set or record batches, or a Parquet file, where `y`
            and `sample_weight` name columns. What can be read twice is: once to choose the centres, once for
            the sums. Of an iterator the centres come from the first block. Features that are fitted see all
            rows of an array, and of blocks the sample that the centres are chosen from.
        y : array-like of shape (m,) or (m, k), str or None
            Targets or labels; the name of their column; None where the blocks bring them.
        sample_weight : array-like of shape (m,) or str, default=None
            Weights in the mean loss: weight 2 is the row twice, weight 0 no row.

        Returns
        -------
        NystromGRLSRegressor or NystromGRLSClassifier
            The fitted model.
        """
        with self._all_or_nothing():
            self._check_parameters()
            stages = Stages(self.verbose)
            self._forget_sums()
            stream = as_stream(X, y, sample_weight)
            seed = self._seed()
            if stream is None:
                blocks = self._start_in_memory(X, y, sample_weight, seed)
            else:
                blocks = self._start_stream(stream, seed)
            landmarks = self._summation.landmarks
            stages.done("centers")
            stages.report(f"{landmarks.centers.shape[0]} centres, {landmarks.rank} functions on them")
            if self.solver == "cg":
                self._conclude_by_gradients(blocks, stages)
            else:
                sums: Sums | None = None
                for number, block in enumerate(blocks):
                    part = self._named(number, block)
                    sums = part if sums is None else sums + part
                    stages.report(f"block {number}: {sums.total.rows} rows so far")
                assert sums is not None
                stages.done("sums")
                self._conclude(sums)
                stages.done("solve")
                stages.report(f"solved, regularization {self.regularization_:.3g}")
            self.fit_seconds_ = stages.seconds
            self._forget_sums()
        return self

    def _forget_sums(self) -> None:
        """Drop what only further sums need: it is of the size of the centres' kernel matrix."""
        for name in ("_sums", "_summation", "_transformer", "_names"):
            self.__dict__.pop(name, None)

    def _named(self, number: int, block: Block) -> Sums:
        try:
            return self._sum(block)
        except ValueError as error:
            raise ValueError(f"block {number}: {error}") from error

    def _start_in_memory(self, X: Any, y: Any, sample_weight: Any, seed: int) -> Any:
        block = self._block(X, y, sample_weight, reset=True, whole=True)
        n_samples = block.X.shape[0]
        if n_samples == 1:
            raise ValueError("cannot fit to n_samples=1: at least 2 samples are needed")
        transformer = features.as_transformer(self.features)
        if transformer is not None:
            given = block.X if block.raw is None else block.raw
            if hasattr(transformer, "fit_transform"):
                block.T = transformer.fit_transform(given, block.y)
            else:
                block.T = transformer.fit(given, block.y).transform(given)
            block.T = features.evaluate(block.T, n_samples)
            if block.T.shape[1] > n_samples:
                raise ValueError(
                    f"there are more features ({block.T.shape[1]}) than samples (n_samples={n_samples}); the "
                    "features alone would interpolate the data: give fewer, or let the kernel learn some"
                )
        pool = self._pool(seed)
        pool.add(block.X, block.y)
        self._begin(pool, block.raw, transformer, seed)
        if block.T is None:
            block.T = np.empty((n_samples, 0))
        return [block]

    def _start_stream(self, stream: Stream, seed: int) -> Any:
        pool = self._pool(seed)
        blocks = self._blocks(stream, reset=True)
        first = next(blocks)
        pool.add(first.X, first.y)
        if not stream.once:
            for block in blocks:
                pool.add(block.X, block.y)
        self._begin(pool, first.raw, self._fitted_on(pool, first.raw), seed)
        if not stream.once:
            return _Again(lambda: self._blocks(stream, reset=False))
        if self.solver == "cg":
            raise ValueError(
                'solver="cg" reads the blocks in every step, and an iterator can be read once: give an '
                "object whose iter() starts afresh (a list, a memory-mapped array, a Parquet file), or "
                'solver="cholesky"'
            )
        return _chain(first, blocks)

    def _fitted_on(self, pool: Pool, like: Any) -> Any:
        transformer = features.as_transformer(self.features)
        if transformer is None:
            return None
        given = pool.X if like is None else type(like)(pool.X, columns=like.columns)
        return transformer.fit(given, pool.y)

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, solve: bool, classes: Any) -> None:
        with self._all_or_nothing():
            self._check_parameters()
            before: Sums | None = getattr(self, "_sums", None)
            number = 0 if before is None else before.blocks
            try:
                block = self._block(X, y, sample_weight, reset=before is None)
                if before is None:
                    seed = self._seed()
                    pool = self._pool(seed)
                    pool.add(block.X, block.y)
                    self._begin(pool, block.raw, self._fitted_on(pool, block.raw), seed)
                sums = self._sum(block)
                self._check_alike(before, sums)
            except ValueError as error:
                raise ValueError(f"block {number}: {error}") from error
            if classes is not None and before is None:
                sums = sums.with_classes(np.unique(classes))
            self._sums = sums if before is None else before + sums
            self.n_samples_seen_ = self._sums.total.rows
            if solve:
                self._conclude(self._sums)

    def _check_alike(self, before: Sums | None, sums: Sums) -> None:
        if (
            before is not None
            and before.classes is None
            and len(before.fitted.matrix) != len(sums.fitted.matrix)
        ):
            raise ValueError("the number of targets is not that of the blocks before")

    @_adds_up  # type: ignore[untyped-decorator]
    def merge(self, *others: Any, solve: bool = True) -> Any:
        """Add the rows that other models have seen.

        Parameters
        ----------
        *others : models
            Made by ``partial_fit`` with the same centres, kernel and features: copies of one model that has
            seen its first block, or models with the same `centers` array, a kernel without ``"median"``, and
            features that depend on no data.
        solve : bool, default=True
            Whether to solve for the coefficients now; `solve` does it later.

        Returns
        -------
        NystromGRLSRegressor or NystromGRLSClassifier
            This model, of all the rows.
        """
        check_is_fitted(self, "_sums", msg="merge needs models made by partial_fit; this one is not")
        with self._all_or_nothing():
            sums = self._sums
            mine = self._summation
            for other in others:
                theirs = getattr(other, "_summation", None)
                if not isinstance(other, type(self)) or theirs is None or not hasattr(other, "_sums"):
                    raise ValueError("merge needs models of the same kind, made by partial_fit")
                if not mine.is_like(theirs):
                    raise ValueError(
                        "the models stand on different centres, kernels or features: copy one model after "
                        "its first block, or give all of them the same centers array and kernel width"
                    )
                self._check_alike(sums, other._sums)
                sums = sums + other._sums
            self._sums = sums
            self.n_samples_seen_ = sums.total.rows
            if solve:
                self._conclude(sums)
        return self

    def solve(self) -> Any:
        """Solve for the coefficients from the sums so far, after ``partial_fit(..., solve=False)``."""
        check_is_fitted(self, "_sums", msg="there are no sums: call partial_fit first")
        with self._all_or_nothing():
            self._conclude(self._sums)
        return self

    # From sums to the model.

    def _conclude(self, sums: Sums) -> None:
        landmarks = self._summation.landmarks
        n_summed = len(sums.fitted.matrix) - landmarks.rank - len(self._names)
        coding = self._coding(sums, n_summed)
        if sums.total.rows < 2:
            raise ValueError("cannot fit to n_samples=1: at least 2 samples are needed")
        if coding is not None:
            sums = sums.recoded(n_summed, coding)
        k = n_summed if coding is None else coding.shape[1]
        total = sums.total
        system = _sums.equations(total, landmarks, k)
        path = None
        try:
            if self.regularization == "gcv":
                path = _sums.gcv(system, self.regularization_grid)
            elif self.regularization == "holdout":
                trained = _sums.equations(sums.fitted, landmarks, k)
                path = _sums.holdout(trained, sums.held, k, self.regularization_grid)
            gamma = float(self.regularization) if path is None else path.regularization
            u = system.solve(gamma)
        except NotPositiveDefiniteError as error:
            raise NotPositiveDefiniteError(
                f"the equations of {landmarks.rank} functions and {total.rows} rows with regularization="
                f"{self.regularization!r} are not positive definite to working precision: choose a larger "
                "regularization or fewer centres"
            ) from error
        self._finish(u, system.features, gamma, total.rows, 1)
        for name in ("regularization_path_", "criterion_path_"):
            self.__dict__.pop(name, None)
        if path is not None:
            self.regularization_path_, self.criterion_path_ = path.path, path.criterion
        self._set_classes(sums.classes)

    def _set_classes(self, classes: Any) -> None:
        """Keep the labels; regression has none."""

    def _finish(self, u: FloatArray, eliminated: Any, gamma: float, n_rows: int, n_iter: int) -> None:
        landmarks = self._summation.landmarks
        training = Training(
            landmarks.centers, None, None, landmarks.T, self._names, self._transformer, landmarks.kernel, None
        )
        self._store(training, eliminated.kept)
        self.dual_coef_ = landmarks.coefficients(u)
        self.feature_coef_ = landmarks.A @ eliminated.coefficients(u)
        self.regularization_ = gamma
        self.n_samples_seen_ = n_rows
        self.n_iter_ = n_iter

    def _conclude_by_gradients(self, blocks: Any, stages: Stages) -> None:
        """Solve by conjugate gradients, with a pass over the rows in every step."""
        landmarks = self._summation.landmarks
        r, l = landmarks.rank, len(self._names)  # noqa: E741 - the papers' letter
        cross: Any = 0.0  # Zᵀ W [T A, Y]
        small: Any = 0.0  # (TA)ᵀ W [TA Y]
        weight, n_rows, labels = 0.0, 0, None
        if isinstance(self, ClassifierMixin):
            labels = np.unique(np.concatenate([np.unique(block.y) for block in blocks]))
        room = float(self.cache_size) * 2**20
        store = _core.KernelStore(
            precision=self.precision, bytes=min(room, 0.5 * (_memory.available() or room))
        )
        for number, block in enumerate(blocks):
            Y, _ = self._targets(block.y) if labels is None else (_indicators(block.y, labels), None)
            TY = np.hstack([self._features_of(block) @ landmarks.A, Y])
            weighted = TY if block.weights is None else block.weights[:, None] * TY
            cross = cross + landmarks.normal_times(store, number, block.X, block.weights, None, TY)
            small = small + weighted[:, :l].T @ TY
            weight += float(len(Y) if block.weights is None else block.weights.sum())
            n_rows += len(Y)
        coding = None if labels is None else _one_against_all(len(labels))
        if labels is not None and len(labels) < 2:
            raise ValueError(_ONE_CLASS)
        across = landmarks.functionals(np.ascontiguousarray(cross))
        S_bt, S_by, S_ty = across[:, :l], across[:, l:], small[:l, l:]
        if coding is not None:
            S_by, S_ty = S_by @ coding, S_ty @ coding
        eliminated = _sums.eliminate(small[:l, :l], S_bt.T, S_ty, landmarks, n_rows)
        h = S_by - eliminated.across.T @ eliminated.solved[:, r:]
        gamma = float(self.regularization)
        shift = gamma * weight
        LtL, _ = lapack.dlauum(landmarks.L, lower=1)
        LtL *= weight / landmarks.centers.shape[0]
        LtL[np.diag_indices(r)] += max(shift, 1e-12 * np.diagonal(LtL).max(initial=1e-300))
        factor = cho_factor(LtL, lower=True, overwrite_a=True, check_finite=False)
        stages.done("sums")

        def multiply(u: FloatArray, digits: str = "double") -> FloatArray:
            a = landmarks.coefficients(u)
            product: Any = 0.0
            for number, block in enumerate(blocks):
                product = product + landmarks.normal_times(
                    store, number, block.X, block.weights, a, precision=digits
                )
            kernel_part = landmarks.functionals(product)
            return np.asarray(kernel_part - eliminated.across.T @ (eliminated.solved[:, :r] @ u) + shift * u)

        solver = refined_gradients if self.precision == "single" else conjugate_gradients
        solved = solver(
            multiply,
            lambda R: cho_solve(factor, R, check_finite=False),
            np.ascontiguousarray(h),
            tol=self.tol,
            max_iter=self.max_iter,
            report=stages.report,
        )
        warn_unless_converged(solved, self.tol, self.max_iter)
        self._finish(solved.X, eliminated, gamma, n_rows, max(1, solved.steps))
        for name in ("regularization_path_", "criterion_path_"):
            self.__dict__.pop(name, None)
        self._set_classes(labels)
        stages.done("solve")


class _Again:
    """An iterable that starts afresh every time."""

    def __init__(self, start: Any) -> None:
        self._start = start

    def __iter__(self) -> Iterator[Block]:
        return iter(self._start())


def _chain(first: Block, rest: Iterator[Block]) -> Iterator[Block]:
    yield first
    yield from rest


def _indicators(labels: Any, classes: Any) -> FloatArray:
    return np.asarray(np.asarray(labels)[:, None] == classes[None, :], dtype=np.float64)


def _one_against_all(n_classes: int) -> FloatArray:
    """Return C with targets ±1 = indicators C: one column for two classes, one per class for more."""
    coding = 2 * np.eye(n_classes) - 1
    return coding[:, 1:] if n_classes == 2 else coding


_ONE_CLASS = "cannot fit a classifier to one class: all labels with positive weight are the same"

_PARAMETERS = """Parameters
    ----------
    kernel : Kernel, str or callable, default="gaussian"
        As in `GRLSRegressor`; a precomputed kernel cannot be used. The width ``"median"`` is taken from a
        sample.
    features : None, str, callable or transformer, default="constant"
        What is not penalised, as in `GRLSRegressor`. Of rows that come in blocks a transformer is fitted to
        the sample that the centres are chosen from; one that is fitted already can be wrapped in
        scikit-learn's ``FrozenEstimator``.
    regularization : float or {"gcv", "holdout"}, default="gcv"
        γ ≥ 0, with the meaning it has in `GRLSRegressor`. "gcv": generalised cross-validation, for which
        weights count as repetitions. "holdout": squared error on `validation_fraction` of the rows; the
        coefficients are then those of all rows.
    regularization_grid : int or array-like, default=50
        How many values of γ to try, or the values themselves.
    n_centers : int, default=1000
        M; all distinct rows where there are fewer.
    centers : {"uniform", "leverage", "kmeans"} or array-like of shape (M, d), default="uniform"
        A sample of the distinct rows; a sample by estimated ridge leverage, or the centres of clusters, both
        from ten times as many rows; or the centres themselves.
    validation_fraction : float, default=0.1
        Share of the rows held out by "holdout", chosen by their contents.
    solver : {"cholesky", "cg"}, default="cholesky"
        "cg": conjugate gradients, for so many centres that the sums of M² numbers per row are too much work;
        it needs a number for `regularization` and blocks that can be read again.
    tol : float, default=1e-6
        Relative residual at which conjugate gradients stop.
    max_iter : int, default=200
        Steps after which they stop with a ConvergenceWarning.
    cache_size : float, default=1000
        MiB of kernel values that conjugate gradients keep from step to step, half of the free memory at most;
        values for which there is no room are evaluated again. Room for all of them, 8 m M bytes and in single
        precision 4 m M, makes a step many times faster. The answer does not depend on it.
    precision : {"double", "single"}, default="double"
        Of kernel values and of products of up to 1024 rows. "single" is about twice as fast, leaves out
        centres that add less than 1e-6, and resolves γ down to about 1e-7 of k(x, x). Sums are in double
        precision always. Conjugate gradients then solve with products in single precision, and correct what
        comes out by residuals in double precision until `tol` is reached.
    random_state : int, RandomState instance or None, default=0
        Of the sample of centres and of the rows held out.
    verbose : int, default=0
        Whether to print what a fit is doing.{parameters}

    Attributes
    ----------
    X_fit_ : {ndarray, CSR matrix} of shape (M', d)
        The centres, without those that add nothing to the others.
    dual_coef_ : ndarray of shape (M', k)
        a, with T_zᵀa = 0.
    feature_coef_ : ndarray of shape (l, k)
        β; zero where a feature was left out.
    kernel_ : Kernel
        The kernel with its parameters fixed.
    features_ : transformer or None
        The fitted features.
    feature_names_free_ : list of str
        Their names.
    n_features_free_ : int
        Their number, l.
    feature_support_ : ndarray of shape (l,)
        Which of them have a coefficient; linearly dependent ones are left out with a warning.
    regularization_ : float
        γ that was used.
    regularization_path_, criterion_path_ : ndarrays of shape (g,)
        All γ that were tried, and the criterion there; smaller is better.
    n_samples_seen_ : int
        Rows of positive weight.
    n_iter_ : int
        Steps of conjugate gradients; 1 for "cholesky".
    fit_seconds_ : dict
        Time of each stage of ``fit``.{attributes}
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (d,)
        Their names, when X was a DataFrame."""


def _documented(attributes: str = "", parameters: str = "") -> Any:
    def fill(cls: Any) -> Any:
        text = _PARAMETERS.replace("{attributes}", attributes).replace("{parameters}", parameters)
        cls.__doc__ = cls.__doc__.replace("{parameters}", text)
        return cls

    return fill


@_documented()
class NystromGRLSRegressor(MultiOutputMixin, RegressorMixin, _Nystrom):
    """`GRLSRegressor` on centres: time linear in the rows, memory that does not grow with them.

    The equations are in the documentation of `grls.nystrom`.

    {parameters}

    See Also
    --------
    GRLSRegressor : The model with all rows as centres, with leave-one-out and variances.
    sklearn.kernel_approximation.Nystroem : Such functions as a transformer, without free features.

    Notes
    -----
    With r ≤ M functions and l features, the sums take about m(dM + r² + (r + l)²) operations and 16(r + l)²
    bytes, solving r³ of both.

    Examples
    --------
    >>> import numpy as np
    >>> from grls import NystromGRLSRegressor
    >>> from grls.kernels import Gaussian
    >>> x = np.linspace(0, 10, 5000)[:, None]
    >>> y = 3 * x[:, 0] + np.sin(x[:, 0])
    >>> model = NystromGRLSRegressor(Gaussian(1.0), features="linear", n_centers=50).fit(x, y)
    >>> round(model.score(x, y), 4)
    1.0

    The same from blocks:

    >>> parts = [(x[i : i + 500], y[i : i + 500]) for i in range(0, 5000, 500)]
    >>> again = NystromGRLSRegressor(Gaussian(1.0), features="linear", n_centers=50).fit(parts)
    >>> bool(np.allclose(again.predict(x), model.predict(x)))
    True
    """

    @_adds_up  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, solve: bool = True
    ) -> NystromGRLSRegressor:
        """Add a block of rows to the sums.

        The first block decides the centres, the width of the kernel, the features and what they are fitted
        to. A block that is refused changes nothing.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Training points.
        y : array-like of shape (n,) or (n, k)
            Targets.
        sample_weight : array-like of shape (n,), default=None
            Weights.
        solve : bool, default=True
            Whether to solve for the coefficients now; the method `solve` does it later.

        Returns
        -------
        NystromGRLSRegressor
            The model of all rows so far.
        """
        self._partial_fit(X, y, sample_weight, solve, None)
        return self

    def _check_rows(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        checked, targets = self._validate(X, y, multi_output=True, y_numeric=True, reset=reset)
        targets = np.asarray(targets, dtype=np.float64)
        assert_all_finite(targets, input_name="y")
        if reset:
            self._y_shape = targets.shape[1:]
        elif targets.shape[1:] != self._y_shape:
            raise ValueError(
                f"y has shape {targets.shape}, expected {(len(targets), *self._y_shape)} as before"
            )
        return checked, targets

    def _targets(self, y: Any) -> tuple[FloatArray, Any]:
        return y.reshape(len(y), -1), None

    def predict(self, X: Any) -> FloatArray:
        """Return the values of the model function.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            Predictions.
        """
        known, learnt = self._parts(X)
        return self._shaped(known + learnt)

    def _shaped(self, values: FloatArray) -> FloatArray:
        return values[:, 0] if self._y_shape == () else values


@_documented(
    """
    classes_ : ndarray of shape (n_classes,)
        The labels.""",
    """
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; "balanced" needs all rows at once.""",
)
class NystromGRLSClassifier(OneVersusAll, _Nystrom):
    """`GRLSClassifier` on centres: time linear in the rows, memory that does not grow with them.

    Targets are ±1; several classes are learnt one versus all from the same sums. The equations are in the
    documentation of `grls.nystrom`.

    {parameters}

    See Also
    --------
    GRLSClassifier : The model with all rows as centres.
    NystromGRLSRegressor : The same for regression.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from grls import NystromGRLSClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = NystromGRLSClassifier(n_centers=200).fit(X[:1000], y[:1000])
    >>> bool(model.score(X[1000:], y[1000:]) > 0.93)
    True
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        features: Any = "constant",
        regularization: float | str = "gcv",
        regularization_grid: Any = 50,
        n_centers: int = 1000,
        centers: Any = "uniform",
        validation_fraction: float = 0.1,
        class_weight: Any = None,
        solver: str = "cholesky",
        tol: float = 1e-6,
        max_iter: int = 200,
        cache_size: float = 1000,
        precision: str = "double",
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            kernel,
            features=features,
            regularization=regularization,
            regularization_grid=regularization_grid,
            n_centers=n_centers,
            centers=centers,
            validation_fraction=validation_fraction,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            cache_size=cache_size,
            precision=precision,
            random_state=random_state,
            verbose=verbose,
        )
        self.class_weight = class_weight

    @_adds_up  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, solve: bool = True
    ) -> NystromGRLSClassifier:
        """Add a block of rows to the sums.

        The first block decides the centres, the width of the kernel, the features and what they are fitted
        to. A block that is refused changes nothing. Labels may come up at any time.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Training points.
        y : array-like of shape (n,)
            Labels.
        classes : array-like, default=None
            Labels that are to come, if the first block does not have two of them.
        sample_weight : array-like of shape (n,), default=None
            Weights.
        solve : bool, default=True
            Whether to solve for the coefficients now; the method `solve` does it later.

        Returns
        -------
        NystromGRLSClassifier
            The model of all rows so far.
        """
        self._partial_fit(X, y, sample_weight, solve, classes)
        return self

    def _check_rows(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        checked, labels = self._validate(X, y, reset=reset)
        check_classification_targets(labels)
        return checked, labels

    def _weighted(self, y: Any, weights: FloatArray | None, *, whole: bool) -> FloatArray | None:
        if self.class_weight == "balanced" and not whole:
            raise ValueError(
                'class_weight="balanced" needs all labels at once; for blocks give a dict {label: weight}'
            )
        return class_weighted(self.class_weight, y, weights)

    def _targets(self, y: Any) -> tuple[FloatArray, Any]:
        classes = np.unique(y)
        return _indicators(y, classes), classes

    def _coding(self, sums: Sums, n_summed: int) -> FloatArray:
        if n_summed < 2:
            raise ValueError(_ONE_CLASS)
        return _one_against_all(n_summed)

    def _set_classes(self, classes: Any) -> None:
        self.classes_ = classes
