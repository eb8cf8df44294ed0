"""How often intervals of 95 % cover: coefficients, the function, new observations.

`python -m bench.compare.coverage` draws data y = 1 + 2x + z + f + noise, x the first coordinate of points in
the unit interval or square and z a smooth covariate, fits the model by "reml" and counts, with γ and the
kernel's width taken as known (conditional) and as the estimates they are (unconditional).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from grls import GRLSRegressor, set_num_threads
from grls.exceptions import ConfoundedFeaturesWarning
from grls.features import Columns
from grls.kernels import Matern
from scipy import stats

from ..peers.machine import facts, provenance
from ..tables import write_csv

Array = np.ndarray[Any, Any]

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
RANGE, NOISE, N_NEW = 0.2, 0.5, 20  # of the process, whose variance is one; new points a draw
SLOPE, EFFECT = 2.0, 1.0  # of x and z
NORMAL = float(stats.norm.ppf(0.975))
WANTED = (93.0, 97.0)


@dataclass(frozen=True)
class Scene:
    n_columns: int
    truth: str  # "process", of which f is drawn, or "cosine", which it is
    estimated: str  # "γ", or "γ, width"

    def draw(self, rng: np.random.Generator, n: int) -> tuple[Array, Array, Array]:
        """Return the rows (n + N_NEW, d + 1), z in the last column; the function there; observations."""
        X = rng.uniform(size=(n + N_NEW, self.n_columns))
        root = np.linalg.cholesky(Matern(RANGE)(X) + 1e-10 * np.eye(len(X)))
        z, f = (root @ rng.standard_normal((len(X), 2))).T
        if self.truth == "cosine":
            f = np.sqrt(2) * np.cos(2 * np.pi * X).prod(axis=1)
        function = 1 + SLOPE * X[:, 0] + EFFECT * z + f
        return np.column_stack([X, z]), function, function + NOISE * rng.standard_normal(len(X))

    def model(self) -> GRLSRegressor:
        tuned = self.estimated != "γ"
        return GRLSRegressor(
            Matern("median" if tuned else RANGE).on(list(range(self.n_columns))),
            features=Columns([0, self.n_columns]),
            regularization="reml",
            optimize=True if tuned else None,
        )


SCENES = [
    Scene(n_columns, truth, estimated)
    for n_columns in (1, 2)
    for truth in ("process", "cosine")
    for estimated in ("γ", "γ, width")
]


@dataclass
class Intervals:
    """Errors of estimates with their standard errors, of one draw or of all of them."""

    error: Array
    conditional: Array
    unconditional: Array
    by_rows: Array  # degrees of freedom: rows less features
    degrees: Array  # and those of the unconditional interval

    def half_widths(self) -> dict[str, Array]:
        by_rows, degrees = (stats.t.ppf(0.975, df) for df in (self.by_rows, self.degrees))
        return {
            "conditional, normal": NORMAL * self.conditional,
            "conditional, t": by_rows * self.conditional,
            "unconditional, normal": NORMAL * self.unconditional,
            "unconditional, t": degrees * self.unconditional,
        }


@dataclass
class Row:
    """Shares in percent; the error is that of Monte Carlo, of the last of them."""

    columns: int
    truth: str
    estimated: str
    quantity: str
    conditional_normal: float
    conditional_t: float
    unconditional_normal: float
    unconditional_t: float
    error: float
    widening: float  # median of unconditional t ÷ conditional normal


def intervals(scene: Scene, rng: np.random.Generator, n: int) -> dict[str, Intervals]:
    """Return what one draw says of each quantity."""
    X, function, y = scene.draw(rng, n)
    model = scene.model().fit(X[:n], y[:n])
    rows = model.degrees_of_freedom_
    out = {}
    conditional, unconditional = (
        np.sqrt(np.diag(model.feature_covariance(unconditional=flag))) for flag in (False, True)
    )
    degrees = model.feature_degrees_of_freedom()
    for i, (name, true) in enumerate((("slope of x", SLOPE), ("coefficient of z", EFFECT)), start=1):
        if name == "slope of x" and scene.truth != "process":
            continue  # whose share of a given function the model and the truth would have to agree on
        values = (model.feature_coef_[i] - true, conditional[i], unconditional[i], rows, degrees[i])
        out[name] = Intervals(*(np.atleast_1d(value) for value in values))
    for name, target, with_noise in (("f", function, False), ("new y", y, True)):
        (mean, conditional_std), (_, unconditional_std) = (
            model.predict(X[n:], return_std=True, with_noise=with_noise, unconditional=flag)
            for flag in (False, True)
        )
        df = np.full(N_NEW, rows)
        out[name] = Intervals(mean - target[n:], conditional_std, unconditional_std, df, df)
    return out


def coverage(scene: Scene, draws: int, n: int, seed: int) -> Iterator[Row]:
    """Count over many draws."""
    rng = np.random.default_rng([seed, SCENES.index(scene)])
    results = [intervals(scene, rng, n) for _ in range(draws)]
    for quantity in results[0]:
        parts = [result[quantity] for result in results]
        names = ("error", "conditional", "unconditional", "by_rows", "degrees")
        joined = Intervals(*(np.stack([getattr(part, name) for part in parts]) for name in names))
        widths = joined.half_widths()
        inside = {name: np.abs(joined.error) < width for name, width in widths.items()}
        by_draw = inside["unconditional, t"].mean(axis=1)
        yield Row(
            scene.n_columns,
            scene.truth,
            scene.estimated,
            quantity,
            *(100 * float(share.mean()) for share in inside.values()),
            100 * float(by_draw.std() / np.sqrt(draws)),
            float(np.median(widths["unconditional, t"] / widths["conditional, normal"])),
        )


def markdown(rows: Sequence[Row], machine: dict[str, Any], draws: int, n: int) -> str:
    lines = [
        f"{provenance('python -m bench.compare.coverage', machine)} {draws} draws of n = {n} points.",
        "",
        f'Share in percent of intervals of 95 % that cover, with `regularization="reml"`. The truth is y = 1 '
        f"+ {SLOPE:g}x + {EFFECT:g}z + f + noise of standard deviation {NOISE:g}; f is drawn from a process "
        f"(Matérn 3/2, width {RANGE:g}, variance 1) or a product of cosines, z from such a process. "
        "Estimated are γ, or γ and the width (`optimize=True`). Quantiles are normal, or of t with n − l "
        "degrees of freedom; for coefficients with `unconditional=True` with those of "
        "`feature_degrees_of_freedom()`.",
        "",
        "| columns | f | estimated | of | conditional, normal | conditional, t | unconditional, normal | "
        "unconditional, t | width ÷ first |",
        "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for r in rows:
        shares = (r.conditional_normal, r.conditional_t, r.unconditional_normal)
        cells = [str(r.columns), r.truth, r.estimated, r.quantity, *(f"{share:.1f}" for share in shares)]
        cells += [f"{r.unconditional_t:.1f} ± {r.error:.1f}", f"{r.widening:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    modelled = [r for r in rows if r.truth == "process"]
    met = [r for r in modelled if WANTED[0] <= r.unconditional_t <= WANTED[1]]
    lines += [
        "",
        f"Where f is what the model says it is, {len(met)} of {len(modelled)} shares of the last kind are "
        f"within {WANTED[0]:g} to {WANTED[1]:g} %.",
    ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.compare.coverage", description=__doc__)
    parser.add_argument("--draws", type=int, default=400, help="data sets of each scene")
    parser.add_argument("--n", type=int, default=100, help="points of each")
    parser.add_argument("--seed", type=int, default=0, help="of all draws")
    parser.add_argument("--output", type=Path, default=RESULTS, help="directory")
    a = parser.parse_args(arguments)
    machine = facts(ROOT)
    set_num_threads(1)  # the matrices are small
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConfoundedFeaturesWarning)  # x beside a process is, now and then
        for scene in SCENES:
            rows += list(coverage(scene, a.draws, a.n, a.seed))
    text = markdown(rows, machine, a.draws, a.n)
    print(text)
    write_csv(a.output / "coverage.csv", rows)
    (a.output / "coverage.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
