"""Kernel principal components beside scikit-learn's: the few largest, and all of them.

``python -m bench.kpca`` fits the same data with every solver of both in one run, and compares the eigenvalues
each of them finds with those that LAPACK finds in scikit-learn's kernel matrix. A run whose eigenvalues are
wrong ends with an error, and writes nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from .peers.machine import facts, provenance
from .peers.timing import PAUSE, Times, interleaved, stopwatch
from .tables import write_csv

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
OURS, PEER = "grls", "scikit-learn"
COLUMNS, LATENT = 20, 5
SLOW_REPEATS = 3  # of the solvers that take the whole spectrum, at most
AGREEMENT = 1e-7  # of our eigenvalues with the reference, relative to the largest


@dataclass
class Row:
    """One solver. Times are in seconds."""

    package: str
    solver: str
    m: int
    n_components: int
    seconds: float
    to_ours: float  # ÷ grls with the solver it takes by itself, in the same rounds where both have several
    error: float  # largest of the eigenvalues' errors ÷ the largest eigenvalue


def rows_of(m: int, seed: int = 0) -> Any:
    """Return points near a curved surface of few dimensions, in more columns."""
    rng = np.random.default_rng(seed)
    latent = rng.standard_normal((m, LATENT))
    X = np.sin(latent @ rng.standard_normal((LATENT, COLUMNS))) + 0.1 * rng.standard_normal((m, COLUMNS))
    return np.ascontiguousarray(X)


def estimators(m: int, n_components: int) -> dict[tuple[str, str], Any]:
    """Return what is to be measured, by package and solver; first ours, with the solver it chooses."""
    from grls import KernelPCA
    from grls.kernels import Gaussian
    from sklearn.decomposition import KernelPCA as Peer

    sigma = float(np.sqrt(COLUMNS))

    def peer(solver: str) -> Any:
        return Peer(n_components, kernel="rbf", gamma=1 / (2 * sigma**2), eigen_solver=solver, random_state=0)

    def ours(solver: str) -> Any:
        return KernelPCA(n_components, Gaussian(sigma), eigen_solver=solver, random_state=0)

    few = n_components < m
    names = ("auto", "dense") if few else ("auto",)
    peers = ("arpack", "randomized", "dense") if few else ("dense",)
    return {(OURS, name): ours(name) for name in names} | {(PEER, name): peer(name) for name in peers}


def measure(m: int, n_components: int, repeats: int, pause: float) -> list[Row]:
    X = rows_of(m)
    models = estimators(m, n_components)
    for model in models.values():
        model.set_params(n_components=min(n_components, 5)).fit(X[:300])  # warm-up: imports, threads
        model.set_params(n_components=n_components)

    def timed(key: tuple[str, str]) -> Any:
        return lambda: stopwatch(lambda: models[key].fit(X))

    # What takes the whole spectrum takes long: few times.
    quick = [key for key in models if n_components < m and key[1] != "dense"]
    slow = [key for key in models if key not in quick]
    keys = {str(key): key for key in models}
    times: dict[str, Times] = {}
    if quick:
        times |= interleaved({str(key): timed(key) for key in quick}, repeats, pause)
    times |= interleaved({str(key): timed(key) for key in slow}, min(repeats, SLOW_REPEATS), pause)

    reference = models[PEER, "dense"].eigenvalues_
    ours = times[str((OURS, "auto"))]
    rows = []
    for name, (package, solver) in keys.items():
        model, own = models[package, solver], times[name]
        several = len(own.seconds) == len(ours.seconds)
        rows.append(
            Row(
                package=package,
                solver=f"{solver} ({model.eigen_solver_})" if solver == "auto" else solver,
                m=m,
                n_components=n_components,
                seconds=own.median,
                to_ours=own.ratio_to(ours) if several else own.median / ours.median,
                error=float(np.abs(model.eigenvalues_ - reference).max() / reference[0]),
            )
        )
    return rows


def wrong(rows: list[Row]) -> list[str]:
    """Return what our solvers got wrong."""
    return [
        f"{row.package}, {row.solver}, m={row.m}, {row.n_components} components: eigenvalues are off by "
        f"{row.error:.1e}"
        for row in rows
        if row.package == OURS and not row.error <= AGREEMENT
    ]


def markdown(rows: list[Row], machine: dict[str, Any]) -> str:
    lines = [
        f"{provenance('python -m bench.kpca', machine)} Gaussian kernel, {COLUMNS} columns.",
        "",
        "| m | components | package | solver | seconds | ÷ grls | error of the eigenvalues |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        components = "all" if row.n_components == row.m else row.n_components
        lines.append(
            f"| {row.m} | {components} | {row.package} | {row.solver} | {row.seconds:.3g} "
            f"| {row.to_ours:.2f} | {row.error:.1e} |"
        )
    return "\n".join([*lines, ""])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.kpca", description="Time kernel PCA.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[2000, 5000], help="training rows")
    parser.add_argument("--components", type=int, default=10, help="of the runs for few")
    parser.add_argument("--repeats", type=int, default=5, help="of all but the dense solvers")
    parser.add_argument("--threads", type=int, help="of every library; default: as many as BLAS takes")
    parser.add_argument("--quick", action="store_true", help="a run of seconds on a tiny problem")
    parser.add_argument("--output", type=Path, help="directory; default: bench/results, or none for --quick")
    a = parser.parse_args(arguments)
    if a.quick:
        a.sizes, a.components, a.repeats = [min(*a.sizes, 400)], min(a.components, 5), 1
    import grls

    machine = facts(ROOT)
    rows: list[Row] = []
    with threadpool_limits(a.threads or grls.get_num_threads()):
        for m in a.sizes:
            for n_components in (a.components, m):
                rows += measure(m, n_components, a.repeats, 0.0 if a.quick else PAUSE)
    text = markdown(rows, machine)
    print(text)
    if faults := wrong(rows):
        print("\n".join([*faults, "Nothing was written."]))
        return 1
    output = a.output or (None if a.quick else RESULTS)
    if output is not None:
        write_csv(output / "kpca.csv", rows)
        (output / "kpca.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
