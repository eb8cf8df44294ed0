"""MNIST digits: scaled, straightened, moved, and drawn."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from grls.datasets import load_mnist
from matplotlib import pyplot as plt
from scipy import ndimage

FILE = "mnist.npz"
SIDE = 28  # pixels
CLAIMED = {"linear": 0.9316, "linear by its error": 0.9416, "Gaussian": 0.9835, "network": 0.9838}
SIGMA = 1 / np.sqrt(2 * 0.0039)  # the thesis's g = 0.0039 in exp(−g‖x − y‖²)


@lru_cache(maxsize=1)
def digits() -> Any:
    """Return training images, their digits, test images, their digits; pixels from 0 to 255."""
    train, test = load_mnist(subset="train"), load_mnist(subset="test")
    return train.images, train.target, test.images, test.target


def pixels(images: Any) -> Any:
    """Return rows of pixels from -1 to 1: the scale that the thesis's g belongs to."""
    return images.reshape(len(images), -1) / 127.5 - 1.0


def ink(images: Any) -> Any:
    """Return rows of pixels from 0 to 1, so that the inner product counts the ink that two digits share."""
    return images.reshape(len(images), -1) / 255.0


def straightened(images: Any) -> Any:
    """Return the images sheared upright, each by its own second moments, and centred."""
    n, height, width = images.shape
    out = np.empty((n, height, width), dtype=np.float32)
    rows, columns = np.mgrid[:height, :width]
    for i, image in enumerate(images.astype(np.float64)):
        mass = max(image.sum(), 1.0)
        y, x = (rows * image).sum() / mass, (columns * image).sum() / mass
        across = ((rows - y) * (columns - x) * image).sum() / mass
        down = ((rows - y) ** 2 * image).sum() / mass
        shear = across / max(down, 1e-9)
        matrix = np.array([[1.0, 0.0], [shear, 1.0]])
        offset = np.array([y, x]) - matrix @ np.array([(height - 1) / 2, (width - 1) / 2])
        out[i] = ndimage.affine_transform(image, matrix, offset=offset, order=1)
    return out


def shifted(images: Any) -> Any:
    """Return each image moved by one pixel to the four sides: four times as many."""
    moves = ((1, 0), (-1, 0), (0, 1), (0, -1))
    return np.concatenate([np.roll(images, move, axis=(1, 2)) for move in moves])


def distorted(images: Any, rng: np.random.Generator, size: float = 1.0, smoothness: float = 6.0) -> Any:
    """Return each image as on a rubber sheet: every pixel moved by a smooth random field.

    `size` is the standard deviation of the way that a pixel goes, `smoothness` the width of the Gaussian that
    smooths the field; both in pixels.
    """
    field = rng.uniform(-1.0, 1.0, size=(2, *images.shape)).astype(np.float32)
    field = ndimage.gaussian_filter(field, (0, 0, smoothness, smoothness), mode="constant")
    field *= size / field.std(axis=(0, 2, 3), keepdims=True)
    which, rows, columns = np.ogrid[tuple(slice(n) for n in images.shape)]
    places = np.stack(np.broadcast_arrays(which, rows + field[0], columns + field[1]))
    return ndimage.map_coordinates(images, places, order=1, mode="nearest")


def sheet(images: Any, titles: Any = None, columns: int = 10) -> Any:
    """Return a figure of images side by side."""
    lines = -(-len(images) // columns)
    tall = 0.62 if titles is None else 0.85
    figure, axes = plt.subplots(
        lines, columns, figsize=(0.62 * columns, tall * lines), layout="constrained", squeeze=False
    )
    for ax in axes.flat:
        ax.set_axis_off()
    for i, (ax, image) in enumerate(zip(axes.flat, images, strict=False)):
        ax.imshow(image, cmap="gray_r", interpolation="nearest")
        if titles is not None:
            ax.set_title(titles[i], fontsize=7, pad=1)
    return figure
