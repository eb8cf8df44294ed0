"""Displays in scikit-learn's manner: see what a model does.

They need matplotlib (``pip install "grls[plot]"``).

=============================  ===============================================================================
`RegularizationPathDisplay`    the criterion along γ, and the choice
`CriterionContourDisplay`      the criterion over a kernel parameter and γ
`FitDisplay`                   a fit of one variable with its band
`DecompositionDisplay`         what the features know and what the kernel has learnt, side by side
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
from .components import ComponentsDisplay
from .fits import DecompositionDisplay, FitDisplay
from .regularization import CriterionContourDisplay, RegularizationPathDisplay
from .rkhs import EigenvalueDisplay, FunctionSamplesDisplay, RoughnessDisplay, SpectralDensityDisplay

__all__ = [
    "ComponentsDisplay",
    "CriterionContourDisplay",
    "DecisionBoundaryDisplay",
    "DecompositionDisplay",
    "EigenvalueDisplay",
    "FitDisplay",
    "FunctionSamplesDisplay",
    "RegularizationPathDisplay",
    "RoughnessDisplay",
    "SpectralDensityDisplay",
]
