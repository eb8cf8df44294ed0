"""Fitted models as graphs of ONNX: `to_onnx`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._models.families import FAMILIES
from .._replacing import replacing
from .._solvers.results import __version__
from ..least_squares import GRLSClassifier, GRLSRegressor
from ..logistic import GRLogisticClassifier
from ..losses import GRRegressor
from ..nystrom import NystromGRLSClassifier, NystromGRLSRegressor
from ..one_class import OneClassSVMGB
from ..prior import PriorRLSClassifier, PriorRLSRegressor
from ..svm import SVMGBClassifier
from .graph import Graph
from .kernels import KernelValues
from .transformers import transformed, viewed

__all__ = ["to_onnx"]

_MODELS = (
    GRLSClassifier,
    GRLSRegressor,
    GRLogisticClassifier,
    GRRegressor,
    NystromGRLSClassifier,
    NystromGRLSRegressor,
    OneClassSVMGB,
    PriorRLSClassifier,
    PriorRLSRegressor,
    SVMGBClassifier,
)


def to_onnx(model: Any, path: str | os.PathLike[str] | None = None) -> Any:
    """Return a fitted model as a graph of ONNX, which other runtimes evaluate without Python.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted: least squares, support vectors, logistic, Nyström or prior models or those of other
        losses, with kernels of `grls.kernels` and features that are None, "constant", "linear", "quadratic",
        `Columns` or transformers of scikit-learn that skl2onnx converts; or a pipeline of such transformers
        that ends in one.
    path : str or path-like, default=None
        A file to write the graph to as well, by habit ending in ``.onnx``. What is there is replaced in one
        step.

    Returns
    -------
    onnx.ModelProto
        With the input ``"X"``, doubles of shape (n, d), and the outputs ``"predictions"``, of shape (n,) or
        (n, k), for numbers; ``"label"``, ``"decision_function"`` and, where the model has them,
        ``"probabilities"`` for classes, of which novelties are −1. It computes in double precision;
        ``SerializeToString()`` gives its bytes.

    Raises
    ------
    NotImplementedError
        Names the part that does not convert, such as a function of yours.

    Notes
    -----
    Needs the packages of ``pip install "grls[onnx]"``. Warnings of extrapolation and checks of the rows stay
    behind. Prediction takes the memory of a kernel matrix, rows by training rows: give rows in blocks.

    Examples
    --------
    >>> import grls
    >>> model = grls.GRLSRegressor(features="linear").fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 4.0, 9.0])
    >>> [output.name for output in grls.to_onnx(model).graph.output]  # doctest: +SKIP
    ['predictions']
    """
    graph = _graph(model)
    if path is not None:
        with replacing(Path(path)) as file:
            file.write(graph.SerializeToString())
    return graph


def _graph(model: Any) -> Any:
    """Return the graph of a fitted model."""
    final = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if not isinstance(final, _MODELS):
        names = ", ".join(kind.__name__ for kind in _MODELS)
        raise NotImplementedError(f"{type(final).__name__} does not convert to ONNX, as {names} do")
    check_is_fitted(final)
    first = model.steps[0][1] if isinstance(model, Pipeline) else model
    if not hasattr(first, "n_features_in_"):
        raise NotImplementedError(
            f"{type(first).__name__} does not convert to ONNX: its rows are no table of numbers"
        )
    width = int(first.n_features_in_)
    graph, X = Graph(width), "X"
    for name, step in model.steps[:-1] if isinstance(model, Pipeline) else []:
        if step is not None and step != "passthrough":
            X, width = transformed(graph, step, X, width, f"the step {name!r}")
    if hasattr(final, "classes_"):
        _classify(graph, final, X, width)
    elif isinstance(final, OneClassSVMGB):
        values, _ = _function(graph, final, X, width)
        outlier = graph.flat(graph.node("Less", values, 0.0))
        positions = graph.node("Where", outlier, graph.constant(0, np.int64), graph.constant(1, np.int64))
        graph.labels("label", positions, np.array([-1, 1]))
        graph.doubles("decision_function", graph.flat(values), [None])
    else:
        values, several = _function(graph, final, X, width)
        if isinstance(final, GRRegressor):
            values = _mean(graph, final, values)
        one = np.ndim(final.feature_coef_ if final.features_ is not None else final.dual_coef_) == 1
        graph.doubles(
            "predictions", graph.flat(values) if one else values, [None] if one else [None, several]
        )
    return graph.model(repr(final), __version__)


def _mean(graph: Graph, model: GRRegressor, values: str) -> str:
    """Return what a model of another loss predicts where its function has these values."""
    if model.loss in FAMILIES:
        return graph.node("Exp", values)
    if model.non_crossing and np.ndim(model.quantiles):
        raise NotImplementedError(
            f"GRRegressor(non_crossing={model.non_crossing!r}) does not convert to ONNX: levels are sorted "
            "there"
        )
    return values


def _function(graph: Graph, model: Any, X: str, width: int) -> tuple[str, int]:
    """Return the model functions (n, k), and k."""
    if hasattr(model, "_groups"):
        raise NotImplementedError(
            f"{type(model).__name__}(features=Groups(…)) does not convert to ONNX: the effects of groups are "
            "no columns of features"
        )
    parts = []
    n_functions = 0
    if model.features_ is not None and len(model.feature_names_free_):
        T, _ = transformed(graph, model.features_, X, width, "the features")
        b = model._computed_features()
        parts.append(graph.node("MatMul", T, b))
        n_functions = b.shape[1]
    if hasattr(model, "kernel_"):
        c = model._kernel_coefficients()
        parts.append(graph.node("MatMul", _kernel(graph, model, X, width), c))
        n_functions = c.shape[1]
    else:
        w = np.atleast_2d(model.coef_).T
        parts.append(graph.node("MatMul", X, w))
        n_functions = w.shape[1]
    return (graph.node("Add", *parts) if len(parts) == 2 else parts[0]), n_functions


def _kernel(graph: Graph, model: Any, X: str, width: int) -> str:
    kernel = model.kernel_
    if kernel.is_function:
        raise NotImplementedError(f"{kernel!r} does not convert to ONNX: it is no formula")
    points = X if kernel._frame is None else viewed(graph, kernel, X, width)
    return KernelValues(graph, kernel, points, model.X_fit_).matrix()


def _classify(graph: Graph, model: Any, X: str, width: int) -> None:
    """Add the outputs of a classifier."""
    if isinstance(model, SVMGBClassifier):
        _vote(graph, model, X, width)
        return
    values, several = _function(graph, model, X, width)
    positions = _first(graph, values) if several == 1 else graph.node("ArgMax", values, axis=1, keepdims=0)
    graph.labels("label", positions, model.classes_)
    shape = [None] if several == 1 else [None, several]
    graph.doubles("decision_function", graph.flat(values) if several == 1 else values, shape)
    if isinstance(model, GRLogisticClassifier):
        graph.doubles("probabilities", _logistic(graph, model, values, several), [None, len(model.classes_)])


def _first(graph: Graph, values: str) -> str:
    """Return 1 where the function (n, 1) of two classes is positive, else 0."""
    positive = graph.flat(graph.node("Greater", values, 0.0))
    return graph.node("Where", positive, graph.constant(1, np.int64), graph.constant(0, np.int64))


def _logistic(graph: Graph, model: GRLogisticClassifier, values: str, several: int) -> str:
    if several == 1:
        both = (graph.node("Sigmoid", graph.node("Neg", values)), graph.node("Sigmoid", values))
        return graph.node("Concat", *both, axis=1)
    if model._multinomial:
        return graph.node("Softmax", values, axis=1)
    each = graph.node("Sigmoid", values)
    return graph.node("Div", each, graph.sum_columns(each))


def _vote(graph: Graph, model: SVMGBClassifier, X: str, width: int) -> None:
    """Add the outputs of support vector machines, one versus one."""
    values, n_pairs = _function(graph, model, X, width)
    n_classes = len(model.classes_)
    if n_classes == 2:
        graph.labels("label", _first(graph, values), model.classes_)
        decision = values
        graph.doubles("decision_function", graph.flat(values), [None])
    else:
        node = graph.node
        won, lost, signed = np.zeros((3, n_pairs, n_classes))
        for p, (a, b) in enumerate(model.pairs_):
            won[p, a] = lost[p, b] = 1
            signed[p, a], signed[p, b] = 1, -1
        first = node("Where", node("Greater", values, 0.0), 1.0, 0.0)
        votes = node("Add", node("MatMul", first, won), node("MatMul", node("Sub", 1.0, first), lost))
        confidence = node("MatMul", values, signed)
        squeezed = node("Div", confidence, node("Mul", node("Add", node("Abs", confidence), 1.0), 3.0))
        decision = scores = node("Add", votes, squeezed)
        ballot = scores if model.break_ties else votes
        graph.labels("label", node("ArgMax", ballot, axis=1, keepdims=0), model.classes_)
        shown, several = (values, n_pairs) if model.decision_function_shape == "ovo" else (scores, n_classes)
        graph.doubles("decision_function", shown, [None, several])
    if model.probability:
        graph.doubles("probabilities", _calibrated(graph, model, decision), [None, n_classes])


def _calibrated(graph: Graph, model: SVMGBClassifier, decision: str) -> str:
    """Return the probabilities of decision values (n, 1) or (n, n_classes), calibrated."""
    (calibrated,) = model.calibrated_.calibrated_classifiers_
    a, b = (np.array([getattr(one, name) for one in calibrated.calibrators]) for name in ("a_", "b_"))
    node = graph.node
    each = node("Sigmoid", node("Neg", node("Add", node("Mul", decision, a), b)))
    if len(model.classes_) == 2:
        return node("Concat", node("Sub", 1.0, each), each, axis=1)
    total = graph.sum_columns(each)
    there = node("Greater", total, 0.0)
    return node("Where", there, node("Div", each, node("Where", there, total, 1.0)), 1 / len(model.classes_))
