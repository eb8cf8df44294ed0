"""Sphinx configuration. Nothing asks the network: formulas are MathML, fonts and scripts the theme's."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

import experiment_pages  # noqa: E402
import grls  # noqa: E402

mpl.use("agg")

project = "grls"
author = "The grls developers"
copyright = "the grls developers, BSD 3-Clause"
version = release = grls.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "mathml",
]
exclude_patterns = [
    "_ext",
    "_templates",
    "**/backreferences",
    "**.py",
    "**.ipynb",
    "**/GALLERY_HEADER.rst",
    "**sg_execution_times.rst",
]
templates_path = ["_templates"]
default_role = "py:obj"  # a link where the name is in the reference, else code
html_math_renderer = "mathml"

nitpicky = True
nitpick_ignore_regex = [
    ("py:obj", ".*"),
    ("py:class", ".*"),
    ("py:attr", ".*"),
]  # names in docstrings, annotations
suppress_warnings = ["config.cache"]  # functions in the configuration

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "pydata_sphinx_theme"
html_title = "grls"
html_static_path = ["_static"]
html_css_files = ["grls.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": [], "changelog": [], "math": []}


def _quiet(gallery_conf: dict[str, object], fname: str) -> None:
    """Make warnings errors in the gallery, as in the tests; an example that shows one catches it."""
    warnings.simplefilter("error")
    mpl.rcParams.update({"figure.constrained_layout.use": True, "figure.dpi": 100})


SECTIONS = ("knowledge", "uncertainty", "classification", "choosing", "scale")
sphinx_gallery_conf = {
    "examples_dirs": [str(HERE.parent / "examples" / "gallery")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"plot_",
    "subsection_order": [f"../examples/gallery/{name}" for name in SECTIONS],
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib", _quiet),
    "reset_modules_order": "before",
    "doc_module": ("grls",),
    "backreferences_dir": "reference/backreferences",
    "inspect_global_variables": False,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 3600,  # a time of the machine that built the page says nothing
    "remove_config_comments": True,
    "image_scrapers": ("matplotlib",),
    "image_srcset": ["2x"],
    "parallel": 2,
}

experiment_pages.write(HERE)


def _plain_references(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Turn references of inherited docstrings, which lead into scikit-learn's own pages, into text."""
    if not str(getattr(obj, "__module__", "")).startswith("grls"):
        lines[:] = [
            re.sub(r":(?:ref|func|class|term):`~?([^`<]*?)(?: *<[^`]*>)?`", r"``\1``", line) for line in lines
        ]


def setup(app: Any) -> None:
    """Connect what is ours."""
    app.connect("autodoc-process-docstring", _plain_references, priority=900)
