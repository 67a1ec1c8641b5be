"""Second moments of whole numbers in one compiled loop, when numba is installed.

Rows are scaled and rounded to whole numbers as in numpy, some hundred at a time, and their
products are summed while they are in the nearest cache. All sums are exact, so their order
does not matter and the result is that of numpy to the last bit.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from discreet.bounds import Array, Integers
from discreet.data.kernel_cache import kept

TILE = 256
"""Rows whose products are summed in float64; integers below 2^20 leave room for 4096."""


def whole_sums(
    X: Array, y: Array, row_factor: Array, label_factor: Array, *, nearest: bool
) -> Integers:
    """Return ``sum v v'`` of ``v = (x, y)``, scaled and rounded to whole numbers below 2^20.

    Parameters
    ----------
    X, y
        Rows, best column after column, and labels, one column for each output.
    row_factor, label_factor
        What every row and every label is multiplied by before it is rounded.
    nearest
        Whether numbers are rounded to the nearest whole one, else towards zero.

    Examples
    --------
    >>> whole_sums(np.ones((3, 1)), np.ones((3, 1)), np.full(3, 2.5), np.ones(3), nearest=False)
    array([[12,  6],
           [ 6,  3]])
    """
    size = X.shape[1] + y.shape[1]
    total = _loop()(X.T, y.T, row_factor, label_factor, nearest)
    return np.asarray(total[:size, :size])


@cache
def _loop() -> Any:
    from numba import njit

    strict = njit(fastmath=False, error_model="numpy")
    # privacy: sums of whole numbers below 2^53 are exact in any order, so it may be changed.
    free = njit(fastmath={"reassoc", "contract"}, error_model="numpy")
    return kept(_sums, _round=strict(_round), _products=free(_products))


def _sums(X: Any, y: Any, row_factor: Any, label_factor: Any, nearest: bool) -> Any:
    p, n_rows = X.shape
    d = p + y.shape[0]
    d += d % 2
    part, found = np.zeros((d, TILE)), np.zeros((d, d))
    total = np.zeros((d, d), np.int64)
    for start in range(0, n_rows, TILE):
        m = min(TILE, n_rows - start)
        for j in range(p):
            _round(X[j, start : start + m], row_factor[start : start + m], nearest, part[j])
        for j in range(y.shape[0]):
            _round(y[j, start : start + m], label_factor[start : start + m], nearest, part[p + j])
        _products(part, m, found)
        for a in range(d):
            for b in range(a + 1):
                total[a, b] += np.int64(found[a, b])
    for a in range(d):
        for b in range(a):
            total[b, a] = total[a, b]
    return total


def _round(given: Any, factor: Any, nearest: bool, out: Any) -> None:
    for i in range(len(given)):
        x = given[i] * factor[i]
        out[i] = np.rint(x) if nearest else np.trunc(x)


def _products(part: Any, m: int, found: Any) -> None:
    # Two rows times two rows: each number that is read takes part in two products.
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
