"""What `import grls` brings along."""

import subprocess
import sys

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
