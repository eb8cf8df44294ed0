"""Thesis, figure 4.1: the first hundred digits of MNIST."""

import numpy as np

from ..registry import Finding, experiment
from ._digits import FILE, digits, sheet


@experiment(
    title="The first hundred digits",
    source="RKHS thesis, figure 4.1",
    claim="MNIST has 60,000 digits to train with and 10,000 to test, size-normalised and centred",
    parameters={"shown": 100},
    data=[FILE],
)
def figure_4_1(run):
    images, y, test, _ = digits()
    run.save(sheet(images[: run.shown]))
    for digit, count in enumerate(np.bincount(y)):
        run.add(digit=digit, training=count)
    return [
        Finding(
            "60,000 training examples and 10,000 test examples",
            f"{len(images)} and {len(test)}",
            (len(images), len(test)) == (60_000, 10_000),
        )
    ]
