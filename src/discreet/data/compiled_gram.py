"""Second moments of rows of few columns in one compiled loop, when numba is installed.

Some rows at a time are turned to columns, in the nearest cache, and each two columns are
multiplied there: half of what a product of matrices takes, and rows in float32 are not copied.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from discreet.bounds import Array
from discreet.data.certified import margins
from discreet.data.compiled import REORDER
from discreet.data.kernel_cache import kept

WIDEST = 64
"""Columns up to which this is faster than a product of matrices."""

MOST_ROWS = 16384
"""Rows of a block."""

TILE = 128
"""Rows that are turned at a time."""


def margins_of(X: Any, w: Array) -> Array:
    """Return ``X @ w``, every row by itself.

    >>> margins_of(np.eye(2), np.array([1.0, 2.0]))
    array([1., 2.])
    """
    return np.asarray(_margins()(X, w))


def gram_of(X: Any, curvature: Array) -> Array:
    """Return ``X' diag(curvature) X`` of dense rows.

    >>> gram_of(np.eye(3), np.array([1.0, 4.0, 9.0]))
    array([[1., 0., 0.],
           [0., 4., 0.],
           [0., 0., 9.]])
    """
    d = X.shape[1]
    lower = np.tril(_loop()(X, np.sqrt(np.maximum(curvature, 0.0)))[:d, :d])
    return np.asarray(lower + np.tril(lower, -1).T)


@cache
def _margins() -> Any:
    from numba import njit

    return kept(_all_margins, margins=njit(fastmath=REORDER)(margins))


@cache
def _loop() -> Any:
    return kept(_gram, products=free_products())


@cache
def free_products() -> Any:
    """Return :func:`products` compiled, with sums in any order."""
    from numba import njit

    return njit(fastmath={"reassoc", "contract"}, error_model="numpy")(products)


def _all_margins(X: Any, w: Any) -> Any:
    z = np.empty(len(X))
    margins(X, 0, len(X), w, z)
    return z


def _gram(X: Any, root: Any) -> Any:
    n_rows, d = X.shape
    even = d + d % 2
    # Not a power of two, because such places share few lines of the cache.
    part, found, total = np.zeros((even, TILE + 8)), np.zeros((even, even)), np.zeros((even, even))
    for start in range(0, n_rows, TILE):
        m = min(TILE, n_rows - start)
        for i in range(m):
            row, factor = X[start + i], root[start + i]
            for j in range(d):
                part[j, i] = row[j] * factor
        products(part, m, found)
        total += found
    return total


def products(part: Any, m: int, found: Any) -> None:
    """Write products of an even number of columns, the first below the second."""
    # Two columns times two: each number that is read takes part in two products.
    for a in range(0, part.shape[0], 2):
        for b in range(0, a + 1, 2):
            x0, x1, y0, y1 = part[a], part[a + 1], part[b], part[b + 1]
            s00, s01, s10, s11 = 0.0, 0.0, 0.0, 0.0
            for i in range(m):
                s00 += x0[i] * y0[i]
                s01 += x0[i] * y1[i]
                s10 += x1[i] * y0[i]
                s11 += x1[i] * y1[i]
            found[a, b], found[a, b + 1] = s00, s01
            found[a + 1, b], found[a + 1, b + 1] = s10, s11
