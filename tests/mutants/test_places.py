"""The trial of faults finds the places it should, and leaves messages and signatures alone."""

from pathlib import Path

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
