"""Every example of the gallery runs, without a warning, and draws a picture."""

import runpy

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from repository import ROOT, needs

pytestmark = needs("examples/gallery")
EXAMPLES = sorted((ROOT / "examples" / "gallery").rglob("plot_*.py"))
QUICK = {"plot_samples", "plot_variogram"}  # these run daily, the others with --slow


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[] if path.stem in QUICK else pytest.mark.slow) for path in EXAMPLES],
    ids=lambda path: path.stem,
)
def test_an_example_runs_and_draws(path, monkeypatch):
    pictures = []
    with mpl.rc_context({"backend": "agg", "figure.constrained_layout.use": True}):
        monkeypatch.setattr(plt, "show", lambda: pictures.append(len(plt.get_fignums())))
        try:
            runpy.run_path(str(path), run_name="__main__")
        finally:
            plt.close("all")
    assert pictures
    assert pictures[0] > 0


def test_the_gallery_is_there():
    assert len(EXAMPLES) >= 12
    for path in EXAMPLES:
        assert path.read_text(encoding="utf-8").startswith('"""\n'), path
