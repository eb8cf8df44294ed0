"""SVM-GB, figure 1: objects from all sides, geodesic neighbours as a generalised bias."""

import numpy as np
from matplotlib import pyplot as plt

from ..registry import Finding, experiment
from ._accuracy import LOOKS
from ._coil import FILE, FREE, GRAPHS, PLAIN, images, nearest, searched

KNN = "kNN geodesic"


def neighbours(graph, train, test):
    """Return the accuracy of the neighbours alone; validation leaves out the training images' own labels."""
    predicted, y = nearest(graph, train), images().y
    right = float(np.mean(predicted[test] == y[test]))
    return {
        "accuracy": right,
        "lowest": right,
        "highest": right,
        "tied": 1,
        "validation": float(np.mean(predicted[train] == y[train])),
    }


def draw(rows, chosen, sizes, graphs):
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True, layout="constrained")
    for method in (*PLAIN, KNN, *FREE):
        mine = [next(r for r in rows if picked(r, n, method, chosen)) for n in sizes]
        colour, marker, dashes = LOOKS[method]
        middle = np.array([r["accuracy"] for r in mine])
        ends = np.array([[r["lowest"], r["highest"]] for r in mine])
        left.errorbar(
            np.array(sizes) * 1.02 ** (list(LOOKS).index(method) - 11),
            100 * middle,
            yerr=100 * np.abs(ends.T - middle),
            label=method,
            color=colour,
            marker=marker,
            ls=dashes,
            capsize=2,
        )
    left.set_xscale("log")
    left.set_xticks(sizes, [str(n) for n in sizes])
    left.minorticks_off()
    left.set(
        xlabel="training images per class",
        ylabel="test accuracy, %",
        title="graph chosen without test labels",
    )
    left.legend(frameon=False, fontsize=9)
    for n, dashes in zip(sizes, ("-", "--", "-.", ":"), strict=False):
        for method in (KNN, "SVM-GB"):
            mine = [
                r for r in rows if (r["method"], r["per_class"]) == (method, n) and r["graph"] is not None
            ]
            colour, marker, _ = LOOKS[method]
            label = f"{method}, {n} per class"
            values = [100 * r["accuracy"] for r in mine]
            right.plot(
                [r["graph"] for r in mine], values, color=colour, marker=marker, ls=dashes, label=label
            )
    right.set(xlabel="neighbours that an image is joined to", title="the graph decides")
    right.set_xticks(graphs)
    right.legend(frameon=False, fontsize=8, ncols=2)
    return figure


def picked(row, n, method, chosen):
    return (row["per_class"], row["method"]) == (n, method) and row["graph"] in (None, chosen[n])


@experiment(
    title="Objects from all sides, with geodesic neighbours as features",
    source="SVM-GB, figure 1",
    claim="20 features of the nearest neighbours' classes make SVM-GB as good as kNN, which beats the SVM",
    parameters={"per_class": [6, 12, 24, 48], "graphs": list(GRAPHS)},
    quick={"per_class": [6], "graphs": [2, 5]},
    data=[FILE],
    extent=["per_class", "graphs"],
)
def svmgb_1(run):
    data = images()
    chosen = {}
    cells = [(n, graph) for n in run.per_class for graph in (None, *run.graphs)]
    for n, graph in run.progress(cells, "training images and graph"):
        train, test = data.split(n)
        key = {"per_class": n, "graph": graph}
        if graph is None:
            for method in PLAIN:
                run.cell(lambda m=method, a=train, b=test: searched(m, None, a, b), **key, method=method)
            continue
        run.cell(lambda g=graph, a=train, b=test: neighbours(g, a, b), **key, method=KNN)
        for method in FREE:
            run.cell(lambda m=method, g=graph, a=train, b=test: searched(m, g, a, b), **key, method=method)
    for n in run.per_class:
        mine = [r for r in run.rows if (r["per_class"], r["method"]) == (n, KNN)]
        chosen[n] = max(mine, key=lambda r: (r["validation"], -r["graph"]))["graph"]
    run.save(draw(run.rows, chosen, run.per_class, run.graphs))

    def of(method, n, column="accuracy"):
        return next(100 * r[column] for r in run.rows if picked(r, n, method, chosen))

    def cell(method, n):
        low, high = of(method, n, "lowest"), of(method, n, "highest")
        return f"{of(method, n):.1f}" + (f" ({low:.1f} to {high:.1f})" if high - low > 0.05 else "")

    methods = (*PLAIN, KNN, *FREE)
    run.summary(
        ["per class", "graph chosen", *methods],
        [[str(n), str(chosen[n]), *(cell(m, n) for m in methods)] for n in run.per_class],
    )
    run.summary(
        ["per class", "graph", KNN, *FREE],
        [
            [str(n), str(g)]
            + [
                f"{100 * r['accuracy']:.1f}"
                for m in (KNN, *FREE)
                for r in run.rows
                if (r["per_class"], r["graph"], r["method"]) == (n, g, m)
            ]
            for n in run.per_class
            for g in run.graphs
        ],
    )

    def told(a, b):
        return "; ".join(f"{n}: {of(a, n):.1f} and {of(b, n):.1f}" for n in run.per_class)

    over = {
        n: [100 * r["accuracy"] for r in run.rows if (r["per_class"], r["method"]) == (n, KNN)]
        for n in run.per_class
    }
    return [
        Finding(
            "kNN shows better performance than standard SVM",
            f"{KNN} and SVM, by images per class: {told(KNN, 'SVM')}",
            all(of(KNN, n) > of("SVM", n) for n in run.per_class),
        ),
        Finding(
            "the features made the performance of SVM-GB similar to kNN",
            f"SVM-GB and {KNN}: {told('SVM-GB', KNN)}",
            all(abs(of("SVM-GB", n) - of(KNN, n)) < abs(of("SVM", n) - of(KNN, n)) for n in run.per_class),
        ),
        Finding(
            "the choice of the graph makes more of a difference than the machine that has the features",
            f"{KNN} over graphs: "
            + "; ".join(f"{n}: {min(over[n]):.1f} to {max(over[n]):.1f}" for n in run.per_class),
            all(max(over[n]) - min(over[n]) > abs(of("SVM-GB", n) - of("G-RLSC", n)) for n in run.per_class),
            ours=True,
        ),
    ]
