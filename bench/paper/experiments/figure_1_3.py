"""Thesis, figure 1.3: a boundary for which nobody knows how many polynomial features to add."""

from grls import GRLSClassifier
from grls.kernels import Gaussian, Linear
from grls.plotting import DecisionBoundaryDisplay
from matplotlib import pyplot as plt
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from ..registry import Finding, experiment
from ._planar import winding


@experiment(
    title="Example of a complex system",
    source="RKHS thesis, figure 1.3",
    claim="where the boundary is no simple geometry it is hard to tell how many polynomial features to add",
    parameters={"n": 400, "turns": 1.75, "noise": 0.03, "degrees": [1, 2, 3, 5, 7, 9, 12], "folds": 5},
    quick={"n": 120, "degrees": [1, 2], "folds": 2},
)
def figure_1_3(run):
    X, y = winding(run.n, run.rng(), turns=run.turns, noise=run.noise)

    def accuracy(model):
        return cross_val_score(model, X, y, cv=run.folds).mean()

    def polynomial(degree):
        # Ridge regression in all monomials, with the ridge chosen by leave-one-out.
        return make_pipeline(
            PolynomialFeatures(degree), StandardScaler(), GRLSClassifier(Linear(), regularization="loo")
        )

    scores = {}
    for degree in run.progress(run.degrees, "degree"):
        cell = run.cell(lambda degree=degree: {"accuracy": accuracy(polynomial(degree))}, degree=degree)
        scores[degree] = cell["accuracy"]
    # The width is the kernel's only question, and its answer is a default: a tenth of the picture.
    gaussian = GRLSClassifier(Gaussian(sigma=0.2), regularization="loo")
    by_kernel = run.cell(lambda: {"accuracy": accuracy(gaussian)}, degree="Gaussian kernel")["accuracy"]

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13.5, 4.2), layout="constrained")
    low = run.degrees[len(run.degrees) // 2]
    DecisionBoundaryDisplay.from_estimator(polynomial(low).fit(X, y), X, y, ax=left)
    left.set_title(f"(a) polynomial of degree {low}")
    DecisionBoundaryDisplay.from_estimator(gaussian.fit(X, y), X, y, ax=middle)
    middle.set_title("(b) Gaussian kernel")
    right.plot(scores.keys(), scores.values(), "o-", color="#777777", label="polynomial")
    right.axhline(by_kernel, color="#0072B2", label="Gaussian kernel")
    right.set_xlabel("degree of the polynomial")
    right.set_ylabel("accuracy in cross-validation")
    right.legend(frameon=False)
    run.save(figure)

    best = max(scores, key=scores.get)
    return [
        Finding(
            "few polynomial features do not do",
            f"degree {run.degrees[1]}: {scores[run.degrees[1]]:.1%}",
            scores[run.degrees[1]] < 0.9,
        ),
        Finding(
            "it takes a search to tell how many would",
            ", ".join(f"degree {degree}: {score:.1%}" for degree, score in scores.items()),
            best > 3,
        ),
        Finding(
            "a kernel needs no such count",
            f"Gaussian kernel {by_kernel:.1%}, best polynomial (degree {best}) {scores[best]:.1%}",
            by_kernel >= scores[best] - 0.01,
        ),
    ]
