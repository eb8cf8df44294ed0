"""What grls chooses and claims by itself, beside figures of R packages on the same data.

`GRLS_DATA=FOLDER python -m bench.compare.r_figures` prints a table and stores it. A figure is a function
that returns ours, registered with the package's value; where a package stops short of its own optimum the
note says so.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from grls import GRLSRegressor, datasets
from grls.features import Columns
from grls.kernels import Laplace, Polyharmonic, ThinPlate

from ..peers.machine import facts, provenance
from ..tables import write_csv

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Figure:
    scene: str
    quantity: str
    ours: float
    theirs: float
    source: str

    @property
    def difference(self) -> float:
        return abs(self.ours - self.theirs) / abs(self.theirs)


@cache
def _meuse() -> tuple[Array, Array]:
    """Return coordinates in km and √dist, and log zinc."""
    bunch = datasets.load_meuse(download_if_missing=False)
    return np.column_stack([bunch.data[:, :2] / 1000, np.sqrt(bunch.data[:, 2])]), np.log(bunch.target)


def effective_parameters(model: GRLSRegressor, X: Array, T: Array) -> float:
    """Return tr A, with A the matrix that takes y to the fit, by dense matrices."""
    s = model.regularization_ * len(X)
    N = np.linalg.qr(T, mode="complete")[0][:, T.shape[1] :]
    H = N.T @ model.kernel_(X) @ N
    return float(len(X) - s * np.trace(np.linalg.inv(H + s * np.eye(len(H)))))


def repeated_points() -> Iterator[Figure]:
    """Motorcycle accelerations: 133 rows at 94 times, as a cubic smoothing spline."""
    bunch = datasets.load_mcycle(download_if_missing=False)
    for criterion, theirs, source in (("reml", 10.58, "mgcv, gss"), ("gcv", 18.62, "mgcv, gss")):
        model = GRLSRegressor(Polyharmonic(3), features="linear", regularization=criterion)
        model.fit(bunch.data, bunch.target)
        ours = model.regularization_ * len(bunch.target) / 12
        yield Figure(f"mcycle, cubic spline, {criterion}", "λ", float(ours), theirs, source)


def thin_plate() -> Iterator[Figure]:
    """Log zinc as a thin plate, γm = 8πλ; fields stops where GCV is within 3e-7 of its minimum."""
    X, y = _meuse()
    X = X[:, :2]
    T = np.column_stack([np.ones(len(X)), X])
    for criterion, smoothing, parameters in (("gcv", 0.0020709, 65.34), ("reml", 0.0032235, 55.6)):
        model = GRLSRegressor(ThinPlate(), features="linear", regularization=criterion).fit(X, y)
        scene = f"Meuse, thin plate, {criterion}"
        yield Figure(scene, "λ", float(model.regularization_ * len(X) / (8 * np.pi)), smoothing, "fields")
        yield Figure(scene, "edf", effective_parameters(model, X, T), parameters, "fields")


def exponential() -> Iterator[Figure]:
    """Universal kriging with √dist, range and nugget by the restricted likelihood."""
    X, y = _meuse()
    T = np.column_stack([np.ones(len(X)), X[:, 2]])
    model = GRLSRegressor(
        Laplace().on([0, 1]), features=Columns([2]), regularization="reml", optimize=True
    ).fit(X, y)
    shift, n = model.regularization_ * len(X), len(X) - T.shape[1]
    # R's likelihood has the determinant of the features as given, ours of an orthonormal basis.
    likelihood = -0.5 * (model.criterion_path_.min() + n + n * np.log(2 * np.pi))
    likelihood -= 0.5 * np.linalg.slogdet(T.T @ T)[1]
    scene = "Meuse, exponential, reml"
    yield Figure(scene, "range (km)", float(model.kernel_.kernel.sigma), 0.1925142, "nlme")
    yield Figure(scene, "nugget share", float(shift / (1 + shift)), 0.246345, "nlme")
    yield Figure(scene, "log-likelihood", float(likelihood), -77.1721061, "nlme")
    yield Figure(scene, "SE(√dist)", float(np.ravel(model.feature_coef_std_)[1]), 0.2348612, "nlme")


SCENES: dict[str, Callable[[], Iterator[Figure]]] = {
    "mcycle": repeated_points,
    "thin_plate": thin_plate,
    "exponential": exponential,
}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.compare.r_figures", description=__doc__)
    parser.add_argument("scenes", nargs="*", default=list(SCENES), help=f"of {', '.join(SCENES)}")
    parser.add_argument(
        "--output", type=Path, help="directory; default: bench/results, or none for some scenes only"
    )
    options = parser.parse_args(arguments)
    scenes = options.scenes
    unknown = set(scenes) - set(SCENES)
    if unknown:
        parser.error(f"there is no scene {', '.join(sorted(unknown))}; choose from {', '.join(SCENES)}")
    machine = facts(ROOT)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # none of these data is worth a warning
        figures = [figure for name in scenes for figure in SCENES[name]()]
    lines = [
        f"{provenance('python -m bench.compare.r_figures', machine)} What grls chooses by itself, beside "
        "values of R packages on the same data.",
        "",
        "| scene | quantity | ours | theirs | relative difference | source |",
        "| --- | --- | ---: | ---: | ---: | --- |",
    ]
    for f in figures:
        cells = (f.scene, f.quantity, f"{f.ours:.8g}", f"{f.theirs:.8g}", f"{f.difference:.1e}", f.source)
        lines.append(f"| {' | '.join(cells)} |")
    text = "\n".join([*lines, ""])
    print(text)
    output = options.output or (RESULTS if set(scenes) == set(SCENES) else None)
    if output is not None:
        write_csv(output / "r_figures.csv", figures)
        (output / "r_figures.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
