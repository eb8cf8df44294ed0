"""Coverage in groups, width and time of conformal bands on real data, beside MAPIE's split conformal bands.

`GRLS_DATA=FOLDER python -m bench.conformal` draws rows to fit, to calibrate and to test, several times;
groups of California housing (age, income, coast) and the flood classes of the Meuse. All methods get the same
fitted regressor and the same calibration rows. It writes bench/results/conformal.md, .csv and .png.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from grls import GRLSRegressor, InfiniteBandWarning
from grls.conformal import ConformalRegressor
from grls.datasets import load_california_housing, load_meuse
from grls.kernels import Gaussian
from sklearn.ensemble import HistGradientBoostingRegressor

from ..peers.machine import facts, provenance
from ..tables import write_csv

Array = np.ndarray[Any, Any]
ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
ALPHA = 0.1


@dataclass(frozen=True)
class Scene:
    name: str
    X: Array
    y: Array
    groups: dict[str, Callable[[Array], Array]]
    sizes: tuple[int, int]  # rows that fit, rows that calibrate; the others test
    regressor: Any
    kernel: Any


def _california() -> Scene:
    data = load_california_housing()
    X, y = np.asarray(data.data), np.asarray(data.target)
    groups = {
        "houses over 45 years": lambda X: X[:, 1] > 45,
        "income below 2": lambda X: X[:, 0] < 2,
        "income above 6": lambda X: X[:, 0] > 6,
        "south of 35 degrees": lambda X: X[:, 6] < 35,
    }
    regressor = HistGradientBoostingRegressor(max_iter=100, random_state=0)
    kernel = Gaussian([2.0, 1.0, 1.0]).on([0, 6, 7])
    return Scene("California housing", X, y, groups, (3000, 1000), regressor, kernel)


def _meuse() -> Scene:
    data = load_meuse(columns=("x", "y", "dist", "ffreq"))
    X, y = np.asarray(data.data, dtype=np.float64), np.log(np.asarray(data.target))
    groups = {f"flood class {k}": (lambda X, k=k: X[:, 3] == k) for k in (1, 2, 3)}
    regressor = GRLSRegressor(
        Gaussian(500.0).on([0, 1]), features=lambda X: np.sqrt(X[:, [2]]), regularization="loo"
    )
    return Scene("Meuse, log zinc", X, y, groups, (50, 70), regressor, Gaussian(800.0).on([0, 1]))


def _methods(scene: Scene, fitted: Any) -> dict[str, Callable[[Array, Array, Array], Array]]:
    def ours(**options: Any) -> Callable[[Array, Array, Array], Array]:
        def bands(X: Array, y: Array, new: Array) -> Array:
            return (
                ConformalRegressor(fitted, alpha=ALPHA, cv="prefit", **options)
                .fit(X, y)
                .predict_interval(new)
            )

        return bands

    methods = {
        "grls, constant": ours(),
        "grls, groups": ours(features=scene.groups),
        "grls, groups, kernel": ours(features=scene.groups, kernel=scene.kernel, regularization=1e-3),
    }
    try:
        from mapie.regression import SplitConformalRegressor
    except ImportError:
        return methods

    def mapie(X: Array, y: Array, new: Array) -> Array:
        model = SplitConformalRegressor(fitted, confidence_level=1 - ALPHA, prefit=True).conformalize(X, y)
        return np.asarray(model.predict_interval(new)[1][:, :, 0])

    return {"MAPIE, split": mapie, **methods}


def run(scene: Scene, n_draws: int, most_tested: int) -> list[dict[str, Any]]:
    """Return for each method and group coverage, median width and CPU time, over all draws."""
    rng = np.random.default_rng(0)
    held: dict[tuple[str, str], list[Array]] = {}
    widths: dict[tuple[str, str], list[Array]] = {}
    seconds: dict[str, list[float]] = {}
    for _ in range(n_draws):
        order = rng.permutation(len(scene.y))
        fit, cal, test = np.split(order, np.cumsum(scene.sizes))
        test = test[:most_tested]
        new, truth = scene.X[test], scene.y[test]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InfiniteBandWarning)
            fitted = scene.regressor.fit(scene.X[fit], scene.y[fit])
            for name, bands in _methods(scene, fitted).items():
                start = time.process_time()
                low, high = bands(scene.X[cal], scene.y[cal], new).T
                seconds.setdefault(name, []).append(time.process_time() - start)
                inside = (low <= truth) & (truth <= high)
                parts = {"all": np.ones(len(new), dtype=bool)}
                parts |= {group: members(new) for group, members in scene.groups.items()}
                for group, rows in parts.items():
                    held.setdefault((name, group), []).append(inside[rows])
                    widths.setdefault((name, group), []).append((high - low)[rows])
    return [
        {
            "data": scene.name,
            "method": name,
            "group": group,
            "rows": sum(map(len, held[name, group])),
            "coverage": round(float(np.mean(np.concatenate(held[name, group]))), 4),
            "median_width": round(float(np.median(np.concatenate(widths[name, group]))), 4),
            "cpu_seconds": round(float(np.median(seconds[name])), 4),
        }
        for name, group in held
    ]


def _table(rows: list[dict[str, Any]], n_draws: int, machine: dict[str, Any]) -> str:
    lines = [
        "# Conformal bands in groups of real data",
        "",
        f"{provenance('python -m bench.conformal', machine)} {n_draws} draws, 1 − α = {1 - ALPHA:g}. "
        "The same fitted regressor and the same calibration rows for all; CPU time of "
        "calibration and all bands of one draw (median). A band may be infinite in a "
        "group with fewer than 9 calibration rows.",
        "",
        "| data | method | group | rows | coverage | median width | CPU s |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        lines.append("| " + " | ".join(str(value) for value in row.values()) + " |")
    return "\n".join(lines) + "\n"


def _picture(rows: list[dict[str, Any]], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    scenes = list(dict.fromkeys(row["data"] for row in rows))
    figure, axes = plt.subplots(1, len(scenes), figsize=(6 * len(scenes), 4), squeeze=False)
    for axis, scene in zip(axes[0], scenes, strict=True):
        mine = [row for row in rows if row["data"] == scene]
        groups = list(dict.fromkeys(row["group"] for row in mine))
        methods = list(dict.fromkeys(row["method"] for row in mine))
        for shift, method in enumerate(methods):
            at = [-groups.index(row["group"]) - 0.15 * shift for row in mine if row["method"] == method]
            axis.plot([row["coverage"] for row in mine if row["method"] == method], at, "o", label=method)
        axis.axvline(1 - ALPHA, color="0.5", linestyle="--")
        axis.set_yticks(-np.arange(len(groups)), groups)
        axis.set(title=scene, xlabel="share of test rows in their band")
        axis.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    """Run all scenes and write what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--tested", type=int, default=1000, help="test rows of a draw at most")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    machine = facts(ROOT)
    rows: list[dict[str, Any]] = []
    for scene in (_california(), _meuse()):
        rows += run(scene, arguments.draws, arguments.tested)
    text = _table(rows, arguments.draws, machine)
    print(text)
    arguments.out.mkdir(parents=True, exist_ok=True)
    write_csv(arguments.out / "conformal.csv", rows)
    (arguments.out / "conformal.md").write_text(text, encoding="utf-8")
    _picture(rows, arguments.out / "conformal.png")


if __name__ == "__main__":
    main()
