"""Sums of slopes that are one number on either side of a corner, from the rows that turned.

A hinge, pinball or absolute loss has one slope below its corner and one above. A sum over all
rows changes by those whose prediction has passed their corner, which are few where weights move
little. Sums run over few rows at a time, added with compensation, and all rows are summed anew
before half of them have turned, so that the error of a sum that many steps made stays within
:func:`discreet.data.clipped.clipped_sums.sum_rounding`. The proof is in
``docs/proofs/lemmas/rounding-of-sums.md``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.bounds import Array
from discreet.data.blocks import Total, slices, summed
from discreet.data.clipped.blockwise import BLOCK_ROWS, Index, cut_slopes
from discreet.data.rows import Rows
from discreet.losses import Loss

FEWEST = 16
"""Rows of a sum before compensation that are enough for it to pay."""

ANEW = 16
"""One row in so many that turns at a step makes it cheaper to sum all."""

WAITING = 2**18
"""Numbers of sums over few rows that wait to be added up."""


class SideSums:
    """Sums over all rows, for one or more columns of weights.

    Parameters
    ----------
    rows
        Dense rows in float64.
    columns
        How many sums there are, each with its own slopes.

    Examples
    --------
    >>> sums = SideSums(Rows(np.array([[1.0], [2.0]]), np.ones(2)), 1)
    >>> sums.limit(-np.ones((1, 2)), np.zeros((1, 2)), np.full(2, 9.0))
    >>> sums([np.array([0, 1])]).value(), sums([np.array([1])]).value()
    (array([[-3.]]), array([[-1.]]))
    """

    def __init__(self, rows: Rows, columns: int) -> None:
        self._X, self.few = rows.X, at_once(rows.n_rows)
        self.below = np.zeros((columns, rows.n_rows), np.bool_)
        self.turns = 0
        self._total: Total | None = None

    def limit(self, low: Array, high: Array, cap: Array) -> None:
        """Set the slopes of all rows below and above their corners, and cut them to their caps."""
        low, high = cut_slopes(low, cap), cut_slopes(high, cap)
        # privacy: a slope is their sum below the corner and their difference above it, within
        # two units in the last place of the cap, for which the cap has room.
        middle, self._half = (low + high) / 2.0, (low - high) / 2.0
        self._middle, self._total = self._sum(self._X, middle), None

    def __call__(self, turned: Sequence[Index]) -> Total:
        """Return the sums after some rows turned to the other side, in every column."""
        most = max(map(len, turned))
        for below, places in zip(self.below, turned, strict=True):
            below[places] ^= True
        # privacy: rows that turn are counted, because their sums round too.
        self.turns += most
        n, total = len(self._X), self._total
        if total is None or self.turns > n // 2 or most > max(n // ANEW, 1):
            self._total = total = Total((len(self.below), self._X.shape[1]))
            self.turns = 0
            total.join(self._middle)
            total.join(self._sum(self._X, np.where(self.below, self._half, -self._half)))
            return total
        change = np.zeros((2, len(self.below), self._X.shape[1]))
        for k, places in enumerate(turned):
            if len(places):
                twice = np.where(self.below[k, places], 2.0, -2.0) * self._half[k, places]
                found = few_at_a_time(self._X[places], twice[None], self.few)
                change[:, k] = [part[0] for part in found]
        total.add(*change)
        return total

    def _sum(self, X: Array, slope: Array) -> Total:
        """Return sums over many rows."""
        total = Total((len(slope), X.shape[1]))
        # So many at a time that what waits to be added up is small.
        for s in slices(len(X), self.few * max(1, WAITING // (len(slope) * X.shape[1]))):
            total.add(*few_at_a_time(X[s], slope[:, s], self.few))
        return total


def corners(loss: Loss, y: Array, weight: Array | None) -> tuple[Array, Array, Array] | None:
    """Return the corner of every row, and its weighted slopes below and above; None if none.

    >>> from discreet.losses import Absolute
    >>> corners(Absolute(), np.array([3.0]), np.array([0.5]))
    (array([3.]), array([-0.5]), array([0.5]))
    """
    label, own = (y, np.inf) if y.ndim == 1 else (y[:, 0], y[:, 1])
    found = None if loss.inner.quadratic else loss.inner.corner(label)
    if found is None:
        return None
    joint, low, high = found
    low, high = np.clip(low, -own, own), np.clip(high, -own, own)
    return (joint, low, high) if weight is None else (joint, weight * low, weight * high)


def at_once(n_rows: int) -> int:
    """Return how many rows are summed before compensation, from public values.

    >>> at_once(100_000), at_once(2**20)
    (512, 32)
    """
    # privacy: rows that turned count as much again as all rows do.
    most = BLOCK_ROWS * BLOCK_ROWS // (4 * n_rows) - 8
    return 1 << min(10, max(1, most).bit_length() - 1)


def few_at_a_time(X: Array, slope: Array, k: int) -> tuple[Array, Array]:
    """Return sums over rows, ``k`` at a time, for each line of slopes, and what rounding took.

    >>> few_at_a_time(np.ones((5, 1)), np.arange(10.0).reshape(2, 5), 2)[0]
    array([[10.],
           [35.]])
    """
    columns, n = slope.shape
    whole = n // k * k
    parts = np.empty((-(-n // k), columns, X.shape[1]))
    np.matmul(
        slope[:, :whole].reshape(columns, -1, k).transpose(1, 0, 2),
        X[:whole].reshape(-1, k, X.shape[1]),
        out=parts[: whole // k],
    )
    if whole < n:
        parts[-1] = np.dot(slope[:, whole:], X[whole:])
    return summed(parts)
