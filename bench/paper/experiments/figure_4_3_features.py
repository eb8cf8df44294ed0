"""Which free features help to read digits, on training digits that are held out."""

import numpy as np
from grls import GRLSClassifier, SVMGBClassifier
from grls.features import EstimatorFeatures
from grls.kernels import Gaussian
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from ..registry import Finding, experiment
from ._digits import FILE
from ._machines import Data, along_the_data, polynomial_svm

PLAIN, GEODESIC = "the constant alone", "geodesic neighbours"
MACHINES = {
    "SVM-GB": SVMGBClassifier(C=10.0),
    "SVM-GB, variance 10": SVMGBClassifier(C=10.0, feature_variance=10.0),
    "G-RLSC": GRLSClassifier(regularization="loo"),
}


def free(name, X, rows, components):
    """Return features by name; X holds the digits that may be known, `rows` of them with their labels."""
    if name == GEODESIC:
        return along_the_data(X, rows)
    if name == "nearest neighbours":
        return EstimatorFeatures(KNeighborsClassifier(5, weights="distance"))
    if name == "Gaussian discriminants":
        normal = make_pipeline(PCA(components, random_state=0), QuadraticDiscriminantAnalysis(reg_param=0.02))
        return EstimatorFeatures(normal, method="decision_function", cv=3)
    return EstimatorFeatures(polynomial_svm(), method="decision_function")


def compared(data, rows, name, components, sigma):
    """Return the accuracy of every machine with some features, which are made once for all of them."""
    X, new = data.straight()
    d = X.shape[1]
    train, y, kernel, given = X[:rows], data.y[:rows], Gaussian(sigma), "constant"
    if name != PLAIN:
        features = free(name, X, rows, components)
        train = np.hstack([train, features.fit_transform(train, y)])
        new = np.hstack([new, features.transform(new)])
        kernel, given = kernel.on(list(range(d))), lambda Z: Z[:, d:]
    return {
        machine: clone(model).set_params(kernel=kernel, features=given).fit(train, y).score(new, data.y_new)
        for machine, model in MACHINES.items()
    }


@experiment(
    title="MNIST: which free features help, on held-out training digits",
    source="ours, for RKHS thesis, figure 4.3",
    claim="neighbours along the data help where few of the digits are labelled",
    parameters={
        "training": 50_000,
        "held_out": 10_000,
        "sizes": [1000],
        "components": 40,
        "sigma": 9.0,
        "features": [
            PLAIN,
            "nearest neighbours",
            "Gaussian discriminants",
            "a polynomial SVM",
            GEODESIC,
        ],
    },
    quick={"training": 1000, "held_out": 1000, "sizes": [200]},
    data=[FILE],
    extent=["sizes", "features"],
)
def figure_4_3_features(run):
    data = Data(run.training, held_out=run.held_out)
    for rows in run.sizes:
        for name in run.progress(run.features, f"{rows} labelled digits, features"):
            run.cell(
                lambda r=rows, f=name: compared(data, r, f, run.components, run.sigma),
                rows=rows,
                features=name,
            )
    run.summary(
        ["labelled digits", "features", *MACHINES],
        [[f"{r['rows']}", r["features"], *(f"{r[machine]:.2%}" for machine in MACHINES)] for r in run.rows],
    )
    found = {(row["rows"], row["features"]): row for row in run.rows}
    findings = []
    for rows in run.sizes:
        few, many = found.get((rows, PLAIN)), found.get((rows, GEODESIC))
        if few and many:
            told = [f"{machine} {few[machine]:.2%} to {many[machine]:.2%}" for machine in MACHINES]
            helps = all(few[machine] < many[machine] for machine in MACHINES)
            claim = f"neighbours along the data help every machine with {rows} labelled digits"
            findings.append(Finding(claim, "; ".join(told), helps, ours=True))
    return findings
