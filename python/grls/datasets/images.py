"""Images: handwritten digits and turning objects."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from . import _sources, _store
from ._bunch import describe, documented, subset_rows, table_bunch
from ._formats import Table
from ._store import Home

__all__ = ["load_coil20", "load_mnist"]


@documented
def load_mnist(
    *,
    subset: str = "all",
    data_home: Home = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
    verbose: bool = False,
) -> Any:
    """Return the MNIST handwritten digits: 60,000 to train with, then 10,000 to test, in their order.

    Parameters
    ----------
    subset : {"all", "train", "test"}, default="all"
        Which images.
    {common}
    {frames}

    Returns
    -------
    Bunch
        ``data`` (n, 784) and ``images`` (n, 28, 28), pixels from 0 to 255 as uint8; ``target``, the digit.
    """
    content = _store.load_table(_sources.MNIST, _mnist, data_home, download_if_missing, verbose)
    images = np.concatenate([content["x_train"], content["x_test"]])
    target = np.concatenate([content["y_train"], content["y_test"]])
    rows = subset_rows(subset, len(content["y_train"]), len(target))
    images, target = images[rows], target[rows]
    height, width = images.shape[1:]
    names = [f"pixel_{i}_{j}" for i in range(height) for j in range(width)]
    flat = images.reshape(len(images), -1)
    return table_bunch(
        _sources.MNIST,
        flat,
        target,
        names,
        "digit",
        return_X_y=return_X_y,
        as_frame=as_frame,
        images=images,
    )


def _mnist(files: dict[str, Path]) -> Table:
    names = {
        "x_train": "train-images",
        "y_train": "train-labels",
        "x_test": "t10k-images",
        "y_test": "t10k-labels",
    }
    return {
        key: _idx(next(path for file, path in files.items() if file.startswith(name)))
        for key, name in names.items()
    }


def _idx(path: Path) -> NDArray[np.uint8]:
    """Read a packed file of LeCun's format: two zeros, type, number of axes, their lengths, the bytes."""
    raw = gzip.decompress(path.read_bytes())
    if len(raw) < 4 or raw[:3] != b"\0\0\x08":
        raise ValueError("not an idx file of bytes")
    n_axes = raw[3]
    shape = np.frombuffer(raw, ">i4", n_axes, offset=4)
    values = np.frombuffer(raw, np.uint8, offset=4 + 4 * n_axes)
    return values.reshape(tuple(int(n) for n in shape))


@documented
def load_coil20(
    *,
    data_home: Home = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    verbose: bool = False,
) -> Any:
    """Return COIL-20: 20 objects from 72 sides each, reduced to 32×32 pixels by the means of 4×4 blocks.

    To read the original takes Pillow.

    Parameters
    ----------
    {common}

    Returns
    -------
    Bunch
        ``data`` (1440, 1024) and ``images`` (1440, 32, 32), pixels from 0 to 255 as uint8; ``target``, the
        object from 1 to 20; ``pose`` from 0 to 71, in steps of 5 degrees; ``block_sums``, the sums of 16
        pixels before rounding, from 0 to 4080. The images of an object come in the order of their poses.
    """
    content = _store.load_table(_sources.COIL20, _coil20, data_home, download_if_missing, verbose)
    data, target = content["X"].reshape(len(content["X"]), -1), content["y"]
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        images=content["X"],
        pose=content["pose"],
        block_sums=content["X_sum16"],
        DESCR=describe(_sources.COIL20, f"{len(data)} images"),
    )


_COIL_NAME = re.compile(r"obj(\d+)__(\d+)\.png$")


def _coil20(files: dict[str, Path]) -> Table:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("reading the images of COIL-20 needs Pillow (pip install pillow)") from error
    (path,) = files.values()
    found: dict[tuple[int, int], NDArray[np.uint16]] = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            named = _COIL_NAME.search(member)
            if named:
                with Image.open(io.BytesIO(archive.read(member))) as image:
                    pixels = np.asarray(image.convert("L"), dtype=np.uint16)
                blocks = pixels.reshape(pixels.shape[0] // 4, 4, pixels.shape[1] // 4, 4)
                found[int(named[1]), int(named[2])] = blocks.sum(axis=(1, 3), dtype=np.uint16)
    order = sorted(found)
    sums = np.stack([found[key] for key in order])
    return {
        "X": ((sums + 8) // 16).astype(np.uint8),
        "X_sum16": sums,
        "y": np.array([y for y, _ in order], dtype=np.uint8),
        "pose": np.array([pose for _, pose in order], dtype=np.uint8),
    }
