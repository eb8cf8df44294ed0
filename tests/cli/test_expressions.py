"""Kernels and formulas from text: what they mean, and that nothing else is run."""

import numpy as np
import pandas as pd
import pytest
from grls.cli.errors import TableError
from grls.cli.formulas import Formula, columns_of
from grls.cli.kernel_expressions import as_kernel
from grls.kernels import Gaussian, Laplace, Linear, Matern, Polynomial, Sphere
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import StandardScaler

COLUMNS = {"x": ["x"], "soil": ["soil=clay", "soil=sand"]}
TABLE = pd.DataFrame(
    {
        "x": [1.0, 4.0, 9.0],
        "the y": [2.0, 3.0, 5.0],
        "soil=clay": [1.0, 0.0, 1.0],
        "soil=sand": [0.0, 1.0, 0.0],
    }
)
LABELLED = {"soil": ["soil=clay", "soil=sand"]}


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("matern", Matern("medians")),
        ("Gaussian", Gaussian("medians")),
        ("linear", Linear()),
        ("Gaussian()", Gaussian()),
        ("gaussian(2.5)", Gaussian(2.5)),
        ("2 * Matern(nu=2.5).on('x') + Linear()", 2 * Matern(nu=2.5).on(["x"]) + Linear()),
        ("Gaussian([1, 2, 3]).on(['x', 'soil'])", Gaussian([1, 2, 3]).on(["x", "soil=clay", "soil=sand"])),
        ("Laplace(norm='l1').on('soil', 'x')", Laplace(norm="l1").on(["soil=clay", "soil=sand", "x"])),
        ("Gaussian.from_gamma(0.5) ** 2", Gaussian.from_gamma(0.5) ** 2),
        ("Polynomial(2, c=0.5).normalized() * 3", Polynomial(2, c=0.5).normalized() * 3),
        ("(0.5 * Linear()).exp()", (0.5 * Linear()).exp()),
        ("Sphere(Matern(), radius=6371.0)", Sphere(Matern(), radius=6371.0)),
        ("Gaussian().after(StandardScaler())", Gaussian().after(StandardScaler())),
    ],
)
def test_an_expression_is_the_kernel_it_says(text, kernel):
    assert repr(as_kernel(text, COLUMNS)) == repr(kernel)


def test_auto_is_left_to_the_estimator():
    assert as_kernel(" auto ") == "auto"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("matrn", "did you mean matern"),
        ("nothing_like_it", "there are auto, ArcCosine"),
        ("__import__('os').system('true')", "there is no kernel '__import__'"),
        ("Gaussian().__class__", "nothing that kernels are made of"),
        ("Gaussian().get_params()", "kernels have .on"),
        ("Gaussian().after(open('x'))", ".after takes StandardScaler"),
        ("Gaussian().after(eval)", ".after takes StandardScaler"),
        ("(lambda: 1)()", "cannot be called"),
        ("[k for k in ()]", "nothing that kernels are made of"),
        ("Gaussian(**{})", "not known"),
        ("Gaussian(", "never closed"),
        ("Gaussian() - 1", r"kernels take \+, \* and \*\*"),
        ("1 + 2", "no kernel in it"),
        ("9 ** 9 ** 9", "powers are of kernels"),
        ("3.5", "not a kernel"),
        ("Gaussian(width=2)", "width"),
        ("Gaussian().on('z')", "there is no column 'z'; there are x, soil"),
        ("Gaussian().on(0)", "names of columns"),
        ("-Gaussian()", "not a number"),
        ("Linear.from_gamma(1)", "has no from_gamma"),
        ("Precomputed()", "there is no kernel"),
        ("(" * 3000 + "1" + ")" * 3000, "longer than"),
        ("+".join(["1"] * 900), "cannot be read"),
    ],
)
def test_other_expressions_are_refused(text, said):
    with pytest.raises(ValueError, match=said):
        as_kernel(text, COLUMNS)


@pytest.mark.parametrize(
    ("text", "names", "columns"),
    [
        ("x", ["1", "x"], [[1, 1, 1], [1, 4, 9]]),
        ("sqrt(x) - 1", ["sqrt(x)"], [[1, 2, 3]]),
        ("soil", ["1", "soil=sand"], [[1, 1, 1], [0, 1, 0]]),
        ("C(soil) - 1", ["soil=clay", "soil=sand"], [[1, 0, 1], [0, 1, 0]]),
        ("x:soil", ["1", "x:soil=sand"], [[1, 1, 1], [0, 4, 0]]),
        (
            "I(x ** 2 / 2 - pi)",
            ["1", "I(x ** 2 / 2 - pi)"],
            [[1, 1, 1], [0.5 - np.pi, 8 - np.pi, 40.5 - np.pi]],
        ),
        ("log(`the y`)", ["1", "log(`the y`)"], [[1, 1, 1], np.log([2, 3, 5])]),
        ("`the y`", ["1", "the y"], [[1, 1, 1], [2, 3, 5]]),
        ("I(x > 3) + maximum(x, 5)", ["1", "I(x > 3)", "maximum(x, 5)"], [[1, 1, 1], [0, 1, 1], [5, 5, 9]]),
        ("1", ["1"], [[1, 1, 1]]),
    ],
)
def test_a_formula_gives_the_features_it_says(text, names, columns):
    formula = Formula(text, LABELLED).fit(TABLE)
    assert list(formula.get_feature_names_out()) == names
    assert_allclose(formula.transform(TABLE), np.transpose(columns))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("__import__('os').getcwd()", "cannot be read|not known"),
        ("x.__class__", "not known"),
        ("sqr(x)", "did you mean sqrt"),
        ("open(x)", "there are I, abs"),
        ("I(x, x)", "not known"),
        ("log(x - 1)", r"log\(x - 1\) is -inf in row 1"),
        ("I(9**9**9**9)", "is inf in row 1"),
        ("z", "z in the formula is not a column; there are x, the y, soil"),
        ("xx", "did you mean x"),
        ("sqrt(soil)", "holds categories"),
        ("x +", "cannot be read"),
        ("zinc ~ x", "--target"),
        ("0", "no terms"),
        ("x" * 3000, "longer than"),
        ("I([c for c in x])", "not known"),
    ],
)
def test_other_formulas_are_refused(text, said):
    with pytest.raises(TableError, match=said):
        Formula(text, LABELLED).fit(TABLE)


def test_messages_of_the_grammar_have_no_colours():
    with pytest.raises(TableError) as refused:
        Formula("x +").fit(TABLE)
    assert "\x1b" not in str(refused.value)


def test_a_formula_that_was_changed_in_a_file_runs_nothing():
    formula = Formula("x").fit(TABLE)
    formula.terms_ = [["__import__('os').getcwd()"]]
    with pytest.raises(TableError, match="not known"):
        formula.transform(TABLE)


def test_a_formula_reads_columns_by_name():
    formula = Formula("sqrt(x) + `the y`").fit(TABLE)
    assert_array_equal(formula.transform(TABLE[TABLE.columns[::-1]]), formula.transform(TABLE))


@pytest.mark.parametrize("formula", ["(x + y)**99", "x + (x + y) ^ 10", "(x + log(y) + z)**12"])
def test_powers_of_terms_end_before_they_take_for_ever(formula):
    with pytest.raises(ValueError, match="powers end at 9"):
        columns_of(formula, ["x", "y", "z"])


def test_powers_of_numbers_are_any():
    assert columns_of("I((x + 1)**12) + (x + y)**2", ["x", "y", "z"]) == ["x", "y"]
