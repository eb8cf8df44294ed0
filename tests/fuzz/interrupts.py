"""Ctrl-C at random moments of every kind of fit: ``python tests/fuzz/interrupts.py --count 200``.

Each fit runs in a child, in an estimator that was fitted to other data before. It must end by
KeyboardInterrupt soon after the signal, with everything of the earlier fit in place, and fit again. Delays
are told, and depend on what else the machine does.
"""

import argparse
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings

import grls
import numpy as np
from grls.features import PLSA, GeodesicKNN
from grls.kernels import Gaussian, Laplace, Linear
from scipy import sparse

G = Gaussian(2.0)


def _data(m, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=m)


def _labels(m, n_classes=2):
    X, y = _data(m)
    return X, np.digitize(y, np.quantile(y, np.linspace(0, 1, n_classes + 1)[1:-1]))


def _topics(m):
    rng = np.random.default_rng(0)
    return sparse.csr_matrix(rng.poisson(0.2, size=(m, 400)).astype(float)), None


def _groups(m):
    return *_data(m), {"groups": np.arange(m) % (m // 20)}


def _counts(m):
    X, y = _data(m)
    return X, np.random.default_rng(0).poisson(np.exp(y / 2)).astype(float)


def _map(m):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(m, 2))
    return X, np.sin(9 * X[:, 0]) + 0.1 * rng.normal(size=m)


class _Tasks(grls.TransferPrior):
    """`TransferPrior` of three tasks made of one."""

    def fit(self, X, y):
        return super().fit([(X, y), (X, y + X[:, 2]), (X, y - X[:, 3])])

    def get_params(self, deep=False):
        return {}

    def set_params(self):
        return self


# An estimator, its data for so many rows, and rows for a second or more on a quiet machine.
FITS = {
    "least squares": (lambda: grls.GRLSRegressor(G, regularization=0.1), _data, 4000),
    "least squares, many columns": (
        lambda: grls.GRLSRegressor(Laplace(5000.0, norm="l1"), regularization=0.1),
        lambda m: _data(m, 20000),
        1000,
    ),
    "least squares, many features": (
        lambda: grls.GRLSRegressor(Gaussian(30.0), features="linear", regularization=0.1),
        lambda m: _data(m, 800),
        3000,
    ),
    "left out": (lambda: grls.GRLSRegressor(G, features="linear", regularization="loo"), _data, 2000),
    "likelihood, optimised": (
        lambda: grls.GRLSRegressor(Gaussian("medians"), regularization="reml", optimize=True),
        _data,
        900,
    ),
    "validated": (lambda: grls.GRLSRegressor(G, regularization="gcv"), _data, 2500),
    "two groups": (
        lambda: grls.GRLSRegressor(G, regularization="logo"),
        lambda m: (*_data(m), {"groups": np.arange(m) % 2}),
        2500,
    ),
    "groups": (lambda: grls.GRLSRegressor(G, regularization="logo"), _groups, 2500),
    "noise": (lambda: grls.GRLSRegressor(G, noise="learn"), _data, 800),
    "kernel chosen": (lambda: grls.GRLSRegressor(), _data, 800),
    "conjugate gradients": (lambda: grls.GRLSRegressor(G, solver="cg", regularization=1e-4), _data, 6000),
    "conjugate gradients, γ": (lambda: grls.GRLSRegressor(G, solver="cg", regularization="gcv"), _data, 4000),
    "classes": (lambda: grls.GRLSClassifier(Laplace(2.0), regularization="loo"), _labels, 2000),
    "centres": (lambda: grls.NystromGRLSRegressor(G, n_centers=1500), _data, 30000),
    "centres, gradients": (
        lambda: grls.NystromGRLSRegressor(G, n_centers=1000, solver="cg", regularization=1e-6),
        _data,
        30000,
    ),
    "centres by leverage": (
        lambda: grls.NystromGRLSRegressor(G, n_centers=1000, centers="leverage"),
        _data,
        20000,
    ),
    "centres of clusters": (
        lambda: grls.NystromGRLSRegressor(G, n_centers=500, centers="kmeans"),
        _data,
        20000,
    ),
    "centres, classes": (lambda: grls.NystromGRLSClassifier(G, n_centers=1000), _labels, 30000),
    "centres, counts": (
        lambda: grls.NystromGRRegressor(G, loss="poisson", n_centers=500, regularization=1e-4),
        _counts,
        20000,
    ),
    "modes": (
        lambda: grls.FourierGRLSRegressor(Gaussian(0.05), features="linear", regularization="reml"),
        _map,
        200_000,
    ),
    "machine": (lambda: grls.SVMGBClassifier(G, C=100.0, features="linear"), _labels, 5000),
    "machine, many features": (
        lambda: grls.SVMGBClassifier(Gaussian(25.0), features="linear"),
        lambda m: (_data(m, 500)[0], _labels(m)[1]),
        2000,
    ),
    "machine, inner points": (lambda: grls.SVMGBClassifier(G, C=10.0, solver="ipm"), _labels, 2000),
    "machine, folds": (lambda: grls.SVMGBClassifier(G, C="cv"), _labels, 1500),
    "machines": (lambda: grls.SVMGBClassifier(G, C=100.0), lambda m: _labels(m, 6), 6000),
    "logistic": (lambda: grls.GRLogisticClassifier(G, regularization=1e-3), _labels, 2000),
    "multinomial": (lambda: grls.GRLogisticClassifier(G, regularization=1e-2), lambda m: _labels(m, 4), 1200),
    "one class": (lambda: grls.OneClassSVMGB(G, features="linear", nu=0.3, tol=1e-8), _data, 6000),
    "quantiles": (lambda: grls.GRRegressor(G, loss="quantile", regularization=1e-4), _data, 3000),
    "huber": (lambda: grls.GRRegressor(G, loss="huber", regularization=1e-4), _data, 3000),
    "counts": (lambda: grls.GRRegressor(G, loss="poisson", regularization=1e-3), _counts, 2000),
    "bands": (
        lambda: grls.conformal.ConformalRegressor(
            grls.GRLSRegressor(G), kernel=G, regularization="auto", random_state=0
        ),
        _data,
        1500,
    ),
    "prior, classes": (
        lambda: grls.PriorRLSClassifier(regularization="loo"),
        lambda m: (_data(m, 1200)[0], _labels(m)[1]),
        1500,
    ),
    "transfer": (lambda: _Tasks(), lambda m: _data(m, 300), 1500),
    "prior": (lambda: grls.PriorRLSRegressor(regularization="loo"), lambda m: _data(m, 1200), 1500),
    "prior, gradients": (
        lambda: grls.PriorRLSRegressor(regularization=1e-8, solver="cg"),
        lambda m: _data(m, 2000),
        3000,
    ),
    "components, all": (lambda: grls.KernelPCA(kernel=G, eigen_solver="dense"), _data, 3500),
    "components, some": (lambda: grls.KernelPCA(20, G, eigen_solver="iterative"), _data, 5000),
    "components of centres": (lambda: grls.KernelPCA(20, Linear(), n_centers=1200), _data, 30000),
    "eigenfunctions": (lambda: grls.MercerExpansion(10, G), _data, 3000),
    "topics": (lambda: PLSA(30, random_state=0, max_iter=2000, tol=0.0), _topics, 4000),
    "neighbours": (lambda: GeodesicKNN(3), _labels, 20000),
}


def _small(name):
    make, data, _ = FITS[name]
    X, y, *given = data(60)
    if isinstance(X, np.ndarray) and X.shape[1] > 20:
        X = X[:, :20]
    model = make()
    if "n_centers" in model.get_params() and model.n_centers:
        model.set_params(n_centers=20)
    if "n_components" in model.get_params() and (model.get_params()["n_components"] or 0) > 10:
        model.set_params(n_components=5)
    return model, X, y, *given


def _fit(model, X, y, given=None):
    return model.fit(X, y, **(given or {}))


def interrupted(name, after):
    """Interrupt a fit after so many seconds. Returns the delay, or None where the fit was done before."""
    model, *small = _small(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _fit(model, *small)
        _, data, rows = FITS[name]
        large = data(rows)
        model.set_params(**FITS[name][0]().get_params(deep=False))
        before = {key: id(value) for key, value in vars(model).items()}, pickle.dumps(model)
        sent = []

        def send():
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(after, send)
        delay = None
        try:
            timer.start()
            _fit(model, *large)
            timer.cancel()
            timer.join()
        except KeyboardInterrupt:
            delay = time.perf_counter() - sent[0]
            after = {key: id(value) for key, value in vars(model).items()}, pickle.dumps(model)
            assert after == before, "the earlier fit is not whole"
        model.set_params(**_small(name)[0].get_params(deep=False))
        _fit(model, *small)  # usable
    return delay


def in_a_child(name, after):
    """Return the delay of an interrupt in a process of its own, None, or what went wrong as text.

    It is a new one, not a fork: OpenMP, which scikit-learn uses, hangs in a fork of a process that used it.
    """
    child = subprocess.run(
        [sys.executable, __file__, "--only", name, "--after", repr(after)],
        capture_output=True,
        text=True,
        check=False,
    )
    if child.returncode:
        return f"the process ended with status {child.returncode}: {child.stderr[-500:]}"
    return json.loads(child.stdout.splitlines()[-1])


def main():
    """Interrupt fits at random; the exit status is 1 where one was not left as it should."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200, help="interrupts that come before a fit is done")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--within", type=float, default=1.5, help="seconds in which the signal comes")
    parser.add_argument("--only", choices=FITS, help="interrupt one fit in this process, and print its delay")
    parser.add_argument("--after", type=float, default=0.3, help="seconds until the signal of --only")
    options = parser.parse_args()
    if options.only:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        print(json.dumps(interrupted(options.only, options.after)))
        return 0
    rng = np.random.default_rng(options.seed)
    delays, worst, missed, wrong = [], {}, 0, []
    names = list(FITS)
    for number in range(10 * options.count):
        if len(delays) + len(wrong) == options.count:
            break
        name = names[number % len(names)]
        found = in_a_child(name, float(rng.uniform(0, options.within)))
        if isinstance(found, str):
            wrong.append(f"{name}: {found}")
            print(wrong[-1], flush=True)
        elif found is None:
            missed += 1
        else:
            delays.append(found)
            worst[name] = max(worst.get(name, 0.0), found)
    if delays:
        quantiles = ", ".join(f"{q:.0%} {np.quantile(delays, q):.3f} s" for q in (0.5, 0.9, 0.99, 1.0))
        print(f"{len(delays)} interrupts of {len(names)} kinds of fits, {missed} fits were done before")
        print(f"delays: {quantiles}")
        for name, delay in sorted(worst.items(), key=lambda item: -item[1])[:5]:
            print(f"  {name}: {delay:.3f} s")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; {len(wrong)} went wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
