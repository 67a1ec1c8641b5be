"""Gradients with a certificate in one compiled loop, when numba is installed.

A row is read once: some rows at a time have their products with the weights taken, then their
slopes, and are added up while they are in the nearest cache. The sums are those of
:meth:`Rows.certified_gradient <discreet.data.Rows.certified_gradient>`: few rows at a time,
added with compensation, so that its bound on rounding holds as it stands. It allows any order
of the products of a row and of the rows of a small sum. Slopes are within what it assumes of
them: ``exp`` is off by two units in the last place, and what follows by a few roundings.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from discreet.bounds import Array
from discreet.data.compiled import FUSE, REORDER, strict_slope
from discreet.data.kernel_cache import kept
from discreet.data.rounding_errors import slope_error
from discreet.losses import Loss
from discreet.losses.scalar import ScalarSlope

LARGE = 2**26
"""Values from which on loading or compiling a loop takes less time than it saves."""


def loop_pays(loss: Loss, n_values: int) -> bool:
    """Return whether rows of so many values in all should go through a loop.

    >>> from discreet.losses import Logistic
    >>> loop_pays(Logistic(), 1000)
    False
    """
    if n_values < LARGE or loss.outputs > 1 or loss.scalar_slope() is None:
        return False
    # Elsewhere a row's own curvature, which no loop computes, may be far below the largest one.
    if not math.isfinite(loss.regularity(label=math.inf, reach=math.inf).smoothness):
        return False
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def certified_sums(
    loss: Loss,
    X: Any,
    y: Array,
    weight: Array,
    norms: Array,
    w: Array,
    fine: int,
    smoothness: float,
    margin: float,
) -> tuple[Array, Array, int, float, float]:
    """Return the gradient over dense rows, and what bounds its error.

    Parameters
    ----------
    loss, X, y, weight, norms, w
        As for :class:`~discreet.data.Rows`.
    fine
        Rows in a small sum.
    smoothness, margin
        Bound on the curvature, and on the error of a product per unit of the norm of its row.

    Returns
    -------
    tuple
        The gradient, what rounding took from it, how many additions of small sums that covers,
        the error of the slopes, and the sum of the sizes of what rows add.

    Examples
    --------
    >>> from discreet.losses import Squared
    >>> one = np.ones(3)
    >>> total, lost, _, _, size = certified_sums(
    ...     Squared(), np.ones((3, 1)), 0 * one, one, one, np.ones(1), 2, 1.0, 0.0)
    >>> total + lost, size
    (array([3.]), 3.0)
    """
    slope = loss.scalar_slope()
    assert slope is not None
    run, parameters = _compiled(slope[0]), tuple(float(value) for value in slope[1])
    sums, lost, count, share, lever, square = run(X, y, weight, norms, w, fine, parameters)
    # The error is linear in what it depends on, so that of the mean row times their weight is all.
    whole = max(lever, 1e-300)
    mean = np.array([margin * square / whole]), np.array([share / whole])
    # The sum itself is added once more, and so is what rounding took from it.
    return sums, lost, count + 2, whole * float(slope_error(smoothness, *mean, loss)[0]), share


@cache
def _compiled(slope: ScalarSlope) -> Any:
    from numba import njit

    return kept(
        _sums,
        _slope_of=strict_slope(slope),
        margins=njit(fastmath=REORDER)(margins),
        _combine=njit(fastmath=FUSE)(_combine),
    )


_slope_of: Any = None  # kept() puts a compiled function in its place


def _sums(X: Any, y: Any, weight: Any, norms: Any, w: Any, fine: int, slopes: Any) -> Any:
    n_rows, d = X.shape
    total, lost, part, c = np.zeros(d), np.zeros(d), np.zeros(d), np.empty(fine)
    share, lever, square, count = 0.0, 0.0, 0.0, 0
    for start in range(0, n_rows, fine):
        n = min(fine, n_rows - start)
        margins(X, start, n, w, c)
        for i in range(n):
            c[i] = weight[start + i] * _slope_of(c[i], y[start + i], *slopes)
        for i in range(n):
            norm = norms[start + i]
            share += norm * abs(c[i])
            lever += norm * weight[start + i]
            square += norm * weight[start + i] * norm
        part[:] = 0.0
        _combine(X, start, n, c, part)
        for j in range(d):
            new = total[j] + part[j]
            virtual = new - total[j]
            # privacy: two-sum, as in Total.
            lost[j] += (total[j] - (new - virtual)) + (part[j] - virtual)
            total[j] = new
        count += 1
    return total, lost, count, share, lever, square


def margins(X: Any, start: int, n: int, w: Any, out: Any) -> None:
    """Write the products of some rows with the weights, each row by itself."""
    for i in range(n):
        x, z = X[start + i], 0.0
        for j in range(w.shape[0]):
            z += x[j] * w[j]
        out[i] = z


def _combine(X: Any, start: int, n: int, c: Any, out: Any) -> None:
    # Four rows at a time, because the sum is read and written once for all of them.
    whole = n // 4 * 4
    for i in range(0, whole, 4):
        k = start + i
        x0, x1, x2, x3 = X[k], X[k + 1], X[k + 2], X[k + 3]
        c0, c1, c2, c3 = c[i], c[i + 1], c[i + 2], c[i + 3]
        for j in range(out.shape[0]):
            out[j] += (c0 * x0[j] + c1 * x1[j]) + (c2 * x2[j] + c3 * x3[j])
    for i in range(whole, n):
        x = X[start + i]
        for j in range(out.shape[0]):
            out[j] += c[i] * x[j]
