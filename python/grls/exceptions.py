"""The errors and warnings of grls that are its own."""

from ._core import NotPositiveDefiniteError

__all__ = ["DependentFeaturesWarning", "NotPositiveDefiniteError"]


class DependentFeaturesWarning(UserWarning):
    """Some predefined features depend linearly on others in the training rows and were left out."""
