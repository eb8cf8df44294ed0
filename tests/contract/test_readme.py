"""What the README shows runs as it stands."""

import re

import pytest
from fresh import failures, page_program
from repository import ROOT

README = ROOT / "README.md"
pytestmark = pytest.mark.skipif(not README.is_file(), reason="README.md is not part of this distribution")


CLAIMS = """
known, learnt = names["known"], names["learnt"]
assert "period=12.0" in repr(names["season"].kernel_)
import numpy as np
assert np.allclose(known + learnt, names["model"].predict(names["x"]))
assert names["std"] > 0
assert list(names["text"].predict(["the ball is in the goal", "oil for the engine"])) == ["sport", "cars"]
"""


def test_the_examples_of_the_readme_run_in_a_new_process():
    program = page_program(README).replace("fresh.run_page", "names = fresh.run_page") + CLAIMS
    assert failures({"README": program}) == {}


def test_the_readme_names_one_command_for_the_demo_and_one_for_the_tests():
    commands = re.findall(r"^python3 -m venv .*$", README.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [command.rsplit("/", 1)[1] for command in commands] == ["grls demo", "pytest"]
