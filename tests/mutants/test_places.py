"""The trial of faults finds the places it should, and leaves messages and signatures alone."""

from pathlib import Path

import pytest
from repository import ROOT, needs

pytestmark = needs("cpp")

SOURCE = '''
"""A module - of 3 lines."""


def f(x, *, n=1):
    """Return x + 1."""
    if x < 0 and not n:
        raise ValueError(f"{x} < {0}")
    return -x * 2.5
'''


def changes(places):
    return sorted((place.old, place.new) for place in places)


def test_operators_and_numbers_of_python_are_found_and_messages_are_not():
    from tests.mutants.places import in_python

    expected = [("*", "/"), ("0", "1"), ("2.5", "7.5"), ("<", "<="), ("and", "or"), ("not", "")]
    assert changes(in_python("f.py", SOURCE)) == expected


def test_operators_and_numbers_of_cpp_are_found_and_templates_and_pointers_are_not():
    from tests.mutants.places import in_cpp

    lines = ["for (Index i = 0; i < n; ++i) sum += 0.5 * x[i];  // a < b", "std::vector<double*> v;"]
    source = "\n".join([*lines, 'throw Error("a < b");'])
    expected = [("*", "/"), ("+=", "-="), ("0", "1"), ("0.5", "1.5"), ("<", "<=")]
    assert changes(in_cpp("f.cpp", source)) == expected


def test_a_reason_is_of_one_place():
    from tests.mutants.equivalent import EQUIVALENT, reason
    from tests.mutants.places import in_cpp, in_python

    gone = []
    for file, marked, new in EQUIVALENT:
        source = (ROOT / file).read_text(encoding="utf-8")
        places = (in_python if file.endswith(".py") else in_cpp)(file, source)
        if not any(place.marked_in(source) == marked and place.new == new for place in places):
            gone.append((file, marked, new))
    assert gone == []
    assert reason("a.py", "if x < «1e-8»:", "3e-08") is not None
    assert reason("a.py", "x * «6.93e-01»", "2.079") is None
    assert reason("cpp/base/vmath.cpp", "x * «1.9e-10»", "5.7e-10") is None


@pytest.mark.parametrize(
    ("marked", "new"),
    [
        ("figure.savefig(file, format=out.suffix[«1»:].lower(), dpi=120)", "2"),
        ("_STEP = np.finfo(np.float64).eps ** (1 / «3»)", "4"),
        ("_ROWS_AT_A_TIME = {«1»: 1 << 20, 2: 1 << 20, 3: 1 << 17}", "2"),
        ("LAST_YEAR = «1991»  # of the data in the picture", "1992"),
        ("return np.geomspace(«1e-9», max(float(n_samples), 10.0), count), True", "3e-09"),
        ('tol = real(self.tol, "tol", minimum=«1e-10»)', "3e-10"),
    ],
)
def test_a_rule_excuses_what_it_is_about_and_nothing_beside_it(marked, new):
    from tests.mutants.equivalent import reason

    assert reason("a.py", marked, new) is None


def test_rules_excuse_limits_of_effort_and_bounds_on_rounding():
    from tests.mutants.equivalent import reason

    assert reason("a.py", "figure.savefig(file, format=out.suffix[1:].lower(), dpi=«120»)", "121")
    assert reason("a.py", "_CHUNK = «4_000_000»  # numbers that are drawn at a time", "4000001")
    assert reason("a.py", "_ROUNDING = «10» * float(np.finfo(np.float64).eps)", "11")
    assert reason("a.py", "rounding = «10» * m * np.finfo(np.float64).eps * largest", "11")


def test_every_test_that_is_named_exists_and_every_numerical_file_has_some():
    from tests.mutants.tests_of import TESTS_OF, tests_of

    for prefix in TESTS_OF:
        assert (ROOT / prefix).exists(), prefix
        assert all((ROOT / name).exists() for name in tests_of(prefix)), prefix
    assert tests_of("python/grls/_selection/metric.py")[0] == "tests/selection"
    # What is drawn and told, not what is computed.
    told = {"plotting", "datasets", "demo", "__init__.py", "__main__.py", "exceptions.py", "_warnings.py"}
    for file in Path(ROOT / "python/grls").rglob("*.py"):
        name = file.relative_to(ROOT).as_posix()
        if name.split("/")[2] not in told:
            assert tests_of(name), name


def test_what_notices_without_a_fault_too_has_noticed_nothing():
    """A test that is not there, or an environment that cannot import it, is no killed fault."""
    pytest.importorskip("resource")
    from tests.mutants.trial import Trial

    class Broken:
        def tests(self, names, seconds, log):
            return 1  # what pytest says of a file that is not there

    class Sound:
        def tests(self, names, seconds, log):
            return 0 if names == ("a.py", "b.py") else 1

    for copy, unclear in ((Broken(), True), (Sound(), False)):
        trial = Trial.__new__(Trial)
        trial.copy, trial.passed = copy, set()
        for who in ("the import or the collection", "no end"):
            assert trial.passes(who, ["a.py", "b.py"], 1, None) is not unclear
        assert not trial.passes("a.py::test_one", ["a.py", "b.py"], 1, None)
        assert trial.passes("", ["a.py", "b.py"], 1, None)
