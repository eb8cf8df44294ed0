"""Models in files: every estimator comes back to the bit, and nothing in a file is run or believed."""

import copy
import functools
import inspect
import json
import operator
import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
import warnings
import zipfile

import grls
import grls.features
import grls.kernels
import numpy as np
import pytest
import skops.io
from catalogue import FORMULAS
from fresh import failures
from grls import (
    GRLSRegressor,
    KernelPCA,
    TransferPrior,
    VersionWarning,
    saving,
)
from grls.features import (
    Columns,
    GeodesicKNN,
    PolynomialTrend,
)
from grls.kernels import (
    ArcCosine,
    Categorical,
    ChiSquared,
    Cosine,
    Function,
    Gaussian,
    Kernel,
    Linear,
    Overlap,
)
from numpy.testing import assert_array_equal
from savable import LABELS, MODELS, POINTS, X, answers, fitted, y
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, SplineTransformer


def frobenius(A, B):
    """A kernel of one's own, and of a name by which it is found."""
    return 1.0 + np.asarray(A) @ np.asarray(B).T


class Halves(TransformerMixin, BaseEstimator):
    """A transformer of one's own."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.asarray(X) / 2


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.grls"


@pytest.fixture
def saved(path):
    """A file of a small model."""
    grls.save(fitted("prior")[0], path)
    return path


def shown(model):
    return re.sub(" at 0x[0-9a-f]+", "", repr(model))


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_to_the_bit(name, path):
    model, points = fitted(name)
    grls.save(model, path)
    again = grls.load(path)
    assert type(again) is type(model)
    assert shown(again) == shown(model)
    expected, got = answers(model, points), answers(again, points)
    assert expected
    for method, values in expected.items():
        values, loaded = (v.toarray() if sparse.issparse(v) else v for v in (values, got[method]))
        assert_array_equal(loaded, values)


def test_what_is_learnt_on_comes_back_too(path):
    model, _ = fitted("blocks")
    model = copy.deepcopy(model)
    grls.save(model, path)
    rest = X[40:], y[40:]
    assert_array_equal(grls.load(path).partial_fit(*rest).predict(X), model.partial_fit(*rest).predict(X))


def test_a_summary_survives(path):
    model = GRLSRegressor(Gaussian(1.0), features="linear").fit(X, y)
    grls.save(model, path)
    assert str(grls.load(path).summary()) == str(model.summary())


def test_every_estimator_kernel_and_feature_is_tried():
    tried = set()

    def look(thing):
        if id(thing) in seen:
            return
        seen.add(id(thing))
        tried.add(type(thing).__name__)
        inner = (
            vars(thing).values()
            if hasattr(thing, "__dict__")
            else thing
            if isinstance(thing, list | tuple)
            else ()
        )
        for part in inner:
            if not inspect.isroutine(part):
                look(part)

    seen = set()
    for name in MODELS:
        look(fitted(name)[0])
    for kernel, _ in FORMULAS.values():
        look(kernel)
    look([Cosine(), ChiSquared(), Overlap(), Categorical(), ArcCosine(), Function(frobenius)])
    for module in (grls, grls.kernels, grls.features):
        for name in module.__all__:
            member = getattr(module, name)
            if (
                inspect.isclass(member)
                and issubclass(member, BaseEstimator | Kernel | TransferPrior)
                and member is not Kernel
            ):
                assert name in tried, name


@pytest.mark.parametrize("name", FORMULAS)
def test_a_kernel_comes_back_as_it_was(name, path):
    kernel, _ = FORMULAS[name]
    grls.save(kernel, path)
    again = grls.load(path)
    assert repr(again) == repr(kernel)
    points = np.random.default_rng(0).uniform(0.1, 1.0, size=(9, 4))
    assert_array_equal(again(points), kernel(points))


def test_a_model_that_is_not_fitted_keeps_its_parameters(path):
    grls.save(GRLSRegressor(Gaussian("medians"), features=PolynomialTrend(2), regularization="reml"), path)
    model = grls.load(path)
    assert (model.kernel.sigma, model.features.degree, model.regularization) == ("medians", 2, "reml")


# In processes that have imported grls alone, one for the models of each type.
READER = """
import pathlib, pickle, warnings
import grls, scipy.sparse
import numpy as np

warnings.filterwarnings("ignore", "rounding may move a standard deviation")

for path in sorted(pathlib.Path({folder!r}).glob("*.grls")):
    model, said = grls.load(path), path.with_suffix(".said")
    rows, said = pickle.loads(said.read_bytes()) if said.exists() else (None, {{}})
    for method, expected in said.items():
        got = model.predict(rows, return_std=True)[1] if method == "std" else getattr(model, method)(rows)
        expected, got = (v.toarray() if scipy.sparse.issparse(v) else v for v in (expected, got))
        np.testing.assert_array_equal(got, expected, path.name)
"""


def test_a_process_that_has_imported_grls_alone_loads_everything(tmp_path):
    for name in MODELS:
        model, points = fitted(name)
        folder = tmp_path / type(model).__name__
        folder.mkdir(exist_ok=True)
        grls.save(clone(model), folder / f"1 {name}.grls")
        grls.save(model, folder / f"2 {name}.grls")
        (folder / f"2 {name}.said").write_bytes(pickle.dumps((points, answers(model, points))))
    (tmp_path / "Kernel").mkdir()
    for number, thing in enumerate([*(kernel for kernel, _ in FORMULAS.values()), TransferPrior()]):
        grls.save(thing, tmp_path / "Kernel" / f"{number}.grls")
    programs = {folder.name: READER.format(folder=str(folder)) for folder in tmp_path.iterdir()}
    assert failures(programs) == {}


def test_what_is_known_does_not_depend_on_what_is_imported():
    """Types of grls are known by what they are: no function, no command, no class that is only imported."""
    for name in ("grls.svm.SVMGBClassifier", "grls.datasets.words.MutualInformationWords"):
        assert saving._is_trusted(name)
    for name in (
        "grls.saving.os.system",
        "grls.saving.load",
        "grls.least_squares.BaseEstimator",
        "grls.cli.tables.Column",
        "grls.__main__.run",
        "grls.nowhere.Model",
        "grlsome.Model",
        "sklearn.model_selection._search.os",
    ):
        assert not saving._is_trusted(name)


# What is one's own.


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (GRLSRegressor(frobenius), "frobenius"),
        (GRLSRegressor(Function(frobenius)), "frobenius"),
        (GRLSRegressor(features=Halves()), "Halves"),
        (make_pipeline(FunctionTransformer(os.path.join), GRLSRegressor()), "join"),
    ],
)
def test_functions_and_types_of_ones_own_must_be_trusted(model, name, path):
    grls.save(model, path)
    with pytest.raises(ValueError, match=rf"model\.grls refers to .*{name}.*trusted=\["):
        grls.load(path)
    own = {"frobenius": frobenius, "Halves": Halves, "join": os.path.join}[name]
    assert type(grls.load(path, trusted=[own])) is type(model)
    assert type(grls.load(path, trusted=[f"{own.__module__}.{own.__name__}"])) is type(model)
    with pytest.raises(ValueError, match=name):
        grls.load(path, trusted=["os.system"])


def test_a_model_of_ones_own_transformer_predicts_the_same(path):
    model = GRLSRegressor(Gaussian(1.0), features=Halves()).fit(X, y)
    grls.save(model, path)
    assert_array_equal(grls.load(path, trusted=Halves).predict(X), model.predict(X))


def test_what_has_no_name_is_refused_before_a_file_is_written(path):
    def local(X):
        return X

    for function in (lambda X: X, local):
        with pytest.raises(ValueError, match=r"(<lambda>|local), which has no name.*def or class"):
            grls.save(GRLSRegressor(features=function), path)
    assert not path.exists()


def test_what_cannot_be_written_is_said(path):
    with pytest.raises(TypeError, match="GRLSRegressor holds what cannot be written"):
        grls.save(GRLSRegressor(regularization=(i for i in range(3))), path)
    assert not path.exists()


def test_trusted_takes_names_and_types_only(saved):
    with pytest.raises(TypeError, match="names, types and functions"):
        grls.load(saved, trusted=[3])


def test_code_in_a_file_is_not_run(path, tmp_path):
    """A file that asks for a function to be called, with a right checksum: the types decide, not the sum."""
    witness = tmp_path / "witness"
    bomb = functools.partial(os.mkdir, str(witness))
    grls.save(GRLSRegressor(features=bomb), path)
    with pytest.raises(ValueError, match="trust"):
        grls.load(path)
    assert not witness.exists()


# Files that are not as they were.


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.9, 0.999])
def test_a_file_that_was_cut_short_is_refused(saved, share):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"model\.grls"):
        grls.load(saved)


def test_every_changed_byte_is_noticed(saved):
    """A bit flipped anywhere: an error that names the file, or, in zip's own fields, the very same model."""
    content = saved.read_bytes()
    expected = fitted("prior")[0].predict(X)
    refused = []
    places = np.random.default_rng(0).choice(len(content), 150, replace=False)
    for place in places:
        changed = bytearray(content)
        changed[place] ^= 0x10
        saved.write_bytes(changed)
        try:
            assert_array_equal(grls.load(saved).predict(X), expected)
        except ValueError as error:
            refused.append(str(error))
    assert len(refused) > 0.8 * len(places)
    assert all("model.grls" in message for message in refused)


def rewritten(path, change, *, sign):
    """Change the model in a file, and its checksum with it where `sign`."""
    with zipfile.ZipFile(path) as archive:
        header, content = json.loads(archive.read("grls.json")), archive.read("model.skops")
    header, content = change(header, content)
    if sign:
        header["sha256"] = saving._digest(header, content)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("grls.json", json.dumps(header))
        archive.writestr("model.skops", content)


@pytest.mark.parametrize(
    "change",
    [
        lambda header, content: (header, content[:-9] + b"x" + content[-8:]),
        lambda header, content: ({**header, "grls": "0.0.1"}, content),
        lambda header, content: ({name: v for name, v in header.items() if name != "sha256"}, content),
    ],
)
def test_a_file_that_was_tampered_with_is_refused(saved, change):
    rewritten(saved, change, sign=False)
    with pytest.raises(ValueError, match=r"model\.grls was changed"):
        grls.load(saved)


@pytest.mark.parametrize(
    "content",
    [b"", b"PK", b"no zip", b'{"protocol": 2}', skops.io.dumps({"__loader__": 3})[:-30], b"[" * 100_000],
)
def test_signed_nonsense_is_refused(saved, content):
    rewritten(saved, lambda header, _: (header, content), sign=True)
    with pytest.raises(ValueError, match=r"model\.grls cannot be read"):
        grls.load(saved)


@pytest.mark.parametrize("k", [-7, 50, 10**6])
def test_splines_that_would_crash_are_refused(saved, k):
    model = make_pipeline(SplineTransformer(), GRLSRegressor(Gaussian(1.0))).fit(X, y)
    model[0].bsplines_[1].k = k
    grls.save(model, saved)
    with pytest.raises(ValueError, match=r"model\.grls cannot be read"):
        grls.load(saved)


def test_compressed_content_is_refused(saved):
    packed = skops.io.dumps(np.zeros(10**6), compression=zipfile.ZIP_DEFLATED)
    rewritten(saved, lambda header, _: (header, packed), sign=True)
    with pytest.raises(ValueError, match="compressed"):
        grls.load(saved)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (pickle.dumps(GRLSRegressor()), "is a pickle"),
        (b"a,b\n1,2\n", "no model of grls.save"),
        (skops.io.dumps(GRLSRegressor()), "no model of grls.save: it holds"),
    ],
)
def test_other_files_are_refused_by_what_they_are(path, content, said):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=said):
        grls.load(path)


def test_a_file_that_is_not_there_is_an_error_of_the_system(path):
    with pytest.raises(FileNotFoundError, match=r"model\.grls"):
        grls.load(path)


# Versions.


def test_the_header_says_who_wrote_the_file(saved):
    header = saving.read_header(saved)
    assert header["grls"] == grls.__version__
    assert header["numpy"] == np.__version__
    assert header["scikit-learn"] == __import__("sklearn").__version__
    assert header["model"] == "grls.prior.PriorRLSRegressor"


@pytest.mark.parametrize(
    ("package", "version"),
    [("grls", "0.0.9"), ("grls", "7.3.0"), ("scikit-learn", "0.24.2"), ("numpy", "1.26.4")],
)
def test_another_version_is_warned_of_once(saved, package, version):
    rewritten(saved, lambda header, content: ({**header, package: version}, content), sign=True)
    with pytest.warns(VersionWarning, match=rf"model\.grls was written with {package} {version}") as given:
        model = grls.load(saved)
    assert len(given) == 1
    assert given[0].filename == __file__
    assert_array_equal(model.predict(X), fitted("prior")[0].predict(X))


def test_patches_are_no_other_versions(saved):
    patch = grls.__version__.rpartition(".")[0] + ".99"
    rewritten(saved, lambda header, content: ({**header, "grls": patch}, content), sign=True)
    grls.load(saved)  # a warning is an error


def test_a_format_of_the_future_is_refused(saved):
    rewritten(saved, lambda header, content: ({**header, "format": 99, "grls": "9.0.0"}, content), sign=True)
    with pytest.raises(
        ValueError, match=r"format 99, written by grls 9\.0\.0; this is .*install a newer grls"
    ):
        grls.load(saved)


OF_OTHER_VERSIONS = [
    GRLSRegressor(),
    KernelPCA(),
    Gaussian(2.0),
    Gaussian(1.0) + Linear().on([0]),
    Columns([0]),
    TransferPrior(),
    GeodesicKNN(),
]


@pytest.mark.parametrize("model", OF_OTHER_VERSIONS, ids=lambda model: type(model).__name__)
def test_a_pickle_of_another_version_warns(model, monkeypatch):
    monkeypatch.setattr("grls._versions.__version__", "0.0.7")
    content = pickle.dumps(model)
    monkeypatch.undo()
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        again = pickle.loads(content)
    assert {warning.category for warning in given} == {VersionWarning}
    said = f"{type(model).__name__} was pickled by grls 0.0.7 and is read by {grls.__version__}"
    assert str(given[-1].message).startswith(said)
    assert repr(again) == repr(model)
    assert "_grls_version" not in vars(again)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert repr(copy.deepcopy(model)) == repr(model) == repr(pickle.loads(pickle.dumps(model)))


def test_a_pickle_without_a_version_warns():
    model = GRLSRegressor.__new__(GRLSRegressor)
    with pytest.warns(VersionWarning, match="before 0.1"):
        model.__setstate__(vars(GRLSRegressor()))


def test_geodesic_neighbours_survive_pickle():
    features = GeodesicKNN(3).fit(POINTS, LABELS)
    assert_array_equal(pickle.loads(pickle.dumps(features)).transform(POINTS), features.transform(POINTS))


# Writing is all or nothing.


def test_a_failed_write_leaves_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        grls.save(fitted("centres")[0], saved)
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == ["model.grls"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_killed_process_leaves_the_old_file(saved):
    before = saved.read_bytes()
    program = textwrap.dedent(f"""
        import os, signal, grls
        os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
        grls.save(grls.GRLSRegressor(), {str(saved)!r})
    """)
    ended = subprocess.run([sys.executable, "-c", program], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert saved.read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="permissions and links of POSIX")
def test_permissions_and_links_stay(saved, tmp_path):
    mask = os.umask(0)
    os.umask(mask)
    assert saved.stat().st_mode & 0o777 == 0o666 & ~mask
    saved.chmod(0o640)
    link = tmp_path / "link.grls"
    link.symlink_to(saved)
    grls.save(Gaussian(3.0), link)
    assert link.is_symlink()
    assert saved.stat().st_mode & 0o777 == 0o640
    assert grls.load(saved).sigma == 3.0


def test_bad_places_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such folder"):
        grls.save(GRLSRegressor(), tmp_path / "nowhere" / "model.grls")
    with pytest.raises(ValueError, match="not a file that could be replaced"):
        grls.save(GRLSRegressor(), tmp_path)


def test_without_skops_it_is_said_what_to_install(saved, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match="pip install skops"):
        grls.load(saved)


def test_a_kernel_of_too_many_terms_is_refused_in_plain_words(tmp_path):
    terms = functools.reduce(operator.add, [Gaussian(1.0 + i) for i in range(400)])
    with pytest.raises(TypeError, match="Sum holds parts within parts, too many of them for a file"):
        grls.save(terms, tmp_path / "terms.grls")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["MetadataRequest", "MethodMetadataRequest"])
def test_searches_of_older_versions_of_scikit_learn_are_no_strangers(name):
    """They keep what was asked of metadata, which newer ones do not."""
    assert saving._is_trusted(f"sklearn.utils._metadata_requests.{name}")
