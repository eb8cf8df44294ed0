"""Data sets: small made-up originals from a server in a thread, and the real files where GRLS_DATA is set."""

import gzip
import hashlib
import io
import lzma
import os
import stat
import tarfile
import threading
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from grls import datasets
from grls.datasets import _formats, _sources, _store, regression
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.feature_selection import mutual_info_classif
from sklearn.metrics import mutual_info_score
from sklearn.pipeline import make_pipeline

rng = np.random.default_rng(0)

needs_data = pytest.mark.skipif("GRLS_DATA" not in os.environ, reason="GRLS_DATA is not set")


# Originals in small.


def packed_idx(values):
    head = b"\0\0\x08" + bytes([values.ndim]) + b"".join(n.to_bytes(4, "big") for n in values.shape)
    return gzip.compress(head + values.tobytes(), compresslevel=1)


def packed_tar(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        for name, body in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    return buffer.getvalue()


def packed_zip(images):
    from PIL import Image

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("coil-20-proc/readme.txt", "no image")
        for name, pixels in images.items():
            png = io.BytesIO()
            Image.fromarray(pixels).save(png, "png")
            archive.writestr(f"coil-20-proc/{name}", png.getvalue())
    return buffer.getvalue()


def mnist_original(table):
    return {
        "train-images-idx3-ubyte.gz": packed_idx(table["x_train"]),
        "train-labels-idx1-ubyte.gz": packed_idx(table["y_train"]),
        "t10k-images-idx3-ubyte.gz": packed_idx(table["x_test"]),
        "t10k-labels-idx1-ubyte.gz": packed_idx(table["y_test"]),
    }


def coil20_original(table):
    """Images whose blocks of 4×4 pixels have the given sums."""
    images = {}
    for sums, y, pose in zip(table["X_sum16"].astype(int), table["y"], table["pose"], strict=True):
        base, rest = np.divmod(sums, 16)
        extra = rest[:, :, None] > np.arange(16)
        blocks = (base[:, :, None] + extra).reshape(*sums.shape, 4, 4)
        images[f"obj{y}__{pose}.png"] = blocks.transpose(0, 2, 1, 3).reshape(4 * len(sums), -1).astype("u1")
    return {"coil-20-proc.zip": packed_zip(images)}


def newsgroups_original(rows):
    name = "20news-bydate.tar.gz" if "split" in rows[0] else "20news-19997.tar.gz"
    folder = {"train": "20news-bydate-train", "test": "20news-bydate-test", None: "20_newsgroups"}
    return {
        name: packed_tar(
            {
                f"{folder[row.get('split')]}/{row['label']}/{row['id']}": row["text"].encode("latin-1")
                for row in rows[::-1]
            }
        )
    }


def webkb_original(rows):
    paths = {f"webkb/{r['label']}/{r['university']}/{r['file']}": r["text"].encode("latin-1") for r in rows}
    return {"webkb-data.gtar.gz": packed_tar(paths)}


def sectors_original(rows):
    paths = {f"sector/{r['label']}.sector/{r['sub']}/{r['file']}": r["text"].encode("latin-1") for r in rows}
    return {"7sectors.tar.gz": packed_tar(paths)}


def mcycle_original(table):
    rows = zip(table["Times"], table["Accel"], strict=True)
    lines = ['"rownames","times","accel"', *(f"{i},{t:g},{a:g}" for i, (t, a) in enumerate(rows, 1))]
    return {"mcycle.csv": "\n".join(lines).encode()}


def meuse_original(table, name="meuse.csv"):
    def cell(value):
        if isinstance(value, str):
            return value or "NA"
        return "NA" if np.isnan(value) else f"{value:.17g}"

    lines = [",".join(table), *(",".join(map(cell, row)) for row in zip(*table.values(), strict=True))]
    return {name: "\n".join(lines).encode()}


def mauna_loa_original(table):
    rows = zip(table["date"], table["co2"], strict=True)
    lines = ["date,co2", *(f"{day.replace('-', '')},{'' if np.isnan(v) else v}" for day, v in rows)]
    return {"co2.csv": "\n".join(lines).encode()}


def airfoil_original(table):
    rows = zip(*table.values(), strict=True)
    return {"airfoil_self_noise.dat": "\n".join("\t".join(f"{v:.17g}" for v in row) for row in rows).encode()}


def split_original(name):
    def make(table):
        n_columns = table["X"].shape[1]
        out = io.StringIO()
        np.savetxt(out, np.column_stack([table["y"], table["X"]]), fmt="%.17g")
        files = {
            f"{name}-data.txt": out.getvalue(),
            f"{name}-index_features.txt": "\n".join(map(str, range(1, n_columns + 1))),
            f"{name}-index_target.txt": "0",
        }
        for i, test in enumerate(table["test_index"]):
            files[f"{name}-index_test_{i}.txt"] = "\n".join(f"{j:.18e}" for j in test)
        return {key: value.encode() for key, value in files.items()}

    return make


def a9a_original(name):
    return lambda table: {name: ("\n".join(table["line"]) + "\n").encode()}


def posting(body, header="Newsgroups: rec.autos\nSubject: x"):
    return f"{header}\n\n{body}"


def page(body):
    return f"MIME-Version: 1.0\nServer: CERN/3.0\n\n<html><!WA0><a href='x'>{body}</a></html>"


def uint8(*shape):
    return rng.integers(0, 256, shape, dtype=np.uint8)


def small_coil():
    sums = rng.integers(0, 4081, (4, 32, 32), dtype=np.uint16)
    return {
        "X": ((sums + 8) // 16).astype(np.uint8),
        "X_sum16": sums,
        "y": np.array([1, 1, 2, 11], np.uint8),
        "pose": np.array([0, 10, 2, 3], np.uint8),
    }


def small_split():
    return {
        "X": rng.standard_normal((10, 3)),
        "y": rng.standard_normal(10),
        "test_index": np.array([rng.permutation(10)[:2] for _ in range(3)], dtype=np.int32),
    }


def bydate_row(split, label, y, number, text="körper"):
    return {"id": number, "label": label, "split": split, "text": posting(text), "y": y}


# name in the table -> loader, a content in small, and its original
SETS = {
    "MNIST": (
        datasets.load_mnist,
        lambda: {
            "x_train": uint8(5, 4, 3),
            "y_train": uint8(5),
            "x_test": uint8(2, 4, 3),
            "y_test": uint8(2),
        },
        mnist_original,
    ),
    "COIL20": (datasets.load_coil20, small_coil, coil20_original),
    "NEWSGROUPS_BYDATE": (
        datasets.load_20newsgroups,
        lambda: [
            bydate_row("train", "rec.autos", 0, "9"),
            bydate_row("train", "sci.med", 1, "10"),
            bydate_row("test", "rec.autos", 0, "2", "\xff\0odd"),
        ],
        newsgroups_original,
    ),
    "NEWSGROUPS_ORIGINAL": (
        lambda **options: datasets.load_20newsgroups(version="original", **options),
        lambda: [
            {"id": "9", "label": "a", "text": posting("x"), "y": 0},
            {"id": "10", "label": "a", "text": posting("y"), "y": 0},
        ],
        newsgroups_original,
    ),
    "WEBKB": (
        datasets.load_webkb,
        lambda: [
            {
                "label": "course",
                "university": "cornell",
                "file": f"http:^^cs.edu^{i}.html",
                "url": f"http://cs.edu/{i}.html",
                "text": page(f"page {i}"),
            }
            for i in range(4)
        ],
        webkb_original,
    ),
    "SECTORS": (
        datasets.load_sectors,
        lambda: [
            {
                "label": "energy",
                "sub": ("coal.industry", "oil.sector/gas.industry")[i > 1],
                "file": f"http_^^www.x.com^{i}",
                "url": f"http://www.x.com/{i}",
                "text": page(f"page {i}"),
            }
            for i in range(4)
        ],
        sectors_original,
    ),
    "MCYCLE": (
        datasets.load_mcycle,
        lambda: {"Times": np.array([2.4, 2.6, 2.6]), "Accel": np.array([0.0, -1.3, 4.0])},
        mcycle_original,
    ),
    "MEUSE": (
        datasets.load_meuse,
        lambda: {
            "x": np.array([1.0, 2.0]),
            "y": np.array([3.0, 4.0]),
            "zinc": np.array([5.0, 6.5]),
            "dist": np.array([0.1, 0.2]),
            "om": np.array([np.nan, 0.25]),
            "landuse": np.array(["Ah", ""], dtype=object),
        },
        meuse_original,
    ),
    "MEUSE_GRID": (
        datasets.load_meuse_grid,
        lambda: {"x": np.array([1.0]), "y": np.array([3.0]), "dist": np.array([0.1])},
        lambda table: meuse_original(table, "meuse.grid.csv"),
    ),
    "MAUNA_LOA": (
        datasets.load_mauna_loa,
        lambda: {
            "date": np.array(["1958-01-01", "1958-07-02", "1960-12-31"], dtype=object),
            "co2": np.array([316.1, np.nan, 317.3]),
        },
        mauna_loa_original,
    ),
    "AIRFOIL": (
        datasets.load_airfoil,
        lambda: dict(zip(regression._AIRFOIL_NAMES, rng.standard_normal((6, 3)), strict=True)),
        airfoil_original,
    ),
    "CONCRETE": (datasets.load_concrete, small_split, split_original("concrete")),
    "ENERGY": (datasets.load_energy, small_split, split_original("energy")),
    "PROTEIN": (datasets.load_protein, small_split, split_original("protein-tertiary-structure")),
    "A9A_TRAIN": (
        lambda **options: datasets.load_a9a(subset="train", **options),
        lambda: {"line": np.array(["-1 3:1 11:1 ", "+1 5:1 123:1 "], dtype=object)},
        a9a_original("a9a"),
    ),
    "A9A_TEST": (
        lambda **options: datasets.load_a9a(subset="test", **options),
        lambda: {"line": np.array(["-1 3:1 11:1 "], dtype=object)},
        a9a_original("a9a.t"),
    ),
}


def published(content, originals, like, url=lambda name: f"http://nowhere.invalid/{name}"):
    """The entry of the table for made-up data."""
    return replace(
        like,
        sha256="0" * 64,
        content=_formats.checksum(content),
        originals=tuple(_store.Original(name, (url(name),)) for name in originals),
        more=0,
    )


class Server(ThreadingHTTPServer):
    """Serves what `files` holds; `status` and `cut` make it fail."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.status, self.cut, self.requests = {}, 200, 0, []

    def url(self, name):
        return f"http://127.0.0.1:{self.server_port}/{name}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server, name = self.server, self.path[1:]
        server.requests.append(name)
        body = server.files.get(name)
        if body is None or server.status != 200:
            self.send_error(404 if body is None else server.status)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) - server.cut])

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def mcycle(server, monkeypatch, tmp_path):
    """The motorcycle data in small, on the server and nowhere else."""
    content = SETS["MCYCLE"][1]()
    server.files = mcycle_original(content)
    dataset = published(content, server.files, _sources.MCYCLE, server.url)
    monkeypatch.setattr(_sources, "MCYCLE", dataset)
    return SimpleNamespace(content=content, dataset=dataset, home=tmp_path / "home", server=server)


def left_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


# Downloads.


@pytest.mark.parametrize("name", SETS)
def test_the_original_is_downloaded_converted_and_kept(name, server, monkeypatch, tmp_path):
    if name == "COIL20":
        pytest.importorskip("PIL")
    load, make, to_original = SETS[name]
    content = make()
    server.files = to_original(content)
    dataset = published(content, server.files, getattr(_sources, name), server.url)
    monkeypatch.setattr(_sources, name, dataset)
    first = load(data_home=tmp_path)
    assert left_in(tmp_path) == [dataset.file]
    assert sorted(server.requests) == sorted(server.files)
    again = load(data_home=tmp_path, download_if_missing=False)
    assert len(server.requests) == len(server.files)
    for bunch in (first, again):
        for key, value in first.items():
            np.testing.assert_equal(
                bunch[key].toarray() if sparse.issparse(value) else bunch[key],
                value.toarray() if sparse.issparse(value) else value,
            )
    kept = _formats.decode(dataset.file, (tmp_path / dataset.file).read_bytes())
    np.testing.assert_equal(kept, content)


def test_the_california_blocks_are_computed_as_in_scikit_learn(server, monkeypatch, tmp_path):
    raw = [[-122.23, 37.88, 41.0, 880.0, 129.0, 322.0, 126.0, 8.3252, 452600.0]]
    line = ",".join(map(str, raw[0])).encode()
    server.files = {"cal_housing.tgz": packed_tar({"CaliforniaHousing/cal_housing.data": line})}
    expected = [8.3252, 41, 6.98412698412698, 1.02380952380952, 322, 2.55555555555556, 37.88, -122.23, 4.526]
    names = ["MedInc", "HouseAge", "AveRooms", "AveBedrms", "Population", "AveOccup"]
    names += ["Latitude", "Longitude", "target"]
    content = {name: np.array([value], dtype=float) for name, value in zip(names, expected, strict=True)}
    dataset = published(content, server.files, _sources.CALIFORNIA, server.url)
    monkeypatch.setattr(_sources, "CALIFORNIA", dataset)
    X, y = datasets.load_california_housing(data_home=tmp_path, return_X_y=True)
    assert_array_equal(X[0], expected[:-1])
    assert_array_equal(y, [4.526])


def test_an_archive_fetched_by_hand_needs_no_server(mcycle):
    (mcycle.home / "originals").mkdir(parents=True)
    (mcycle.home / "originals" / "mcycle.csv").write_bytes(mcycle.server.files["mcycle.csv"])
    X, _ = datasets.load_mcycle(data_home=mcycle.home, download_if_missing=False, return_X_y=True)
    assert_array_equal(X[:, 0], mcycle.content["Times"])
    assert mcycle.server.requests == []


def test_a_mirror_is_tried_after_the_first_address(mcycle, monkeypatch):
    (original,) = mcycle.dataset.originals
    both = replace(original, urls=(mcycle.server.url("gone"), *original.urls))
    monkeypatch.setattr(_sources, "MCYCLE", replace(mcycle.dataset, originals=(both,)))
    datasets.load_mcycle(data_home=mcycle.home)
    assert mcycle.server.requests == ["gone", "mcycle.csv"]


def test_a_known_checksum_of_the_archive_is_required(mcycle, monkeypatch):
    (original,) = mcycle.dataset.originals
    right = hashlib.md5(mcycle.server.files["mcycle.csv"]).hexdigest()
    for checksum, accepted in ((f"md5:{'0' * 32}", False), (f"md5:{right}", True)):
        known = replace(mcycle.dataset, originals=(replace(original, checksum=checksum),))
        monkeypatch.setattr(_sources, "MCYCLE", known)
        if accepted:
            datasets.load_mcycle(data_home=mcycle.home)
        else:
            with pytest.raises(datasets.DownloadError, match=f"expected md5 {'0' * 32}, found {right}"):
                datasets.load_mcycle(data_home=mcycle.home)
            assert left_in(mcycle.home) == []


@pytest.mark.parametrize(
    ("trouble", "message"),
    [({"status": 500}, "500"), ({"files": {}}, "404"), ({"cut": 5}, r"cut after \d+ of \d+ bytes")],
)
def test_a_failing_server_is_named_and_leaves_nothing_behind(trouble, message, mcycle):
    for key, value in trouble.items():
        setattr(mcycle.server, key, value)
    with pytest.raises(datasets.DownloadError, match=message) as caught:
        datasets.load_mcycle(data_home=mcycle.home)
    assert mcycle.server.url("mcycle.csv") in str(caught.value)
    assert str(mcycle.home / "originals" / "mcycle.csv") in str(caught.value)
    assert left_in(mcycle.home) == []


@pytest.mark.parametrize("body", [b"<html>moved</html>", b"rownames,times,accel\n1,2.4,0.5\n"])
def test_a_server_that_sends_something_else_is_refused(body, mcycle):
    mcycle.server.files = {"mcycle.csv": body}
    with pytest.raises(datasets.ChecksumError, match=r"mcycle\.csv"):
        datasets.load_mcycle(data_home=mcycle.home)
    assert left_in(mcycle.home) == []


def test_an_interrupted_download_leaves_nothing_behind(mcycle, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(_store, "_require_checksum", interrupt)
    with pytest.raises(KeyboardInterrupt):
        datasets.load_mcycle(data_home=mcycle.home)
    assert list(mcycle.home.iterdir()) == []


def test_the_progress_is_shown_when_asked_for(mcycle, capsys):
    datasets.load_mcycle(data_home=mcycle.home / "silent")
    assert capsys.readouterr().err == ""
    datasets.load_mcycle(data_home=mcycle.home, verbose=True)
    shown = capsys.readouterr().err
    assert "motorcycle: mcycle.csv" in shown
    assert "100 %" in shown


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="everything is writable")
def test_a_folder_that_cannot_be_written_is_named(mcycle):
    mcycle.home.mkdir()
    mcycle.home.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(OSError, match="cannot write to"):
        datasets.load_mcycle(data_home=mcycle.home)


def test_a_folder_that_cannot_be_made_is_named(mcycle):
    mcycle.home.write_text("a file")
    with pytest.raises(OSError, match=r"cannot write to .*GRLS_DATA"):
        datasets.load_mcycle(data_home=mcycle.home / "below")


# Files.


def test_a_missing_file_says_where_it_was_looked_for_and_what_to_do(mcycle, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        datasets.load_mcycle(data_home=mcycle.home, download_if_missing=False)
    for part in (str(mcycle.home), "GRLS_DATA", "download_if_missing", mcycle.server.url("mcycle.csv")):
        assert part in str(caught.value)
    with pytest.raises(FileNotFoundError, match="knows no public address"):
        datasets.load_ozone(data_home=tmp_path)


@pytest.mark.parametrize(
    "damage", [lambda raw: raw[:-6], lambda raw: raw.replace(b"2.4", b"2.5"), lambda _: b""]
)
def test_a_truncated_or_changed_table_is_refused(damage, mcycle):
    datasets.load_mcycle(data_home=mcycle.home)
    path = mcycle.home / mcycle.dataset.file
    path.write_bytes(damage(path.read_bytes()))
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(datasets.ChecksumError) as caught:
        datasets.load_mcycle(data_home=mcycle.home)
    for part in (str(path), mcycle.dataset.sha256, found):
        assert part in str(caught.value)
    assert path.exists(), "the user's file is left alone"


@pytest.mark.parametrize("name", ["MNIST", "WEBKB"])
def test_a_truncated_or_changed_archive_is_refused(name, monkeypatch, tmp_path):
    load, make, to_original = SETS[name]
    content = make()
    dataset = published(content, to_original(content), getattr(_sources, name))
    monkeypatch.setattr(_sources, name, dataset)
    raw = _formats.encode(dataset.file, content)
    middle = len(raw) // 2
    for damaged in (raw[:-40], raw[:middle] + bytes([raw[middle] ^ 255]) + raw[middle + 1 :]):
        (tmp_path / dataset.file).write_bytes(damaged)
        with pytest.raises(datasets.ChecksumError, match="truncated or changed"):
            load(data_home=tmp_path)


def test_an_array_file_with_objects_is_not_unpickled(monkeypatch, tmp_path):
    np.savez(tmp_path / "mnist.npz", x_train=np.array([{}], dtype=object))
    with pytest.raises(datasets.ChecksumError, match="truncated or changed"):
        datasets.load_mnist(data_home=tmp_path)


def test_documents_beyond_those_known_are_accepted_only_where_they_may_be():
    rows = SETS["WEBKB"][1]()
    known = _formats.checksum(rows[:2])
    assert _formats.holds(rows[1::-1], known, 0)
    assert not _formats.holds(rows[:3], known, 0)
    assert _formats.holds(rows[:3], known, 1)
    assert not _formats.holds(rows, known, 1)
    assert _formats.holds(rows, known, 2)
    assert not _formats.holds(rows[1:], known, 2)
    assert not _formats.holds([{**rows[0], "text": "changed"}, *rows[1:3]], known, 2)


def test_the_folder_is_the_argument_the_variable_or_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("GRLS_DATA", str(tmp_path / "variable"))
    assert datasets.data_folder(tmp_path / "argument") == tmp_path / "argument"
    assert datasets.data_folder() == tmp_path / "variable"
    monkeypatch.delenv("GRLS_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert datasets.data_folder() == tmp_path / "grls"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert datasets.data_folder().parts[-2:] == (".cache", "grls")


def test_every_address_and_checksum_of_the_table_is_well_formed():
    entries = {name: value for name, value in vars(_sources).items() if isinstance(value, _store.DataSet)}
    assert len(entries) == 20
    for entry in entries.values():
        for digits in (entry.sha256, entry.content):
            assert len(bytes.fromhex(digits)) == 32
        assert entry.terms
        for original in entry.originals:
            assert all(url.startswith(("https://", "http://")) for url in original.urls)
            kind, _, digits = (original.checksum or "md5:00").partition(":")
            bytes.fromhex(digits)
            hashlib.new(kind)
    assert len({entry.file for entry in entries.values()}) == len(entries)


# What loaders return.


@pytest.fixture
def home(monkeypatch, tmp_path):
    """A folder with every set in small."""
    for name, (_, make, to_original) in SETS.items():
        content = make()
        names = to_original(content) if name != "COIL20" else ()
        dataset = published(content, names, getattr(_sources, name))
        monkeypatch.setattr(_sources, name, dataset)
        path = tmp_path / dataset.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_formats.encode(dataset.file, content))
    monkeypatch.setenv("GRLS_DATA", str(tmp_path))
    return tmp_path


def test_subsets_of_digits_follow_the_order_of_the_files(home):
    everything = datasets.load_mnist()
    assert everything.data.shape == (7, 12)
    assert everything.images.shape == (7, 4, 3)
    X, y = datasets.load_mnist(subset="test", return_X_y=True)
    assert_array_equal(X, everything.data[5:])
    assert_array_equal(y, everything.target[5:])
    assert len(datasets.load_mnist(subset="train").target) == 5


@pytest.mark.parametrize("load", [datasets.load_mcycle, datasets.load_meuse, datasets.load_mnist])
def test_frames_hold_the_same_numbers(load, home):
    plain, framed = load(), load(as_frame=True)
    assert isinstance(framed.data, pd.DataFrame)
    assert isinstance(framed.target, pd.Series)
    assert list(framed.data.columns) == plain.feature_names
    assert_array_equal(framed.data, plain.data)
    assert_array_equal(framed.frame[framed.target.name], plain.target)
    assert plain.target_names[0] not in framed.data.columns
    X, y = load(as_frame=True, return_X_y=True)
    pd.testing.assert_frame_equal(X, framed.data)
    pd.testing.assert_series_equal(y, framed.target)


def test_columns_of_the_meuse_data_are_chosen_by_name(home):
    assert datasets.load_meuse(columns=["dist", "x"]).data.tolist() == [[0.1, 1.0], [0.2, 2.0]]
    assert datasets.load_meuse_grid().data.tolist() == [[1.0, 3.0, 0.1]]
    with pytest.raises(ValueError, match="no column 'depth'"):
        datasets.load_meuse(columns=["depth"])
    with pytest.raises(ValueError, match="target must be"):
        datasets.load_meuse(target="gold")


def test_weeks_without_a_value_are_left_out_and_dates_become_years(home):
    bunch = datasets.load_mauna_loa()
    assert_allclose(bunch.data[:, 0], [1958, 1960 + 365 / 366])
    assert_array_equal(bunch.dates, np.array(["1958-01-01", "1960-12-31"], dtype="datetime64[D]"))


def test_published_splits_cover_all_rows(home):
    bunch = datasets.load_concrete()
    assert len(bunch.splits) == 3
    for train, test in bunch.splits:
        assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(10))


def test_incomplete_days_of_the_ozone_data_are_dropped_or_kept(monkeypatch, tmp_path):
    table = {f"V{i}": rng.standard_normal(5) for i in range(1, 14)}
    table["V4"][1] = table["V9"][2] = np.nan
    monkeypatch.setattr(_sources, "OZONE", published(table, (), _sources.OZONE))
    path = tmp_path / _sources.OZONE.file
    path.parent.mkdir()
    path.write_bytes(_formats.encode(path.name, table))
    assert_array_equal(datasets.load_ozone(data_home=tmp_path).target, table["V4"][[0, 3, 4]])
    everything = datasets.load_ozone(data_home=tmp_path, drop_missing=False)
    assert everything.data.shape == (5, 12)
    assert np.isnan(everything.data).sum() == 1


def test_two_class_problems_are_found_by_the_beginning_of_their_names(monkeypatch, tmp_path):
    table = {f"{name}_{part}": np.ones(2) for name in ("heart_scale", "splice_scaled") for part in "Xy"}
    monkeypatch.setattr(_sources, "SMALL_BINARY", published(table, (), _sources.SMALL_BINARY))
    path = tmp_path / _sources.SMALL_BINARY.file
    path.parent.mkdir()
    path.write_bytes(_formats.encode(path.name, table))
    assert "heart_scale" in datasets.load_binary("heart", data_home=tmp_path).DESCR
    for name in ("", "x"):
        with pytest.raises(ValueError, match="'heart_scale', 'splice_scaled'"):
            datasets.load_binary(name, data_home=tmp_path)


def test_groups_are_chosen_by_name_or_beginning(home):
    assert datasets.load_20newsgroups().target_names == ["rec.autos", "sci.med"]
    assert datasets.load_20newsgroups(groups=["rec.*"]).target_names == ["rec.autos"]
    assert datasets.load_20newsgroups(groups=["sci.med"], subset="train").ids == ["10"]
    with pytest.raises(ValueError, match="no group 're'"):
        datasets.load_20newsgroups(groups=["re"])
    with pytest.raises(TypeError, match="a list of names"):
        datasets.load_20newsgroups(groups="rec")


def test_headers_and_tags_are_gone_unless_raw_text_is_wanted(home):
    assert datasets.load_20newsgroups().data[0] == "körper"
    assert datasets.load_20newsgroups(raw=True).data[0].startswith("Newsgroups:")
    assert datasets.load_webkb().data[0].split() == ["page", "0"]
    assert "<!WA0>" in datasets.load_webkb(raw=True).data[0]
    sectors = datasets.load_sectors()
    assert (sectors.industries[0], sectors.urls[0]) == ("coal.industry", "http://www.x.com/0")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: datasets.load_mnist(subset="half"), "subset must be"),
        (lambda: datasets.load_a9a(subset="half"), "subset must be"),
        (lambda: datasets.load_20newsgroups(subset="half"), "subset must be"),
        (lambda: datasets.load_20newsgroups(version="new"), "version must be"),
        (lambda: datasets.load_20newsgroups(version="original", subset="train"), "no split"),
    ],
)
def test_wrong_options_are_refused(call, message, home):
    with pytest.raises(ValueError, match=message):
        call()


# Text.


@pytest.mark.parametrize(
    ("raw", "body"),
    [
        ("From: a\nSubject: b\n\nhello\n\nworld", "hello\n\nworld"),
        ("From: a\r\nSubject: b\r\n\r\nhello", "hello"),
        ("From: a\n \t\nhello", "hello"),
        ("Server: x\nDate: y\n<html>hello", "<html>hello"),
        ("Subject: b\n  folded\nhello", "hello"),
        ("Subject: b", ""),
        ("hello", "hello"),
        ("", ""),
    ],
)
def test_a_header_ends_at_the_first_blank_line(raw, body):
    assert datasets.strip_headers(raw) == body


def test_a_page_is_stripped_to_its_words():
    raw = page("AT&amp;T <b>works</b><!-- no -->\n<SCRIPT>if (a < b) x()</SCRIPT><style>p {}</style >now")
    assert datasets.strip_page(raw).split() == ["AT&T", "works", "now"]
    assert datasets.strip_page("A: b\n\n1 < 2").split() == ["1", "<", "2"]


def test_words_are_runs_of_letters_in_lower_case_without_stop_words():
    counter = datasets.word_counter().fit(["The Äpfel_x2y don't a 1st C3PO Äpfel"])
    assert counter.get_feature_names_out().tolist() == ["don", "po", "st", "äpfel"]
    assert "the" in datasets.word_counter(stop_words=None).fit(["the cat"]).vocabulary_


def test_the_score_is_the_mutual_information_of_presence_and_class():
    X = rng.poisson(0.6, (60, 12))
    y = rng.integers(0, 3, 60)
    scores = datasets.MutualInformationWords().fit(X, y).scores_
    assert_allclose(scores, [mutual_info_score(y, column > 0) for column in X.T], atol=1e-12)
    assert_allclose(scores, mutual_info_classif(X > 0, y, discrete_features=True), atol=1e-12)
    assert_allclose(
        datasets.MutualInformationWords().fit(sparse.csr_matrix(X), y).scores_, scores, atol=1e-12
    )


def test_the_best_words_are_kept_and_ties_go_to_the_first():
    y = np.array([0, 0, 1, 1])
    X = np.array([[1, 1, 0, 1, 0], [1, 0, 0, 1, 0], [1, 0, 2, 0, 0], [1, 1, 3, 0, 0]])
    for n_words, kept in ((1, [2]), (2, [2, 3]), (3, [0, 2, 3]), (9, [0, 1, 2, 3, 4])):
        selector = datasets.MutualInformationWords(n_words).fit(X, y)
        assert selector.get_support(indices=True).tolist() == kept
    chosen = datasets.MutualInformationWords(1).fit_transform(sparse.csr_matrix(X), y)
    assert chosen.format == "csr"
    assert chosen.toarray().ravel().tolist() == [0, 0, 2, 3]


@pytest.mark.parametrize(
    ("X", "y", "n_words", "message"),
    [
        ([[1.0], [-1.0]], [0, 1], 1, "Negative values"),
        ([[1.0], [2.0]], [0.1, 0.2], 1, "Unknown label type"),
        ([[1.0], [2.0]], [0, 1], 0, "n_words must be at least 1"),
    ],
)
def test_counts_classes_and_the_number_of_words_are_checked(X, y, n_words, message):
    with pytest.raises(ValueError, match=message):
        datasets.MutualInformationWords(n_words).fit(X, y)


def test_words_are_chosen_on_the_training_documents_where_these_are_given():
    texts = ["cat ran", "cat sat", "dog ran", "dog sat", "owl cow", "owl hen", "cow hen"]
    y = [0, 0, 1, 1, 0, 0, 1]
    counts, words = datasets.bag_of_words(texts, y, 2, train=[0, 1, 2, 3])
    assert words.tolist() == ["cat", "dog"]
    assert counts.toarray().tolist() == [[1, 0], [1, 0], [0, 1], [0, 1], [0, 0], [0, 0], [0, 0]]
    mask = np.arange(7) < 4
    assert datasets.bag_of_words(texts, y, 2, train=mask)[1].tolist() == ["cat", "dog"]
    on_all = make_pipeline(datasets.word_counter(), datasets.MutualInformationWords(2)).fit(texts, y)
    assert datasets.bag_of_words(texts, y, 2)[1].tolist() == on_all.get_feature_names_out().tolist()
    with pytest.raises(ValueError, match="7 texts, but 1 classes"):
        datasets.bag_of_words(texts, [0])


# The real files.

SHAPES = {
    "load_mnist": (70000, 784),
    "load_coil20": (1440, 1024),
    "load_20newsgroups": 18846,
    "load_webkb": 8281,
    "load_sectors": 4571,
    "load_mcycle": (133, 1),
    "load_meuse": (155, 3),
    "load_meuse_grid": (3103, 3),
    "load_mauna_loa": (2225, 1),
    "load_ozone": (203, 12),
    "load_airfoil": (1503, 5),
    "load_california_housing": (20640, 8),
    "load_concrete": (1030, 8),
    "load_energy": (768, 8),
    "load_protein": (45730, 9),
    "load_a9a": (48842, 123),
    "load_cod_rna": (59535, 8),
}


@needs_data
@pytest.mark.parametrize("loader", SHAPES)
def test_the_real_files_have_their_shapes(loader):
    data = getattr(datasets, loader)(download_if_missing=False).data
    assert (len(data) if isinstance(data, list) else data.shape) == SHAPES[loader]


@needs_data
def test_the_groups_of_the_papers_have_their_sizes():
    groups = ["comp", "rec", "sci", "talk"]
    bunch = datasets.load_20newsgroups(version="original", groups=groups, download_if_missing=False)
    assert np.bincount(bunch.target).tolist() == [1000] * (5 + 4 + 4 + 4)


@needs_data
def test_stripped_postings_and_pages_keep_no_marks():
    pages = datasets.load_webkb(download_if_missing=False).data
    pages += datasets.load_sectors(download_if_missing=False).data
    assert not any("<!WA" in page for page in pages)
    assert sum(page.startswith("Content-type:") for page in pages) <= 1  # what a broken server showed
    postings = datasets.load_20newsgroups(version="original", download_if_missing=False).data
    marks = ("Newsgroups:", "Path:", "Xref:")
    assert sum(text.startswith(marks) for text in postings) <= 5  # five authors wrote a header into the text


@needs_data
@pytest.mark.parametrize("name", [name for name in SETS if name != "WEBKB" and "NEWSGROUPS" not in name])
def test_the_real_content_survives_the_way_through_its_original(name, tmp_path):
    """Originals are made from the real files; what is converted back must pass the table's checksums."""
    if name == "COIL20":
        pytest.importorskip("PIL")
    load, _, to_original = SETS[name]
    dataset = getattr(_sources, name)
    content = _formats.decode(dataset.file, (datasets.data_folder() / dataset.file).read_bytes())
    (tmp_path / "originals").mkdir()
    extra = {**content[0], "file": "further"} if dataset.more else None
    for file, body in to_original([*content, extra] if extra else content).items():
        (tmp_path / "originals" / file).write_bytes(body)
    loaded = load(data_home=tmp_path, download_if_missing=False)
    if extra:
        assert len(loaded.data) == len(content) + 1
    assert (tmp_path / dataset.file).is_file()


def test_lines_survive_packing():
    raw = _formats.encode("a.xz", {"line": np.array(["a ", "b"], dtype=object)})
    assert lzma.decompress(raw) == b"a \nb\n"
