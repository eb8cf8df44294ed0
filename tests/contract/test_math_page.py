"""docs/math.md: its example runs, its list of sections is complete, and what cites a section finds it."""

import doctest
import re

import pytest
from repository import ROOT, needs

pytestmark = needs("docs")
PAGE = ROOT / "docs" / "math.md"
TEXT = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
SECTIONS = re.findall(r"^## (.+)$", TEXT, flags=re.MULTILINE)
SOURCES = [
    path
    for folder, ending in (("python/grls", "py"), ("cpp", "cpp"), ("cpp", "hpp"))
    for path in sorted((ROOT / folder).rglob(f"*.{ending}"))
]


def citations(path):
    """Names of the sections of docs/math.md that a file cites, in text that may be broken into lines."""
    text = re.sub(r"\s*\n\s*(//|#)?\s*", " ", path.read_text(encoding="utf-8"))
    return re.findall(r'docs/math\.md, section "([^"]+)"', text)


def test_the_example_of_the_page_is_true():
    result = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert result.attempted >= 10
    assert result.failed == 0


def test_the_page_lists_its_sections():
    listed = re.findall(r"^\d+\. \[(.+)\]\(#(.+)\)$", TEXT, flags=re.MULTILINE)
    assert [name for name, _ in listed] == SECTIONS
    for name, anchor in listed:
        assert anchor == re.sub(r"[^\w -]", "", name.lower()).replace(" ", "-")


@pytest.mark.parametrize("path", [p for p in SOURCES if citations(p)], ids=lambda p: p.name)
def test_a_section_that_is_cited_is_there(path):
    assert set(citations(path)) <= set(SECTIONS)


def test_sections_are_cited():
    assert {"Nyström", "SVM-GB", "Kernel parameters"} <= {name for p in SOURCES for name in citations(p)}
