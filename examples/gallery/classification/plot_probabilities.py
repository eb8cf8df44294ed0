"""
Probabilities that mean what they say
=====================================

``GRLogisticClassifier`` has probabilities by itself, with γ chosen by leave-one-out of the log loss. Of
rows that get 30 %, about 30 % should turn out positive.
"""

import matplotlib.pyplot as plt
import numpy as np
from grls import GRLogisticClassifier
from scipy.special import expit
from sklearn.metrics import log_loss

# %%
# A risk that rises with dose, and depends on age in some other way.

rng = np.random.default_rng(0)


def draw(n):
    """Return rows (dose, age), outcomes and true probabilities."""
    X = np.column_stack([rng.uniform(0, 4, n), rng.uniform(20, 80, n)])
    p = expit(2 * (X[:, 0] - 2) + 2 * np.sin(X[:, 1] / 9))
    return X, rng.uniform(size=n) < p, p


X, y, _ = draw(300)
X_new, y_new, p_new = draw(4000)
model = GRLogisticClassifier(features="linear").fit(X, y)
found = model.predict_proba(X_new)[:, 1]

# %%
edges = np.linspace(0, 1, 11)
cell = np.digitize(found, edges[1:-1])
shown = [found[cell == k].mean() for k in range(10)]
share = [y_new[cell == k].mean() for k in range(10)]
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
dose, age = np.meshgrid(np.linspace(0, 4, 60), np.linspace(20, 80, 60))
grid = np.column_stack([dose.ravel(), age.ravel()])
surface = model.predict_proba(grid)[:, 1].reshape(dose.shape)
drawn = left.contourf(dose, age, surface, np.linspace(0, 1, 11), cmap="RdBu_r")
left.scatter(*X.T, c=np.where(y, "darkred", "navy"), s=6)
left.set(xlabel="dose", ylabel="age", title="probability")
fig.colorbar(drawn, ax=left)
right.plot([0, 1], [0, 1], "k:", label="as it should be")
right.plot(shown, share, "o-", label="new rows, by tenths")
right.set(xlabel="probability said", ylabel="share that came true", aspect="equal")
right.set_title(f"log loss {log_loss(y_new, found):.3f}; of the truth {log_loss(y_new, p_new):.3f}")
right.legend()
plt.show()
