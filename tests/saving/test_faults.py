"""A full disk, a killed process, memory that ends in the middle: nothing is lost but what was being made."""

import os
import signal
import stat
import subprocess
import sys
import textwrap

import grls
import numpy as np
import pytest
from grls.kernels import Gaussian

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="limits of the system as Linux sets them"),
    pytest.mark.slow,  # large files, many processes
]

PRELUDE = """
import os, pickle, resource, signal, sys, threading, time
import numpy as np
import grls
from grls.kernels import Gaussian

X = np.random.default_rng(0).normal(size=(4000, 50))
y = X[:, 0]
"""


def run(program, *arguments):
    """Run a program in a process of its own."""
    code = PRELUDE + textwrap.dedent(program)
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.fixture
def saved(tmp_path):
    """A file of an earlier model, and its contents."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    path = tmp_path / "model.grls"
    grls.save(grls.GRLSRegressor(Gaussian(1.0), regularization=0.1).fit(X, X[:, 0]), path)
    return path, path.read_bytes()


def require_as_before(saved):
    path, before = saved
    assert path.read_bytes() == before
    assert grls.load(path).predict(np.zeros((1, 2))).shape == (1,)


def test_a_disk_that_is_full_leaves_the_old_file(saved):
    """The limit on the size of files stands for it: writes fail in the middle, and not only at the end."""
    done = run(
        """
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        model = grls.GRLSRegressor(Gaussian(8.0), regularization=0.1).fit(X[:1000], y[:1000])
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        try:
            grls.save(model, sys.argv[1])
        except OSError as error:
            print("refused", error.errno)
        print(model.predict(X[:1]).shape)
        """,
        saved[0],
    )
    assert done.stdout.split("\n")[:2] == ["refused 27", "(1,)"], done.stderr
    require_as_before(saved)
    assert [p.name for p in saved[0].parent.iterdir()] == ["model.grls"]


@pytest.mark.parametrize("after", [0.0, 0.005, 0.02, 0.05])
def test_a_process_killed_at_any_moment_of_saving_leaves_the_old_file_or_the_new_one(saved, after):
    done = run(
        """
        model = grls.GRLSRegressor(Gaussian(8.0), regularization=0.1).fit(X[:1000], y[:1000])
        grls.save(model, sys.argv[1] + ".other")
        print(flush=True)
        threading.Timer(float(sys.argv[2]), lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
        while True:
            grls.save(model, sys.argv[1])
        """,
        saved[0],
        after,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    path, before = saved
    if path.read_bytes() == before:
        require_as_before(saved)
    else:  # one was complete
        assert path.read_bytes()[:4] == (path.parent / "model.grls.other").read_bytes()[:4]
        assert grls.load(path).X_fit_.shape == (1000, 50)


FITS = {
    "least squares": ("grls.GRLSRegressor(Gaussian(8.0), regularization=0.1)", "y"),
    "chosen": ('grls.GRLSRegressor(Gaussian(8.0), regularization="loo")', "y"),
    "machine": ("grls.SVMGBClassifier(Gaussian(8.0), C=10.0, solver='ipm')", "y > 0"),
    "logistic": ("grls.GRLogisticClassifier(Gaussian(8.0), regularization=0.1)", "y > 0"),
    "components": ('grls.KernelPCA(kernel=Gaussian(8.0), eigen_solver="dense")', "y"),
    "centres": ("grls.NystromGRLSRegressor(Gaussian(8.0), n_centers=3000, regularization=0.1)", "y"),
}


@pytest.mark.parametrize("name", FITS)
def test_memory_that_ends_in_the_middle_leaves_an_estimator_that_works(name):
    """The address space is limited, which no estimate beforehand can know."""
    model, targets = FITS[name]
    done = run(
        f"""
        import warnings
        warnings.simplefilter("ignore")
        model, t = {model}, {targets}
        small = dict(n_centers=30) if name == "centres" else dict()
        whole = model.get_params(deep=False)
        model.set_params(**small).fit(X[:60], t[:60])
        model.set_params(**whole)
        before = pickle.dumps(model)
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        limits = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (used + 60 * 2**20, limits[1]))
        try:
            model.fit(X, t)
            print("fitted")
        except MemoryError:
            print("refused")
        resource.setrlimit(resource.RLIMIT_AS, limits)
        assert pickle.dumps(model) == before
        model.set_params(**small)
        ask = model.transform if hasattr(model, "transform") else model.predict
        print(len(ask(X[:3])))
        model.fit(X[:60], t[:60])
        """.replace("name ==", f"{name!r} ==")
    )
    assert done.stdout.split() == ["refused", "3"], done.stderr[-3000:]


def test_permissions_are_those_of_the_system_or_of_the_file_that_is_replaced(tmp_path):
    from grls._replacing import replacing

    old = os.umask(0o027)
    try:
        for name, mode in (("new", None), ("private", 0o600), ("open", 0o664)):
            path = tmp_path / name
            if mode is not None:
                path.touch()
                path.chmod(mode)
            with replacing(path) as file:
                file.write(b"1")
            assert stat.S_IMODE(path.stat().st_mode) == (0o640 if mode is None else mode)
        assert sorted(each.name for each in tmp_path.iterdir()) == ["new", "open", "private"]
    finally:
        assert os.umask(old) == 0o027  # nobody has changed it for a moment


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    from grls._replacing import replacing

    path = tmp_path / ("a" * 250)
    with replacing(path) as file:
        file.write(b"1")
    assert path.read_bytes() == b"1"
