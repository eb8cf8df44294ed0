"""
Text: topics that come free with the documents
==============================================

Forty labelled documents, fifteen hundred without a label. Topics of word counts need no labels; as free
features beside a kernel on tf-idf they carry what few labels cannot. One estimator of raw documents, tf-idf
and topics fitted inside.
"""

import matplotlib.pyplot as plt
import numpy as np
from grls import GRLSClassifier
from grls.features import PLSA
from grls.kernels import Linear
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

# %%
# Documents of four classes: words of the class among words of all.

rng = np.random.default_rng(0)
names = np.array(["autos", "bikes", "baseball", "hockey"])
labels = rng.choice(names, 1900)
documents = [
    " ".join(
        [f"{label}{i}" for i in rng.integers(200, size=6)] + [f"word{i}" for i in rng.integers(300, size=30)]
    )
    for label in labels
]
n_pool = 1500
counts = CountVectorizer().fit(documents[:n_pool])
topics = PLSA(4, unlabelled=counts.transform(documents[:n_pool]), random_state=0)

# %%
sizes = (20, 40, 80, 160, 320)
words = TfidfVectorizer()
methods = {
    "words alone": GRLSClassifier(Linear().after(words)),
    "words, topics free": GRLSClassifier(
        Linear().after(words), features=make_pipeline(FrozenEstimator(counts), topics)
    ),
}
fig, ax = plt.subplots(figsize=(6.5, 4))
for (name, model), style in zip(methods.items(), ("s--C1", "o-C0"), strict=True):
    scores = [model.fit(documents[:n], labels[:n]).score(documents[n_pool:], labels[n_pool:]) for n in sizes]
    ax.plot(sizes, 100 * np.array(scores), style, label=name)
ax.set(
    xscale="log", xticks=sizes, xticklabels=sizes, xlabel="labelled documents", ylabel="right on new ones (%)"
)
ax.minorticks_off()
ax.grid(alpha=0.3)
ax.legend(loc="lower right")
plt.show()

# %%
# Real collections are less clear-cut: :doc:`the papers' experiments </bench/results/paper/grls_2>` have
# six of them.
