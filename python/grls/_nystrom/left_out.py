"""Predictions of rows by a model on centres without them: the sums of some rows taken off those of all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing

from .._models.cross_validation import LeftOutRows
from .._models.samples import FreeFeatures, require_rows_alone
from .._solvers.groups import encoded
from .._validation import FloatArray, integer
from . import equations
from .plan import Block, Plan
from .posterior import CentrePosterior
from .streams import as_stream
from .sums import Part, Sums


@dataclass(frozen=True)
class _Without:
    """The model without some rows."""

    plan: Plan
    u: FloatArray  # (r, k)
    posterior: CentrePosterior

    @classmethod
    def of(cls, model: Any, plan: Plan, total: Sums, left_out: Part, fold: int) -> _Without:
        """Return the model of what is left; its shift γΣw is that of all rows."""
        rest = total.total - left_out
        if rest.rows < 1:
            raise ValueError(f"fold {fold} leaves no rows to fit")
        k = len(rest.matrix) - plan.centers.rank - plan.n_free
        system = equations.equations(rest, plan.centers, k)
        lost = set(model._posterior.features.kept) - set(system.features.kept)
        if lost:
            name = model.feature_names_free_[min(lost)] if plan.penalised is None else "one"
            raise ValueError(
                f"without fold {fold} the features (such as {name}) are dependent: nothing tells their "
                "coefficients in the rows that are left; use fewer folds, shuffled or stratified ones"
            )
        gamma = model._posterior.shift / rest.weight
        posterior = plan.posterior(system, gamma)
        if total.probes is not None:
            posterior = posterior.with_missed(total.probes, rest.weight)
        return cls(plan, system.solve(gamma), posterior)

    def at(self, block: Block) -> tuple[FloatArray, FloatArray]:
        """Return the function (n, k) at the rows of a block, and its variance (n,) beside the noise's."""
        X, T = self.plan.rows(block)
        beta = self.plan.free_coefficients(self.u, self.posterior.features)
        values = self.plan.centers.rows(X) @ self.u + np.asarray(T, dtype=np.float64) @ beta
        return values, self.posterior.at_rows(X, T, with_noise=True)


def leave_blocks_out(model: Any, X: Any, y: Any, sample_weight: Any, cv: Any, groups: Any) -> LeftOutRows:
    """Leave rows in memory out by folds, or blocks of a stream."""
    require_rows_alone(FreeFeatures(model.features_, model.feature_names_free_), "rows")
    plan = replace(model._plan_fit, held_fraction=0.0)
    stream = as_stream(X, y, sample_weight)
    if stream is None:
        if isinstance(cv, str):
            raise ValueError(
                f"cv={cv!r} is for rows that come in blocks; give a number of folds or a splitter"
            )
        return _rows_out(model, plan, model._block(X, y, sample_weight, reset=False, whole=True), cv, groups)
    if stream.once:
        raise ValueError("cross_validate reads the blocks twice, and an iterator can be read once")
    if groups is not None:
        raise ValueError("groups are for rows in memory: let every block hold whole groups instead")

    def blocks() -> Iterator[Block]:
        return iter(model._blocks(stream, reset=False))

    if isinstance(cv, str):
        if cv != "blocks":
            raise ValueError(f'cv must be "blocks" or a number of folds for rows in blocks, got {cv!r}')
        return _every_block_out(model, plan, blocks)
    return _blocks_out(model, plan, blocks, integer(cv, "cv", minimum=2))


def _rows_out(model: Any, plan: Plan, block: Block, cv: Any, groups: Any) -> LeftOutRows:
    n_rows = block.X.shape[0]
    labels = None
    if groups is not None:
        labels = encoded(groups, len(groups))[0]
        labels = labels if block.rows is None else labels[block.rows]
    total = plan.sums(block)
    parts = []
    splitter = check_cv(cv, block.targets[:, 0])
    for fold, (train, test) in enumerate(splitter.split(np.zeros((n_rows, 1)), block.targets[:, 0], labels)):
        is_left_out = np.ones(n_rows, dtype=bool)
        is_left_out[train] = False
        test = np.arange(n_rows)[test]
        if not is_left_out[test].all():
            raise ValueError(f"fold {fold} tests rows that it trains with")
        left_out = plan.sums(_some(block, np.flatnonzero(is_left_out))).total
        without = _Without.of(model, plan, total, left_out, fold)
        parts.append((test, np.full(len(test), fold), _some(block, test), without))
    return _joined(model, [(rows, fold, part, without.at(part)) for rows, fold, part, without in parts])


def _every_block_out(model: Any, plan: Plan, blocks: Any) -> LeftOutRows:
    """Leave out one block after the other: the sums of all, and those of one, are held at a time."""
    total = None
    for block in blocks():
        part = plan.sums(block)
        total = part if total is None else total + part
    assert total is not None
    parts, start = [], 0
    for fold, block in enumerate(blocks()):
        without = _Without.of(model, plan, total, plan.sums(block).total, fold)
        n = block.X.shape[0]
        parts.append((start + np.arange(n), np.full(n, fold), block, without.at(block)))
        start += n
    return _joined(model, parts)


def _blocks_out(model: Any, plan: Plan, blocks: Any, n_folds: int) -> LeftOutRows:
    """Deal the blocks to folds, whose sums are held all."""
    folds: list[Sums | None] = [None] * n_folds
    for number, block in enumerate(blocks()):
        part, held = plan.sums(block), folds[number % n_folds]
        folds[number % n_folds] = part if held is None else held + part
    sums = [part for part in folds if part is not None]
    if len(sums) < n_folds:
        raise ValueError(f"cv={n_folds} folds need as many blocks, and there are {len(sums)}")
    total = sums[0]
    for part in sums[1:]:
        total = total + part
    without = [_Without.of(model, plan, total, part.total, fold) for fold, part in enumerate(sums)]
    parts, start = [], 0
    for number, block in enumerate(blocks()):
        n, fold = block.X.shape[0], number % n_folds
        parts.append((start + np.arange(n), np.full(n, fold), block, without[fold].at(block)))
        start += n
    return _joined(model, parts)


def _some(block: Block, rows: NDArray[np.intp]) -> Block:
    """Return some rows of a block."""

    def take(values: Any) -> Any:
        return None if values is None else _safe_indexing(values, rows)

    return replace(
        block,
        X=take(block.X),
        frame=take(block.frame),
        y=take(block.y),
        targets=block.targets[rows],
        weights=take(block.weights),
        counts=take(block.counts),
        T=take(block.T),
        points=take(block.points),
        rows=None,
    )


def _joined(model: Any, parts: list[Any]) -> LeftOutRows:
    rows = np.concatenate([part[0] for part in parts]).astype(np.intp)
    fold = np.concatenate([part[1] for part in parts]).astype(np.intp)
    targets = np.concatenate([part[2].targets for part in parts])
    values = np.concatenate([part[3][0] for part in parts])
    units = np.concatenate([part[3][1] for part in parts])
    order = np.argsort(rows, kind="stable") if len(np.unique(rows)) == len(rows) else np.arange(len(rows))
    variances = units[:, None] * model.kernel_variance_ + model.noise_variance_
    return LeftOutRows(rows[order], fold[order], values[order], targets[order], variances[order])
