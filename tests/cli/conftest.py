"""Each test of the command has a folder of its own, with a file of rows and a model of it on request."""

import pytest
from command_line import FIT, TABLE, run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Run each test in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def data():
    TABLE.to_csv("data.csv", index=False)
    return "data.csv"


@pytest.fixture
def model(data):
    run("fit", data, *FIT, "--quiet")
    return "model.grls"
