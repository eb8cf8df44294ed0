"""No kernel is forgotten: each stands in the catalogue's tables."""

import inspect

import grls.kernels
import pytest
from catalogue import FORMULAS, ORDERS, TUNABLE, UNKNOWN
from grls.kernels import Kernel

# Kernels whose values the user gives, which have no formula.
GIVEN = {"Function", "Kernel", "Precomputed"}
NAMES = sorted(
    name
    for name in grls.kernels.__all__
    if inspect.isclass(getattr(grls.kernels, name)) and name not in GIVEN
)


def kinds(kernel):
    """The names of the classes that a kernel is made of."""
    parts = [value for value in kernel.get_params(deep=True).values() if isinstance(value, Kernel)]
    return {type(part).__name__ for part in [kernel, *parts]}


@pytest.mark.parametrize("name", NAMES)
def test_every_kernel_has_a_formula_and_an_order(name):
    # The chi-squared kernel takes histograms: its formula has a test of its own.
    assert any(name in kinds(kernel) for kernel, _ in FORMULAS.values()) or name == "ChiSquared"
    assert any(name in kinds(kernel) for kernel in [*(kernel for kernel, _ in ORDERS), *UNKNOWN])


BOUNDED = [name for name in NAMES if getattr(grls.kernels, name).tuning_bounds is not Kernel.tuning_bounds]


@pytest.mark.parametrize("name", BOUNDED)
def test_every_kernel_that_bounds_its_parameters_is_tuned(name):
    assert any(name in kinds(kernel) for kernel, _ in TUNABLE)
