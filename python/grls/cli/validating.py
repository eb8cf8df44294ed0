"""``grls cv``: how well rows that a model has not seen are predicted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from .console import console, tell, warned
from .errors import TableError
from .models import Choice, Problem, problem_of
from .reading import Reading
from .tables import require_columns, texts_of


@dataclass(frozen=True)
class Folds:
    """How rows are left out."""

    number: int
    groups: str | None
    seed: int


def cross_validate(data: Path, choice: Choice, reading: Reading, folds: Folds, *, quiet: bool) -> None:
    """Print how well rows left out are predicted."""
    from rich.progress import track
    from rich.table import Table

    beside = () if folds.groups is None else (folds.groups,)
    frame = reading.table(data, texts=choice.texts(*beside))
    frame.columns = [str(name) for name in frame.columns]
    require_columns(frame, list(beside), str(data))
    problem = problem_of(frame, choice, str(data), beside)
    splits = _splits(problem, folds)
    terminal = console(error=True)
    scores = []
    with warned():
        for train, test in track(
            splits, "folds", console=terminal, disable=quiet or not terminal.is_terminal
        ):
            model = clone(problem.model).fit(problem.X.iloc[train], problem.y[train])
            scores.append(_scores(problem, model.predict(problem.X.iloc[test]), train, test))
    table = Table(box=None, pad_edge=False)
    for name in ("fold", *scores[0]):
        table.add_column(name, justify="left" if name == "fold" else "right")
    for number, found in enumerate(scores, start=1):
        table.add_row(str(number), *(f"{value:.4g}" for value in found.values()))
    several = np.array([list(found.values()) for found in scores])[:, 1:]  # without the numbers of rows
    table.add_row("mean", "", *(f"{value:.4g}" for value in several.mean(axis=0)))
    table.add_row("spread", "", *(f"{value:.4g}" for value in several.std(axis=0, ddof=1)))
    tell([("rows", str(len(problem.y))), *(("note", note) for note in problem.notes)], quiet=quiet)
    console(error=False).print(table)


def _splits(problem: Problem, folds: Folds) -> list[Any]:
    """Return the rows of the folds: of groups, or drawn at random, of each class alike."""
    from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

    if folds.groups is not None:
        groups = texts_of(problem.rows[folds.groups])
        n_groups = len(np.unique(groups))
        if n_groups < folds.number:
            raise TableError(
                f"--groups {folds.groups} has {n_groups} groups, fewer than --folds {folds.number}"
            )
        return list(GroupKFold(folds.number).split(problem.X, problem.y, groups))
    if len(problem.y) < folds.number:
        raise TableError(f"there are {len(problem.y)} rows, fewer than --folds {folds.number}")
    if problem.task == "classification":
        rarest = int(np.unique(problem.y.astype(str), return_counts=True)[1].min())
        if rarest < folds.number:
            raise TableError(f"a class has {rarest} rows, fewer than --folds {folds.number}")
        splitter: Any = StratifiedKFold(folds.number, shuffle=True, random_state=folds.seed)
    else:
        splitter = KFold(folds.number, shuffle=True, random_state=folds.seed)
    return list(splitter.split(problem.X, problem.y.astype(str)))


def _scores(problem: Problem, predicted: Any, train: Any, test: Any) -> dict[str, float]:
    """Return how well a fold is predicted, and how well without a model."""
    y = problem.y
    if problem.task == "classification":
        labels, counts = np.unique(y[train].astype(str), return_counts=True)
        most = labels[counts.argmax()]
        return {
            "rows": float(len(test)),
            "accuracy": float(np.mean(predicted.astype(str) == y[test].astype(str))),
            "most frequent class": float(np.mean(y[test].astype(str) == most)),
        }
    error = float(np.sqrt(np.mean((predicted - y[test]) ** 2)))
    plain = float(np.sqrt(np.mean((y[train].mean() - y[test]) ** 2)))
    return {
        "rows": float(len(test)),
        "RMSE": error,
        "of the mean": plain,
        "R²": 1 - (error / plain) ** 2 if plain else float("nan"),
    }
