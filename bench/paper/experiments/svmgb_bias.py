"""SVM-GB, section 1: whether the bias b of a support vector machine matters, tried with and without it."""

import warnings

import numpy as np
from grls import SVMGBClassifier
from grls.kernels import Gaussian, Linear
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from ..registry import Finding, experiment

DATASETS = {
    "iris": load_iris,
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
    "digits": load_digits,
    "breast cancer, 1 : 10": load_breast_cancer,  # of the rarer class a tenth of the others
}
# The kernels know nothing of an origin, or have it in the middle of the data, or in a corner of them.
INPUTS = {"Gaussian": StandardScaler, "linear, centred": StandardScaler, "linear, from 0 to 1": MinMaxScaler}
COSTS = np.logspace(-2, 3, 6)
FEATURES = {"with b": "constant", "without b": None}


def split(name, size, seed):
    """Return training and test rows; the rare class is made rare in both."""
    X, y = DATASETS[name](return_X_y=True)
    rng = np.random.default_rng([17, seed])
    if name.endswith("1 : 10"):
        rare, other = (np.flatnonzero(y == label) for label in np.argsort(np.bincount(y)))
        keep = np.sort(np.concatenate([rng.permutation(rare)[: len(other) // 10], other]))
        X, y = X[keep], y[keep]
    train, test = next(StratifiedShuffleSplit(1, train_size=size, random_state=seed).split(X, y))
    return X[train], y[train], X[test], y[test]


def measured(name, inputs, size, seed):
    """Return accuracies with and without the bias, C of each by cross-validation."""
    X, y, X_new, y_new = split(name, size, seed)
    scaler = INPUTS[inputs]().fit(X)
    X, X_new = scaler.transform(X), scaler.transform(X_new)
    kernel = Gaussian(float(np.sqrt(X.shape[1]))) if inputs == "Gaussian" else Linear()
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    row = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        warnings.simplefilter("ignore", ConvergenceWarning)
        for way, features in FEATURES.items():
            model = SVMGBClassifier(kernel, features=features, C=1.0)
            search = GridSearchCV(model, {"C": COSTS.tolist()}, cv=folds).fit(X, y)
            predicted = search.predict(X_new)
            row[f"accuracy {way}"] = float(np.mean(predicted == y_new))
            row[f"balanced {way}"] = float(balanced_accuracy_score(y_new, predicted))
            row[f"C {way}"] = search.best_params_["C"]
    return row


def gains(rows, measure, **key):
    """Return the points that b adds on the same splits, and their standard error."""
    mine = [r for r in rows if all(r[name] == value for name, value in key.items())]
    points = np.array([100 * (r[f"{measure} with b"] - r[f"{measure} without b"]) for r in mine])
    return points.mean(), points.std(ddof=1) / np.sqrt(len(points)) if len(points) > 1 else np.nan


def draw(run):
    figure, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
    places = np.arange(len(run.datasets))
    for k, inputs in enumerate(run.inputs):
        values = [gains(run.rows, "accuracy", dataset=name, inputs=inputs) for name in run.datasets]
        means, errors = zip(*values, strict=True)
        shift = 0.2 * (k - (len(run.inputs) - 1) / 2)
        ax.errorbar(places + shift, means, yerr=2 * np.array(errors), fmt="o", capsize=3, label=inputs)
    ax.axhline(0, color="black", lw=0.8)
    ax.set_xticks(places, run.datasets, fontsize=9)
    ax.set_ylabel("points of accuracy that b adds, ± 2 standard errors")
    ax.legend(frameon=False, fontsize=9)
    return figure


@experiment(
    title="With and without the bias",
    source="SVM-GB, section 1 (citing Rifkin 2002)",
    claim="the existence of the bias term makes little difference in practice",
    parameters={"datasets": list(DATASETS), "inputs": list(INPUTS), "size": 120, "runs": 10},
    quick={"datasets": ["iris", "breast cancer, 1 : 10"], "size": 60, "runs": 2},
    extent=["datasets", "inputs", "runs"],
)
def svmgb_bias(run):
    cells = [(r, name, inputs) for r in range(run.runs) for name in run.datasets for inputs in run.inputs]
    for repetition, name, inputs in run.progress(cells, "run, data set and inputs"):
        run.cell(
            lambda n=name, i=inputs, r=repetition: measured(n, i, run.size, 1000 * run.seed + r),
            run=repetition,
            dataset=name,
            inputs=inputs,
        )
    run.save(draw(run))
    keys = [{"dataset": name, "inputs": inputs} for name in run.datasets for inputs in run.inputs]

    def shown(row_key, measure):
        points, error = gains(run.rows, measure, **row_key)
        return f"{points:+.1f} ± {error:.1f}"

    def level(row_key, way):
        mine = [r for r in run.rows if all(r[n] == v for n, v in row_key.items())]
        return f"{100 * np.mean([r[f'accuracy {way}'] for r in mine]):.1f}"

    run.summary(
        ["data", "kernel", "with b", "without b", "b adds", "b adds to the mean over classes"],
        [
            [
                *k.values(),
                level(k, "with b"),
                level(k, "without b"),
                shown(k, "accuracy"),
                shown(k, "balanced"),
            ]
            for k in keys
        ],
    )

    def verdict(claim, mine, *, ours=False):
        values = [gains(run.rows, "accuracy", **k) for k in mine]
        clear = [points for points, error in values if abs(points) > max(2 * error, 0.5)]
        points = [p for p, _ in values]
        return Finding(
            claim,
            f"b adds {min(points):+.1f} to {max(points):+.1f} points, {np.mean(points):+.1f} on average; by "
            f"more than two standard errors and half a point in {len(clear)} of {len(mine)} cells "
            f"({run.runs} runs)",
            not clear,
            ours=ours,
        )

    gaussian = [k for k in keys if k["inputs"] == "Gaussian"]
    linear = [k for k in keys if k["inputs"] != "Gaussian"]
    return [
        verdict("the existence of the bias term makes little difference in practice", keys),
        *([verdict("… with a Gaussian kernel", gaussian, ours=True)] if gaussian else []),
        *([verdict("… with a linear kernel", linear, ours=True)] if linear else []),
    ]
