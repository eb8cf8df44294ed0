"""The machine that `GRLSRegressor` and `GRLSClassifier` share: what it chooses, solves and keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from .. import kernels
from .._selection import by_gradients, by_holdout, kernel_choice, kernel_parameters, metric, regularization
from .._selection.candidates import KernelChoice, start_kernel
from .._selection.choice import Choice, squared_error
from .._selection.variances import GivenVariances
from .._solvers import matrix_free, memory
from .._solvers.kernel_problem import KernelProblem
from .._solvers.results import Outputs
from .._solvers.rows import distinct_rows
from .._validation import (
    FloatArray,
    choice,
    integer,
    number_or_choice,
    real,
)
from ..exceptions import NotPositiveDefiniteError
from ..kernels.origin import about_the_data
from ..kernels.polynomials import needed_polynomials
from .chosen import Chosen, Record
from .classification import row_counts
from .feature_prior import SplitFeatures, is_as_good_as_free, penalised_problem, split
from .fitted import FittedProblem, not_definite, solve_outputs
from .group_effects import GroupedMachine, GroupEffects, group_sums, group_weights, with_mean
from .leverage import Leverage
from .rounding import warn_of_rounding
from .samples import FreeFeatures, Samples, Training, by_groups, require_groups
from .summaries import Solved, require_exact

_CRITERIA = ("auto", *regularization.CRITERIA, "logo", "holdout")


class LeastSquaresMachine(GroupedMachine):
    """What the two estimators share: the parameters and the fit of all outputs at once."""

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        features: Any = "constant",
        regularization: float | str = "auto",
        regularization_grid: Any = 50,
        per_output: bool = False,
        feature_variance: float | str = np.inf,
        formulation: str = "exact",
        pivots: str = "qr",
        precision: str = "auto",
        optimize: Any = None,
        n_restarts: int = 0,
        random_state: Any = None,
        solver: str = "cholesky",
        tol: float = 1e-8,
        max_iter: int = 1000,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.features = features
        self.regularization = regularization
        self.regularization_grid = regularization_grid
        self.per_output = per_output
        self.feature_variance = feature_variance
        self.formulation = formulation
        self.pivots = pivots
        self.precision = precision
        self.optimize = optimize
        self.n_restarts = n_restarts
        self.random_state = random_state
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def _check_parameters(self) -> None:
        number_or_choice(self.regularization, "regularization", _CRITERIA, minimum=0)
        choice(self.formulation, "formulation", ("exact", "published"))
        choice(self.pivots, "pivots", ("qr", "first"))
        choice(self.precision, "precision", ("auto", "double", "mixed", "single"))
        self._check_feature_variance()
        self._check_solver()
        self._optimizes()

    def _samples(self, X: Any, raw: Any, y: Any, targets: FloatArray, weights: FloatArray | None) -> Samples:
        self._n_given_fit = len(targets)  # rows of weight zero are none of the samples
        return super()._samples(X, raw, y, targets, weights)

    def _grouped(self) -> bool:
        # With a matrix of its own, every level is a feature as any other.
        return self.solver == "cg" and super()._grouped()

    def _fit(self, samples: Samples) -> None:
        """Fit all columns of the targets."""
        training = self._prepare(samples)
        assert training.kernel is not None
        chooses_kernel = self._chooses_kernel() or self._learns_metric()
        if self._criterion(training) == "logo" or (chooses_kernel and samples.labels is not None):
            require_groups(training)
        precision = self.precision
        if self.solver != "cg":
            stored = training.kernel.is_function
            precision = memory.affordable_precision(precision, *samples.targets.shape, stored=stored)
        try:
            chosen = self._choose(training)
            training.kernel = chosen.kernel
            solution = self._solve(chosen, samples.targets, precision)
            self._stages.done_in_parts(solution.seconds)
        except NotPositiveDefiniteError as error:
            message = not_definite(training.kernel, self.regularization, training.n_samples, str(error))
            if self.formulation == "published" and self.pivots == "first":
                message += '; or the first samples are poor pivots: use pivots="qr"'
            raise NotPositiveDefiniteError(message) from error
        self._store(training, chosen, solution)
        self._stages.done("other")
        self._set_uncertainty(training, chosen, solution)
        self._stages.done("uncertainty")

    def _criterion(self, training: Training) -> float | str:
        """Return the name of what chooses γ, or γ; "auto" is the likelihood where values have one."""
        by, samples = self.regularization, training.samples
        if by != "auto" or self._given_variances().both_given:
            return by_groups(by, samples)  # type: ignore[no-any-return]
        if self.solver == "cg":
            return "reml" if samples.labels is None else "holdout"
        if samples.labels is not None:
            return "logo"
        # Weights that add up to one count fewer rows than there are features: these have no likelihood.
        counts = self._row_counts(samples)
        counts = samples.weights if counts is None else counts
        few = counts is not None and counts.sum() <= training.T.shape[1]
        return "reml" if is_regressor(self) and self.feature_variance != "auto" and not few else "loo"

    def _bounds_gammas(self, by: str) -> bool:
        """Whether a criterion chooses among the γ only that the likelihood does not reject."""
        if self.solver == "cg" or by == "reml":
            return False
        return self.regularization == "auto" or (self._chooses_kernel() and is_regressor(self))

    def _choose(self, training: Training) -> Chosen:
        """Leave to the data what was left to them: the kernel's parameters, γ, the features' variance."""
        samples, kernel = training.samples, training.kernel
        assert kernel is not None
        counts = self._row_counts(samples)
        criterion = self._criterion(training)
        labels = samples.labels if criterion == "logo" else None
        record: Record | None = None
        if self._chooses_kernel() or self._learns_metric():
            kernel, record = self._choose_kernel(training, kernel, counts)
            self._stages.done("kernel")
        problem, parts = self._pose(training, kernel)
        variance = self.feature_variance
        tau = np.inf if isinstance(variance, str) else float(variance)
        given = self._given_variances()
        by, gamma = criterion, given.regularization(problem.total_weight)
        if gamma is not None or not isinstance(by, str):
            return Chosen(kernel, problem, float(by) if gamma is None else gamma, tau, parts, None, record)
        grid = self.regularization_grid

        def loss(predictions: FloatArray) -> FloatArray:
            return self._loo_loss(samples.targets, predictions, samples.weights)

        if self._optimizes():
            outcome = self._optimize(problem, samples, by, loss, counts, labels)
            kernel, problem = outcome.kernel, problem.with_kernel(outcome.kernel)
            grid, record = outcome.regularization_grid, outcome.record
            self._stages.done("kernel")
        elif self._bounds_gammas(by) and parts is None:
            grid = kernel_choice.likely_gammas(problem, samples.targets, grid, counts)
        if self.solver == "cg":
            found = Chosen(kernel, problem, np.nan, tau, record=record, criterion=by)
            return self._choose_by_gradients(found, samples, grid)
        shift = getattr(record, "shift", None) if by == "reml" and np.ndim(grid) == 0 else None
        if shift is not None and not self.per_output and parts is None and given.none_given:
            selection = regularization.select_near(problem, samples.targets, shift, counts)
        else:
            selection = regularization.select(
                problem,
                samples.targets,
                by,
                grid,
                loss,
                per_output=self.per_output,
                counts=counts,
                labels=labels,
                penalised=parts.penalised if parts is not None and variance == "auto" else None,
                variances=given,
            )
        if by == "reml" and getattr(record, "alone", False) and np.ndim(grid) == 0:
            selection.chosen = np.full_like(selection.chosen, selection.path[-1])
        if parts is not None and variance == "auto":
            tau = selection.feature_variance
            problem = KernelProblem(kernel, samples.X, training.T, samples.weights)
            if np.isfinite(tau):
                problem = penalised_problem(kernel, samples.X, parts, samples.weights, tau)
        self._stages.done("regularization")
        return Chosen(kernel, problem, selection.chosen, tau, parts, selection, record, criterion=by)

    def _optimize(
        self,
        problem: KernelProblem,
        samples: Samples,
        by: str,
        loss: Callable[[FloatArray], FloatArray],
        counts: FloatArray | None,
        labels: Any,
    ) -> kernel_parameters.Outcome:
        """Choose the kernel's parameters together with γ."""
        return kernel_parameters.optimize(
            problem,
            samples.targets,
            by,
            self.regularization_grid,
            loss,
            self.optimize,
            n_restarts=self.n_restarts,
            random_state=self.random_state,
            stages=self._stages,
            counts=counts,
            labels=labels,
            noisy=is_regressor(self),
        )

    def _choose_by_gradients(self, chosen: Chosen, samples: Samples, grid: Any) -> Chosen:
        """Choose γ where no matrix is stored, of what is chosen but for that."""
        targets, weights = samples.targets, samples.weights
        common: dict[str, Any] = {
            "per_output": self.per_output,
            "max_iter": self.max_iter,
            "report": self._stages.report,
        }

        def loss(rows: Any, predictions: FloatArray) -> FloatArray:
            return self._loo_loss(targets[rows], predictions, None if weights is None else weights[rows])

        if chosen.criterion == "holdout":
            found = by_holdout.select(chosen.problem, targets, grid, loss, labels=samples.labels, **common)
        else:
            found = by_gradients.select(
                chosen.problem,
                targets,
                chosen.criterion,
                grid,
                counts=self._row_counts(samples),
                variances=self._given_variances(),
                seed=self.random_state,
                **common,
            )
        self._stages.done("regularization")
        selection = found.selection
        return replace(chosen, regularization=selection.chosen, selection=selection, by_gradients=found)

    def _pose(self, training: Training, kernel: kernels.Kernel) -> tuple[KernelProblem, SplitFeatures | None]:
        """Return the problem, and its features in parts where they have a prior."""
        samples, variance = training.samples, self.feature_variance
        problem = KernelProblem(kernel, samples.X, training.T, samples.weights, training.codes)
        if variance == np.inf or not training.T.shape[1]:
            return problem, None
        parts = split(training.T, samples.weights, needed_polynomials(kernel, samples.X))
        if variance == "auto":
            return KernelProblem(kernel, samples.X, parts.columns, samples.weights), parts
        if is_as_good_as_free(kernel, samples.X, float(variance)):
            return problem, None
        return penalised_problem(kernel, samples.X, parts, samples.weights, float(variance)), parts

    def _choose_kernel(
        self, training: Training, start: kernels.Kernel, counts: FloatArray | None
    ) -> tuple[kernels.Kernel, KernelChoice | metric.Metric]:
        """Leave the kernel to the data: its family and widths, or its metric."""
        samples, T = training.samples, training.T
        X, targets, weights = samples.X, samples.targets, samples.weights
        # Leave-one-out beside features made from y claims what new rows do not keep, the more so the more
        # there is to choose: the kernel is then chosen beside a constant.
        beside = np.ones((len(T), 1)) if training.features.know_targets else training.spanned
        if training.groups is not None:  # few rows of a sample share one: they have none of its effects
            targets = targets - self._means_in_groups(training, targets)[training.groups.codes]
        problem = KernelProblem(start, X, beside, weights)
        by, labels = "loo" if samples.labels is None else "logo", samples.labels
        choose = Choice(problem, targets, by, squared_error(targets, weights), counts, labels)
        record: KernelChoice | metric.Metric
        if self._chooses_kernel():
            kernel, record = kernel_choice.choose_kernel(
                choose,
                noisy=is_regressor(self),
                prepare=lambda kernel: about_the_data(kernel, X, T, free=self.feature_variance == np.inf),
                stages=self._stages,
            )
            kernel, samples.X = metric.seen_by(kernel, record, X, weights)
            return kernel, record
        diagonal = self.optimize == "metric_diagonal"
        kernel, record = metric.metric_of(choose, start, diagonal=diagonal, stages=self._stages)
        given = samples.given if start.reads_given else X
        kernel, samples.X = kernel.fit_views(given, points=X)
        return kernel, record

    def _learns_metric(self) -> bool:
        return isinstance(self.optimize, str) and self.optimize in ("metric", "metric_diagonal")

    def _kernel_to_start_from(self, X: Any) -> Any:
        return start_kernel(X) if self._chooses_kernel() else super()._kernel_to_start_from(X)

    def _solve(self, chosen: Chosen, targets: FloatArray, precision: str) -> Outputs:
        if self.solver == "cg":
            found = chosen.by_gradients
            outputs = matrix_free.solve_outputs(
                chosen.problem,
                targets,
                chosen.regularization,
                precision=precision,
                tol=self.tol,
                max_iter=self.max_iter,
                report=self._stages.report,
                system=None if found is None else found.system,
                guess=None if found is None else found.guess,
            )
        else:
            outputs = solve_outputs(
                chosen.problem,
                targets,
                chosen.regularization,
                formulation=self.formulation,
                pivots=self.pivots,
                precision=precision,
            )
        chose = isinstance(self.regularization, str)
        sizes = np.abs(targets).max(axis=0)
        warn_of_rounding(chosen.problem.kernel_diagonal(), outputs.c, sizes, chosen=chose)
        return outputs

    def _store(self, training: Training, chosen: Chosen, solution: Outputs) -> None:
        """Keep the model, and what led to it."""
        self._store_features(training.features, chosen.kept(solution))
        self._store_kernel(training)
        samples = training.samples
        self._T_fit, self._weights_fit, self._targets_fit = training.T, samples.weights, samples.targets
        self._counts_fit, self._labels_fit = self._row_counts(samples), samples.labels
        self._rows_fit, self._knows_noise = samples.rows, samples.counts is not None
        self._store_coefficients(training.features, chosen.feature_coefficients(solution))
        self._store_effects(training, solution)
        self.dual_coef_ = np.ascontiguousarray(self._per_output(solution.c))
        self.feature_variance_ = chosen.feature_variance
        self.regularization_ = np.asarray(chosen.regularization, dtype=np.float64)[()]
        self._chosen_by = chosen.criterion
        self.precision_ = solution.precision
        self.n_iter_ = max(1, solution.iterations)
        self._forget("regularization_path_", "criterion_path_", "loo_predictions_", "loo_score_")
        self._forget("logo_predictions_", "logo_score_")
        self._forget("optimization_", "criterion_surface_", "_estimation_error")
        self._forget("_posterior_kept", "_solver_kept")
        self._forget("metric_", "feature_importances_", "regularization_range_")
        if chosen.by_gradients is not None and chosen.by_gradients.between is not None:
            self.regularization_range_ = chosen.by_gradients.between
        if chosen.record is not None:
            self.optimization_ = chosen.record
            if isinstance(chosen.record, kernel_parameters.GridSearch):
                self.criterion_surface_ = chosen.record.criterion
            learnt = getattr(chosen.record, "metric", None)
            if learnt is not None:
                self.metric_, self.feature_importances_ = learnt
        if chosen.selection is not None:
            self.regularization_path_ = chosen.selection.path
            self.criterion_path_ = chosen.selection.criterion
            if chosen.selection.left_out is not None and self.formulation == "exact":
                score = self._score_left_out(samples.y, chosen.selection.left_out, samples.weights)
                setattr(self, f"{chosen.criterion}_predictions_", self._shaped(chosen.selection.left_out))
                setattr(self, f"{chosen.criterion}_score_", score)

    @staticmethod
    def _means_in_groups(training: Training, values: FloatArray) -> FloatArray:
        """Return the means of values (m, p) in the groups and, in a last row, of all rows."""
        assert training.groups is not None
        codes, n_groups = training.groups.codes, len(training.groups.levels)
        weights = training.samples.weights
        weight = group_weights(codes, n_groups, weights)
        return with_mean(group_sums(codes, n_groups, values, weights) / weight[:, None], weight)

    def _store_effects(self, training: Training, solution: Outputs) -> None:
        """Keep the effects of groups, if they have some, and what tells rows far from the training rows."""
        self._forget("_codes_fit", "_feature_means")
        groups, weights = training.groups, training.samples.weights
        if groups is None or solution.effects is None:
            self._store_groups(None)
            self._store_leverage(training.T, weights)
            return
        weight = group_weights(groups.codes, len(groups.levels), weights)
        self._store_groups(GroupEffects.of(groups.levels, weight, solution.effects, None))
        self._codes_fit = groups.codes
        self._feature_means = self._means_in_groups(training, np.asarray(training.T, dtype=np.float64))
        about = training.T - self._feature_means[groups.codes]
        self._leverage = Leverage.of_rows(about, weights, self.feature_support_)

    def _warn_of_extrapolation(self, T: FloatArray) -> None:
        plain, codes = self._without_groups(T)
        super()._warn_of_extrapolation(plain if codes is None else plain - self._feature_means[codes])

    def _solved(self) -> Solved:
        require_exact(self)
        fitted = FittedProblem.of(self)
        free = FreeFeatures(self.features_, self.feature_names_free_)
        return Solved(
            fitted.problem,
            fitted.targets,
            np.zeros(()),
            self._counts_fit,
            fitted.gammas,
            len(distinct_rows(fitted.problem.X, fitted.problem.T)[0]),
            "γ",
            "kernel",
            repr(self.kernel_),
            None if fitted.parts is not None else free.user_units(),
            self.kernel_.order == 0,
            fitted.parts is not None,
            free.know_targets,
            self.kernel_variance_ if getattr(self, "degrees_of_freedom_", 0.0) == np.inf else None,
        )

    def _optimizes(self) -> bool:
        """Whether the kernel's parameters are left to the data; ValueError where they cannot be."""
        if self.optimize is None or self.optimize is False:
            return False
        if self._learns_metric() and not self._chooses_kernel():
            return False  # before γ is chosen, whichever way that is done
        if self._chooses_kernel():
            if self.optimize is True:
                return False  # it is tuned anyway
            raise ValueError(
                'kernel="auto" tunes its kernel by itself: set optimize=None, or give the kernel whose '
                f"parameters optimize={self.optimize!r} is about"
            )
        if not isinstance(self.regularization, str):
            raise ValueError(
                'optimize needs a criterion to go by: set regularization="loo", "logo" or "reml" (or "gcv", '
                f"for the values of a grid), got {self.regularization!r}"
            )
        if self.per_output:
            raise ValueError("optimize chooses one kernel for all outputs: it needs per_output=False")
        if self.feature_variance != np.inf:
            raise ValueError("optimize needs unpenalised features: feature_variance must be inf")
        return True

    def _check_solver(self) -> None:
        real(self.tol, "tol", above=0)
        integer(self.max_iter, "max_iter", minimum=1)
        if choice(self.solver, "solver", ("cholesky", "cg")) == "cg":
            by, given = self.regularization, self._given_variances()
            known = not isinstance(by, str) or None not in (given.kernel, given.noise)
            if not known and by not in ("auto", *by_gradients.CRITERIA, "holdout"):
                raise ValueError(
                    f'solver="cg" cannot choose the regularization by {by!r}, which needs the leverage of '
                    'every row: use "holdout", which leaves out a tenth of the rows, "gcv" or "reml", give '
                    'regularization a number, or use solver="cholesky"'
                )
            if self._optimizes():
                raise ValueError(
                    'solver="cg" chooses the regularization, but no parameters of the kernel: optimize them '
                    "on fewer rows, and give the kernel that comes out"
                )
            if self.formulation != "exact" or self.feature_variance != np.inf:
                raise ValueError('solver="cg" needs formulation="exact" and feature_variance=inf')
        elif self.regularization == "holdout":
            raise ValueError(
                'regularization="holdout" is for solver="cg": with a matrix "loo" leaves out every row in '
                "closed form"
            )

    def _check_feature_variance(self) -> None:
        if isinstance(self.feature_variance, str):
            choice(self.feature_variance, "feature_variance (unless it is a number)", ("auto",))
            if not isinstance(self.regularization, str):
                raise ValueError(
                    'feature_variance="auto" is chosen with γ: it needs regularization="loo", "logo" or "gcv"'
                )
            if self.regularization == "reml":
                raise ValueError(
                    'feature_variance="auto" cannot be chosen by "reml", whose likelihoods with and without '
                    'free features do not compare; use regularization="loo" or "gcv"'
                )
            if self.per_output:
                raise ValueError(
                    'feature_variance="auto" is chosen for all outputs: it needs per_output=False'
                )
        elif self.feature_variance != np.inf:
            real(self.feature_variance, "feature_variance", minimum=0)
            if self.formulation == "published":
                raise ValueError('a finite feature_variance needs formulation="exact"')

    def _loo_loss(
        self, targets: FloatArray, predictions: FloatArray, weights: FloatArray | None
    ) -> FloatArray:
        """Return the weighted mean squared error, one per output."""
        return squared_error(targets, weights)(predictions)

    def _score_left_out(self, y: Any, predictions: FloatArray, weights: FloatArray | None) -> float:
        """Return the score of predictions of rows left out."""
        raise TypeError(f"{type(self).__name__} does not score predictions of rows left out")

    def _row_counts(self, samples: Samples) -> FloatArray | None:
        """Return how many rows each sample stands for."""
        return row_counts(self, samples.y, samples.weights) if samples.counts is None else samples.counts

    def _given_variances(self) -> GivenVariances:
        """Return the variances that are not left to the data."""
        return GivenVariances()

    def _set_uncertainty(self, training: Training, chosen: Chosen, solution: Outputs) -> None:
        """Store what the solution tells of variances; classifiers have none."""
