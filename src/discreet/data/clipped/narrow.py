"""Products of float32 rows in float32 arithmetic, with rounding that stays small.

A sum of many rows in float32 would be off by whole rows. Here only a few rows
are summed in float32, and these sums are added in float64. Neighbours that keep
the positions of rows differ in one such group; all other groups are bit-for-bit
the same, as long as products do not depend on where their operands are stored.
That is checked before float32 arithmetic is used.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from discreet.bounds import Array
from discreet.data.blocks import gamma, slices
from discreet.data.storage import NARROW_ROUNDOFF

Narrow = npt.NDArray[np.float32]

GROUP = 32
"""Rows that are summed in float32: few, because their rounding counts with their number squared."""

# privacy: a row's part is at most this share of the clip. The rest is what rounding can add: the
# last digits of its slope, and twice the error of a group's sum, once for each neighbour.
SLIM = 1.0 - 8.0 * NARROW_ROUNDOFF - 2.01 * GROUP * gamma(GROUP + 2, NARROW_ROUNDOFF)


def combined(X: Narrow, c: Narrow) -> Array:
    """Return ``X' c``: float32 sums over groups of rows, added in float64.

    >>> combined(np.ones((40, 2), dtype=np.float32), np.ones(40, dtype=np.float32))
    array([40., 40.])
    """
    whole = len(c) // GROUP * GROUP
    groups = np.matmul(c[:whole].reshape(-1, 1, GROUP), X[:whole].reshape(-1, GROUP, X.shape[1]))
    total = np.add.reduce(groups[:, 0], axis=0, dtype=np.float64)
    if whole < len(c):
        total += np.dot(c[whole:], X[whole:])
    return np.asarray(total)


def columns(X: Array, further: int = 0) -> Narrow:
    """Return rows in float32, column after column, with room for further columns.

    >>> columns(np.array([[1.0, 2.0]]))
    array([[1.],
           [2.]], dtype=float32)
    """
    n, p = X.shape
    found = np.empty((p + further, n), np.float32)
    # Short pieces stay in the nearest cache, where numpy turns them in a third of the time.
    for s in slices(n, 512):
        found[:p, s] = X[s].astype(np.float32).T
    return found


@cache
def steady(dimension: int) -> bool:
    """Return whether products are the same wherever in memory their operands are.

    >>> steady(5) in (True, False)
    True
    """
    rng, n_rows, seen = np.random.default_rng(0), 2 * GROUP + 5, set()
    sizes = {"X": n_rows * dimension, "w": dimension, "c": n_rows}
    values = {name: rng.random(size, dtype=np.float32) for name, size in sizes.items()}
    rooms = {name: np.empty(size + 16, dtype=np.float32) for name, size in sizes.items()}
    for offset in range(16):
        moved = {}
        for step, name in ((1, "X"), (3, "w"), (5, "c")):
            start = step * offset % 16
            moved[name] = rooms[name][start : start + sizes[name]]
            moved[name][:] = values[name]
        X = moved["X"].reshape(n_rows, dimension)
        seen.add(np.dot(X, moved["w"]).tobytes() + combined(X, moved["c"]).tobytes())
    return len(seen) == 1
