"""The command ``grls``: its tables, its picture, and what it says when something is missing."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grls
import numpy as np
import pytest
from grls import cli
from grls.demo import _run


@dataclass
class Run:
    status: int
    text: str
    picture: Path
    shown: dict[str, Any]


SHOWS = ("_show_forecast", "_show_law", "_show_labels")


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One quick run of the whole command, with the results that its tables were made from."""
    pytest.importorskip("matplotlib")
    picture = tmp_path_factory.mktemp("demo") / "picture.png"
    shown = {}

    def recorder(name, function):
        def record(*args):
            shown[name] = function(*args)
            return shown[name]

        return record

    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        for name in SHOWS:
            patch.setattr(_run, name, recorder(name, getattr(_run, name)))
        status = cli.main(["demo", "--quick", "--output", str(picture)])
    return Run(status, printed.getvalue(), picture, shown)


@pytest.fixture
def instant(quick: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Make the demonstration return the results of the quick run at once."""
    for name in SHOWS:
        monkeypatch.setattr(_run, name, lambda *args, name=name: quick.shown[name])
    return quick


def row(text: str, *words: str) -> list[str]:
    """Return the other fields of the only line of a table that starts with these."""
    lines = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    (found,) = [line for line in lines if line[: len(words)] == list(words)]
    return found[len(words) :]


def test_demo_prints_the_forecast(quick: Run):
    assert quick.status == 0
    for forecast in quick.shown["_show_forecast"]:
        error, covered = row(quick.text, "1992-2001", forecast.method)
        assert float(error) == pytest.approx(forecast.error, abs=0.006)
        assert float(covered.strip("%")) == pytest.approx(100 * forecast.covered, abs=0.6)


def test_demo_prints_the_law(quick: Run):
    _, measured = quick.shown["_show_law"]
    for m in measured:
        amount, interval, inside = row(quick.text, m.method)
        assert float(amount) == pytest.approx(m.coefficient, abs=6e-4)
        assert tuple(map(float, interval.split(" to "))) == pytest.approx(m.interval, abs=6e-4)
        assert 0 <= float(inside.strip("%")) <= 100
    assert "truth inside, 20 spectra" in quick.text


def test_demo_prints_the_labels(quick: Run):
    accuracies = quick.shown["_show_labels"]
    for a in accuracies:
        cells = row(quick.text, a.method)
        mean, error = cells[{2: 0, 5: 1}[a.n_labels]].split(" +- ")
        assert float(mean) == pytest.approx(100 * a.mean, abs=0.06)
        assert float(error) == pytest.approx(100 * a.error, abs=0.06)
    assert "Where it does not help" in quick.text


def test_demo_writes_the_picture(quick: Run):
    assert quick.picture.read_bytes().startswith(b"\x89PNG")
    assert quick.picture.stat().st_size > 50_000
    assert f"written to {quick.picture}" in quick.text


def test_tables_are_plain_ascii(quick: Run):
    assert quick.text.replace(str(quick.picture), "").isascii()  # for consoles of any code page


def test_default_output_is_in_the_working_directory(instant: Run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["demo", "--quick"]) == 0
    assert (tmp_path / "grls-demo.png").exists()
    assert "written to grls-demo.png" in capsys.readouterr().out


def test_a_vector_picture(instant: Run, tmp_path):
    assert cli.main(["demo", "--output", str(tmp_path / "a.svg")]) == 0
    assert b"<svg" in (tmp_path / "a.svg").read_bytes()


def test_drawing_leaves_matplotlib_as_it_was(instant: Run, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.rcParams["backend"]  # reading it settles it
    before = dict(matplotlib.rcParams)
    assert cli.main(["demo", "--quick", "--output", str(tmp_path / "a.png")]) == 0
    assert dict(matplotlib.rcParams) == before


def test_without_matplotlib_the_tables_are_printed(instant: Run, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["demo", "--quick"]) == 0
    printed = capsys.readouterr()
    assert "grls[plot]" in printed.out
    assert "grls[plot]" in printed.err
    assert "Where it does not help" in printed.out
    assert not list(tmp_path.iterdir())
    assert cli.main(["demo", "--quick", "--output", "wanted.png"]) == 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no/such/folder/a.png", "No such file or directory"),
        ("folder.png", "directory"),
        ("a.txt", ".png, .pdf, .svg"),
    ],
)
def test_bad_output_is_refused_before_the_work(name, said, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(_run, "_show_forecast", lambda *args: pytest.fail("worked in vain"))
    (tmp_path / "folder.png").mkdir()
    assert cli.main(["demo", "--output", str(tmp_path / name)]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("grls demo: error: ")
    if sys.platform != "win32":
        assert said in printed.err
    assert not printed.out


def test_checking_the_output_leaves_files_alone(tmp_path):
    _run._require_writable(tmp_path / "new.png")
    assert not list(tmp_path.iterdir())
    (tmp_path / "old.png").write_text("old")
    _run._require_writable(tmp_path / "old.png")
    assert (tmp_path / "old.png").read_text() == "old"


def test_interruption_is_no_traceback(tmp_path, monkeypatch, capsys):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(_run, "_show_forecast", interrupt)
    assert cli.main(["demo", "--output", str(tmp_path / "a.png")]) == 130
    assert "stopped" in capsys.readouterr().err


def test_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"grls {grls.__version__}\n"


def test_info_has_what_bug_reports_need(capsys, monkeypatch):
    monkeypatch.setenv("GRLS_NUM_THREADS", "1")
    assert cli.main(["info"]) == 0
    printed = capsys.readouterr().out
    assert row(printed, "grls") == [grls.__version__]
    assert row(printed, "threads") == ["1"]
    assert row(printed, "GRLS_NUM_THREADS") == ["1"]
    assert row(printed, "linear algebra") == [grls._core.backend()]
    assert row(printed, "numpy") == [np.__version__]


def test_info_says_what_is_not_installed(monkeypatch, capsys):
    monkeypatch.setattr("grls.cli.about.PACKAGES", ("no-such-package",))
    assert cli.main(["info"]) == 0
    assert row(capsys.readouterr().out, "no-such-package") == ["not installed"]


def test_no_command_prints_help(capsys):
    assert cli.main([]) == 2
    assert "demo" in capsys.readouterr().out


@pytest.mark.parametrize("seed", ["-1", "x", "4294967296"])
def test_bad_seed_is_refused(seed, capsys):
    assert cli.main(["demo", f"--seed={seed}"]) == 2
    assert "whole number" in capsys.readouterr().err
