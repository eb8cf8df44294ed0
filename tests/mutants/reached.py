"""Which tests run which lines: one run of all tests under `coverage`, kept in a file of JSON.

A fault is then tried against the tests that run its line, the shortest first, instead of whole folders.
"""

import contextlib
import json
import time
from pathlib import Path

import coverage
import pytest

from tests.mutants.tests_of import TESTS_OF, tests_of

ROOT = Path(__file__).resolve().parents[2]


class _Recorder:
    """A plugin of pytest: the name of the running test goes with each line that is run."""

    def __init__(self, recording):
        self.recording = recording
        self.seconds = {}
        self.test = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        """Note a test's lines and its time."""
        self.test = item.nodeid
        self.recording.switch_context(self.test)
        start = time.perf_counter()
        try:
            return (yield)
        finally:
            self.seconds[self.test] = time.perf_counter() - start
            self.recording.switch_context("")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        """What a fixture of many tests runs is run for all tests of the file."""
        if fixturedef.scope == "function":
            return (yield)
        self.recording.switch_context(self.test.split("::")[0])
        try:
            return (yield)
        finally:
            self.recording.switch_context(self.test)


def record(target):
    """Run every test that a source file is mapped to, once, and write which lines it runs."""
    folders = {f"tests/{name}" for names in TESTS_OF.values() for name in names}
    folders = sorted(name for name in folders if not any(str(p) in folders for p in Path(name).parents))
    recording = coverage.Coverage(data_file=None, source=[str(ROOT / "python")], config_file=False)
    recorder = _Recorder(recording)
    recording.start()
    with contextlib.suppress(SystemExit):
        pytest.main(["-q", "-p", "no:cacheprovider", "--no-header", *folders], plugins=[recorder])
    recording.stop()
    data, lines = recording.get_data(), {}
    for file in data.measured_files():
        if (ROOT / "python") in Path(file).parents:
            name = Path(file).relative_to(ROOT).as_posix()
            lines[name] = {
                line: sorted(c for c in who if c) for line, who in data.contexts_by_lineno(file).items()
            }
    Path(target).write_text(json.dumps({"seconds": recorder.seconds, "lines": lines}), encoding="utf-8")


def reaching(reached, file, line, seconds):
    """Tests that run a line, those of the file's subject first and the shortest first, within a time."""
    names = reached["lines"].get(file, {}).get(str(line), [])
    mapped = tests_of(file)

    def subject(name):
        return next((i for i, folder in enumerate(mapped) if name.startswith(folder)), len(mapped))

    own = [name for name in names if subject(name) < len(mapped)]
    single = sorted((n for n in own if "::" in n), key=lambda n: reached["seconds"].get(n, 0.0))
    chosen, total = [], 0.0
    for name in single:
        total += reached["seconds"].get(name, 0.0)
        if chosen and total > seconds:
            break
        chosen.append(name)
    files = sorted({name.split("::")[0] for name in own}, key=subject)
    return chosen, files
