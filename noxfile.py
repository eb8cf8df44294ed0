"""Sessions for contributors: `nox -s docs`, `nox -s tests`, `nox -s lint`."""

from __future__ import annotations

import shutil

import nox

nox.options.sessions = ["lint", "tests", "docs"]
nox.options.reuse_existing_virtualenvs = True

SITE = "build/docs/html"
GENERATED = ("docs/gallery", "docs/reference/generated", "docs/reference/backreferences", "build/docs")


def _install(session: nox.Session, extras: str) -> None:
    """Install grls with extras, unless the session runs in an environment that has them (``--no-venv``)."""
    if session.venv_backend != "none":
        session.install(f".[{extras}]")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site, gallery included, with warnings as errors; check its links."""
    _install(session, "docs")
    for folder in GENERATED:  # pages of examples and names that are no more would stay
        shutil.rmtree(folder, ignore_errors=True)
    options = ("-W", "--keep-going", "-j", "2", "-d", "build/docs/doctrees")
    session.run("python", "-m", "sphinx", "-b", "html", *options, *session.posargs, "docs", SITE)
    session.run("python", "docs/check_site.py", SITE)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests; ``nox -s tests -- --slow`` runs the slow ones too."""
    _install(session, "test")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, format and types."""
    _install(session, "lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
