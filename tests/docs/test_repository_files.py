"""The files that hosts of repositories look for can be read, and agree with the package."""

import re

import pytest
from repository import ROOT, needs

pytestmark = needs(".github")


def test_the_citation_has_the_version_of_the_package():
    of_package = re.search(
        r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M
    )[1]
    of_citation = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)[1]
    assert of_citation == of_package


@pytest.mark.parametrize(
    "path",
    [ROOT / "CITATION.cff", *sorted((ROOT / ".github").rglob("*.yml"))],
    ids=lambda path: path.name,
)
def test_yaml_can_be_read(path):
    yaml = pytest.importorskip("yaml")
    assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)
