"""From the options of a command to a pipeline of a table's columns and an estimator."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from .. import (
    FourierGRLSRegressor,
    GRLogisticClassifier,
    GRLSClassifier,
    GRLSRegressor,
    GRRegressor,
    NystromGRLSClassifier,
    NystromGRLSRegressor,
    PriorRLSClassifier,
    PriorRLSRegressor,
    SVMGBClassifier,
)
from ..kernels import Gaussian
from .errors import TableError
from .formulas import Formula, columns_of
from .kernel_expressions import as_kernel
from .tables import (
    Column,
    TableColumns,
    as_numbers,
    column_of,
    is_text,
    require_columns,
    texts_of,
    without_missing,
)

OTHER_LOSS, FOURIER = "other-loss", "fourier"
REGRESSORS = {
    "least-squares": GRLSRegressor,
    OTHER_LOSS: GRRegressor,
    "nystrom": NystromGRLSRegressor,
    FOURIER: FourierGRLSRegressor,
    "prior": PriorRLSRegressor,
}
CLASSIFIERS = {
    "least-squares": GRLSClassifier,
    "svm": SVMGBClassifier,
    "logistic": GRLogisticClassifier,
    "nystrom": NystromGRLSClassifier,
    "prior": PriorRLSClassifier,
}
FAMILIES = ("auto", *CLASSIFIERS, OTHER_LOSS, FOURIER)
TASKS = ("auto", "regression", "classification")

_MOST_ROWS = 20_000  # of a model whose matrix is stored


class UsageError(ValueError):
    """An option that cannot be right, whatever the data are."""


@dataclass
class Choice:
    """What the options ask for."""

    target: str
    kernel: str | None = None
    features: str | None = None
    task: str = "auto"
    family: str = "auto"
    loss: str | None = None  # of regression, another than least squares
    regularization: str | None = None
    settings: tuple[str, ...] = ()
    on: tuple[str, ...] = ()  # the columns that the kernel reads
    inputs: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    missing: str = "refuse"

    def texts(self, *more: str) -> list[str]:
        """Return the columns that are read as they are written; what the target is, is told by its values."""
        return [name for name in (*self.categorical, *more) if name != self.target]


@dataclass
class Problem:
    """Rows, targets and the model that is to be fitted to them."""

    X: Any  # DataFrame of the inputs
    y: Any  # (n,)
    model: Pipeline
    task: str
    family: str
    notes: list[str]  # what was decided by the data
    rows: Any  # the whole table, rows with missing values left out


def problem_of(frame: Any, choice: Choice, where: str, beside: tuple[str, ...] = ()) -> Problem:
    """Return the data of a table and the model that the options ask for.

    Rows have values in the columns `beside` too, which are no inputs.
    """
    notes: list[str] = []
    frame.columns = [str(name) for name in frame.columns]
    require_columns(
        frame, [choice.target, *choice.inputs, *choice.categorical, *choice.drop, *choice.on], where
    )
    left_out = {choice.target, *choice.drop, *beside}
    names = [name for name in _inputs(frame, choice) if name not in left_out]
    if not names:
        raise TableError(f"{where} has no columns beside the target {choice.target!r}")
    used = without_missing(frame[list(dict.fromkeys([*names, choice.target, *beside]))], choice.missing)
    if len(used) < len(frame):
        notes.append(f"{len(frame) - len(used)} of {len(frame)} rows have missing values and are left out")
    if _distinct(used[choice.target]) < 2:
        raise TableError(f"the target {choice.target!r} has the same value in all rows ({len(used)})")
    columns = [column_of(used, name, labels=name in choice.categorical) for name in names]
    for column in columns:
        if column.categories is None:
            as_numbers(used[column.name], column.name)
        else:
            notes.append(
                f"column {column.name!r} has {len(column.categories)} categories: one indicator for each"
            )
    task = _task(used[choice.target], choice.task, notes)
    y = targets(used[choice.target], choice.target, task)
    family = _family(choice, task, len(used), notes)
    model = _pipeline(columns, choice, task, family)
    return Problem(used[names], y, model, task, family, notes, frame.loc[used.index])


def _inputs(frame: Any, choice: Choice) -> list[str]:
    """Return the columns that a model may read: those given, those named by kernel and formula, or all."""
    there = list(frame.columns)
    if choice.inputs:
        return list(choice.inputs)
    if not choice.on:
        return there
    formula = [] if choice.features is None else columns_of(choice.features, there)
    return [name for name in there if name in choice.on or name in formula]


def targets(values: Any, name: str, task: str) -> Any:
    """Return the column that is predicted, as numbers or labels."""
    if task == "regression":
        return as_numbers(values, name)
    kind = values.to_numpy().dtype.kind
    return values.to_numpy() if kind in "biu" else _labels(values)


def _labels(values: Any) -> Any:
    numbers = values.to_numpy()
    if numbers.dtype.kind == "f":
        whole = np.all(numbers == np.round(numbers)) and np.abs(numbers).max(initial=0) < 2.0**53
        return numbers.astype(np.int64) if whole else numbers
    return texts_of(values)


def _distinct(values: Any) -> int:
    """Return how many different values a target has."""
    return len(set(texts_of(values))) if is_text(values) else int(values.nunique())


def _task(values: Any, given: str, notes: list[str]) -> str:
    """Return the task: the one given, or what the target looks like."""
    if given != "auto":
        return given
    kind = values.to_numpy().dtype.kind
    distinct = _distinct(values)
    if kind not in "iuf":
        numbers = kind != "b" and column_of(values.to_frame("target"), "target").categories is None
        task = "regression" if numbers else "classification"
    else:
        task = "classification" if distinct <= 2 else "regression"
    other = "classification" if task == "regression" else "regression"
    notes.append(f"task: {task}, as the target has {distinct} different values; else say --task {other}")
    return task


def _family(choice: Choice, task: str, n_rows: int, notes: list[str]) -> str:
    given, known = choice.family, REGRESSORS if task == "regression" else CLASSIFIERS
    if choice.loss is not None:
        if task != "regression" or given not in ("auto", OTHER_LOSS):
            raise TableError(
                "--loss is for regression without --model; classes have --model logistic and svm"
            )
        return OTHER_LOSS
    if given == "auto":
        if n_rows <= _MOST_ROWS:
            return "least-squares"
        notes.append(f"{n_rows} rows: the model on centres, --model nystrom")
        return "nystrom"
    if given not in known:
        raise TableError(f"--model {given} is not for {task}; there are {', '.join(known)}")
    return given


def _pipeline(columns: list[Column], choice: Choice, task: str, family: str) -> Pipeline:
    """Return the model, not fitted."""
    kind: Any = (REGRESSORS if task == "regression" else CLASSIFIERS)[family]
    indicators = {column.name: column.encoded() for column in columns}
    categories = {column.name: list(column.categories) for column in columns if column.categories is not None}
    parameters: dict[str, Any] = {}
    if choice.features is not None:
        labelled = {name: indicators[name] for name in categories}
        parameters["features"] = Formula(choice.features, labelled or None)
    kernel = _kernel(choice, family, indicators)
    if kernel is not None:
        parameters["kernel"] = kernel
    if family == "prior":
        parameters["regularization"] = "loo"
    if choice.loss is not None:
        parameters["loss"] = choice.loss
    if choice.regularization is not None:
        if family == "svm":
            raise UsageError("--model svm has no --regularization: say --set C=10")
        parameters["regularization"] = _literal(choice.regularization)
    parameters |= _settings(kind, choice.settings)
    numbers = [column.name for column in columns if column.categories is None]
    written = [column.name for column in columns if column.as_written]
    table = TableColumns(numbers, categories or None, choice.target, task, as_written=written or None)
    return Pipeline([("columns", table), ("model", kind(**parameters))])


def _kernel(choice: Choice, family: str, indicators: dict[str, list[str]]) -> Any:
    """Return the kernel of the options; None leaves it to the estimator."""
    text = choice.kernel
    if text is None:
        if not choice.on:
            return Gaussian("medians") if family == "nystrom" else None
        text = "gaussian" if family == "nystrom" else "matern"
    try:
        kernel = as_kernel(text, indicators)
    except ValueError as error:
        raise UsageError(f"--kernel: {error}") from error
    if not choice.on:
        return kernel
    if kernel == "auto":
        raise UsageError(
            '--on needs a kernel with a name: say --kernel matern, or one with .on("column") in it'
        )
    return kernel.on([name for one in choice.on for name in indicators.get(one, [one])])


def _settings(kind: Any, settings: Iterable[str]) -> dict[str, Any]:
    """Return the parameters of an estimator from texts ``name=value``."""
    known = [name for name in kind().get_params(deep=False) if name not in ("kernel", "features")]
    found = {}
    for text in settings:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
            raise UsageError(f"--set {text}: {kind.__name__} has no parameter {name!r} to set{hint}")
        found[name] = _literal(value)
    return found


def _literal(text: str) -> Any:
    """Return a number, list or the like where the text is one, else the text."""
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return float(text) if text.strip() in ("inf", "Infinity") else text.strip()


def table_of(model: Any) -> TableColumns | None:
    """Return how a model reads tables, where it was made by ``grls fit``."""
    first = model.steps[0][1] if isinstance(model, Pipeline) else None
    return first if isinstance(first, TableColumns) else None
