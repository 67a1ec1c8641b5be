# %% [markdown]
# # Text with many features
#
# 25,000 film reviews as word counts, and the question whether the reviewer liked the film. There are 74,849 words, far more than a private model can weigh one by one. Two things help: short rows, and fewer columns.
#
# A vocabulary that was taken from the rows is not public. Here columns are **hashed**: the place of a word depends on the word alone.

# %%
import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from data import path
from discreet import Bounds, PrivateLogisticRegression, PrivateSparseLogisticRegression

file = path("imdb/imdb_train_counts.npz")
counts, y = sparse.load_npz(file), np.load(file)["y"]
y = (y > 0).astype(int)


def hashed(counts: sparse.csr_matrix, size: int) -> sparse.csr_matrix:
    """Fold the columns into so many, with signs, by a fixed public rule."""
    rng = np.random.default_rng(0)  # a public rule, not a secret
    words = counts.shape[1]
    place, sign = rng.integers(size, size=words), rng.choice([-1.0, 1.0], size=words)
    fold = sparse.csr_matrix((sign, (np.arange(words), place)), shape=(words, size))
    return normalize((counts > 0).astype(float) @ fold)


order = np.random.default_rng(1).permutation(len(y))
train, test = order[:20_000], order[20_000:]

# %% [markdown]
# Rows of norm 1 are what noise is scaled to, so declare `row_norm=1`. A row is normalised by itself; that learns nothing from other rows.

# %%
bounds = Bounds(row_norm=1.0, classes=(0, 1))
for size in (256, 1024, 4096):
    X = hashed(counts, size)
    for epsilon in (1.0, 8.0):
        model = PrivateLogisticRegression(
            epsilon=epsilon, delta=1e-6, bounds=bounds, fit_intercept=False
        )
        model.fit(X[train], y[train])
        print(f"{size:5} columns, epsilon {epsilon:g}: {model.score(X[test], y[test]):.3f} right")

# %% [markdown]
# ## The dense model or the sparse one?
#
# `PrivateSparseLogisticRegression` picks a few columns privately. That pays where a handful of columns carry the answer. In text, many words say a little each, and the dense model is the better choice.

# %%
X = hashed(counts, 1024)
few = PrivateSparseLogisticRegression(epsilon=8.0, delta=1e-6, bounds=bounds, fit_intercept=False)
few.fit(X[train], y[train])
print(f"sparse model, 1024 columns, epsilon 8: {few.score(X[test], y[test]):.3f} right")

# %% [markdown]
# The scores here are computed on public reviews. On sensitive text, [evaluate privately](../evaluation.md). Read on: [many features](../sparse.md), [choosing a model](../choosing.md).
