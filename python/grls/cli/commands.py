"""What the commands do, between reading the options and printing."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.base import clone

from ..plotting._inputs import final_estimator
from ..saving import load, read_header, replacing, save
from .about import facts_of
from .errors import MissingExtra, TableError
from .models import Choice, Problem, problem_of, table_of, targets
from .reading import format_of, pandas, read_table
from .tables import require_columns

_PICTURES = (".png", ".pdf", ".svg")


@dataclass(frozen=True)
class Reading:
    """How a file is read."""

    format: str | None
    separator: str | None
    encoding: str

    def table(self, path: Path, n_columns: int | None = None) -> Any:
        """Return the table in a file."""
        return read_table(
            path, self.format, separator=self.separator, encoding=self.encoding, n_columns=n_columns
        )


@dataclass(frozen=True)
class Wanted:
    """What predictions are to be written, and where."""

    out: Path | None
    std: bool
    proba: bool
    keep: tuple[str, ...]
    missing: str
    unknown: str
    quiet: bool


@dataclass(frozen=True)
class Folds:
    """How rows are left out."""

    number: int
    groups: str | None
    seed: int


# Printing.


def _console(*, error: bool) -> Any:
    """Return where tables and progress go."""
    try:
        from rich.console import Console
    except ImportError as missing:
        raise MissingExtra("the command line", "rich") from missing
    console = Console(stderr=error, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = 200  # lines of logs are not broken
    return console


@contextmanager
def _busy(what: str, *, quiet: bool) -> Iterator[None]:
    """Show on a terminal that something is going on."""
    console = _console(error=True)
    if quiet or not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


def tell(pairs: Sequence[tuple[str, str]], *, quiet: bool = False) -> None:
    """Print names and values."""
    if quiet or not pairs:
        return
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        click.echo(f"{name:<{width}}  {value}")


@contextmanager
def _warned() -> Iterator[list[str]]:
    """Collect warnings, each once, and print them as lines of the error output."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        yield messages
    for text in dict.fromkeys(" ".join(str(one.message).split()) for one in given):
        messages.append(text)
        click.echo(f"warning: {text}", err=True)


def _require_writable(path: Path) -> None:
    """TableError before the work where a file could not be written after it."""
    if path.is_dir():
        raise TableError(f"{path} is a folder")
    if not path.parent.is_dir():
        raise TableError(f"{path}: there is no folder {path.parent}")


# grls fit


def fit(
    data: Path,
    choice: Choice,
    reading: Reading,
    out: Path,
    report: Path | None,
    *,
    summary: bool,
    quiet: bool,
) -> None:
    """Fit a model to a file and write it."""
    for path in (out, report):
        if path is not None:
            _require_writable(path)
    with _busy(f"reading {data}", quiet=quiet):
        problem = problem_of(reading.table(data), choice, str(data))
    with _warned() as warned, _busy(f"fitting {len(problem.y)} rows", quiet=quiet):
        problem.model.fit(problem.X, problem.y)
        save(problem.model, out)
    tell([*_told(problem), ("written to", str(out))], quiet=quiet)
    if summary:
        click.echo(f"\n{_summary(problem.model)}")
    if report is not None:
        from .report import write_report

        with _busy("drawing the report", quiet=quiet):
            write_report(report, problem, data, warned)


def _told(problem: Problem) -> Iterator[tuple[str, str]]:
    """Yield what a fit found, as names and values."""
    final = final_estimator(problem.model)
    yield "rows", f"{len(problem.y)} of {problem.X.shape[1]} columns"
    for note in problem.notes:
        yield "note", note
    known = ("model", "classes", "features", "kernel", "regularization", "leave-one-out score")
    for name, value in facts_of(problem.model):
        if name in known:
            yield name, value
    values = getattr(final, "loo_predictions_", None)
    if problem.task == "regression" and values is not None:
        error = np.sqrt(np.mean((np.asarray(values).reshape(len(problem.y)) - problem.y) ** 2))
        spread = np.std(problem.y)
        yield "error of rows left out", f"{error:.4g} (of the mean alone: {spread:.4g})"


def _summary(model: Any) -> str:
    final = final_estimator(model)
    if not hasattr(final, "summary"):
        raise TableError(f"{type(final).__name__} has no summary")
    return str(final.summary())


# grls predict


def predict(model_path: Path, data: Path, reading: Reading, wanted: Wanted, trust: tuple[str, ...]) -> None:
    """Predict the rows of a file and write or print them."""
    if wanted.out is not None:
        _require_writable(wanted.out)
        if format_of(wanted.out) == "libsvm":
            raise TableError(f"{wanted.out}: predictions are written as .csv, .tsv or .parquet")
    pd = pandas()
    with _warned():
        model = load(model_path, trusted=trust)
        frame = reading.table(data, _n_columns(model))
        frame.columns = [str(name) for name in frame.columns]
        require_columns(frame, list(wanted.keep), str(data))
        rows, complete = _rows(model, frame, wanted)
        with _busy(f"predicting {int(complete.sum())} rows", quiet=wanted.quiet):
            values = _predicted(model, rows[complete], wanted) if complete.any() else {}
    found = pd.DataFrame(values, index=frame.index[complete]).reindex(frame.index)
    _write(pd.concat([frame[list(wanted.keep)], found], axis=1), wanted.out)
    if not wanted.quiet:
        _tell_score(model, frame[complete], values, to=str(wanted.out) if wanted.out else None)


def _n_columns(model: Any) -> int | None:
    """Return how many columns a model of a LIBSVM file has."""
    table = table_of(model)
    if table is None:
        return None
    places = [int(name[1:]) for name in table.numbers if name[:1] == "x" and name[1:].isdigit()]
    return max(places, default=None)


def _rows(model: Any, frame: Any, wanted: Wanted) -> tuple[Any, Any]:
    """Return the rows as the model takes them, and which of them have all values."""
    table = table_of(model)
    if table is not None:
        table.set_params(unknown=wanted.unknown)
        names = [column.name for column in table.columns]
    elif hasattr(model, "feature_names_in_"):
        names = list(model.feature_names_in_)
    else:
        names = list(frame.columns)
        n_columns = getattr(model, "n_features_in_", len(names))
        if len(names) != n_columns:
            raise TableError(f"the model has {n_columns} columns without names, and the table {len(names)}")
    require_columns(frame, names, "the table")
    rows = frame[names]
    complete = np.ones(len(rows), dtype=bool)
    if wanted.missing == "blank":
        complete = ~rows.isna().any(axis=1).to_numpy()
    named = table is not None or hasattr(model, "feature_names_in_")
    return rows if named else rows.set_axis(range(len(names)), axis=1), complete


def _predicted(model: Any, rows: Any, wanted: Wanted) -> dict[str, Any]:
    """Return the columns of the answer."""
    final = final_estimator(model)
    given = rows if hasattr(model, "feature_names_in_") or table_of(model) is not None else rows.to_numpy()
    if wanted.std:
        if not hasattr(final, "feature_covariance"):
            raise TableError(f"--std: {type(final).__name__} has no standard deviations")
        mean, std = model.predict(given, return_std=True)
        return {"prediction": mean, "std": std}
    values = {"prediction": model.predict(given)}
    if np.ndim(values["prediction"]) != 1:
        raise TableError("the model has several outputs, and tables are for one")
    if wanted.proba:
        if not hasattr(model, "predict_proba"):
            raise TableError(f"--proba: {type(final).__name__} has no probabilities; --model logistic has")
        for name, column in zip(final.classes_, model.predict_proba(given).T, strict=True):
            values[f"p({name})"] = column
    return values


def _write(frame: Any, path: Path | None) -> None:
    """Write a table to a file, or print it."""
    if path is None:
        click.echo(frame.to_csv(index=False), nl=False)
    elif format_of(path) == "parquet":
        with replacing(path) as file:
            frame.to_parquet(file, index=False)
    else:
        text = frame.to_csv(index=False, sep="\t" if ".tsv" in path.suffixes else ",")
        with replacing(path) as file:
            file.write(text.encode())


def _tell_score(model: Any, frame: Any, values: dict[str, Any], to: str | None) -> None:
    """Say on the error output how well a target that is known was predicted, and where the answer went."""
    table = table_of(model)
    if to is not None:
        click.echo(f"{len(frame)} rows written to {to}", err=True)
    if table is None or table.target not in frame.columns or frame[table.target].isna().any() or not values:
        return
    try:
        y = targets(frame[table.target], str(table.target), str(table.task))
    except TableError:
        return
    if table.task == "classification":
        right = np.mean(y.astype(str) == np.asarray(values["prediction"]).astype(str))
        click.echo(f"accuracy {right:.4g}", err=True)
    else:
        error = float(np.sqrt(np.mean((y - values["prediction"]) ** 2)))
        spread = float(np.std(y))
        share = "" if spread == 0 else f", R² {1 - (error / spread) ** 2:.4g}"
        click.echo(f"root mean squared error {error:.4g}{share}", err=True)


# grls cv


def cross_validate(data: Path, choice: Choice, reading: Reading, folds: Folds, *, quiet: bool) -> None:
    """Print how well rows left out are predicted."""
    from rich.progress import track
    from rich.table import Table

    frame = reading.table(data)
    frame.columns = [str(name) for name in frame.columns]
    if folds.groups is not None:
        require_columns(frame, [folds.groups], str(data))
        choice.drop = (*choice.drop, folds.groups)
    problem = problem_of(frame, choice, str(data))
    splits = _splits(problem, folds)
    console = _console(error=True)
    scores = []
    with _warned():
        for train, test in track(splits, "folds", console=console, disable=quiet or not console.is_terminal):
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
    _console(error=False).print(table)


def _splits(problem: Problem, folds: Folds) -> list[Any]:
    """Return the rows of the folds: of groups, or drawn at random, of each class alike."""
    from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

    if folds.groups is not None:
        groups = problem.rows[folds.groups].astype(str).to_numpy()
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


# grls plot, grls info


def plot(
    model_path: Path, data: Path | None, reading: Reading, out: Path, trust: tuple[str, ...], *, quiet: bool
) -> None:
    """Draw a model to a file."""
    from .report import draw

    if out.suffix.lower() not in _PICTURES:
        raise TableError(f"{out}: pictures are {', '.join(_PICTURES)}")
    _require_writable(out)
    with _warned():
        model = load(model_path, trusted=trust)
        rows = y = None
        if data is not None:
            frame = reading.table(data, _n_columns(model))
            frame.columns = [str(name) for name in frame.columns]
            rows, y = _drawn_at(model, frame)
        with _busy("drawing", quiet=quiet):
            figure = draw(model, rows, y)
            with replacing(out) as file:
                figure.savefig(file, format=out.suffix[1:].lower(), dpi=120)
    if not quiet:
        click.echo(f"written to {out}", err=True)


def _drawn_at(model: Any, frame: Any) -> tuple[Any, Any]:
    """Return rows and, where the table has them, targets to draw a model at."""
    table = table_of(model)
    if table is None:
        return frame, None
    rows = frame[[column.name for column in table.columns if column.name in frame.columns]]
    table.transform(rows)  # says what is missing
    known = table.target in frame.columns
    y = targets(frame[table.target], str(table.target), str(table.task)) if known else None
    return rows, y


def facts_of_file(path: Path, trust: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return what is in a model file, as names and values."""
    header = read_header(path)
    with _warned():
        model = load(path, trusted=trust)
    versions = ", ".join(f"{name} {header[name]}" for name in ("grls", "scikit-learn", "numpy", "python"))
    return [("file", str(path)), *facts_of(model), ("written by", versions), ("sha256", header["sha256"])]


def summary_of_file(path: Path, trust: tuple[str, ...]) -> str:
    """Return the summary of a model in a file."""
    with _warned():
        return _summary(load(path, trusted=trust))
