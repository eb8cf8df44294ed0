"""The site's sources: no public name is forgotten, the guide's programs run, and the site builds."""

import importlib
import os
import pkgutil
import re
import subprocess
import sys

import grls
import pytest
from fresh import failures, page_program
from repository import ROOT, needs

pytestmark = needs("docs")
DOCS = ROOT / "docs"
GUIDE = sorted([*(DOCS / "guide").glob("*.md"), DOCS / "index.md"])
SLOW = {"choosing", "classification", "many_rows"}  # pages whose programs take seconds
NOT_DOCUMENTED = {"grls.demo"}  # a program, whose parts are no library


def listed(page):
    """Yield module and name of each entry in the lists of a page of the reference."""
    module, within = None, False
    for line in page.read_text(encoding="utf-8").splitlines():
        if named := re.match(r"\.\. (?:current)?module:: (\S+)", line):
            module = named[1]
        elif data := re.match(r"\.\. data:: (\S+)", line):
            yield module, data[1]
        elif line.startswith(".. autosummary::"):
            within = True
        elif within and re.match(r"   \w+$", line):
            yield module, line.strip()
        elif line and not line.startswith(" "):
            within = False


REFERENCE = [entry for page in sorted((DOCS / "reference").glob("*.rst")) for entry in listed(page)]


def public_modules():
    """Yield every module that is imported by a name without underscores and says what it offers."""
    yield grls
    for found in pkgutil.walk_packages(grls.__path__, "grls."):
        if (
            not any(part.startswith("_") for part in found.name.split("."))
            and found.name not in NOT_DOCUMENTED
        ):
            module = importlib.import_module(found.name)
            if hasattr(module, "__all__"):
                yield module


def test_every_public_name_is_in_the_reference():
    documented = {id(getattr(importlib.import_module(module), name)) for module, name in REFERENCE}
    forgotten = [
        f"{module.__name__}.{name}"
        for module in public_modules()
        for name in module.__all__
        if id(getattr(module, name)) not in documented
    ]
    assert not forgotten


def test_the_reference_lists_each_name_once():
    assert len(REFERENCE) == len(set(REFERENCE)) > 100


@pytest.mark.parametrize("slow", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_programs_of_the_guide_run_each_in_a_new_process(slow):
    pages = {page.stem: page_program(page) for page in GUIDE if (page.stem in SLOW) == slow}
    assert failures(pages) == {}


def test_the_summary_in_the_guide_is_what_is_printed(capsys):
    text = (DOCS / "guide" / "uncertainty.md").read_text(encoding="utf-8")
    before, shown = re.search(r"(.*?)^```text\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE).groups()
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```", before, flags=re.DOTALL | re.MULTILINE):
        exec(block, names)
    printed = capsys.readouterr().out
    number = r"-?\d+\.?\d*(?:e-?\d+)?"
    assert re.sub(number, "", shown).split() == re.sub(number, "", printed).split()
    values = [[float(value) for value in re.findall(number, page)] for page in (shown, printed)]
    assert values[0] == pytest.approx(values[1], rel=0.02, abs=0.02)


def test_the_check_of_the_site_finds_what_is_wrong(tmp_path):
    def check():
        command = [sys.executable, DOCS / "check_site.py", tmp_path]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert "has no pages" in check().stdout
    (tmp_path / "a.html").write_text(
        '<p id="x"><a href="b.html#y">b</a><a href="#x">x</a></p>', encoding="utf-8"
    )
    (tmp_path / "b.html").write_text('<p id="y"><a href="https://example.org">far</a></p>', encoding="utf-8")
    assert check().returncode == 0
    (tmp_path / "b.html").write_text(
        '<img src="https://example.org/x.png"><a href="c.html">c</a>', encoding="utf-8"
    )
    found = check()
    assert found.returncode == 1
    assert found.stdout.splitlines() == [
        "a.html: b.html#y has no such place",
        "b.html: c.html is not there",
        "b.html: loads https://example.org/x.png",
    ]


@pytest.mark.slow
def test_the_site_builds_without_its_gallery(tmp_path):
    pytest.importorskip("sphinx_gallery")
    pytest.importorskip("pydata_sphinx_theme")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-b",
        "html",
        "-W",
        "--keep-going",
        "-q",
        "-D",
        "plot_gallery=0",
    ]
    environment = {**os.environ, "MPLBACKEND": "agg"}
    built = subprocess.run(
        [*command, "-d", tmp_path / "trees", DOCS, tmp_path / "html"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert built.returncode == 0, built.stderr
