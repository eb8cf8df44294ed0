"""What ``kernel="auto"`` compares: families of kernels, and what became of each candidate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from .._validation import FloatArray
from ..kernels import Gaussian, Kernel, Laplace, Matern

# Of values the first three are compared, of labels all.
FAMILIES: dict[str, Callable[[Any], Kernel]] = {
    "Matern(nu=1.5)": lambda sigma: Matern(sigma, nu=1.5),
    "Matern(nu=2.5)": lambda sigma: Matern(sigma, nu=2.5),
    "Gaussian": Gaussian,
    "Laplace": Laplace,
}
OF_VALUES = ("Matern(nu=1.5)", "Matern(nu=2.5)", "Gaussian")

MOST_COLUMNS = 50  # that have widths of their own


@dataclass
class Candidate:
    """A kernel that was compared with others."""

    name: str
    kernel: Kernel
    criterion: float  # see `KernelChoice.by`: the least is the best
    n_rows: int  # on so many rows
    n_widths: int = 1  # that the same rows chose
    error: float = np.nan  # of rows left out: mean absolute, of values


@dataclass
class KernelChoice:
    """What ``kernel="auto"`` tried: those screened, and those compared in the end."""

    screened: list[Candidate] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    best: int = 0  # of the candidates
    metric: tuple[FloatArray, FloatArray] | None = None  # where one was learnt: see `Metric`
    parameters: list[str] = field(default_factory=list)  # names of its widths, but for a metric
    # "reml": minus twice the restricted likelihood plus twice the number of widths, less that of the features
    # alone; "loo": the mean squared error of rows left out.
    by: str = "loo"
    why: str = ""  # the best one was taken
    most_likely: bool = False  # it is where the restricted likelihood is largest
    shift: float | None = None  # γΣw of the best, where only some of the rows chose it
    alone: bool = False  # no kernel gains enough on the features: the largest γ is taken


def start_kernel(X: Any) -> Kernel:
    """Return the kernel from which the choice starts, and which stays where rows are too few for one."""
    return next(iter(FAMILIES.values()))("median" if is_wide(X) else "medians")


def is_wide(X: Any) -> bool:
    """Whether columns share one width."""
    return bool(sparse.issparse(X) or X.shape[1] > MOST_COLUMNS)
