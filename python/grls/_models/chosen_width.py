"""Classifiers of other losses that leave their kernel to least squares: ``kernel="auto"``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import kernels
from .._selection import kernel_choice
from .._selection.candidates import KernelChoice
from .._selection.choice import Choice, squared_error
from .._solvers.kernel_problem import KernelProblem
from .._validation import FloatArray
from ..kernels.origin import about_the_data
from .base import KernelMachine
from .progress import Stages
from .samples import Samples, Training


class ChosenWidth(KernelMachine):
    """A kernel machine whose `kernel` may be "auto": a Gaussian of the scale that least squares find best."""

    _weighs_columns = False  # whether columns that matter less than others may have wider widths

    def _kernel_to_start_from(self, X: Any) -> kernels.Kernel:
        return kernels.Gaussian() if self._chooses_kernel() else super()._kernel_to_start_from(X)

    def _prepare(self, samples: Samples) -> Training:
        training = super()._prepare(samples)
        self._forget("optimization_")
        if self._chooses_kernel():
            assert training.kernel is not None
            T = training.T
            beside = np.ones((len(T), 1)) if training.features.know_targets else T
            targets = self._label_columns(samples)
            choose = Choice(
                KernelProblem(training.kernel, samples.X, beside, samples.weights),
                targets,
                "loo" if samples.labels is None else "logo",
                squared_error(targets, samples.weights),
                None,
                samples.labels,
            )
            if samples.labels is not None:  # by single rows where a group holds a feature alone
                choose = choose.among(np.arange(len(T)))
            free = self.feature_variance == np.inf
            training.kernel, self.optimization_ = self._chosen_kernel(
                choose,
                training,
                lambda kernel: about_the_data(kernel, samples.X, T, free=free),
                self._stages,
            )
            self._stages.done("kernel")
        return training

    def _chosen_kernel(
        self,
        choose: Choice,
        training: Training,
        prepare: Callable[[kernels.Kernel], kernels.Kernel],
        stages: Stages,
    ) -> tuple[kernels.Kernel, KernelChoice]:
        """Return the kernel that least squares find best, and what was tried."""
        shift = self._equivalent_shift(training)
        by_columns = self._weighs_columns
        return kernel_choice.choose_width(
            choose, shift, prepare=prepare, stages=stages, by_columns=by_columns
        )

    def _equivalent_shift(self, training: Training) -> float:
        """Return γΣw of the least-squares problem whose loss is about as curved as this one's."""
        raise TypeError(f"{type(self).__name__} has no regularization to compare with")

    def _label_columns(self, samples: Samples) -> FloatArray:
        """Return the labels as ±1, one column for each class, or one for two classes."""
        return samples.targets
