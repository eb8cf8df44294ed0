"""Kernel machines with predefined features that are not penalised.

Put what you know into the model as features, and let the kernel learn only the rest.

>>> import numpy as np
>>> from grls import GRLSRegressor
>>> x = np.linspace(0, 10, 30)[:, None]
>>> model = GRLSRegressor(features="linear").fit(x, 2 * x[:, 0] + 1)
>>> model.predict([[20.0]]).round(6)
array([41.])

What to use when:

======================  ===================================================================================
`GRLSRegressor`         regression with a trend, a physical law, or a simpler model's answer as features
`GRRegressor`           regression with other losses: robust, quantiles, expectiles, counts, positive values
`GRLSClassifier`        classification with such features, one versus all
`SVMGBClassifier`       support vector classification with such features, one versus one
`GRLogisticClassifier`  classification with such features and probabilities
`OneClassSVMGB`         novelties: rows that lie where there are few, beyond what such features explain
`PriorRLSRegressor`     linear regression with a Gaussian prior on the weights
`PriorRLSClassifier`    linear classification with such a prior, also on 10⁵ sparse columns
`TransferPrior`         learns that prior from similar tasks
`FourierGRLSRegressor`  regression on maps: a kernel of one to three columns, millions of rows
`NystromGRLS…`          the models on centres, for more rows than memory: streams, blocks, `grls.dask`
`NystromGRRegressor`    counts and positive values on centres, likewise
`Files`                 rows in Parquet, CSV or Arrow files, for these
`grls.conformal`        bands around any regressor that hold in every group and along every feature named
`KernelPCA`             principal components in a kernel's feature space
`MercerExpansion`       eigenvalues and eigenfunctions of a kernel
`grls.kernels`          kernels and their algebra
`grls.features`         features that come up often
`grls.Summary`          what a fit tells, as tables: returned by ``summary()`` of a fitted model
`grls.save`, `load`     models in files that run no code when they are read
`grls.to_onnx`          fitted models for other runtimes
`grls.plotting`         pictures of a model and of how it was chosen
`grls.core`             the papers' equations on plain arrays
`grls.datasets`         the data of the papers and benchmarks
======================  ===================================================================================
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._solvers import blas as _blas
from ._solvers.results import __version__
from ._solvers.runtime import get_num_threads, set_num_threads
from .exceptions import (
    ConfoundedFeaturesWarning,
    DependentFeaturesWarning,
    ExtrapolationWarning,
    FewCentersWarning,
    IndefiniteKernelWarning,
    InfiniteBandWarning,
    NotPositiveDefiniteError,
    SeparableFeaturesWarning,
    SolverError,
    VersionWarning,
)

if TYPE_CHECKING:  # what __getattr__ finds, for those who read the types
    from . import conformal as conformal
    from . import core as core
    from . import datasets as datasets
    from . import features as features
    from . import kernels as kernels
    from . import plotting as plotting
    from ._nystrom.files import Files
    from ._onnx import to_onnx
    from .decomposition import KernelPCA
    from .fourier import FourierGRLSRegressor
    from .least_squares import GRLSClassifier, GRLSRegressor
    from .logistic import GRLogisticClassifier
    from .losses import GRRegressor
    from .mercer import MercerExpansion
    from .nystrom import NystromGRLSClassifier, NystromGRLSRegressor
    from .nystrom_losses import NystromGRRegressor
    from .one_class import OneClassSVMGB
    from .prior import LowRankCovariance, PriorRLSClassifier, PriorRLSRegressor
    from .saving import load, save
    from .summary import Summary
    from .svm import SVMGBClassifier
    from .transfer import TransferPrior

_blas.bind()

# A model is imported when it is first asked for: all of them together take longer than most fits.
_HOMES = {
    "Files": "_nystrom.files",
    "FourierGRLSRegressor": "fourier",
    "GRLSClassifier": "least_squares",
    "GRLSRegressor": "least_squares",
    "GRLogisticClassifier": "logistic",
    "GRRegressor": "losses",
    "KernelPCA": "decomposition",
    "LowRankCovariance": "prior",
    "MercerExpansion": "mercer",
    "NystromGRLSClassifier": "nystrom",
    "NystromGRLSRegressor": "nystrom",
    "NystromGRRegressor": "nystrom_losses",
    "OneClassSVMGB": "one_class",
    "PriorRLSClassifier": "prior",
    "PriorRLSRegressor": "prior",
    "SVMGBClassifier": "svm",
    "Summary": "summary",
    "TransferPrior": "transfer",
    "load": "saving",
    "save": "saving",
    "to_onnx": "_onnx",
}
_MODULES = (
    *("conformal", "core", "dask", "datasets", "exceptions"),
    *("features", "kernels", "plotting", "saving", "summary"),
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, *_MODULES]


__all__ = [
    "ConfoundedFeaturesWarning",
    "DependentFeaturesWarning",
    "ExtrapolationWarning",
    "FewCentersWarning",
    "Files",
    "FourierGRLSRegressor",
    "GRLSClassifier",
    "GRLSRegressor",
    "GRLogisticClassifier",
    "GRRegressor",
    "IndefiniteKernelWarning",
    "InfiniteBandWarning",
    "KernelPCA",
    "LowRankCovariance",
    "MercerExpansion",
    "NotPositiveDefiniteError",
    "NystromGRLSClassifier",
    "NystromGRLSRegressor",
    "NystromGRRegressor",
    "OneClassSVMGB",
    "PriorRLSClassifier",
    "PriorRLSRegressor",
    "SVMGBClassifier",
    "SeparableFeaturesWarning",
    "SolverError",
    "Summary",
    "TransferPrior",
    "VersionWarning",
    "__version__",
    "get_num_threads",
    "load",
    "save",
    "set_num_threads",
    "to_onnx",
]
