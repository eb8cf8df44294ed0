"""``grls predict``: the rows of a file by a model."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import click
import numpy as np

from .._replacing import replacing
from ..plotting._inputs import final_estimator
from ..saving import load
from .console import busy, require_writable, warned
from .errors import TableError
from .models import table_of, targets
from .reading import Reading, ending_of, format_of, packed, pandas
from .tables import matched, require_columns, texts_of


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


def predict(model_path: Path, data: Path, reading: Reading, wanted: Wanted, trust: tuple[str, ...]) -> None:
    """Predict the rows of a file and write or print them."""
    if wanted.out is not None:
        require_writable(wanted.out)
        if format_of(wanted.out) == "libsvm":
            raise TableError(f"{wanted.out}: predictions are written as .csv, .tsv or .parquet")
    pd = pandas()
    with warned():
        model = load(model_path, trusted=trust)
        written = _written(model, wanted)
        frame = rows_for(model, data, reading, may_be_empty=True)
        require_columns(frame, list(wanted.keep), str(data))
        rows, complete = _rows(model, frame, wanted)
        with busy(f"predicting {int(complete.sum())} rows", quiet=wanted.quiet):
            none = {name: np.empty(0) for name in written}
            values = _predicted(model, rows[complete], wanted) if complete.any() else none
    found = pd.DataFrame(values, index=frame.index[complete]).reindex(frame.index)
    _write(pd.concat([frame[list(wanted.keep)], found], axis=1), wanted.out)
    if not wanted.quiet:
        _tell_score(model, frame[complete], values, to=str(wanted.out) if wanted.out else None)


def rows_for(model: Any, data: Path, reading: Reading, *, may_be_empty: bool = False) -> Any:
    """Return the table in a file, its categories and labels of text read as those of the model were."""
    table = table_of(model)
    if table is None:
        frame = reading.table(data, may_be_empty=may_be_empty)
    else:
        places = [int(name[1:]) for name in table.numbers if name[:1] == "x" and name[1:].isdigit()]
        texts = [*(table.categories or {}), *([table.target] if _has_text_labels(model) else [])]
        frame = reading.table(data, max(places, default=None), texts, may_be_empty=may_be_empty)
    frame.columns = [str(name) for name in frame.columns]
    return frame


def _has_text_labels(model: Any) -> bool:
    return np.asarray(getattr(final_estimator(model), "classes_", ())).dtype.kind in "OU"


def _written(model: Any, wanted: Wanted) -> list[str]:
    """Return the names of the columns that are written; TableError where one to keep has such a name."""
    written = ["prediction", *(["std"] if wanted.std else [])]
    if wanted.proba:
        written += [f"p({name})" for name in getattr(final_estimator(model), "classes_", ())]
    if taken := [name for name in wanted.keep if name in written]:
        raise TableError(f"--keep {taken[0]}: predictions are written by that name; rename the column")
    return written


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
        if "return_std" not in signature(final.predict).parameters:
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
        text = frame.to_csv(index=False, sep="\t" if ending_of(path) == ".tsv" else ",")
        with replacing(path) as file:
            file.write(packed(path, text.encode()))


def _tell_score(model: Any, frame: Any, values: dict[str, Any], to: str | None) -> None:
    """Say on the error output how well a target that is known was predicted, and where the answer went."""
    table = table_of(model)
    if to is not None:
        click.echo(f"{len(frame)} rows written to {to}", err=True)
    if (
        table is None
        or table.target not in frame.columns
        or not len(frame)
        or frame[table.target].isna().any()
    ):
        return
    target, predicted = frame[table.target].infer_objects(), pandas().Series(values["prediction"])
    if table.task == "classification":
        as_written = _has_text_labels(model)
        known = sorted(set(texts_of(pandas().Series(final_estimator(model).classes_))))
        right = np.mean(matched(target, known, as_written=as_written) == texts_of(predicted))
        click.echo(f"accuracy {right:.4g}", err=True)
    else:
        try:
            y = targets(target, str(table.target), "regression")
        except TableError:
            return
        error = float(np.sqrt(np.mean((y - values["prediction"]) ** 2)))
        spread = float(np.std(y))
        share = "" if spread == 0 else f", R² {1 - (error / spread) ** 2:.4g}"
        click.echo(f"root mean squared error {error:.4g}{share}", err=True)
