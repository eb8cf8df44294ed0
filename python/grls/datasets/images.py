"""Images: handwritten digits and turning objects."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _sources
from ._formats import Table
from ._loader import FrameOptions, Options, Source, check_subset, loader, subset_rows

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["load_coil20", "load_mnist"]
__dir__ = __all__.copy


@loader(FrameOptions)
def load_mnist(*, subset: str = "all", **options: Unpack[FrameOptions]) -> Any:
    """Return the MNIST handwritten digits: 60,000 training images, then 10,000 test images.

    Parameters
    ----------
    subset : {"all", "train", "test"}, default="all"
        Which images.

    Returns
    -------
    Bunch
        ``data`` (n, 784) and ``images`` (n, 28, 28), pixels from 0 to 255 as uint8; ``target``, the digit.
    """
    check_subset(subset)
    source = Source(_sources.MNIST, options)
    content = source.table(_mnist)
    images = np.concatenate([content["x_train"], content["x_test"]])
    target = np.concatenate([content["y_train"], content["y_test"]])
    rows = subset_rows(subset, len(content["y_train"]), len(target))
    images, target = images[rows], target[rows]
    height, width = images.shape[1:]
    names = [f"pixel_{i}_{j}" for i in range(height) for j in range(width)]
    flat = images.reshape(len(images), -1)
    return source.columns(flat, target, names, "digit", images=images)


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


@loader(Options)
def load_coil20(**options: Unpack[Options]) -> Any:
    """Return COIL-20: 20 objects in 72 poses each, reduced to 32×32 pixels by the means of 4×4 blocks.

    Reading the original needs Pillow.

    Returns
    -------
    Bunch
        ``data`` (1440, 1024) and ``images`` (1440, 32, 32), pixels from 0 to 255 as uint8; ``target``, the
        object from 1 to 20; ``pose`` from 0 to 71, in steps of 5 degrees; ``block_sums``, the sums of 16
        pixels before rounding, from 0 to 4080. The images of an object come in the order of their poses.
    """
    source = Source(_sources.COIL20, options)
    content = source.table(_coil20)
    return source.sample(
        content["X"].reshape(len(content["X"]), -1),
        content["y"],
        f"{len(content['X'])} images",
        images=content["X"],
        pose=content["pose"],
        block_sums=content["X_sum16"],
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
