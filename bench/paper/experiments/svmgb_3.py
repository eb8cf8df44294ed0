"""SVM-GB, figure 3: text with topics as a generalised bias."""

from ..registry import Finding, experiment
from ._accuracy import draw, gain, mean, table, told_gain
from ._text import FILES, NEWSGROUPS, SIZES, fill

METHODS = ("SVM words", "SVM pLSA", "SVM-GB")


@experiment(
    title="Newsgroups with topics as a generalised bias",
    source="SVM-GB, figure 3",
    claim="SVM-GB is best with 800 documents or more, and beats the SVM on words always",
    parameters={
        "datasets": list(NEWSGROUPS),
        "sizes": list(SIZES),
        "runs": 10,
        "fewer_runs": [],
        "n_words": 2000,
        "n_topics": 10,
    },
    quick={"datasets": ["rec"], "sizes": [100, 400], "runs": 1},
    data=[FILES["rec"]],
    extent=["datasets", "sizes", "runs", "fewer_runs"],
)
def svmgb_3(run):
    fill(run, METHODS, transductive=True)
    run.summary(*table(run.rows, run.datasets, run.sizes, METHODS))
    run.save(draw(run.rows, run.datasets, run.sizes, METHODS))
    cells = [{"dataset": name, "size": size} for name in run.datasets for size in run.sizes]
    moderate = [cell for cell in cells if cell["size"] >= 800]
    few = [cell for cell in cells if cell["size"] <= 200]

    def best(cell):
        return max(METHODS, key=lambda method: mean(run.rows, method=method, **cell))

    over_words = [gain(run.rows, "SVM-GB", "SVM words", **cell)[0] for cell in cells]
    findings = [
        Finding(
            "SVM with pLSA performs well when the number of training samples is small",
            f"with 200 documents or fewer it is best in {sum(best(c) == 'SVM pLSA' for c in few)} of "
            f"{len(few)} cells; SVM-GB against it: "
            + ", ".join(
                f"{c['dataset']} {c['size']} {told_gain(run.rows, 'SVM-GB', 'SVM pLSA', **c)}" for c in few
            ),
            all(best(cell) != "SVM words" for cell in few),
        ),
        Finding(
            "SVM-GB has better results than SVM in BoW representation in all experiments",
            f"in {sum(g > 0 for g in over_words)} of {len(cells)} cells, by {min(over_words):+.1f} to "
            f"{max(over_words):+.1f} points",
            min(over_words) > 0,
        ),
    ]
    if moderate:
        won = sum(best(cell) == "SVM-GB" for cell in moderate)
        findings.append(
            Finding(
                "SVM-GB reports the best performance with 800 training documents or more",
                f"in {won} of {len(moderate)} cells",
                won == len(moderate),
            )
        )
    return findings
