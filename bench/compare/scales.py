"""How often the intervals of variances and kernel parameters in `summary()` cover.

`python -m bench.compare.scales` draws data from Gaussian processes whose kernel has a period, widths and a
scale, fits the model by "reml" and counts how often the intervals of 95 % in the table ``scale`` hold the
truth.
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
from grls.kernels import Gaussian, Kernel, Matern, Periodic

from ..peers.machine import facts, provenance
from ..tables import write_csv

Array = np.ndarray[Any, Any]

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
WANTED = (89.0, 99.0)
NOISE = 0.09  # variance, beside a process of variance one


@dataclass(frozen=True)
class Scene:
    name: str
    kernel: Kernel  # the truth, where the search starts
    features: str
    n: int
    length: float  # of the interval of x

    def draw(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return the points and observations."""
        X = np.sort(rng.uniform(0, self.length, self.n))[:, None]
        root = np.linalg.cholesky(self.kernel(X) + NOISE * np.eye(self.n))
        return X, 1 + 0.5 * X[:, 0] + root @ rng.standard_normal(self.n)

    def truth(self, labels: Sequence[str]) -> list[float]:
        """Return the true value of each row of the table."""
        values = self.kernel.get_params(deep=True)
        known = {"noise variance": NOISE, "kernel variance": 1.0}
        return [known.get(label, np.nan) if label in known else float(values[label]) for label in labels]


SCENES = [
    Scene("a width", Matern(0.5), "linear", 150, 10.0),
    Scene("a period", Periodic(1.0, period=1.0), "linear", 120, 10.0),
    Scene(
        "a season that changes beside a trend",
        Gaussian(2.0) + 0.5 * (Gaussian(8.0) * Periodic(1.0, period=1.0)),
        "linear",
        200,
        20.0,
    ),
]


@dataclass
class Row:
    """Shares in percent."""

    scene: str
    quantity: str
    truth: float
    covered: float
    below: float  # intervals that end below the truth
    above: float
    missing: int  # of the draws: no interval, at a bound of the search
    width: float  # median of upper over lower end


def intervals(scene: Scene, rng: np.random.Generator) -> tuple[list[str], Array]:
    """Return what one draw says: names, and lower and upper ends, (p, 2)."""
    X, y = scene.draw(rng)
    model = GRLSRegressor(scene.kernel, features=scene.features, regularization="reml", optimize=True)
    model.fit(X, y)
    table = model.summary(n_simulations=0).scale
    names = ["noise variance", "kernel variance", *model.optimization_.parameters]
    return names, np.column_stack([table["2.5 %"], table["97.5 %"]])


def coverage(scene: Scene, draws: int, seed: int) -> Iterator[Row]:
    """Count over many draws."""
    rng = np.random.default_rng([seed, SCENES.index(scene)])
    results = [intervals(scene, rng) for _ in range(draws)]
    names = results[0][0]
    ends = np.stack([ends for _, ends in results])  # (draws, p, 2)
    for p, (name, truth) in enumerate(zip(names, scene.truth(names), strict=True)):
        low, high = ends[:, p].T
        known = ~np.isnan(low)
        with np.errstate(divide="ignore"):  # an end beyond the bounds of the search is 0, or infinite
            width = high[known] / low[known]
        below, above = high[known] < truth, low[known] > truth
        yield Row(
            scene.name,
            name,
            truth,
            100 * float(np.mean(~below & ~above)),
            100 * float(below.mean()),
            100 * float(above.mean()),
            int((~known).sum()),
            float(np.median(width)),
        )


def markdown(rows: Sequence[Row], machine: dict[str, Any], draws: int) -> str:
    lines = [
        f"{provenance('python -m bench.compare.scales', machine)} {draws} draws of each scene.",
        "",
        "Share in percent of the intervals of 95 % in the table `scale` of `summary()` that hold the truth; "
        'all parameters are estimated together with γ by `regularization="reml"`, on draws of the process '
        f"itself, of variance one, with a trend and noise of variance {NOISE:g}.",
        "",
        "| scene | of | truth | covered | too low | too high | no interval | upper ÷ lower, median |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for r in rows:
        cells = [f"{r.covered:.1f}", f"{r.below:.1f}", f"{r.above:.1f}", str(r.missing), f"{r.width:.3g}"]
        lines.append(f"| {r.scene} | `{r.quantity}` | {r.truth:g} | {' | '.join(cells)} |")
    met = [r for r in rows if WANTED[0] <= r.covered <= WANTED[1]]
    lines += ["", f"{len(met)} of {len(rows)} shares are within {WANTED[0]:g} to {WANTED[1]:g} %."]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.compare.scales", description=__doc__)
    parser.add_argument("--draws", type=int, default=200, help="data sets of each scene")
    parser.add_argument("--seed", type=int, default=0, help="of all draws")
    parser.add_argument("--output", type=Path, default=RESULTS, help="directory")
    a = parser.parse_args(arguments)
    machine = facts(ROOT)
    set_num_threads(1)  # the matrices are small
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConfoundedFeaturesWarning)
        for scene in SCENES:
            rows += list(coverage(scene, a.draws, a.seed))
    text = markdown(rows, machine, a.draws)
    print(text)
    write_csv(a.output / "scales.csv", rows)
    (a.output / "scales.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
