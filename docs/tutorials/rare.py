# %% [markdown]
# # Rare classes
#
# One web page in thirty belongs to the category that you look for (the *w8a* data: 49,749 pages, 300 yes-or-no features). A model that always says "no" is right in 97 of 100 cases and useless. You need another score, another threshold, and a look at what noise leaves.

# %%
import bz2

import numpy as np
from sklearn.datasets import load_svmlight_file

from data import path  # data.py: where the public files are, see below
from discreet import Bounds, PrivateLogisticRegression, evaluate

with bz2.open(path("w8a/w8a.bz2")) as file:
    X, y = load_svmlight_file(file, n_features=300)
y = (y > 0).astype(int)
order = np.random.default_rng(0).permutation(len(y))
train, test = order[:35_000], order[35_000:]

# %% [markdown]
# ## Fit
#
# A page has about twelve features, so its norm is near 3.5. You know that from the way pages are coded, and you declare it: a smaller `row_norm` means less noise.

# %%
bounds = Bounds(row_norm=3.5, classes=(0, 1))
model = PrivateLogisticRegression(epsilon=1.0, delta=1e-6, bounds=bounds)
model.fit(X[train], y[train])
print(
    "accuracy:", round(model.score(X[test], y[test]), 3), "always no:", round(1 - y[test].mean(), 3)
)

# %% [markdown]
# ## A score that sees the class
#
# The area under the ROC curve needs no threshold. The released histogram gives recall and precision at every threshold as well.

# %%
scores = evaluate(
    model,
    X[test],
    y[test],
    epsilon=1.0,
    metrics=("auc", "recall", "precision", "balanced_accuracy"),
)
print(scores)

# %% [markdown]
# ## Move the threshold
#
# If a missed page costs ten times a false alarm, ask for a chance of 1 in 11 instead of 1 in 2. That follows from costs, which are public, so it costs no privacy.

# %%
for threshold in (1 / 2, 1 / 11):
    found = model.predict_proba(X[test])[:, 1] > threshold
    recall, alarms = found[y[test] == 1].mean(), found[y[test] == 0].mean()
    print(f"threshold {threshold:.2f}: finds {recall:.2f} of the pages, {alarms:.3f} false alarms")

# %% [markdown]
# These last numbers were computed on public rows without noise. On sensitive rows take them from `evaluate`. Weights of classes (`class_weight=`) are the other way, and they cost accuracy elsewhere. Read on: [rare classes](../rare-classes.md), [private evaluation](../evaluation.md).
