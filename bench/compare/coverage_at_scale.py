"""How often intervals of 95 % cover on centres and with Fourier modes, beside those of the exact model.

`python -m bench.compare.coverage_at_scale` draws data with a kernel part that few centres, or few modes,
cannot follow, fits with the kernel known and γ chosen, and counts.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from grls import FourierGRLSRegressor, GRLSRegressor, NystromGRLSRegressor, set_num_threads
from grls.features import Columns
from grls.kernels import Matern

from ..peers.machine import facts, provenance
from ..tables import write_csv
from .coverage import NORMAL, RESULTS, ROOT

Array = np.ndarray[Any, Any]
N_NEW = 200
ROUGH, SMOOTH = Matern(0.01).on([0]), Matern(0.1).on([0])
FEATURES = Columns([1, 2])
EFFECT = 0.7  # of z₂, which is smooth in s


def draw(rng: np.random.Generator, kernel: Any, n: int, noise: float) -> tuple[Array, Array, Array]:
    """Return rows [s, z₁, z₂], the function 1 + ½z₁ + 0.7z₂ + g(s) there, and observations."""
    s = rng.uniform(size=n + N_NEW)
    z = np.column_stack([rng.standard_normal(len(s)), np.cos(7 * s) + 0.05 * rng.standard_normal(len(s))])
    X = np.column_stack([s, z])
    root = np.linalg.cholesky(kernel(X) + 1e-9 * np.eye(len(s)))
    f = 1 + z @ [0.5, EFFECT] + root @ rng.standard_normal(len(s))
    return X, f, f + noise * rng.standard_normal(len(s))


@dataclass(frozen=True)
class Scene:
    name: str
    kernel: Any
    n: int
    noise: float
    model: Callable[[], Any]


def on_centres(centers: str, number: int) -> Callable[[], Any]:
    return lambda: NystromGRLSRegressor(
        ROUGH, features=FEATURES, regularization="reml", centers=centers, n_centers=number
    )


def with_modes(**parameters: Any) -> Callable[[], Any]:
    return lambda: FourierGRLSRegressor(SMOOTH, features=FEATURES, regularization="gcv", **parameters)


STRATEGIES = ("uniform", "leverage", "kmeans")
SCENES = [
    Scene("exact", ROUGH, 2000, 0.3, lambda: GRLSRegressor(ROUGH, features=FEATURES, regularization="reml")),
    *(Scene(f"200 centres, {how}", ROUGH, 2000, 0.3, on_centres(how, 200)) for how in STRATEGIES),
    Scene("1000 centres, uniform", ROUGH, 2000, 0.3, on_centres("uniform", 1000)),
    Scene(
        "exact, gcv", SMOOTH, 400, 0.1, lambda: GRLSRegressor(SMOOTH, features=FEATURES, regularization="gcv")
    ),
    Scene("modes, tol=1e-3, gcv", SMOOTH, 400, 0.1, with_modes(tol=1e-3)),
    Scene("modes, gcv", SMOOTH, 400, 0.1, with_modes()),
]


@dataclass
class Row:
    """Shares in percent that cover, and what goes with them."""

    model: str
    z: float
    error_of_z: float  # the root of the mean square
    std_of_z: float  # mean
    function: float
    new_y: float
    rmse: float
    warned: float  # share of fits


def rows(draws: int, seed: int) -> Iterator[Row]:
    for scene in SCENES:
        found = []
        for number in range(draws):
            X, f, y = draw(np.random.default_rng([seed, number]), scene.kernel, scene.n, scene.noise)
            n = scene.n
            model = scene.model().fit(X[:n], y[:n])
            error, std = model.feature_coef_[2] - EFFECT, model.feature_coef_std_[2]
            mean, of_function = model.predict(X[n:], return_std=True)
            of_row = model.predict(X[n:], return_std=True, with_noise=True)[1]
            found.append(
                [
                    abs(error) < NORMAL * std,
                    error**2,
                    std,
                    np.mean(np.abs(mean - f[n:]) < NORMAL * of_function),
                    np.mean(np.abs(mean - y[n:]) < NORMAL * of_row),
                    np.mean((mean - f[n:]) ** 2),
                    bool(model.fit_warnings_),
                ]
            )
        z, square, std, function, new_y, error, warned = np.mean(found, axis=0)
        yield Row(
            scene.name, 100 * z, square**0.5, std, 100 * function, 100 * new_y, error**0.5, 100 * warned
        )


def markdown(found: Sequence[Row], machine: dict[str, Any], draws: int) -> str:
    lines = [
        f"{provenance('python -m bench.compare.coverage_at_scale', machine)} {draws} draws of each.",
        "",
        "Share in percent of intervals of 95 % that cover. The truth is 1 + ½z₁ + 0.7z₂ + g(s), s uniform on "
        "the unit interval, z₁ normal, z₂ = cos 7s + 0.05 e. On centres g is a process of kernel Matérn(3/2) "
        "of width 0.01, 2,000 rows, noise 0.3, γ by reml; with modes width 0.1, 400 rows, noise 0.1, by gcv.",
        "",
        "| model | z₂ covers | its error | its mean std | f covers | new y covers | rmse of f | warn, % |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for r in found:
        shares = f"{r.function:.1f} | {r.new_y:.1f} | {r.rmse:.3f} | {r.warned:.0f}"
        lines.append(f"| {r.model} | {r.z:.0f} | {r.error_of_z:.3f} | {r.std_of_z:.3f} | {shares} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.compare.coverage_at_scale", description=__doc__)
    parser.add_argument("--draws", type=int, default=40, help="data sets of each scene")
    parser.add_argument("--seed", type=int, default=0, help="of all draws")
    parser.add_argument("--output", type=Path, default=RESULTS, help="directory")
    a = parser.parse_args(arguments)
    machine = facts(ROOT)
    set_num_threads(1)  # the matrices are small
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # their number is in the table
        found = list(rows(a.draws, a.seed))
    text = markdown(found, machine, a.draws)
    print(text)
    write_csv(a.output / "coverage_at_scale.csv", found)
    (a.output / "coverage_at_scale.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
