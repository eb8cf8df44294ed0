"""From what users give to rows: those in memory and those that come in blocks, their box and a sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .. import kernels
from .._models.base import KernelMachine
from .._models.samples import FreeFeatures, Samples, counted, fit_features, frame_of
from .._nystrom import files
from .._nystrom.centers import Pool
from .._nystrom.plan import named
from .._selection.merged import Observations
from .._validation import FloatArray, sample_weights
from .plan import Rows

SAMPLE = 2000  # rows that a fit is checked with, and widths are first chosen from
_SLICE = 1 << 20  # rows of an array in memory that are worked on at a time


@dataclass
class Data:
    """The rows of a fit: their box, a sample, the features and the kernel, and blocks to read again."""

    kernel: kernels.Kernel
    free: FreeFeatures
    low: FloatArray
    high: FloatArray
    sample: Rows
    blocks: Any  # a function that returns an iterator of Rows
    n_columns: int
    n_rows: int  # of positive weight that were seen: all, where they can be read again
    once: bool = False  # the blocks can be read a single time


def _without_copies(rows: Rows) -> Rows:
    """Return the rows, those that agree as one of the weight of all; as they are where they are too many."""
    if not 0 < len(rows.T) <= _SLICE:
        return rows
    weights = np.ones(len(rows.T)) if rows.weights is None else rows.weights
    place = Observations.of([rows.points, rows.T], rows.Y, weights).place
    kept = np.unique(place)
    if len(kept) == len(place):
        return rows
    total = np.bincount(place, weights).astype(np.float64)
    means = np.stack([np.bincount(place, weights * y)[kept] / total[kept] for y in rows.Y.T], axis=1)
    return Rows(rows.points[kept], rows.T[kept], means, total[kept])


class RowReading(KernelMachine):
    """A model that reads its rows in memory or in blocks."""

    def _samples_of(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Samples:
        """Return checked rows without those of weight zero."""
        checked, values = self._check_values(X, y, reset=reset)
        if reset:
            self._y_shape = values.shape[1:]
        elif values.shape[1:] != self._y_shape:
            raise ValueError(
                f"y has shape {values.shape}, expected {(len(values), *self._y_shape)} as before"
            )
        weights = sample_weights(sample_weight, checked)
        targets = values.reshape(len(values), -1)
        return counted(Samples(checked, frame_of(X), values, targets, weights))

    def _in_memory(self, X: Any, y: Any, sample_weight: Any, seed: int) -> Data:
        samples = self._samples_of(X, y, sample_weight, reset=True)
        self._stages.done("validate")
        free, T = fit_features(self.features, samples)
        self._stages.done("features")
        kernel, points = self._fitted_kernel(samples.X, samples.given, samples.y, samples.weights)
        rows = _without_copies(Rows(points, T, samples.targets, samples.weights))
        points, m = rows.points, len(rows.T)
        chosen = np.arange(m)
        if m > SAMPLE:
            chosen = np.sort(np.random.default_rng(seed).choice(m, SAMPLE, replace=False, shuffle=False))
        sample = rows.taken(chosen)
        sample.weights = None

        def blocks() -> Iterator[Rows]:
            for start in range(0, m, _SLICE):
                yield rows.taken(slice(start, start + _SLICE))

        low, high = points.min(axis=0).astype(float), points.max(axis=0).astype(float)
        return Data(kernel, free, low, high, sample, blocks, points.shape[1], m)

    def _in_blocks(self, stream: Any, seed: int) -> Data:
        """Read what all blocks share: the first block where they come once, else all of them."""
        reading = self._read(stream, reset=True)
        first = next(reading, None)
        if first is None:
            raise ValueError("there are no blocks: nothing is there to fit")
        if self._kernel_to_start_from(first.X).reads_given:
            raise ValueError(
                "rows that come in blocks need numbers and a kernel without views: name its columns instead"
            )
        low, high = first.X.min(axis=0).astype(float), first.X.max(axis=0).astype(float)
        pool = Pool(SAMPLE, seed)
        pool.add(first.X, first.y)
        n_rows = len(first.X)
        if not stream.once:
            for samples in reading:
                pool.add(samples.X, samples.y)
                n_rows += len(samples.X)
                low, high = np.minimum(low, samples.X.min(axis=0)), np.maximum(high, samples.X.max(axis=0))
        data = self._shared(pool, first, low, high)

        def blocks() -> Iterator[Rows]:
            if stream.once:
                yield self._rows_of(first, data)
                again: Iterable[Samples] = reading
            else:
                again = self._read(stream, reset=False)
            for samples in again:
                yield self._rows_of(samples, data)

        data.blocks, data.n_rows, data.once = blocks, n_rows, bool(stream.once)
        return data

    def _shared(self, pool: Pool, first: Samples, low: FloatArray, high: FloatArray) -> Data:
        """Return what all blocks share, from a sample of their rows."""
        frame = first.frame
        rows = pool.X if frame is None else type(frame)(pool.X, columns=frame.columns)
        free = FreeFeatures.fit_to_sample(self.features, rows, pool.y)
        kernel, points = self._fitted_kernel(pool.X, rows, pool.y)
        targets = np.asarray(pool.y, dtype=np.float64).reshape(len(pool.y), -1)
        sample = Rows(points, free.at(rows), targets)
        return Data(kernel, free, low, high, sample, None, first.X.shape[1], len(first.X))

    def _read(self, stream: Any, *, reset: bool) -> Iterator[Samples]:
        for number, (X, y, weight, where) in enumerate(stream):
            with named(where, partial(files.explained, X=X)):
                rows = np.asarray(X) if isinstance(X, np.memmap) else X
                samples = self._samples_of(rows, y, weight, reset=reset and number == 0)
            yield samples

    def _rows_of(self, samples: Samples, data: Any) -> Rows:
        return Rows(samples.X, data.free.at(samples.given), samples.targets, samples.weights)
