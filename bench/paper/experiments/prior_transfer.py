"""The note on a Gaussian prior: transfer, with variances of the words learnt from other pairs of topics."""

from dataclasses import asdict

from matplotlib import pyplot as plt
from sklearn.feature_extraction.text import CountVectorizer

from ...prior import news, transfer
from ..registry import Finding, experiment


@experiment(
    title="Transfer between pairs of newsgroups",
    source="Prior, its closing paragraph (which has no experiment)",
    claim="reference tasks tell which words matter, and that helps a main task with few examples",
    parameters={
        "words": list(transfer.WORDS),
        "pairs": [list(pair) for pair in transfer.PAIRS],
        "sizes": list(transfer.SIZES),
        "runs": 10,
    },
    quick={"words": ["presence"], "pairs": [["sci.med", "sci.space"]], "runs": 3},
    data=["20newsgroups_bydate.jsonl.xz"],
    extent=["words", "pairs"],
)
def prior_transfer(run):
    postings = news.load()
    counts = CountVectorizer(min_df=5).fit_transform(postings.texts)
    for words in run.words:
        X = transfer.represent(counts, words)
        for pair in run.progress(run.pairs, f"{words}, pair"):

            def measured(X=X, words=words, pair=tuple(pair)):
                results = transfer.run(
                    X, postings.labels, postings.train, words, [pair], run.sizes, seeds=run.runs
                )
                row = {}
                for result in map(asdict, results):
                    names = ("plain", "transfer", "gain", "error")
                    row |= {f"{name}_{result['examples']}": result[name] for name in names}
                return row

            run.cell(measured, words=words, pair=" / ".join(pair))

    figure, axes = plt.subplots(
        1,
        len(run.words),
        figsize=(5.5 * len(run.words), 4.2),
        layout="constrained",
        squeeze=False,
        sharey=True,
    )
    for ax, words in zip(axes[0], run.words, strict=True):
        for row in run.rows:
            if row["words"] == words:
                gains, errors = ([100 * row[f"{what}_{n}"] for n in run.sizes] for what in ("gain", "error"))
                ax.errorbar(run.sizes, gains, errors, marker="o", capsize=3, label=row["pair"])
        ax.axhline(0, color="black", lw=0.8)
        ax.set(xscale="log", xlabel="examples of the main task", title=words)
    axes[0, 0].set_ylabel("points of accuracy gained by the prior")
    axes[0, 0].legend(fontsize="x-small", frameon=False)
    run.save(figure)
    run.summary(
        ["words", "pair", *(f"{n} examples: plain, gain" for n in run.sizes)],
        [
            [row["words"], row["pair"]]
            + [
                "{:.1f}, {:+.1f} ± {:.1f}".format(
                    *(100 * row[f"{what}_{n}"] for what in ("plain", "gain", "error"))
                )
                for n in run.sizes
            ]
            for row in run.rows
        ],
    )
    findings = []
    for words in run.words:
        mine = [row for row in run.rows if row["words"] == words]
        few = [100 * row[f"gain_{run.sizes[0]}"] for row in mine]
        many = [100 * row[f"gain_{run.sizes[-1]}"] for row in mine]
        findings.append(
            Finding(
                f"similarities in how the language is used help the main task ({words})",
                f"with {run.sizes[0]} examples {sum(few) / len(few):+.1f} points on average "
                f"({min(few):+.1f} to {max(few):+.1f}), with {run.sizes[-1]} {sum(many) / len(many):+.1f}",
                sum(few) > 0,
            )
        )
    return findings
