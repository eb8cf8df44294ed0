"""All pictures of a model that apply, on one figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._display import SeveralDisplay, SingleDisplay
from ._inputs import as_table, final_estimator, target_name, varying_columns
from .coefficients import CoefficientsDisplay
from .diagnostics import ResidualsDisplay, VariogramDisplay, columns_read
from .effects import MapDisplay, PartialEffectsDisplay
from .regularization import RegularizationPathDisplay

__all__ = ["ModelReport", "model_report"]
__dir__ = __all__.copy

_N_COLUMNS = 3


@dataclass
class ModelReport:
    """What `model_report` has drawn.

    Attributes
    ----------
    displays : dict of str to Display
        The pictures, by name.
    left_out : dict of str to str
        Those that do not apply to the model, and why.
    figure_ : matplotlib figure
        The figure.
    """

    displays: dict[str, Any]
    left_out: dict[str, str]
    figure_: Any


def model_report(
    model: Any,
    X: Any = None,
    *,
    target: str | None = None,
    more: Mapping[str, Callable[[Any], Any]] | None = None,
) -> ModelReport:
    """Draw all that there is to see of a model on one figure.

    Residuals with their quantiles, rows left out; the criterion along γ; coefficients; the variogram; the
    prediction along columns and, where the kernel or the model has two columns, its map.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted, with one output or two classes; a pipeline must end in one. A GRLSRegressor has all of them.
    X : {array-like, DataFrame} of shape (n, d), default=None
        Rows that effects and maps range over, as the model takes them. None: the training rows that the
        model keeps.
    target : str, default=None
        Name of the target.
    more : mapping of str to callable, default=None
        Further pictures, each a function that draws on the axes it is given.

    Returns
    -------
    ModelReport
        The displays and the figure. What does not apply, such as a criterion where γ was given, is left out.

    Examples
    --------
    >>> import numpy as np
    >>> from grls import GRLSRegressor, plotting
    >>> from grls.kernels import Matern
    >>> X = np.random.default_rng(0).uniform(size=(60, 2))
    >>> y = X[:, 0] + np.sin(8 * X[:, 1])
    >>> model = GRLSRegressor(Matern(0.3), regularization="reml").fit(X, y)
    >>> report = plotting.model_report(model)  # doctest: +SKIP
    """
    final = final_estimator(model)
    check_is_fitted(final)
    plt = _pyplot()
    name = target_name(target)
    displays: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    for kind, (n_axes, draw) in _pictures(model, final, X, name).items():
        try:
            displays[kind] = draw(_scratch(n_axes))
        except (ValueError, TypeError) as error:  # TypeError: of displays that are for one kind of model
            left_out[kind] = str(error)
    for kind, picture in (more or {}).items():
        displays[kind] = _Drawn(picture)
    if not displays:
        raise ValueError(f"there is nothing to draw of this {type(final).__name__}: {left_out}")
    sizes = [getattr(display, "n_axes", 1) for display in displays.values()]
    n_rows = -(-sum(sizes) // _N_COLUMNS)
    size = (5.2 * _N_COLUMNS, 3.9 * n_rows)
    figure, axes = plt.subplots(n_rows, _N_COLUMNS, figsize=size, layout="constrained", squeeze=False)
    free = list(axes.ravel())
    for display, n_axes in zip(displays.values(), sizes, strict=True):
        mine, free = free[:n_axes], free[n_axes:]
        if isinstance(display, SeveralDisplay):
            display.plot(axes=mine)
        else:
            display.plot(ax=mine[0])
    for spare in free:
        spare.remove()
    return ModelReport(displays, left_out, figure)


class _Drawn(SingleDisplay):
    """A picture that a function draws."""

    def __init__(self, picture: Callable[[Any], Any]) -> None:
        self._picture = picture

    def _draw(self, axes: Any, **options: Any) -> None:
        self._picture(axes)


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "grls[plot]"') from error
    return plt


def _scratch(n_axes: int) -> Any:
    """Return axes of a figure that nobody sees: what cannot be drawn must not leave a hole."""
    from matplotlib.figure import Figure

    return list(Figure().subplots(1, n_axes, squeeze=False).ravel())


def _pictures(
    model: Any, final: Any, X: Any, target: str
) -> dict[str, tuple[int, Callable[[list[Any]], Any]]]:
    """Return what may be drawn: how many pairs of axes it takes, and the function that draws it."""
    pictures: dict[str, tuple[int, Callable[[list[Any]], Any]]] = {
        "residuals": (3, lambda axes: ResidualsDisplay.from_estimator(model, target=target, axes=axes)),
        "criterion": (1, lambda axes: RegularizationPathDisplay.from_estimator(model, ax=axes[0])),
        "coefficients": (
            1,
            lambda axes: CoefficientsDisplay.from_estimator(model, target=target, ax=axes[0]),
        ),
        "variogram": (1, lambda axes: VariogramDisplay.from_estimator(model, target=target, ax=axes[0])),
    }
    try:
        table = as_table(X, model)
    except ValueError:
        return pictures
    pair = _pair(model, final, table)
    columns = varying_columns(table)[: 3 if pair is None else 4]  # with a map the rows of the figure are full
    if columns:
        pictures["effects"] = (
            len(columns),
            lambda axes: PartialEffectsDisplay.from_estimator(
                model, X, columns=columns, target=target, axes=axes
            ),
        )
    if pair is not None:
        pictures["map"] = (
            2,
            lambda axes: MapDisplay.from_estimator(model, X, columns=pair, target=target, axes=axes),
        )
    return pictures


def _pair(model: Any, final: Any, table: Any) -> tuple[int, int] | None:
    """Return the two columns of a map: those that the kernel reads, or all that vary; None: there is none."""
    candidates = varying_columns(table)
    rows, kernel = getattr(final, "X_fit_", None), getattr(final, "kernel_", None)
    same_columns = model is final and kernel is not None and not (kernel.reads_given or kernel.pairwise)
    if same_columns and isinstance(rows, np.ndarray):
        candidates = columns_read(kernel, np.asarray(rows, dtype=np.float64))
    return (candidates[0], candidates[1]) if len(candidates) == 2 else None
