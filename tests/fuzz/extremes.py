"""Fits of two to nine samples at the ends of floating-point numbers, beside exact ones.

Scales of the data and of the targets from 1e-90 to 1e90, offsets up to 1e8, weights from 1e-12 to 1e12. An
answer is wrong where it is off by more than 1e-6 of the targets and more than rounding the data explains:
the exact answers for data moved by a unit in the last place tell how much that is. Where that is more than
all of the targets, no answer is right, and none is wrong. A model on centres is held against the minimiser on
the centres that it keeps: those whose functions are the others' are left out.
"""

import warnings

import grls
import numpy as np
from fuzz.mutations import pick
from grls import kernels
from reference import exact

_SLACK = (
    200  # times what moving the data by a unit in the last place does: an algorithm rounds more than once
)
_MOVES = 2


def make(seed):
    """Return the data and settings of a fit."""
    rng = np.random.default_rng(seed)
    m, d = int(rng.integers(2, 10)), int(rng.integers(1, 4))
    scale = 10.0 ** pick(rng, [0, 0, 0, 3, -3, 8, -8, 30, -30, 90, -90])
    size = 10.0 ** pick(rng, [0, 0, 0, 6, -6, 90, -90])
    offset = pick(rng, [0.0, 0.0, 1.0, 1e3, 1e6, 1e8])
    X = scale * (rng.normal(size=(m, d)) + offset * rng.normal(size=d))
    if rng.random() < 0.2 and m > 2:  # a point twice, or nearly
        X[1] = X[0] * (1 + pick(rng, [0.0, 1e-15, 1e-9]))
    y = size * (rng.normal(size=m) + pick(rng, [0.0, 0.0, 10.0, 1e6]))
    weights = None
    if rng.random() < 0.4:
        weights = 10.0 ** rng.uniform(-12, 12, size=m) if rng.random() < 0.5 else rng.uniform(0.5, 2, size=m)
    name = pick(rng, ["gaussian", "gaussian", "laplace", "linear"])
    return {
        "X": X,
        "y": y,
        "weights": weights,
        "kernel": name,
        "sigma": scale * 10.0 ** pick(rng, [0, 0, 0.5, -0.5, 1, 2]),
        "gamma": 10.0 ** pick(rng, [0, -2, -4, -8, -12, 3]) * (scale**2 if name == "linear" else 1.0),
        "features": pick(rng, [None, "constant", "constant", "linear"]),
        "model": pick(rng, ["cholesky", "cholesky", "cholesky", "nystrom", "mixed", "prior"]),
    }


def _fitted(case):
    kernel = {
        "gaussian": kernels.Gaussian(case["sigma"]),
        "laplace": kernels.Laplace(case["sigma"]),
        "linear": kernels.Linear(),
    }[case["kernel"]]
    options = {"features": case["features"], "regularization": case["gamma"]}
    if case["model"] == "prior" and case["kernel"] == "linear":
        model = grls.PriorRLSRegressor(**options)
    elif case["model"] == "nystrom":
        model = grls.NystromGRLSRegressor(kernel, n_centers=20, **options)
    else:
        precision = "mixed" if case["model"] == "mixed" else "double"
        model = grls.GRLSRegressor(kernel, precision=precision, **options)
    return model.fit(case["X"], case["y"], sample_weight=case["weights"])


def _features(name, X):
    columns = {None: 0, "constant": 1, "linear": 1 + X.shape[1]}[name]
    return np.column_stack([np.ones(len(X)), X])[:, :columns]


def _exact(case, X, y, points, centers=None):
    """Return the exact predictions, of a model on centres (numbers of rows) where some are given."""
    weights = np.ones(len(X)) if case["weights"] is None else case["weights"]
    T, T_new = _features(case["features"], X), _features(case["features"], points)
    problem = (case["kernel"], case["sigma"], X, T, y, weights, case["gamma"])
    if centers is None:
        found = exact.grls_predictions(*problem, points, T_new)
    else:
        found = exact.nystrom_predictions(*problem, centers, points, T_new)
    return None if found is None else np.array(found, dtype=object)


def _centers(case, model):
    """Return the rows that are centres where some are not: those whose functions are the others' are not."""
    if case["model"] != "nystrom" or len(model.X_fit_) == len(case["X"]):
        return None
    return [int(np.flatnonzero((case["X"] == z).all(axis=1))[0]) for z in model.X_fit_]


def _moved(rng, values):
    return values * (1 + np.finfo(float).eps * rng.choice([-1.0, 0.0, 1.0], size=values.shape))


def run(seed):
    """Fit once; "right", "refused", "warned" or, where rounding alone decides, "undetermined"."""
    case = make(seed)
    rng = np.random.default_rng([seed, 1])
    X, y = case["X"], case["y"]
    points = np.vstack([X[:2], X.mean(axis=0, keepdims=True)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = _fitted(case)
            got = model.predict(points)
        except (ValueError, np.linalg.LinAlgError):
            return "refused"
    if not np.isfinite(got).all():
        raise AssertionError(f"not finite: {got}")
    if any("dependent" in str(w.message) or "depend" in str(w.message) for w in caught):
        return "warned"
    centers = _centers(case, model)
    wanted = _exact(case, X, y, points, centers)
    if wanted is None:
        raise AssertionError("an answer, where the equations have none, and no word about it")
    size = float(np.abs(y).max())
    spread = 0.0
    for _ in range(_MOVES):
        moved = _exact(case, _moved(rng, X), _moved(rng, y), _moved(rng, points), centers)
        if moved is None:
            return "undetermined"
        spread = max(
            spread, *(abs(float((a - b) / exact.Decimal(size))) for a, b in zip(moved, wanted, strict=True))
        )
    if _SLACK * spread > 1:
        return "undetermined"
    error = max(
        abs(float((exact.Decimal(float(a)) - b) / exact.Decimal(size)))
        for a, b in zip(got, wanted, strict=True)
    )
    largest = max(1.0, *(abs(float(b / exact.Decimal(size))) for b in wanted))
    if error > 1e-6 * largest and error > _SLACK * spread:
        if caught:
            return "warned"
        raise AssertionError(
            f"off by {error:.2e} of the targets, rounding the data explains {spread:.2e}: got {got}, exact "
            f"{[float(b) for b in wanted]}"
        )
    return "right"


def describe(seed):
    """Return the data and settings."""
    with np.printoptions(precision=17):
        return "\n".join(f"  {name} = {value!r}" for name, value in make(seed).items())


def shrink(seed, fails):
    """Return the data and settings: they are few already."""
    return describe(seed)
