"""Displays in scikit-learn's manner: see what a model does.

They need matplotlib (``pip install "grls[plot]"``).

=============================  ===============================================================================
`RegularizationPathDisplay`    the criterion along γ, and the choice
`CriterionContourDisplay`      the criterion over a kernel parameter and γ
`FitDisplay`                   a fit of one variable with its band
`DecompositionDisplay`         what the features know and what the kernel has learnt, side by side
`PartialEffectsDisplay`        predictions along one column after the other, with bands
`MapDisplay`                   mean and standard deviation over two columns
`CoefficientsDisplay`          coefficients of the features, with intervals
`ResidualsDisplay`             residuals, their quantiles, and the rows left out
`CoverageDisplay`              how often conformal bands hold, in groups and along features
`VariogramDisplay`             the variogram of the data and the one that the model has fitted
`model_report`                 all of these that apply, on one figure
`DecisionBoundaryDisplay`      what a classifier of two variables decides where, and how surely
`ComponentsDisplay`            points in the plane of two components
`EigenvalueDisplay`            how fast the eigenvalues of kernels fall
`SpectralDensityDisplay`       which frequencies the functions of kernels have
`FunctionSamplesDisplay`       functions drawn from kernels
`RoughnessDisplay`             what a function costs in the spaces of kernels as it gets rougher
=============================  ===============================================================================

Every display is made by ``from_estimator`` (the last three: ``from_kernels``), draws itself with ``plot``,
and keeps ``ax_`` (or ``axes_``) and ``figure_`` for whatever else is wanted.
"""

from .classification import DecisionBoundaryDisplay
from .coefficients import CoefficientsDisplay
from .components import ComponentsDisplay
from .coverage import CoverageDisplay
from .diagnostics import ResidualsDisplay, VariogramDisplay
from .effects import MapDisplay, PartialEffectsDisplay
from .fits import DecompositionDisplay, FitDisplay
from .regularization import CriterionContourDisplay, RegularizationPathDisplay
from .report import ModelReport, model_report
from .rkhs import EigenvalueDisplay, FunctionSamplesDisplay, RoughnessDisplay, SpectralDensityDisplay

__all__ = [
    "CoefficientsDisplay",
    "ComponentsDisplay",
    "CoverageDisplay",
    "CriterionContourDisplay",
    "DecisionBoundaryDisplay",
    "DecompositionDisplay",
    "EigenvalueDisplay",
    "FitDisplay",
    "FunctionSamplesDisplay",
    "MapDisplay",
    "ModelReport",
    "PartialEffectsDisplay",
    "RegularizationPathDisplay",
    "ResidualsDisplay",
    "RoughnessDisplay",
    "SpectralDensityDisplay",
    "VariogramDisplay",
    "model_report",
]
__dir__ = __all__.copy
