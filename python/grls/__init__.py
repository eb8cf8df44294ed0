"""Kernel machines with predefined features that are not penalised.

Put what you know into the model as features, and let the kernel learn only the rest.

>>> import numpy as np
>>> from grls import GRLSRegressor
>>> x = np.linspace(0, 10, 30)[:, None]
>>> model = GRLSRegressor(features="linear").fit(x, 2 * x[:, 0] + 1)
>>> model.predict([[20.0]]).round(6)
array([41.])

What to use when:

======================  ============================================================================"""

from . import _blas
from ._core import __version__
from ._threads import get_num_threads, set_num_threads
from .decomposition import KernelPCA
from .exceptions import (
    DependentFeaturesWarning,
    IndefiniteKernelWarning,
    NotPositiveDefiniteError,
    SolverError,
)
from .least_squares import GRLSClassifier, GRLSRegressor
from .logistic import GRLogisticClassifier
from .nystrom import NystromGRLSClassifier, NystromGRLSRegressor
from .prior import LowRankCovariance, PriorRLSClassifier, PriorRLSRegressor
from .svm import SVMGBClassifier
from .transfer import TransferPrior

_blas.bind()

__all__ = [
    "DependentFeaturesWarning",
    "GRLSClassifier",
    "GRLSRegressor",
    "GRLogisticClassifier",
    "IndefiniteKernelWarning",
    "KernelPCA",
    "LowRankCovariance",
    "NotPositiveDefiniteError",
    "NystromGRLSClassifier",
    "NystromGRLSRegressor",
    "PriorRLSClassifier",
    "PriorRLSRegressor",
    "SVMGBClassifier",
    "SolverError",
    "TransferPrior",
    "__version__",
    "get_num_threads",
    "set_num_threads",
]
