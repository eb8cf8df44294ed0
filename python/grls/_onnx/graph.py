"""A graph of ONNX that grows node by node, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_OPSET = 17
_IR_VERSION = 9  # of ONNX 1.14: what runtimes of some years read


def onnx() -> Any:
    """Return the package onnx; ImportError says how to install it."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError('grls.to_onnx needs onnx and skl2onnx: pip install "grls[onnx]"') from error
    return onnx


class Graph:
    """Nodes and constants; tensors are known by their names.

    Parameters
    ----------
    n_columns : int
        Of the input ``"X"``.
    """

    def __init__(self, n_columns: int) -> None:
        self.n_columns = n_columns
        self._onnx = onnx()
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._outputs: list[Any] = []
        self._domains = {"": _OPSET}
        self._count = 0

    def _name(self, hint: str) -> str:
        self._count += 1
        return f"{hint}_{self._count}"

    def constant(self, values: Any, dtype: Any = np.float64) -> str:
        """Return the name of an array that does not change."""
        name = self._name("constant")
        array = (
            np.ascontiguousarray(values, dtype=dtype) if np.ndim(values) else np.array(values, dtype=dtype)
        )
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def texts(self, values: NDArray[Any]) -> str:
        """Return the name of an array of texts."""
        name = self._name("texts")
        encoded = [str(value).encode() for value in values]
        self._constants.append(
            self._onnx.helper.make_tensor(name, self._onnx.TensorProto.STRING, [len(encoded)], encoded)
        )
        return name

    def node(self, kind: str, *inputs: Any, **attributes: Any) -> str:
        """Add an operation and return the name of its result; numbers become constants."""
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        out = self._name(kind)
        self._nodes.append(self._onnx.helper.make_node(kind, names, [out], **attributes))
        return out

    def columns(self, X: str, positions: Any) -> str:
        """Return some columns of a matrix."""
        return self.node("Gather", X, self.constant(positions, np.int64), axis=1)

    def sum_columns(self, X: str) -> str:
        """Return the sums (n, 1) of the columns of a matrix."""
        return self.node("ReduceSum", X, self.constant([1], np.int64), keepdims=1)

    def ones(self, X: str) -> str:
        """Return a column of ones as long as a matrix with at least one column."""
        first = self.columns(X, [0])
        return self.node("Add", self.node("Mul", first, 0.0), 1.0)

    def flat(self, X: str) -> str:
        """Return a matrix of one column without that axis."""
        return self.node("Squeeze", X, self.constant([1], np.int64))

    def double(self, X: str) -> str:
        """Return numbers of another type as doubles."""
        return self.node("Cast", X, to=self._onnx.TensorProto.DOUBLE)

    def inline(self, model: Any, X: str) -> str:
        """Add another model's graph of one input and return the name of its first output."""
        prefix = self._name("part") + "_"
        graph = self._onnx.compose.add_prefix_graph(model.graph, prefix)
        self._nodes.append(self._onnx.helper.make_node("Identity", [X], [graph.input[0].name]))
        self._nodes += list(graph.node)
        self._constants += list(graph.initializer)
        for domain in model.opset_import:
            if domain.domain:
                self._domains[domain.domain] = max(self._domains.get(domain.domain, 0), domain.version)
        return str(graph.output[0].name)

    def output(self, name: str, tensor: str, kind: Any, shape: list[Any]) -> None:
        """Say that a tensor is a result."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [tensor], [name]))
        self._outputs.append(self._onnx.helper.make_tensor_value_info(name, kind, shape))

    def doubles(self, name: str, tensor: str, shape: list[Any]) -> None:
        """Say that a tensor of doubles is a result."""
        self.output(name, tensor, self._onnx.TensorProto.DOUBLE, shape)

    def labels(self, name: str, positions: str, classes: NDArray[Any]) -> None:
        """Say that classes, given by positions, are a result: numbers, truth values, or texts."""
        types = self._onnx.TensorProto
        known: dict[str, tuple[Any, Any]] = {
            "i": (np.int64, types.INT64),
            "u": (np.int64, types.INT64),
            "f": (np.float64, types.DOUBLE),
            "b": (np.bool_, types.BOOL),
        }
        dtype, kind = known.get(classes.dtype.kind, (None, types.STRING))
        table = self.texts(classes) if dtype is None else self.constant(classes, dtype)
        self.output(name, self.node("Gather", table, positions, axis=0), kind, [None])

    def model(self, doc: str, version: str) -> Any:
        """Return the finished model, checked."""
        helper, TensorProto = self._onnx.helper, self._onnx.TensorProto
        given = helper.make_tensor_value_info("X", TensorProto.DOUBLE, [None, self.n_columns])
        graph = helper.make_graph(self._nodes, "grls", [given], self._outputs, self._constants)
        imports = [helper.make_opsetid(domain, number) for domain, number in self._domains.items()]
        model = helper.make_model(
            graph,
            opset_imports=imports,
            ir_version=_IR_VERSION,
            producer_name="grls",
            producer_version=version,
            doc_string=doc,
        )
        self._onnx.checker.check_model(model)
        return model


def opset() -> int:
    """Return the version of the operators that are used."""
    return _OPSET
