"""What `import grls` brings along."""

import importlib
import pkgutil
import subprocess
import sys

import grls
import pytest

# Found in an interpreter of its own, beside what scikit-learn imports by itself.
PROGRAM = """
import sys
import sklearn.gaussian_process, sklearn.linear_model, sklearn.preprocessing
before = set(sys.modules)
import grls
print(*sorted({name for name in set(sys.modules) - before}))
"""


@pytest.fixture(scope="module")
def brought():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    return done.stdout.split()


HEAVY = (
    "osqp skops matplotlib pandas pyarrow dask distributed click rich formulaic onnx skl2onnx onnxruntime "
    "tqdm sklearn.cluster sklearn.neighbors sklearn.calibration"
)


@pytest.mark.parametrize("package", HEAVY.split())
def test_import_grls_leaves_heavy_packages_alone(brought, package):
    assert "grls._core" in brought
    assert [name for name in brought if name == package or name.startswith(package + ".")] == []


def test_models_are_imported_when_they_are_asked_for(brought):
    assert {"grls.least_squares", "grls.svm", "grls._nystrom", "grls.kernels"}.isdisjoint(brought)
    for name in (*grls.__all__, "conformal", "core", "datasets", "features", "kernels", "plotting"):
        assert name in dir(grls)
        assert getattr(grls, name) is not None
    with pytest.raises(AttributeError, match="'grls' has no attribute 'GRLSRegresor'"):
        grls.GRLSRegresor  # noqa: B018
    with pytest.raises(ImportError, match="GRLSRegresor"):
        exec("from grls import GRLSRegresor")


def public_modules():
    """Return all that have names without underscores and say what they offer."""
    found = [grls]
    for each in pkgutil.walk_packages(grls.__path__, "grls."):
        if not any(part.startswith("_") for part in each.name.split(".")):
            module = importlib.import_module(each.name)
            found += [module] if hasattr(module, "__all__") else []
    return found


def test_dir_shows_what_a_module_offers_and_nothing_that_it_imports():
    modules = public_modules()
    assert len(modules) > 30
    for module in modules:
        inner = {*dir(module)} - {*module.__all__}
        offered = {f"grls.{name}" for name in inner} <= {each.__name__ for each in modules}
        assert offered if module is grls else not inner, (module.__name__, inner)
        for name in dir(module):
            assert hasattr(module, name), (module.__name__, name)
