"""The errors and warnings of grls that are its own."""

from sklearn.exceptions import InconsistentVersionWarning

from ._solvers.results import NotPositiveDefiniteError

__all__ = [
    "ConfoundedFeaturesWarning",
    "DependentFeaturesWarning",
    "ExtrapolationWarning",
    "FewCentersWarning",
    "IndefiniteKernelWarning",
    "InfiniteBandWarning",
    "NotPositiveDefiniteError",
    "PrecisionWarning",
    "SeparableFeaturesWarning",
    "SolverError",
    "VersionWarning",
]
__dir__ = __all__.copy


class ConfoundedFeaturesWarning(UserWarning):
    """The kernel can express what a feature says, so that the feature's coefficient is hardly determined."""


class ExtrapolationWarning(UserWarning):
    """The features are far outside what the training rows determine them on."""


class DependentFeaturesWarning(UserWarning):
    """Some predefined features depend linearly on others in the training rows and were left out."""


class FewCentersWarning(UserWarning):
    """The centres of a model leave out more than one per cent of the variance of the kernel part."""


class IndefiniteKernelWarning(UserWarning):
    """The kernel matrix has negative eigenvalues; the message says what was done about it."""


class InfiniteBandWarning(UserWarning):
    """Too few calibration rows stand behind a promise of coverage, so that only infinite bands keep it."""


class PrecisionWarning(UserWarning):
    """Rounding costs more digits than the data have to spare."""


class SeparableFeaturesWarning(UserWarning):
    """Features that are not penalised separate classes alone, so that the kernel has no part in the model."""


class SolverError(RuntimeError):
    """An outside solver gave no usable answer to a program that has one."""


class VersionWarning(InconsistentVersionWarning):
    """A model was written by another version of grls, scikit-learn or NumPy than the one that reads it.

    Parameters
    ----------
    message : str
        What differs, and what to do about it.
    """

    def __init__(self, message: str) -> None:
        super().__init__(estimator_name="", current_sklearn_version="", original_sklearn_version="")
        self.message = message
        self.args = (message,)

    def __str__(self) -> str:
        return self.message
