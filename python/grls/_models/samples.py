"""The data of a fit, from the rows as they were given to the features and the kernel on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing, check_array, get_tags

from .. import features
from .._solvers import memory
from .._solvers.groups import Groups, Labels, dependent_without, encoded
from .._validation import FloatArray, require_two_samples
from ..kernels import Kernel


@dataclass
class Samples:
    """Checked rows, all of positive weight."""

    X: Any  # (m, d), or (m, m) for a precomputed kernel; what the kernel reads, once its views are fitted
    frame: Any  # X as given where it has column names, or views stand in its place; else None
    y: Any  # (m,) or (m, k): values or labels; None: there are none
    targets: FloatArray  # (m, k): what is fitted
    weights: FloatArray | None  # (m,)
    rows: Any = None  # their positions where samples of weight zero were left out, else None
    counts: FloatArray | None = None  # (m,): how many rows each stands for, where that is not its weight
    labels: Labels | None = None  # (m,): groups that are left out together
    group_names: Any = None  # what they were called
    offset: FloatArray | None = None  # (m,): what is known of each row's function, and not learnt

    @property
    def given(self) -> Any:
        """What transformers see: a data frame where there is one, else the checked rows."""
        return self.X if self.frame is None else self.frame


def with_groups(samples: Samples, groups: Any, n_given: int) -> Samples:
    """Return the samples with the groups that `fit` was given for all its rows."""
    if groups is not None:
        labels, names = encoded(groups, n_given)
        mine = labels if samples.rows is None else labels[samples.rows]
        present, samples.labels = np.unique(mine, return_inverse=True)
        samples.group_names = names[present]
    return samples


def by_groups(regularization: Any, samples: Samples) -> Any:
    """Return how γ is found: criteria that leave out single rows leave out groups, where rows have them."""
    if samples.labels is None:
        return regularization
    if regularization in ("gcv", "reml"):
        raise ValueError(
            f"regularization={regularization!r} leaves no rows out, so that it cannot keep groups together: "
            'take regularization="loo", which leaves out whole groups then, or fit without groups and give '
            "them to cross_validate(groups=…)"
        )
    return "logo" if regularization == "loo" else regularization


def require_groups(training: Training) -> None:
    """ValueError where rows cannot be left out by the groups that they have."""
    samples = training.samples
    if samples.labels is None:
        raise ValueError('regularization="logo" leaves out groups of rows: name them in fit(X, y, groups=…)')
    if len(samples.group_names) < 2:
        raise ValueError("leaving out groups needs at least two of them, and all rows are in the same")
    require_rows_alone(training.features, "a group")
    found = dependent_without(training.T, samples.weights, Groups.of_labels(samples.labels))
    if found is not None:
        name, feature = samples.group_names.tolist()[found[0]], training.features.names[found[1]]
        raise ValueError(
            f"without the group {name!r} nothing tells the coefficient of the feature {feature}: the "
            "features are dependent in the other rows; join groups, or leave out that feature"
        )


def require_rows_alone(features: FreeFeatures, what: str) -> None:
    """ValueError where the features are made from y: the rows left out have told the others."""
    if features.know_targets:
        raise ValueError(
            f"the features are made from y, so that {what} cannot be left out in closed form: they would "
            "have to be fitted again; use scikit-learn's cross_val_predict, which does"
        )


def with_noise(samples: Samples, noise: Any, n_given: int) -> Samples:
    """Return the samples with the noise variances that `fit` was given for all its rows.

    The loss counts a row the less the noisier it is; it stays one row in everything that counts rows.
    """
    if noise is not None:
        variances = noise_variances(noise, n_given)
        variances = variances if samples.rows is None else variances[samples.rows]
        samples.counts = np.ones(len(variances)) if samples.weights is None else samples.weights
        samples.weights = samples.counts / variances
    return samples


def noise_variances(noise: Any, n_rows: int) -> FloatArray:
    """Return noise variances, one for each row; ValueError where they cannot be."""
    variances = check_array(noise, ensure_2d=False, dtype=np.float64, input_name="noise")
    if variances.shape != (n_rows,):
        raise ValueError(
            f"noise must hold a variance for each of the {n_rows} rows, got shape {variances.shape}"
        )
    if np.any(variances <= 0):
        worst = int(variances.argmin())
        raise ValueError(
            f"noise variances must be positive, but row {worst} has {variances[worst]:g}; for a value known "
            "exactly give it a variance far below the others"
        )
    return np.asarray(variances)


def with_offset(samples: Samples, offset: Any, exposure: Any, n_given: int) -> Samples:
    """Return the samples with the offsets that `fit` was given for all its rows."""
    known = offsets(offset, exposure, n_given)
    if known is not None:
        samples.offset = known if samples.rows is None else known[samples.rows]
    return samples


_LARGEST_OFFSET = 230.0  # log 1e100: means and their squares stay within floating point


def offsets(offset: Any, exposure: Any, n_rows: int) -> FloatArray | None:
    """Return what is known of the linear predictor, (n,): the offset plus the logarithm of the exposure.

    None where neither is given; ValueError where they cannot be right.
    """
    total = None
    for values, name in ((offset, "offset"), (exposure, "exposure")):
        if values is None:
            continue
        each = np.full(n_rows, values, dtype=np.float64) if np.ndim(values) == 0 else values
        each = check_array(each, ensure_2d=False, dtype=np.float64, input_name=name)
        if each.shape != (n_rows,):
            raise ValueError(
                f"{name} must hold a number for each of the {n_rows} rows, got shape {each.shape}"
            )
        if name == "exposure":
            if np.any(each <= 0):
                worst = int(each.argmin())
                raise ValueError(
                    f"exposure must be positive, but row {worst} has {each[worst]:g}: a row in which nothing "
                    "could be counted tells nothing, leave it out"
                )
            each = np.log(each)
        total = each if total is None else total + each
    if total is not None and np.abs(total).max(initial=0) > _LARGEST_OFFSET:
        worst = int(np.abs(total).argmax())
        raise ValueError(
            f"the offset of row {worst}, with the logarithm of its exposure, is {total[worst]:g}, and its "
            f"mean is multiplied by exp of that: expected at most {_LARGEST_OFFSET:g} in size, change the "
            "unit of the exposure"
        )
    return None if total is None else np.asarray(total)


def require_room_for_columns(X: Any) -> None:
    """MemoryError where a sparse matrix has more columns than there is memory for one number of each."""
    if sparse.issparse(X):
        memory.require_room_for_columns(X.shape[1])


def frame_of(X: Any) -> Any:
    """Return X where it has column names, else None."""
    return X if hasattr(X, "columns") else None


def own_copy(X: Any, raw: Any) -> Any:
    """Return rows that stay as they are whatever becomes of `raw`, which they were made of."""
    if sparse.issparse(X):
        values = getattr(raw, "data", None)  # of some formats no array
        return X.copy() if isinstance(values, np.ndarray) and np.may_share_memory(X.data, values) else X
    return X.copy() if X is raw or not X.flags.owndata else X


def given_rows(X: Any, checked: Any) -> Any:
    """Return rows as transformers see them: a data frame X, else what `checked` is of it."""
    return X if hasattr(X, "columns") else checked


def counted(samples: Samples, kernel: Kernel | None = None) -> Samples:
    """Return the samples without those of weight zero, which are no samples; `kernel` reads them."""
    weights = samples.weights
    if weights is None or np.all(weights > 0):
        return samples
    rows = np.flatnonzero(weights > 0)
    X = _safe_indexing(samples.X, rows) if kernel is None else kernel.take(samples.X, rows)
    frame = samples.frame
    if frame is not None:
        frame = X if frame is samples.X else _safe_indexing(frame, rows)
    y = None if samples.y is None else _safe_indexing(samples.y, rows)
    return Samples(X, frame, y, samples.targets[rows], weights[rows], rows)


def _columns(transformer: Any, given: Any) -> Any:
    """Return the columns that are computed with: those of a trend are taken about the middle of the data."""
    compute = getattr(transformer, "about_the_middle", transformer.transform)
    return compute(given)


@dataclass(frozen=True)
class FreeFeatures:
    """The fitted transformer of the features, and what they are called."""

    transformer: Any  # None: there are no features
    names: list[str]

    @property
    def know_targets(self) -> bool:
        """Whether the features are made from y, so that a row left out has still told its neighbours."""
        return (
            hasattr(self.transformer, "__sklearn_tags__") and get_tags(self.transformer).target_tags.required
        )

    @classmethod
    def fit(cls, specification: Any, given: Any, y: Any, n_rows: int) -> tuple[FreeFeatures, FloatArray]:
        """Fit the features to all the samples, and return them with their values T (n_rows, l) there.

        That is not always fit, then transform: features made from y come out of fold on the training rows.
        """
        transformer = features.as_transformer(specification)
        if transformer is None:
            return cls(None, []), np.empty((n_rows, 0))
        if hasattr(transformer, "fit_transform") and not hasattr(transformer, "about_the_middle"):
            values = transformer.fit_transform(given, y)
        else:
            values = _columns(transformer.fit(given, y), given)
        T = features.evaluate(values, n_rows)
        if T.shape[1] > n_rows:
            raise ValueError(
                f"there are more features ({T.shape[1]}) than samples (n_samples={n_rows}); the features "
                "alone would interpolate the data: give fewer, or let the kernel learn some of them"
            )
        return cls(transformer, features.names(transformer, values, T.shape[1])), T

    @classmethod
    def fit_to_sample(cls, specification: Any, given: Any, y: Any) -> FreeFeatures:
        """Fit the features to a sample of the rows."""
        transformer = features.as_transformer(specification)
        if transformer is None:
            return cls(None, [])
        transformer.fit(given, y)
        values = _columns(transformer, given)
        T = features.evaluate(values, given.shape[0])
        return cls(transformer, features.names(transformer, values, T.shape[1]))

    def user_units(self) -> FloatArray | None:
        """Return R with β = Rb, where the columns T that are computed with are not those that users know.

        Then b are the coefficients of the columns T; None: they are β.
        """
        units = getattr(self.transformer, "user_units", None)
        return None if units is None else units()

    def plain_at(self, given: Any) -> FloatArray:
        """Return the features (n, l) as users know them, at any rows."""
        return np.asarray(features.evaluate(self.transformer.transform(given), given.shape[0]))

    def at(self, given: Any) -> FloatArray:
        """Return T (n, l) at any rows."""
        n_rows = given.shape[0]
        if self.transformer is None:
            return np.empty((n_rows, 0))
        T = features.evaluate(_columns(self.transformer, given), n_rows)
        if T.shape[1] != len(self.names):
            raise ValueError(f"the features gave {T.shape[1]} columns, but {len(self.names)} when fitted")
        return np.asarray(T)


@dataclass(frozen=True)
class SampleGroups:
    """The groups of samples, where these have effects beside the features."""

    levels: NDArray[Any]  # (G,), sorted
    codes: Labels  # (m,): places among the levels


@dataclass
class Training:
    """The samples of a fit with the features there, and the kernel with its parameters fixed."""

    samples: Samples
    features: FreeFeatures
    T: FloatArray  # (m, l)
    kernel: Kernel | None  # None: the model has none
    groups: SampleGroups | None = None  # that have effects beside T

    @property
    def codes(self) -> Labels | None:
        """The group of each sample, where groups have effects."""
        return None if self.groups is None else self.groups.codes

    @property
    def spanned(self) -> FloatArray:
        """T, behind a constant where effects of groups contain it."""
        return self.T if self.groups is None else np.column_stack([np.ones(len(self.T)), self.T])

    @property
    def n_samples(self) -> int:
        """How many rows are fitted."""
        return len(self.T)


def fit_features(specification: Any, samples: Samples) -> tuple[FreeFeatures, FloatArray]:
    """Fit the features to the samples; see `FreeFeatures.fit`."""
    n_samples = samples.X.shape[0]
    require_two_samples(n_samples)
    return FreeFeatures.fit(specification, samples.given, samples.y, n_samples)
