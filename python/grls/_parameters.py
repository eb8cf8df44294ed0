"""Parameters: what is said of one that is not there, and those of objects that are no estimators."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from inspect import Parameter, Signature, isfunction, signature
from typing import Any, TypeVar

__all__ = ["KernelParameters", "Parametrised"]

_Self = TypeVar("_Self", bound="WithParameters")

# What other libraries call it, and what to write here; of kernels, and of estimators.
_OF_KERNELS = {
    "gamma": "Gaussian, Laplace and Polynomial.from_gamma(…) take the gamma of scikit-learn",
    "length_scale": "the width is sigma",
    "lengthscale": "the width is sigma",
    "coef0": "the constant of Polynomial and Sigmoid is c",
    "variance": "a factor is written in front: 2.0 * kernel",
}
_OF_ESTIMATORS = {
    "gamma": "the width belongs to the kernel: kernel=Gaussian(sigma), or kernel=Gaussian.from_gamma(gamma) "
    "with the gamma of scikit-learn; the γ of the papers is regularization",
    "alpha": "regularization is of the mean loss: the alpha of KernelRidge is regularization times n_samples",
    "lambda_": "regularization is γ, of the mean loss",
    "degree": "it belongs to the kernel: kernel=Polynomial(degree, c)",
    "coef0": "it belongs to the kernel: kernel=Polynomial(degree, c)",
    "length_scale": "the width belongs to the kernel: kernel=Gaussian(sigma)",
    "sigma": "the width belongs to the kernel: kernel=Gaussian(sigma)",
    "nugget": "it is noise_variance",
    "sill": "it is kernel_variance",
    "fit_intercept": 'features="constant", the default, is the intercept; features=None has none',
    "kernel_params": "they belong to the kernel, such as kernel=Gaussian(sigma)",
}


@cache
def _parameters_of(init: Any) -> tuple[str, ...]:
    return () if init is object.__init__ else tuple(signature(init).parameters)[1:]


def _names(cls: Any) -> tuple[str, ...]:
    """Return the names of the parameters that a constructor takes."""
    return _parameters_of(cls.__init__)


@cache
def _positional_of(init: Any) -> tuple[str, ...] | None:
    """Return the parameters that need no name; None: there is no limit to these."""
    if init is object.__init__:
        return ()
    parameters = list(signature(init).parameters.values())[1:]
    if any(parameter.kind is Parameter.VAR_POSITIONAL for parameter in parameters):
        return None
    return tuple(p.name for p in parameters if p.kind is not Parameter.KEYWORD_ONLY)


def _check_positions(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise TypeError where there are too many arguments without a name, or one of them has one too."""
    names = _positional_of(cls.__init__)
    if names is None:
        return
    if len(args) > len(names):
        others = [name for name in _names(cls) if name not in names]
        taken = f"only {', '.join(names)}" if names else "no argument"
        raise TypeError(
            f"{cls.__name__} takes {taken} without a name, and got {len(args)}"
            + (f": write {others[0]}=…" if others else "")
        )
    for name in names[: len(args)]:
        if name in kwargs:
            raise TypeError(f"{cls.__name__} got {name} twice, once by its name and once without")


def unknown(cls: type, name: str, elsewhere: dict[str, str]) -> str:
    """Return what to say of a parameter that a class does not have."""
    names = _names(cls)
    if name in elsewhere:
        hint = elsewhere[name]
    elif near := get_close_matches(name, names, n=1):
        hint = f"did you mean {near[0]!r}?"
    else:
        hint = f"it has {', '.join(names)}" if names else "it has none"
    return f"{cls.__name__} has no parameter {name!r}: {hint}"


class Parametrised:
    """A class whose constructor says what it knows about a parameter that it does not have."""

    _elsewhere = _OF_ESTIMATORS

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        for name in kwargs:
            if name not in _names(cls):
                raise TypeError(unknown(cls, name, cls._elsewhere))
        if args:
            _check_positions(cls, args, kwargs)
        return super().__new__(cls)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__init__ is object.__init__:
            cls.__signature__ = Signature()  # type: ignore[attr-defined]  # not that of __new__
        for parent in cls.__mro__:
            if parent.__module__.startswith("grls.") and "._" in parent.__module__:
                for name, method in vars(parent).items():
                    if isfunction(method) and not name.startswith("_"):
                        method.__qualname__ = name  # Python's messages about calls name no inner class

    def set_params(self, **params: Any) -> Any:
        """Set parameters, also of parts: ``kernel__sigma``.

        Parameters
        ----------
        **params : dict
            Names and values.

        Returns
        -------
        self
            The object itself.
        """
        own = self.get_params(deep=False)  # type: ignore[attr-defined]
        for name in params:
            head, _, tail = name.partition("__")
            if head not in own:
                raise ValueError(unknown(type(self), head, self._elsewhere))
            part = params.get(head, own[head])
            if tail and not hasattr(part, "set_params"):
                raise ValueError(
                    f"{name} cannot be set: {head}={part!r} of {type(self).__name__} has no parameters"
                    + (f"; give it an object, such as Gaussian({tail}=…)" if head == "kernel" else "")
                )
        return super().set_params(**params)  # type: ignore[misc]


class WithParameters:
    """Parameters in the way of scikit-learn, for what its printer of estimators must not take apart."""

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return sorted(_names(cls))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters.

        Parameters
        ----------
        deep : bool, default=True
            Whether to add those of parts that have parameters themselves, as ``part__name``.

        Returns
        -------
        dict
            Names and values.
        """
        found: dict[str, Any] = {}
        for name in self._parameter_names():
            value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found.update((f"{name}__{key}", inner) for key, inner in value.get_params().items())
            found[name] = value
        return found

    def set_params(self: _Self, **params: Any) -> _Self:
        """Set parameters; the names are known by now."""
        inner: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            head, _, tail = name.partition("__")
            if tail:
                inner.setdefault(head, {})[tail] = value
            else:
                setattr(self, name, value)
        parts = self.get_params(deep=False)
        for head, values in inner.items():
            parts[head].set_params(**values)
        return self


class KernelParameters(Parametrised, WithParameters):
    """Parameters of kernels."""

    _elsewhere = _OF_KERNELS
