"""One fault tried: a copy of the package with it, the tests that should notice, and what they said."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import grls
from grls import _core

ROOT = Path(__file__).resolve().parents[2]

# The copy goes first on the path; the finder of an editable install would pass it by.
_START = """
import sys
sys.meta_path = [f for f in sys.meta_path if "Redirecting" not in type(f).__name__]
sys.path.insert(0, {copy!r})
import grls
assert grls.__file__.startswith({copy!r}), grls.__file__
import pytest
sys.exit(pytest.main({arguments!r}))
"""


class Copy:
    """The package in a folder of its own, with the compiled core beside it."""

    def __init__(self, folder):
        self.folder = Path(folder)
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(Path(grls.__file__).parent, self.folder / "grls", ignore=ignored, dirs_exist_ok=True)
        core = Path(_core.__file__)
        shutil.copy(core, self.folder / "grls" / core.name)

    def tests(self, names, seconds, log):
        """Run tests on the copy: 0 they pass, 1 one of them failed, -1 they did not come to an end."""
        arguments = [
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            "--no-header",
            "-W",
            "ignore::pytest.PytestWarning",
        ]
        program = _START.format(copy=str(self.folder), arguments=[*arguments, *names])
        with open(log, "w", encoding="utf-8") as output:
            child = subprocess.Popen(
                [sys.executable, "-B", "-c", program],
                cwd=ROOT,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                return 1 if child.wait(timeout=seconds) else 0
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
                return -1


class PythonTrial:
    """Faults in Python: the copy's module is written anew, and put back."""

    def __init__(self, folder):
        self.copy = Copy(folder)

    def prepare(self, place):
        """Put the fault in; whether it could be."""
        target = self.copy.folder / place.file.removeprefix("python/")
        target.write_text(place.applied_to((ROOT / place.file).read_text(encoding="utf-8")), encoding="utf-8")
        return True

    def restore(self, place):
        """Take it out."""
        shutil.copy(ROOT / place.file, self.copy.folder / place.file.removeprefix("python/"))


class CppTrial:
    """Faults in C++: a second tree of sources is compiled, one file and the link each time."""

    def __init__(self, folder):
        self.copy = Copy(folder)
        self.sources = Path(folder) / "sources"
        self.build = Path(folder) / "build"
        for name in ("cpp", "CMakeLists.txt"):
            source, target = ROOT / name, self.sources / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, _parent_made(target))
        self._run(
            "cmake", "-S", self.sources, "-B", self.build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
            "-DSKBUILD_PROJECT_VERSION=0+mutant", f"-DPython_EXECUTABLE={sys.executable}",
            f"-DCMAKE_PREFIX_PATH={';'.join(p for p in sys.path if p.endswith('site-packages'))}",
        )  # fmt: skip
        self._compile(check=True)

    def _run(self, *command, check=True):
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
        if check and done.returncode:
            sys.exit(f"{command[0]} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return done.returncode == 0

    def _compile(self, check=False):
        if not self._run("cmake", "--build", self.build, "--target", "_core", check=check):
            return False
        built = next(self.build.rglob("_core*.so"))
        shutil.copy(built, self.copy.folder / "grls" / Path(_core.__file__).name)
        return True

    def prepare(self, place):
        """Put the fault in and compile; whether it compiles."""
        text = (ROOT / place.file).read_text(encoding="utf-8")
        (self.sources / place.file).write_text(place.applied_to(text), encoding="utf-8")
        return self._compile()

    def restore(self, place):
        """Take it out; compiled with the next one."""
        shutil.copy(ROOT / place.file, self.sources / place.file)


def _parent_made(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def who_noticed(log):
    """The first test that failed, from what pytest printed."""
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", Path(log).read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else "the import or the collection"
