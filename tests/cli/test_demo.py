"""The command ``grls``: its tables, its picture, and what it says when something is missing."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import grls
import numpy as np
import pytest
from grls import GRLSRegressor, cli, demo
from grls.demo import _curve, _digits, _methods, _run
from grls.kernels import Gaussian
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier


@dataclass
class Run:
    status: int
    text: str
    picture: Path
    fits: list[demo.CurveFit]
    scores: list[demo.DigitsScore]
    chosen: Counter[str]


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One quick run of the whole command, with the results that its tables were made from."""
    pytest.importorskip("matplotlib")
    picture = tmp_path_factory.mktemp("demo") / "picture.png"
    kept = {}

    def recorder(name, function):
        def record(*args):
            kept[name] = function(*args)
            return kept[name]

        return record

    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        for name in ("curve", "digits"):
            patch.setattr(_run, name, recorder(name, getattr(demo, name)))
        status = cli.main(["demo", "--quick", "--output", str(picture)])
    return Run(status, printed.getvalue(), picture, kept["curve"], *kept["digits"])


@pytest.fixture
def instant(quick: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Make the demonstration return the results of the quick run at once."""
    monkeypatch.setattr(_run, "curve", lambda *args: quick.fits)
    monkeypatch.setattr(_run, "digits", lambda *args: (quick.scores, quick.chosen))
    return quick


def row(text: str, *words: str) -> list[str]:
    """Return the other fields of the only line of a table that starts with these."""
    lines = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    (found,) = [line for line in lines if line[: len(words)] == list(words)]
    return found[len(words) :]


def test_demo_prints_the_curves(quick: Run):
    assert quick.status == 0
    for fit in quick.fits:
        sigma, regularization, inside, outside = map(float, row(quick.text, fit.width, fit.method))
        assert sigma == fit.sigma
        assert regularization == pytest.approx(fit.regularization, rel=0.1)
        assert (inside, outside) == pytest.approx((fit.inside, fit.outside), abs=6e-4)
    assert [(fit.width, fit.method) for fit in quick.fits] == [
        *((width, method) for width in demo.WIDTHS for method in (demo.GRLS, demo.RIDGE)),
        ("by CV", demo.PUBLISHED),
    ]


def test_features_make_the_curve_insensitive_to_the_width(quick: Run):
    errors = {
        method: np.array([(f.inside, f.outside) for f in quick.fits if f.method == method])
        for method in (demo.GRLS, demo.RIDGE)
    }
    # The widest kernels are all but polynomials themselves: there neither method has to be the better one.
    assert np.all(errors[demo.GRLS][0] < errors[demo.RIDGE][0] / 2)
    assert np.all(np.ptp(errors[demo.GRLS], axis=0) < np.ptp(errors[demo.RIDGE], axis=0) / 2)
    assert errors[demo.GRLS][:, 0].max() < demo.NOISE


def test_published_formulation_is_shown_for_comparison(quick: Run):
    exact = next(f for f in quick.fits if (f.width, f.method) == ("by CV", demo.GRLS))
    published = next(f for f in quick.fits if f.method == demo.PUBLISHED)
    assert (exact.model.formulation, published.model.formulation) == ("exact", "published")
    assert published.inside < demo.NOISE


@pytest.mark.parametrize("seed", [1, 2])
def test_too_small_a_width_harms_kernel_ridge_most_on_any_draw(seed: int):
    x, y = demo.noisy_points(seed)
    known = GRLSRegressor(Gaussian(0.1), features="quadratic", regularization=1e-1).fit(x, y)
    plain = _methods.RidgePeer(0.1, 1e-3).fit(x, y)
    grid = np.linspace(-1, 0, 20)
    assert _curve._error(known, grid) < 2 < 4 < _curve._error(plain, grid)


def test_demo_prints_the_digits(quick: Run):
    assert {(s.method, s.features) for s in quick.scores} == {
        (demo.RIDGE, "none"),
        (demo.SUPPORT_VECTORS, demo.CONSTANT),
        (demo.GRLS, demo.CONSTANT),
        (demo.GRLS, demo.COMPONENTS),
        (demo.GRLS, demo.ANSWERS),
        (demo.GRLS, demo.CHOSEN),
    }
    for score in quick.scores:
        accuracy, milliseconds = row(quick.text, score.method, score.features, str(score.n_labels))
        mean, spread = accuracy.split(" +- ")
        assert float(mean) == pytest.approx(100 * score.mean, abs=0.006)
        assert float(spread) == pytest.approx(100 * score.spread, abs=0.006)
        assert float(milliseconds) > 0
        assert score.mean > 0.7
    assert sum(quick.chosen.values()) == sum(
        len(s.accuracy) for s in quick.scores if (s.method, s.features) == (demo.GRLS, demo.CHOSEN)
    )
    assert "too few to say" in quick.text


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


def test_full_run_prints_medians(instant: Run, tmp_path, capsys):
    assert cli.main(["demo", "--output", str(tmp_path / "a.svg")]) == 0
    printed = capsys.readouterr().out
    assert "outside, median" in printed
    first = instant.fits[0]
    assert len(row(printed, first.width, first.method)) == 6
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
    assert row(printed.out, "too small", demo.GRLS)
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
    monkeypatch.setattr(_run, "curve", lambda *args: pytest.fail("worked in vain"))
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

    monkeypatch.setattr(_run, "curve", interrupt)
    assert cli.main(["demo", "--output", str(tmp_path / "a.png")]) == 130
    assert "stopped" in capsys.readouterr().err


def test_kernel_ridge_takes_the_parameters_of_grls():
    x, y = demo.noisy_points(3)
    Phi = Gaussian(sigma=1.5)(x)
    expected = Phi @ np.linalg.solve(Phi + 1e-2 * len(x) * np.eye(len(x)), y)
    np.testing.assert_allclose(_methods.RidgePeer(1.5, 1e-2).fit(x, y).predict(x), expected, rtol=1e-9)


def test_answers_are_out_of_fold_on_the_training_rows():
    X, y = load_digits(return_X_y=True)
    X, y = X[:100] / 16, y[:100]
    answers = _digits.Answers(RidgeClassifier(alpha=1e-3))
    held_out = clone(answers).fit_transform(X, y).argmax(axis=1) == y
    seen = answers.fit(X, y).transform(X).argmax(axis=1) == y
    assert held_out.mean() < seen.mean()


def scores(*gains: float, n_splits: int = 4) -> list[demo.DigitsScore]:
    """Return made-up scores in which chosen features gain so much, give or take a little."""
    found = []
    for n_labels, gain in enumerate(gains, start=1):
        wiggle = 0.001 * np.resize([1, -1], n_splits)
        found.append(demo.DigitsScore(n_labels, demo.GRLS, demo.CONSTANT, (0.9,) * n_splits, 1.0))
        found.append(demo.DigitsScore(n_labels, demo.GRLS, demo.CHOSEN, tuple(0.9 + gain + wiggle), 1.0))
    return found


@pytest.mark.parametrize(
    ("gains", "said"),
    [
        ((0.0, 0.0), "no clear difference here"),
        ((0.05, 0.0), "help with 1 labels; elsewhere"),
        ((0.05, -0.05), "help with 1 labels, harm with 2 labels;"),
        ((-0.05, -0.05), "harm with 1 and 2 labels;"),
    ],
)
def test_the_verdict_follows_the_numbers(gains, said):
    assert said in _digits.digits_verdict(scores(*gains))


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
