"""Every function of the compiled core, with arguments of random shapes, types, orders and extremes.

A case starts from a call that is right and changes some of its arguments. It may answer, or refuse with an
error that Python users know; it must not crash, hang or raise anything else.
"""

import copy

import numpy as np
from fuzz import mutations
from fuzz.mutations import pick
from grls import _core

# What a caller may see of a bad argument.
REFUSALS = (ValueError, TypeError, MemoryError, OverflowError, np.linalg.LinAlgError)

# Raw addresses are trusted by their nature, results are made by the core.
NOT_CALLED = {"bind_blas", "bind_thread_control", "Status", "NotPositiveDefiniteError"}

_TERMS = {
    "constant": (2.0, 0.0, 0),
    "linear": (0.0, 0.0, 0),
    "polynomial": (1.0, 0.0, 2),
    "sigmoid": (0.5, 0.1, 0),
    "gaussian": (1.0, 0.0, 0),
    "laplace": (1.0, 0.0, 0),
    "matern": (1.0, 0.0, 3),
    "rational_quadratic": (1.0, 0.7, 0),
    "log": (1.2, 0.0, 0),
    "multiquadric": (1.0, 0.0, 0),
    "polyharmonic": (0.0, 0.0, 2),
    "chi_squared": (0.6, 0.0, 0),
    "laplace_l1": (1.0, 0.0, 0),
    "matern_nu": (1.0, 0.8, 0),
    "spherical": (3.0, 0.0, 0),
    "wendland": (5.0, 3.0, 1),
    "overlap": (1.0, 0.0, 0),
    "hamming": (1.0, 0.0, 0),
}
_ONE = ["scale", "power", "exponential", "normalize", "arc_cosine", "series"]

# Integers that only say how long to go on: large ones are no mistake, and would take as long as they say.
_PATIENCE = {"max_iterations", "max_products"}


def formula_arguments(rng, d):
    """Return the arguments of a formula for rows of d columns, most often a good one."""
    groups, steps, series = [], [], []
    height = 0
    for _ in range(int(rng.integers(1, 4))):
        name = pick(rng, list(_TERMS))
        a, b, degree = _TERMS[name]
        columns = sorted(rng.choice(d, size=int(rng.integers(1, d + 1)), replace=False).tolist()) if d else []
        columns = columns if rng.random() < 0.4 else []
        read = len(columns) or d
        widths = rng.uniform(0.5, 2, size=read).tolist() if rng.random() < 0.4 and name != "overlap" else []
        groups.append((columns, widths, []))
        steps.append((name, len(groups) - 1, a, b, degree))
        height += 1
        if rng.random() < 0.3:
            combine = pick(rng, _ONE)
            if combine == "series":
                series.append([0.5, 0.2, 0.1])
            steps.append((combine, len(series) - 1, 0.7, 0.0, 1))
    while height > 1:
        steps.append((pick(rng, ["sum", "product"]), 0, 0.0, 0.0, 0))
        height -= 1
    return {"groups": groups, "steps": steps, "series": series}


def formula(rng, d):
    """Return a formula for rows of d columns."""
    return _core.Formula(**formula_arguments(rng, d))


def _sparse(rng, n, d):
    dense = rng.uniform(0.1, 1, size=(n, d)) * (rng.random((n, d)) < 0.6)
    starts = np.concatenate([[0], np.cumsum((dense != 0).sum(axis=1))]).astype(np.int64)
    return dense[dense != 0], np.nonzero(dense)[1].astype(np.int64), starts, d


def rows(rng, n, d, *, is_sparse=None):
    """Return rows of positive values as the core takes them."""
    if rng.random() < 0.3 if is_sparse is None else is_sparse:
        return _sparse(rng, n, d)
    return rng.uniform(0.1, 1, size=(n, d)).astype(pick(rng, [np.float64, np.float64, np.float32]))


_ESTIMATES = {
    "solve_bytes": {"order": 9, "precision": "double"},
    "matrix_free_bytes": {"m": 9, "n_columns": 1, "n_centres": 3},
    "path_bytes": {"m": 9, "n_outputs": 1, "n_shifts": 5, "leave_one_out": True, "n_features": 1},
    "gradient_bytes": {"m": 9, "criterion": "loo", "n_columns": 3, "n_left_out": 2},
    "posterior_bytes": {"m": 9, "n_features": 3},
    "covariance_bytes": {"n_points": 9, "m": 3},
    "threshold_bytes": {"n": 9, "free": 3, "workers": 2},
    "ridge_columns_bytes": {"n": 9, "d": 3, "n_outputs": 2},
    "ridge_path_bytes": {"n": 9, "d": 3, "n_outputs": 2, "n_shifts": 5},
    "leave_out_bytes": {"order": 9, "largest": 3, "workers": 2},
    "svm_bytes": {
        "largest_pair": 9,
        "n_pairs": 3,
        "solver": "native",
        "cache_bytes": 1e6,
        "threads": 2,
    },
    "centres_bytes": {"M": 9},
}


class Calls:
    """A good call of each function: its name, the function and its arguments."""

    def __init__(self, rng, size):
        self.rng = rng
        self.n = int(rng.integers(3, size))
        self.d = int(rng.integers(1, 5))
        self.k = int(rng.integers(1, 3))
        self.T = np.column_stack([np.ones(self.n), rng.normal(size=self.n)])[:, : int(rng.integers(0, 3))]
        self.T = np.ascontiguousarray(self.T)
        self.Y = rng.normal(size=(self.n, self.k))
        self.weights = rng.uniform(0.5, 2, size=self.n) if rng.random() < 0.3 else None
        self.X = rows(rng, self.n, self.d)
        self.threads = int(rng.integers(0, 4))

    def _points(self, q):
        return rows(self.rng, q, self.d, is_sparse=isinstance(self.X, tuple))

    def _problem(self, **more):
        given = self.rng.random() < 0.3
        A = self.rng.normal(size=(self.n, self.n))
        return {
            "formula": None if given else formula(self.rng, self.d),
            "data": A @ A.T + np.eye(self.n) if given else self.X,
            "T": self.T,
            "Y": self.Y,
            "weights": self.weights,
            "threads": self.threads,
            **more,
        }

    def _of_rows(self, **more):
        return {
            "formula": formula(self.rng, self.d),
            "data": self.X,
            "T": self.T,
            "Y": self.Y,
            "weights": self.weights,
            "threads": self.threads,
            **more,
        }

    def Formula(self):
        return _core.Formula, formula_arguments(self.rng, self.d)

    def kernel_matrix(self):
        a, b = self.X, self._points(int(self.rng.integers(0, 9)))
        return _core.kernel_matrix, {
            "formula": formula(self.rng, self.d),
            "a": a,
            "b": b,
            "threads": self.threads,
        }

    def kernel_diagonal(self):
        return _core.kernel_diagonal, {
            "formula": formula(self.rng, self.d),
            "rows": self.X,
            "threads": self.threads,
        }

    def kernel_times(self):
        c = self.rng.normal(size=(self.n, self.k))
        return _core.kernel_times, {
            "formula": formula(self.rng, self.d),
            "a": self._points(5),
            "b": self.X,
            "c": c,
            "threads": self.threads,
        }

    def kernel_input_gradient(self):
        b = rows(self.rng, self.n, self.d, is_sparse=False).astype(np.float64)
        return _core.kernel_input_gradient, {
            "formula": formula(self.rng, self.d),
            "a": rows(self.rng, 4, self.d, is_sparse=False),
            "b": b,
            "c": self.rng.normal(size=(self.n, self.k)),
            "threads": self.threads,
        }

    def solve(self):
        return _core.solve, self._problem(
            shift=pick(self.rng, [1.0, 0.1, 1e-8]),
            formulation=pick(self.rng, ["exact", "published"]),
            pivots=pick(self.rng, ["qr", "first"]),
            tolerance=1e-9,
            precision=pick(self.rng, ["double", "single", "mixed", "auto"]),
        )

    def MatrixFree(self):
        """The solver without a matrix, and what it solves."""
        made = self._of_rows(
            dependence=1e-9,
            n_centres=int(self.rng.integers(0, self.n)),
            pivoted=bool(self.rng.random() < 0.5),
        )
        del made["Y"]
        if self.rng.random() < 0.3:
            return _core.MatrixFree, made
        made["formula"] = _core.Formula([([], [], [])], [("gaussian", 0, 1.0, 0.0, 0)])
        solver = _core.MatrixFree(**made)
        how = {
            "shift": 1.0,
            "precision": pick(self.rng, ["double", "single", "mixed", "auto"]),
            "tolerance": 1e-6,
            "max_iterations": 20,
            "threads": self.threads,
        }
        some = self.rng.normal(size=(self.n, self.k))
        begun = {"guess": some, "image": some} if self.rng.random() < 0.3 else {}
        T_new = self.rng.normal(size=(4, self.T.shape[1]))
        asked = {"K": self.rng.normal(size=(self.n, 4)), "T_new": T_new, "diagonal": True}
        return pick(
            self.rng,
            [
                (solver.fit, {"Y": self.Y, **begun, **how}),
                (solver.solve, {"B": self.Y, **begun, **how}),
                (solver.covariance, {**asked, **how}),
                (solver.project, {"X": self.Y}),
                (solver.free_part, {"Y": self.Y, "c": some, "threads": self.threads}),
                (solver.multiply, {"V": self.Y, "threads": self.threads}),
                (solver.coordinates, {"V": self.Y, "threads": self.threads}),
                (solver.rotate, {"U": np.eye(solver.rank), "eigenvalues": np.ones(solver.rank)}),
            ],
        )

    def path(self):
        return _core.path, self._problem(
            shifts=np.geomspace(1e-3, 10, 4),
            relative=bool(self.rng.random() < 0.5),
            leave_one_out=bool(self.rng.random() < 0.5),
            tolerance=1e-9,
        )

    def reduce(self):
        return _core.reduce, self._problem(leave_one_out=bool(self.rng.random() < 0.5), tolerance=1e-9)

    def ReducedMatrix(self):
        """Shifts of a matrix, and groups left out of it."""
        reduced = _core.reduce(**self._of_rows(leave_one_out=True, tolerance=1e-9))
        if self.rng.random() < 0.5:
            return reduced.at, {"shifts": np.array([0.1, 1.0]), "relative": True, "threads": self.threads}
        half = self.n // 2
        return reduced.leave_out, {
            "shift": 1.0,
            "rows": list(range(self.n)),
            "starts": [0, half, self.n],
            "c": self.rng.normal(size=(self.n, self.k)),
            "extra": np.empty((self.n, 0)),
            "threads": self.threads,
        }

    def gradient(self):
        starts = [0, self.n // 2, self.n]
        d = self.d
        chosen = _core.Formula([([], [1.0] * d, [])], [("gaussian", 0, 1.0, 0.0, 0)])
        found = self._of_rows(
            shift=1.0,
            criterion=pick(self.rng, ["reml", "loo", "logo"]),
            groups=[0],
            tolerance=1e-9,
            left_out_rows=list(range(self.n)),
            left_out_starts=starts,
        )
        if self.rng.random() < 0.5:
            found["formula"] = chosen
        return _core.gradient, found | self._repeated()

    def _repeated(self):
        """Rows that the samples stand for, or none."""
        if self.rng.random() < 0.7:
            return {}
        more = self.n + 2
        return {
            "row_points": [i % self.n for i in range(more)],
            "row_weights": np.ones(more),
            "row_counts": np.ones(more),
            "deviations": np.zeros((more, self.k)),
        }

    def restricted_likelihoods(self):
        found = self._problem(shifts=np.geomspace(1e-3, 10, int(self.rng.integers(1, 4))), tolerance=1e-9)
        return _core.restricted_likelihoods, found | self._repeated()

    def tune(self):
        d = self.d
        p = d + 1  # a logarithm of each width, and that of the shift
        found = self._of_rows(
            formula=_core.Formula([([], [1.0] * d, [])], [("gaussian", 0, 1.0, 0.0, 0)]),
            groups=[0],
            units=np.ones(d),
            variable=list(range(d)),
            start=np.zeros(p),
            lower=np.full(p, -5.0),
            upper=np.full(p, 5.0),
            curve=np.eye(p),
            reach=np.ones(d),
            a=0.2,
            b=1.0 if self.rng.random() < 0.3 else 0.0,
            gain=1e-3,
            most=int(self.rng.integers(1, 6)),
            tolerance=1e-9,
        )
        return _core.tune, found | self._repeated()

    def Posterior(self):
        """The factor, and variances by it."""
        if self.rng.random() < 0.3:
            made = self._problem(shift=1.0, tolerance=1e-9)
            del made["Y"]
            return _core.Posterior, made
        gauss = _core.Formula([([], [], [])], [("gaussian", 0, 1.0, 0.0, 0)])
        X = self._points(self.n)
        posterior = _core.Posterior(
            formula=gauss, data=X, T=self.T, weights=self.weights, shift=1.0, tolerance=1e-9
        )
        q = 4
        T_new = self.rng.normal(size=(q, self.T.shape[1]))
        K, prior = self.rng.normal(size=(q, self.n)), np.eye(q)
        return pick(
            self.rng,
            [
                (
                    posterior.variance,
                    {"formula": gauss, "samples": X, "rows": self._points(q), "T_new": T_new},
                ),
                (
                    posterior.covariance,
                    {"formula": gauss, "samples": X, "rows": self._points(q), "T_new": T_new},
                ),
                (posterior.variance_of_given, {"prior": np.ones(q), "K": K, "T_new": T_new}),
                (posterior.covariance_of_given, {"prior": prior, "K": K, "T_new": T_new}),
            ],
        )

    def conjugate_gradients(self):
        A = np.eye(self.n) * 2
        kind = int(self.rng.integers(6))

        def multiply(V, precision):
            if kind == 0:
                return V[:-1]
            if kind == 1:
                raise ValueError("a fault of the caller")
            if kind == 2:
                return "text"
            return A @ V * (np.nan if kind == 3 else 1.0)

        return _core.conjugate_gradients, {
            "multiply": multiply,
            "precondition": lambda R: R.copy(),
            "B": self.Y,
            "tolerance": 1e-8,
            "max_iterations": 9,
            "refined": bool(self.rng.random() < 0.5),
            "threads": self.threads,
        }

    def centred_gram(self):
        made = self._problem()
        return _core.centred_gram, {name: made[name] for name in ("formula", "data", "threads")}

    def top_spectrum(self):
        made = self._problem()
        return _core.top_spectrum, {
            **{name: made[name] for name in ("formula", "data", "threads")},
            "k": int(self.rng.integers(1, self.n)),
            "tolerance": 1e-8,
            "max_products": 30,
            "seed": 3,
        }

    def null_space(self):
        return _core.null_space, {"T": self.T, "tolerance": 1e-9}

    def independent_columns(self):
        return _core.independent_columns, {"T": self.T, "tolerance": 1e-9}

    def phi_prime(self):
        return _core.phi_prime, {"T": self.T, "pivots": pick(self.rng, ["qr", "first"]), "tolerance": 1e-9}

    def assemble(self):
        A = self.rng.normal(size=(self.n, self.n))
        return _core.assemble, {
            "gram": A @ A.T,
            "T": self.T,
            "basis": pick(self.rng, ["pivot", "orthonormal"]),
            "pivots": "qr",
            "tolerance": 1e-9,
            "threads": self.threads,
        }

    def llt(self):
        A = self.rng.normal(size=(self.n, self.n))
        return _core.llt, {"matrix": A @ A.T + np.eye(self.n), "threads": self.threads}

    def pivoted_llt(self):
        A = self.rng.normal(size=(self.n, self.n))
        return _core.pivoted_llt, {"matrix": A @ A.T, "tolerance": 1e-9, "threads": self.threads}

    def svm_fit(self):
        made = self._problem()
        labels = [0, 1, *self.rng.integers(0, 3, size=self.n - 2).tolist()]
        classes = max(labels) + 1
        return _core.svm_fit, {
            "formula": made["formula"],
            "data": made["data"],
            "T": self.T,
            "labels": labels,
            "n_classes": classes,
            "C": 1.0,
            "weights": np.ones(self.n),
            "feature_variance": np.inf,
            "dependence": 1e-9,
            "solver": pick(self.rng, ["auto", "native", "ipm"]),
            "tolerance": 1e-3,
            "max_iterations": 50,
            "cache_bytes": 1e5,
            "threads": self.threads,
        }

    def _calibration(self):
        A = self.rng.normal(size=(self.n, self.n))
        return {
            "kernel": A @ A.T + np.eye(self.n) if self.rng.random() < 0.6 else None,
            "T": self.T,
            "scores": self.rng.normal(size=self.n),
            "lower": -0.2,
            "upper": 0.8,
            "threads": self.threads,
        }

    def conformal_calibrate(self):
        start = np.clip(self.rng.normal(size=self.n), -0.2, 0.8) if self.rng.random() < 0.3 else None
        return _core.conformal_calibrate, {**self._calibration(), "start": start}

    def conformal_thresholds(self):
        made = self._calibration()
        at = _core.conformal_calibrate(**made)
        q = int(self.rng.integers(1, 4))
        with_kernel = made["kernel"] is not None
        return _core.conformal_thresholds, {
            **made,
            "c": np.array(at.c),
            "free": list(at.free),
            "kernel_new": self.rng.normal(size=(q, self.n)) if with_kernel else None,
            "diagonal": np.full(q, 2.0 * self.n) if with_kernel else None,
            "T_new": np.resize(self.T, (q, self.T.shape[1])),
            "targets": np.full(q, 0.8),
        }

    def piecewise_fit(self):
        made = self._problem()
        shape = (self.n, 1)
        return _core.piecewise_fit, {
            "formula": made["formula"],
            "data": made["data"],
            "T": self.T,
            "weights": np.ones(self.n),
            "t": self.Y[:, :1].copy(),
            "lower": np.full(shape, -1.0),
            "upper": np.ones(shape),
            "kappa_up": np.full(shape, 0.1),
            "kappa_down": np.full(shape, 0.1),
            "epsilon": np.full(shape, 0.1),
            "dependence": 1e-9,
            "solver": pick(self.rng, ["auto", "native", "ipm"]),
            "tolerance": 1e-3,
            "max_iterations": 50,
            "cache_bytes": 1e5,
            "threads": self.threads,
        }

    def plsa(self):
        documents = _sparse(self.rng, self.n, self.d)
        dense = np.zeros((self.n, self.d))
        dense[np.repeat(np.arange(self.n), np.diff(documents[2])), documents[1]] = documents[0]
        by_word = dense.T
        starts = np.concatenate([[0], np.cumsum((by_word != 0).sum(axis=1))]).astype(np.int64)
        words = by_word[by_word != 0], np.nonzero(by_word)[1].astype(np.int64), starts, self.n
        return _core.plsa, {
            "documents": documents,
            "words": words,
            "tolerance": 1e-4,
            "max_iterations": 9,
            "topics": self.rng.dirichlet(np.ones(self.d), size=2),
            "threads": self.threads,
        }

    def plsa_fold_in(self):
        return _core.plsa_fold_in, {
            "documents": _sparse(self.rng, self.n, self.d),
            "topics": self.rng.dirichlet(np.ones(self.d), size=2),
            "start": np.full(2, 0.5),
            "max_iterations": 9,
            "tolerance": 1e-4,
            "threads": self.threads,
        }

    def _ridge(self, **more):
        X = self.X if isinstance(self.X, tuple) else self.X.astype(np.float64)
        return {
            "rows": X,
            "T": self.T,
            "Y": self.Y,
            "weights": self.weights,
            "dependence": 1e-9,
            "threads": self.threads,
            **more,
        }

    def ridge_columns(self):
        return _core.ridge_columns, self._ridge(shift=1.0)

    def ridge_cg(self):
        return _core.ridge_cg, self._ridge(shift=1.0, tolerance=1e-8, max_iterations=20)

    def ridge_reduce(self):
        return _core.ridge_reduce, self._ridge()

    def ridge_path(self):
        return _core.ridge_path, self._ridge(shifts=np.array([0.1, 1.0]), relative=False)

    def _whitening(self):
        M = int(self.rng.integers(2, 5))
        free = int(self.rng.integers(0, 2))
        L = np.tril(self.rng.normal(size=(M - free, M - free))) + 3 * np.eye(M - free)
        return {
            "formula": formula(self.rng, self.d),
            "data": self.X,
            "centres": self._points(M),
            "E": self.rng.normal(size=(M - free, free)),
            "L": L,
            "threads": self.threads,
        }

    def row_sums(self):
        return _core.row_sums, {
            **self._whitening(),
            "T": self.T,
            "Y": self.Y,
            "weights": self.weights,
            "precision": pick(self.rng, ["double", "single"]),
        }

    def whitened_rows(self):
        return _core.whitened_rows, self._whitening()

    def row_keys(self):
        return _core.row_keys, {"data": self.X, "seed": 5, "threads": self.threads}

    def KernelStore(self):
        store = _core.KernelStore(
            precision=pick(self.rng, ["double", "single"]), bytes=float(pick(self.rng, [0, 1e6]))
        )
        given = {
            "formula": formula(self.rng, self.d),
            "block": 0,
            "data": self.X,
            "centres": self._points(4),
            "weights": self.weights,
            "a": np.ones((4, self.k)),
            "B": self.Y,
            "precision": pick(self.rng, ["double", "single"]),
            "threads": self.threads,
        }
        if self.rng.random() < 0.5:
            store.normal_times(**given)
        return store.normal_times, given

    def symmetric_kernel_times(self):
        return _core.symmetric_kernel_times, {
            "formula": formula(self.rng, self.d),
            "data": self.X,
            "c": self.Y,
            "precision": pick(self.rng, ["double", "single"]),
            "threads": self.threads,
        }

    def sizes(self):
        """Estimates of memory."""
        name = pick(self.rng, list(_ESTIMATES))
        return getattr(_core, name), dict(_ESTIMATES[name])

    def settings(self):
        """What is asked and set in the whole process."""
        name = pick(self.rng, ["backend", "blas_threads", "select_backend", "SingleThreaded"])
        given = {"name": pick(self.rng, ["library", "eigen", "library"])} if name == "select_backend" else {}
        return getattr(_core, name), given


KINDS = [name for name in vars(Calls) if not name.startswith("_")]


def covered():
    """Return the names of the core that some call is of."""
    return set(KINDS) | set(_ESTIMATES) | {"backend", "blas_threads", "select_backend", "SingleThreaded"}


def _mutate(rng, name, value):
    if isinstance(value, _core.Formula):
        return (
            formula(rng, int(rng.integers(1, 7))) if rng.random() < 0.8 else mutations.any_value(rng, value)
        )
    if name in _PATIENCE:
        return pick(rng, [0, -1, 1, 3, 60, -(2**31), 2.5, None])
    if isinstance(value, tuple) and len(value) == 4 and isinstance(value[0], np.ndarray):
        return mutations.sparse_rows(rng, value) if rng.random() < 0.9 else mutations.any_value(rng, value[0])
    if isinstance(value, list) and value and isinstance(value[0], int):
        return mutations.indices(rng, value)
    if callable(value):
        return value
    return mutations.any_value(rng, value)


def make(seed, keep=None, size=12, kind=None):
    """Return a call: its name, the function, its arguments and which of them were changed.

    keep: which changes are made, by their numbers; None, all of them.
    """
    rng = np.random.default_rng(seed)
    kind = pick(rng, KINDS) if kind is None else kind
    function, arguments = getattr(Calls(rng, size), kind)()
    names = list(arguments)
    count = int(pick(rng, [0, 1, 1, 1, 2, 3]))
    changed = []
    for number in range(count if names else 0):
        name = pick(rng, names)
        value = _mutate(
            np.random.default_rng([seed, number]),
            name,
            copy.deepcopy(arguments[name])
            if not callable(arguments[name]) and not isinstance(arguments[name], _core.Formula)
            else arguments[name],
        )
        if keep is None or number in keep:
            arguments[name] = value
            changed.append((number, name))
    return kind, function, arguments, changed


def run(seed, keep=None):
    """Make one call; return "answered" or "refused"."""
    try:
        _, function, arguments, changed = make(seed, keep)
    except REFUSALS:  # of what comes before the call itself, such as a formula that cannot be normalised
        return "refused"
    try:
        with np.errstate(all="ignore"):
            function(**arguments)
    except REFUSALS as error:
        text = str(error)
        if "std::" in text and not isinstance(error, TypeError):
            raise AssertionError(f"an error of the C++ library reached the caller: {text}") from error
        return "refused"
    return "answered" if changed else "answered as it was"


def describe(seed, keep=None):
    """Return the call as text."""
    kind, _, arguments, changed = make(seed, keep)
    lines = [f"{kind} (seed {seed})"]
    names = {name for _, name in changed}
    for name, value in arguments.items():
        shown = repr(value)
        if isinstance(value, np.ndarray):
            shown = f"array {value.dtype} {value.shape} strides {value.strides}: {shown}"
        lines.append(f"  {'*' if name in names else ' '} {name} = {shown[:400]}")
    return "\n".join(lines)


def shrink(seed, fails):
    """Return the fewest changes with which the call still fails, as text."""
    *_, changed = make(seed)
    keep = [number for number, _ in changed]
    for number in list(keep):
        fewer = [other for other in keep if other != number]
        if fails(lambda s, fewer=fewer: run(s, fewer), seed):
            keep = fewer
    return describe(seed, keep)
