"""Support vector machines of hostile data: what they claim of themselves holds for the arrays they leave.

The duality gap is worked out again from the model's own function and coefficients. It may not be larger
than the one that is told, nor than asked for without a warning.
"""

import warnings

import numpy as np
from fuzz.mutations import pick
from grls import SVMGBClassifier
from grls.kernels import Gaussian, Laplace, Linear, Polynomial
from sklearn.exceptions import ConvergenceWarning


def make(seed):
    """Return points, labels, weights, a kernel and settings."""
    rng = np.random.default_rng(seed)
    m, d = int(rng.integers(4, 60)), int(rng.integers(1, 6))
    scale = 10.0 ** pick(rng, [0, 0, 0, 2, -2, 4])
    X = scale * rng.normal(size=(m, d))
    if rng.random() < 0.3:
        X[m // 2 :] = X[: m - m // 2]  # points twice, and labels that contradict each other
    y = np.where(X[:, 0] + pick(rng, [0, 0.1, 1]) * X.std() * rng.normal(size=m) > 0, 1, -1)
    y[:2] = -1, 1
    spread = X.std()
    kernel = pick(
        rng,
        [
            Gaussian(spread),
            Gaussian(spread / 30),
            Gaussian(30 * spread),
            Linear(),
            Polynomial(2),
            Laplace(spread),
        ],
    )
    weights = 10.0 ** rng.uniform(-2, 2, size=m) if rng.random() < 0.4 else None
    settings = {
        "features": pick(rng, [None, "constant", "constant", "linear", "quadratic"]),
        "C": 10.0 ** pick(rng, [-4, -2, 0, 2, 4]),
        "tol": 10.0 ** pick(rng, [-3, -4, -6]),
        "solver": pick(rng, ["auto", "native", "native", "ipm"]),
    }
    return X, y, weights, kernel, settings


def run(seed):
    """Fit once; "certified", "warned" or "refused"."""
    X, y, weights, kernel, settings = make(seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = SVMGBClassifier(kernel, **settings, max_iter=20_000).fit(X, y, weights)
            f = model.decision_function(X)
        except (ValueError, np.linalg.LinAlgError):
            return "refused"
    c = np.zeros(len(X))
    c[model.support_] = model.dual_coef_[:, 0]
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    C = settings["C"] * (np.ones(len(X)) if weights is None else weights)
    K = kernel(X)
    quadratic = c @ K @ c
    primal = 0.5 * quadratic + C @ np.maximum(0, 1 - signs * f)
    # What adding up the quadratic form and the losses may lose to rounding, and what the function loses to it
    # where a row has a loss, or may have one: kernel values of 1e15 cancel in a function of size 1.
    blur = np.finfo(float).eps * (np.abs(K) @ np.abs(c))
    rounding = 1e-12 * (np.abs(c) @ np.abs(K) @ np.abs(c) + C @ (1 + np.abs(f)))
    rounding += C @ np.where(1 - signs * f > -blur, blur, 0.0)
    gap = (primal - (signs @ c - 0.5 * quadratic)) / max(primal, 1e-6 * C.sum())
    slack = rounding / max(primal, 1e-6 * C.sum())
    assert np.all(np.isfinite(f)), "the function is not finite"
    assert np.all(signs * c >= -1e-9 * C), "a coefficient has the sign of the other class"
    assert np.all(signs * c <= C * (1 + 1e-9)), "a coefficient is above C"
    claimed = float(model.duality_gap_[0])
    assert gap <= 3 * claimed + 1e-7 + slack, f"the gap is {gap:.2e}, told was {claimed:.2e}"
    told = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    assert told or gap <= 3 * settings["tol"] + slack, (
        f"the gap is {gap:.2e}, asked for {settings['tol']:.0e}"
    )
    return "warned" if told else "certified"


def describe(seed):
    """Return the data and settings."""
    X, _, weights, kernel, settings = make(seed)
    return f"  {kernel!r}, {settings}, {X.shape} points, weights: {weights is not None}"


def shrink(seed, fails):
    """Return the data and settings."""
    return describe(seed)
