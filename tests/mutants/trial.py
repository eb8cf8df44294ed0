"""One fault tried: a copy of the package with it, the tests that should notice, and what they said."""

import compileall
import importlib
import json
import os
import py_compile
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Imported once, before the children that run tests are forked: most of what a run would begin with. The
# package itself is not among them, each child imports its own.
_AHEAD = (
    "hypothesis",
    "numpy",
    "pandas",
    "pytest",
    "scipy.interpolate",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.calibration",
    "sklearn.datasets",
    "sklearn.gaussian_process",
    "sklearn.kernel_ridge",
    "sklearn.model_selection",
    "sklearn.pipeline",
    "sklearn.svm",
)
TIME_OVER = "time over"
_ARGUMENTS = [
    "-x",
    "-q",
    "-p",
    "no:xdist",
    "-p",
    "no:cacheprovider",
    "--no-header",
    "-W",
    "ignore::pytest.PytestWarning",
]


def _installed():
    """The folder of the installed package and its compiled core, found in another process."""
    program = "import grls, grls._core; print(grls.__file__); print(grls._core.__file__)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    package, core = found.stdout.split("\n")[:2]
    return Path(package).parent, Path(core)


class EndAfter:
    """Of pytest: after so many seconds of the processor no test is begun; what is under way goes on."""

    def __init__(self, seconds):
        self.seconds = seconds

    def pytest_runtest_setup(self, item):
        """Stop between two tests."""
        if time.process_time() > self.seconds:
            item.session.shouldstop = "the time is over"


class Copy:
    """The package in a folder of its own, with the compiled core beside it."""

    def __init__(self, folder):
        self.folder = Path(folder)
        package, core = _installed()
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(package, self.folder / "grls", ignore=ignored, dirs_exist_ok=True)
        self.core = self.folder / "grls" / core.name
        shutil.copy(core, self.core)
        compileall.compile_dir(self.folder / "grls", quiet=1)
        for name in _AHEAD:
            importlib.import_module(name)

    def tests(self, names, seconds, log):
        """Run tests on the copy: 0 they pass, 1 one failed, 2 those in `seconds` pass, -1 one came to no end.

        `seconds` are of the processor: after these no test begins, and one that runs a minute more has no
        end. A child that waits may take ten times as long on the clock.
        """
        child = os.fork()
        if child == 0:
            most = int(seconds) + 60
            resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
            self._run(names, seconds, log)
        end = time.monotonic() + 10 * seconds
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                ended = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
                stopped = os.WIFEXITED(status) and os.WEXITSTATUS(status) == 2
                return -1 if ended else 2 if stopped else int(status != 0)
            time.sleep(0.02)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return -1

    def _run(self, names, seconds, log):
        """Be the child: the copy goes first on the path, before the finder of an editable install."""
        code = 1
        try:
            os.setsid()
            os.chdir(ROOT)
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            sys.meta_path = [finder for finder in sys.meta_path if "Redirecting" not in type(finder).__name__]
            sys.path.insert(0, str(self.folder))
            import grls
            import pytest

            assert grls.__file__.startswith(str(self.folder)), grls.__file__
            plugin = EndAfter(time.process_time() + seconds)
            code = int(pytest.main([*_ARGUMENTS, *names], plugins=[plugin]))
            code = (
                1 if code == 2 and "the time is over" not in Path(log).read_text(encoding="utf-8") else code
            )
        finally:
            sys.stdout.flush()
            os._exit(code)


class Trial:
    """A copy of the package, and the tests that are known to pass on it without a fault."""

    def __init__(self, folder):
        self.copy = Copy(folder)
        self.passed = set()

    def noticed(self, place):
        """The tests in C++ that failed, or nothing."""
        return ""

    def passes(self, who, names, seconds, log):
        """Whether what noticed a fault is content without one: one test, or all that were run; tried once.

        All of them where no test failed by name: pytest that could not import or collect, found nothing to
        run or came to no end.
        """
        if who in ("", TIME_OVER) or who.startswith("tests/cpp/"):
            return True
        wanted = (who,) if "::" in who else tuple(names)
        if wanted not in self.passed and self.copy.tests(wanted, seconds, log) not in (0, 2):
            return False
        self.passed.add(wanted)
        return True


class PythonTrial(Trial):
    """Faults in Python: the copy's module is written anew, and put back."""

    def prepare(self, place):
        """Put the fault in; whether it could be."""
        target = self.copy.folder / place.file.removeprefix("python/")
        target.write_text(place.applied_to((ROOT / place.file).read_text(encoding="utf-8")), encoding="utf-8")
        py_compile.compile(str(target), doraise=True)  # by the clock alone the old one may pass for current
        return True

    def restore(self, place):
        """Take it out."""
        target = self.copy.folder / place.file.removeprefix("python/")
        shutil.copy(ROOT / place.file, target)
        py_compile.compile(str(target), doraise=True)


class CppTrial(Trial):
    """Faults in C++: one file with it is compiled, and linked with all that was compiled without one."""

    def __init__(self, folder, build=None):
        super().__init__(folder)
        self.build = Path(build or self.copy.folder / "build").resolve()
        self.mutant = self.copy.folder / "mutant.cpp"
        if not (self.build / "build.ninja").exists():
            self._run(
                "cmake", "-S", ROOT, "-B", self.build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                "-DSKBUILD_PROJECT_VERSION=0+mutant", f"-DPython_EXECUTABLE={sys.executable}",
                "-DGRLS_UNITY=OFF", "-DGRLS_TESTS=ON",
                f"-DCMAKE_PREFIX_PATH={';'.join(p for p in sys.path if p.endswith('site-packages'))}",
            )  # fmt: skip
        self._run("cmake", "--build", self.build, "--target", "_core", "grls_tests")
        self.commands = json.loads((self.build / "compile_commands.json").read_text(encoding="utf-8"))
        self.links = {target: self._linked(target) for target in ("_core", "grls_tests")}
        self.restore()

    def _run(self, *command, check=True, folder=None):
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, check=False, cwd=folder
        )
        if check and done.returncode:
            sys.exit(f"{command[0]} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return done.returncode == 0

    def prepare(self, place):
        """Compile the file with the fault and link; whether it compiles."""
        text = (ROOT / place.file).read_text(encoding="utf-8")
        self.mutant.write_text(place.applied_to(text), encoding="utf-8")
        (given,) = (command for command in self.commands if command["file"].endswith("/" + place.file))
        usual, made = Path(given["output"]).relative_to(self.build), self.mutant.with_suffix(".o")
        words = shlex.split(given["command"])
        for old, new in ((str(usual), str(made)), (given["file"], str(self.mutant))):
            words[words.index(old)] = new
        if not self._run(*words, f"-I{(ROOT / place.file).parent}", check=False, folder=self.build):
            return False
        self._link("_core", usual, made, self.copy.core)
        if self._native(place).exists():
            self._link("grls_tests", usual, made, self.mutant.with_suffix(""))
        return True

    def _linked(self, target):
        """The command that links a target."""
        told = subprocess.run(
            ["ninja", "-C", self.build, "-t", "commands", target], capture_output=True, text=True, check=True
        )
        (command,) = re.findall(rf"&& (\S+ [^&]*-o \S*{target}\S* [^&]*?) &&", told.stdout)
        return command

    def _link(self, target, usual, made, to):
        words = shlex.split(self.links[target])
        words[words.index("-o") + 1] = str(to)
        if str(usual) in words:
            words[words.index(str(usual))] = str(made)
        else:  # before the library, which then has nothing to give
            words.insert(words.index("libgrls_core.a"), str(made))
        self._run(*words, folder=self.build)

    def _native(self, place):
        """The tests in C++ of the file, where it has some."""
        return ROOT / "tests" / "cpp" / Path(place.file).name

    def noticed(self, place):
        """The group of tests in C++ that failed, or nothing."""
        group = self._native(place)
        if not group.exists() or self._run(self.mutant.with_suffix(""), group.stem, check=False):
            return ""
        return group.relative_to(ROOT).as_posix()

    def restore(self, place=None):
        """Take it out."""
        shutil.copy(next(self.build.glob("_core*.so")), self.copy.core)


def who_noticed(log):
    """The first test that failed, from what pytest printed."""
    found = re.search(
        r"^(?:FAILED|ERROR) (.+?)(?: - |$)", Path(log).read_text(encoding="utf-8"), re.MULTILINE
    )
    return found[1] if found else "the import or the collection"
