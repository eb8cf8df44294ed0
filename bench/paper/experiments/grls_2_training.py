"""G-RLS, figure 2 again, honestly: words, scales and topics come from the training documents alone."""

from ..registry import experiment
from ._accuracy import draw, table
from ._text import DATASETS, FILES, PRINTED, PRINTED_FIRST, fill
from .grls_2 import RIVALS, beyond, findings_of

METHODS = (
    *RIVALS,
    "G-RLSC",
    PRINTED,
    PRINTED_FIRST,
    "G-RLSC auto",
    "RLSC tf-idf",
    "G-RLSC tf-idf",
    "G-RLSC auto tf-idf",
)


@experiment(
    title="Text categorisation, words and topics from the training documents only",
    source="G-RLS, figure 2, without a look at the test documents",
    claim="G-RLSC with ten pLSA features beats RLSC and SVM on words or on topics, except on 4-universities",
    parameters={
        "datasets": list(DATASETS),
        "sizes": [100, 400],
        "runs": 10,
        "fewer_runs": [],
        "n_words": 2000,
        "n_topics": 10,
    },
    quick={"datasets": ["rec", "7-sectors"], "runs": 2},
    data=sorted(set(FILES.values())),
    extent=["datasets", "sizes", "runs", "fewer_runs"],
)
def grls_2_training(run):
    fill(run, METHODS, transductive=False)
    run.summary(*table(run.rows, run.datasets, run.sizes, METHODS))
    run.save(draw(run.rows, run.datasets, run.sizes, METHODS[:8]))
    run.save(draw(run.rows, run.datasets, run.sizes, ["G-RLSC", *METHODS[8:]]), "_tfidf")
    return findings_of(run) + beyond(run)
