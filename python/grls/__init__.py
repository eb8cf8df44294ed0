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

from . import core as core
from ._nystrom.files import Files
from ._onnx import to_onnx
from ._solvers import blas as _blas
from ._solvers.results import __version__
from ._solvers.runtime import get_num_threads, set_num_threads
from .decomposition import KernelPCA
from .exceptions import (
    ConfoundedFeaturesWarning,
    DependentFeaturesWarning,
    ExtrapolationWarning,
    IndefiniteKernelWarning,
    InfiniteBandWarning,
    NotPositiveDefiniteError,
    SeparableFeaturesWarning,
    SolverError,
    VersionWarning,
)
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

__all__ = [
    "ConfoundedFeaturesWarning",
    "DependentFeaturesWarning",
    "ExtrapolationWarning",
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
