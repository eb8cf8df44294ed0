"""What the README shows runs as it stands."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import run
from fresh import failures, page_program
from repository import ROOT

README = ROOT / "README.md"
pytestmark = pytest.mark.skipif(not README.is_file(), reason="README.md is not part of this distribution")


CLAIMS = """
known, learnt = names["known"], names["learnt"]
import numpy as np
season = names["season"]
assert 10 < season.kernel_.sigma < 100
error, std = season.feature_coef_ - [0.0, 0.02, 1.0, 0.0], season.feature_coef_std_
assert np.all(np.abs(error) < 3 * std) and np.all(std < [0.6, 0.005, 0.02, 0.02])
import pandas as pd
frame = pd.DataFrame({"size": np.arange(30.0), "colour": ["red", "blue", "green"] * 10})
names["of_frames"].fit(frame, np.arange(30.0) + 5 * (frame["colour"] == "red"))
assert np.isfinite(names["of_frames"].predict(pd.DataFrame({"size": [3.0], "colour": ["violet"]}))).all()
assert np.allclose(known + learnt, names["model"].predict(names["x"]))
assert names["std"] > 0
assert list(names["text"].predict(["the ball is in the goal", "oil for the engine"])) == ["sport", "cars"]
"""


def test_the_examples_of_the_readme_run_in_a_new_process():
    program = page_program(README).replace("fresh.run_page", "names = fresh.run_page") + CLAIMS
    assert failures({"README": program}) == {}


@pytest.mark.skipif(not os.environ.get("GRLS_DATA"), reason="GRLS_DATA names no folder with data")
def test_the_commands_of_the_readme_run_on_the_tables_that_its_first_line_brings(tmp_path, monkeypatch):
    console = next(
        block
        for block in re.findall(r"```console\n(.*?)```", README.read_text("utf-8"), re.S)
        if "cd " in block
    )
    bring, change, *commands = console.splitlines()
    assert change == "cd ~/.cache/grls/regression"
    subprocess.run([sys.executable, *shlex.split(bring)[1:]], check=True)
    for table in re.findall(r"\w+\.csv", console):
        if (kept := Path(os.environ["GRLS_DATA"]) / "regression" / table).is_file():
            shutil.copy(kept, tmp_path)
    monkeypatch.chdir(tmp_path)
    for command in commands:
        run(*shlex.split(command)[1:])
    assert (tmp_path / "zinc.html").is_file()
    assert (tmp_path / "predicted.csv").read_text().count("\n") == 3104


def test_the_readme_names_one_command_for_the_demo_and_one_for_the_tests():
    commands = re.findall(r"^python3 -m venv .*$", README.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [command.rsplit("/", 1)[1] for command in commands] == ["grls demo", "pytest"]
