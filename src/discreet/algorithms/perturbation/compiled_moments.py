"""Second moments of whole numbers in one compiled loop, when numba is installed.

Rows are scaled and rounded to whole numbers as in numpy, some hundred at a time, and their
products are summed while they are in the nearest cache. Columns of tables are bounded there
too, and their bounded values are not stored at all. All sums are exact, so their order
does not matter and the result is that of numpy to the last bit.
"""

from __future__ import annotations

from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from discreet.bounds import Array, Integers
from discreet.data.compiled_gram import free_products, products
from discreet.data.fused import Loop
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
    return mirrored(total, size)


@cache
def straight() -> Loop:
    """Return what bounds columns of tables and adds :func:`whole_sums` of them to a matrix.

    >>> total = np.zeros((4, 4), np.int64)
    >>> more = np.ones((1, 3)), np.full(3, 2.5), np.ones(3), False
    >>> X, blank = np.asfortranarray(np.ones((3, 2))), np.zeros(3, np.bool_)
    >>> _ = straight()(X, total, blank, None, 2.0, 0.0, 0.0, more)
    >>> mirrored(total, 3)
    array([[12, 12,  6],
           [12, 12,  6],
           [ 6,  6,  3]])
    """
    from numba import njit

    scope = _add.__globals__ | _parts()
    own = FunctionType(_add.__code__, scope, _add.__name__)
    return Loop(njit(fastmath=False, error_model="numpy")(own))


def mirrored(total: Integers, size: int) -> Integers:
    """Return the symmetric matrix of which ``total`` holds the lower triangle."""
    lower = total[:size, :size]
    return np.asarray(lower + lower.T - np.diag(np.diag(lower)))


@cache
def _loop() -> Any:
    return kept(_sums, **_parts())


@cache
def _parts() -> dict[str, Any]:
    from numba import njit

    strict = njit(fastmath=False, error_model="numpy")
    # privacy: sums of whole numbers below 2^53 are exact in any order, so it may be changed.
    return {"_round": strict(_round), "_tally": strict(_tally), "products": free_products()}


def _sums(X: Any, y: Any, row_factor: Any, label_factor: Any, nearest: bool) -> Any:
    p, n_rows = X.shape
    d = p + y.shape[0]
    d += d % 2
    part, found = np.zeros((d, TILE)), np.empty((d, d))
    total = np.zeros((d, d), np.int64)
    for start in range(0, n_rows, TILE):
        m = min(TILE, n_rows - start)
        for j in range(p):
            _round(X[j, start : start + m], row_factor[start : start + m], nearest, part[j])
        for j in range(y.shape[0]):
            _round(y[j, start : start + m], label_factor[start : start + m], nearest, part[p + j])
        products(part, m, found)
        _tally(found, total)
    return total


def _add(
    bounded: Any, start: int, m: int, blank: Any, constant: float, total: Any, more: Any
) -> None:
    y, row_factor, label_factor, nearest = more
    p, d = bounded.shape[0], total.shape[0]
    part, fixed, found = np.empty((d, m)), np.full(m, constant), np.empty((d, d))
    part[d - 1] = 0.0
    for i in range(m):
        if blank[start + i]:
            # privacy: a row that cannot be read contributes nothing at all.
            row_factor[start + i] = label_factor[start + i] = 0.0
    for j in range(p):
        _round(bounded[j, :m], row_factor[start : start + m], nearest, part[j])
    if constant > 0.0:
        _round(fixed, row_factor[start : start + m], nearest, part[p])
        p += 1
    for j in range(y.shape[0]):
        _round(y[j, start : start + m], label_factor[start : start + m], nearest, part[p + j])
    products(part, m, found)
    _tally(found, total)


def _tally(found: Any, total: Any) -> None:
    for a in range(len(total)):
        for b in range(a + 1):
            total[a, b] += np.int64(found[a, b])


def _round(given: Any, factor: Any, nearest: bool, out: Any) -> None:
    for i in range(len(given)):
        x = given[i] * factor[i]
        out[i] = np.rint(x) if nearest else np.trunc(x)
