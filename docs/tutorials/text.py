# %% [markdown]
# # Text with many features
#
# 25,000 film reviews as word counts, and the question whether the reviewer liked the film. `PrivateLogisticRegression` takes such wide sparse rows as they are: noise is scaled to the norm of a row, whatever the number of columns.
#
# A vocabulary that was taken from the rows is not public: one review can add a word. Here words are **hashed** into columns. The place of a word depends on the word alone.

# %%
import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from data import path  # data.py: where the public files are, see below
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
for size in (1024, 8192, 65_536):
    X = hashed(counts, size)
    for epsilon in (1.0, 8.0):
        model = PrivateLogisticRegression(
            epsilon=epsilon, delta=1e-6, bounds=bounds, fit_intercept=False
        )
        model.fit(X[train], y[train])
        print(f"{size:5} columns, epsilon {epsilon:g}: {model.score(X[test], y[test]):.3f} right")

# %% [markdown]
# More columns do no harm here. With few of them, words that mean different things share a column.
#
# ## All words, or few?
#
# `PrivateSparseLogisticRegression` picks a few columns privately. Take it if you need a short list of words. In text many words say a little each, so a model of few words predicts worse.

# %%
X = hashed(counts, 8192)
few = PrivateSparseLogisticRegression(epsilon=8.0, delta=1e-6, bounds=bounds, fit_intercept=False)
few.fit(X[train], y[train])
print(f"few words, 8192 columns, epsilon 8: {few.score(X[test], y[test]):.3f} right")

# %% [markdown]
# The scores here are computed on public reviews. On sensitive text, [evaluate privately](../evaluation.md). Read on: [many features](../sparse.md), [choosing a model](../choosing.md).
