"""The kernel of clipped sums in numpy: a few rows at a time go through two matrix products.

These rows stay in a near cache from the first product to the second, so each is
read from memory once. Threads wait for each other at every call, so there are
few calls, on many rows each.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.bounds import Array
from discreet.data.clipped.narrow import combined
from discreet.data.clipped.single_slopes import SingleSlopes
from discreet.data.clipped.sparse_products import sparse_products
from discreet.data.norms import TINY, outwards
from discreet.data.row_products import combine, one_by_one
from discreet.data.rows import Rows
from discreet.losses import Loss

Index = npt.NDArray[np.int64]
Pick = slice | Index

LEAST_CAP = 1e-290
"""Slopes that are cut below this are left out: such numbers have few digits."""

BLOCK_ROWS = 16384
"""Most rows of a block, whose sum one thread computes."""


def cache_rows(dimension: int) -> int:
    """Return the most dense rows that go through both products at once, from public values only.

    >>> cache_rows(100), cache_rows(10_000)
    (2621, 64)
    """
    # About 2 megabytes: more leaves the near cache, and less makes threads wait.
    return max(64, min(BLOCK_ROWS, 2**18 // max(dimension, 1)))


class Blockwise:
    """Clipped sums over blocks of the same rows.

    Parameters
    ----------
    rows
        Bounded rows: dense float64 or float32, or CSR.
    loss
        The loss.
    weight
        Weights of the rows; None if they are all 1 (or their rows zero).
    shifting
        Whether the positions of rows may differ between neighbours.
    single
        Slopes of sums over all rows by margins in float32, if these will do.

    Examples
    --------
    >>> from discreet.losses import Squared
    >>> rows = Rows(np.array([[3.0, 4.0], [0.0, 1.0]]), -np.ones(2))
    >>> kernel = Blockwise(rows, Squared(), None, shifting=False)
    >>> kernel.limit(np.array([0.2, 1.0]))
    >>> total, short = kernel(np.zeros(2), None, slice(0, 2), count=True)
    >>> total.round(6), short
    (array([0.6, 1.8]), 1)
    """

    def __init__(
        self,
        rows: Rows,
        loss: Loss,
        weight: Array | None,
        *,
        shifting: bool,
        single: SingleSlopes | None = None,
    ) -> None:
        self._rows, self._weight, self._shifting = rows, weight, shifting
        self._single = single
        self._inner, self._slope, self._outer = loss.bare_slope()
        # Labels in a spill file are made ready again and again, because memory is short.
        self._ready = None if rows.resident.spilled else loss.bare_labels(rows.y)
        self._labels = loss.bare_labels
        self._most = BLOCK_ROWS if rows.sparse else cache_rows(rows.dimension)
        self._local = threading.local()
        self._cap = np.zeros(0)
        self._sparse = sparse_products(rows.X)

    def limit(self, cap: Array) -> None:
        """Set the largest slope of each row."""
        self._cap = cap

    def __call__(
        self, w: Any, index: Index | None, block: slice, *, count: bool
    ) -> tuple[Array, int]:
        """Return the sum over a block and how many rows were not clipped.

        ``w`` in float32 asks for products in float32. Rows are counted on
        request, blank ones not at all.
        """
        read, margins, add = self._ways(w, index)
        w, high = self._inner * w, self._cap
        slope_of, clip, weight = self._slope, self._clip, self._weight
        single = self._single if index is None else None
        total, short, size = np.zeros(w.shape), 0, block.stop - block.start
        # Equal parts, because a short one takes as many calls as a long one.
        step = -(-size // -(-size // self._most))
        for start in range(block.start, block.stop, step):
            pick: Pick = slice(start, min(start + step, block.stop))
            pick = pick if index is None else index[pick]
            X = read(pick)
            if single is not None and isinstance(pick, slice):
                slope = single(pick, w)
            else:
                slope = slope_of(margins(X, w), *self._of(pick))
            if weight is not None:
                slope = (weight[pick] * slope.T).T
            whole = slope.copy() if count else slope
            # privacy: a power of two, so the real cap is kept to the last bit.
            most = high[pick] if self._outer == 1.0 else high[pick] / self._outer
            cut = clip(slope, most)
            if count:
                same = cut == whole if w.ndim == 1 else (cut == whole).all(axis=1)
                # privacy: a blank row is not counted either way.
                short += int(np.count_nonzero(same & (self._rows.weight[pick] > 0.0)))
            total += add(X, cut)
        return self._outer * total, short

    def cut(self, w: Array, index: Index) -> tuple[Any, Array]:
        """Return rows in float64, and their clipped slopes.

        The rows are overwritten by the next call of the same thread.
        """
        X = self._read(index)
        margins = _sparse_dot if self._rows.sparse else one_by_one
        slope = self._slope(margins(X, self._inner * w), *self._of(index))
        if self._weight is not None:
            slope = (self._weight[index] * slope.T).T
        # privacy: a power of two, so the real cap is kept to the last bit.
        return X, self._outer * self._clip(slope, self._cap[index] / self._outer)

    def _clip(self, slope: Array, high: Array) -> Array:
        """Cut the slopes of rows to their caps, in place."""
        return cut_slopes(slope, high) if slope.ndim == 1 else _shorten(slope, high)

    def _of(self, pick: Pick) -> tuple[Array, ...]:
        """Return the labels of rows, as their slope takes them."""
        if self._ready is None:
            return self._labels(self._rows.y[pick])
        return tuple(part[pick] for part in self._ready)

    def _ways(
        self, w: Any, index: Index | None
    ) -> tuple[Callable[[Any], Any], Callable[[Any, Any], Array], Callable[[Any, Any], Array]]:
        """Return how rows are read, multiplied by weights, and added up."""
        X = self._rows.X
        if self._rows.sparse:
            rows = self._sparse
            if rows is None:
                return self._read, _sparse_dot, combine
            return rows.read, rows.margins, rows.combined
        if w.dtype == np.float32:
            return X.__getitem__, _wide_dot, _narrow_sum
        read = X.__getitem__ if index is None and X.dtype == np.float64 else self._read
        # privacy: one row after the other, so that its margin does not depend on its position.
        margins = one_by_one if self._shifting else _dot
        return read, margins, _left

    def _read(self, pick: Pick) -> Any:
        """Return rows in float64."""
        if self._rows.sparse:
            part = self._rows._slice(pick) if isinstance(pick, slice) else self._rows.X[pick]
            part.data = part.data.astype(np.float64, copy=False)
            return part
        if isinstance(pick, slice):
            part = self._rows.X[pick]
        else:
            room = self._room(len(pick), self._rows.X.dtype)
            # Without a mode numpy gathers into memory of its own first.
            # privacy: wraps as caps and labels do, so that no row meets the cap of another.
            part = np.take(self._rows.X, pick, axis=0, out=room, mode="wrap")
        if part.dtype == np.float64:
            return part
        wide = self._room(len(part), np.float64)
        np.copyto(wide, part)
        return wide

    def _room(self, n_rows: int, dtype: Any) -> Any:
        """Return room for so many rows, one of its own for every thread, which stays in cache."""
        rooms, wide = self._local.__dict__, dtype == np.float64
        if len(rooms.get(wide, ())) < n_rows:
            rooms[wide] = np.empty((max(n_rows, self._most), self._rows.dimension), dtype)
        return rooms[wide][:n_rows]


def cut_slopes(slope: Array, high: Array) -> Array:
    """Cut slopes that are numbers, in place.

    >>> cut_slopes(np.array([-3.0, 0.5, np.nan]), np.ones(3))
    array([-1. ,  0.5,  1. ])
    """
    # privacy: a slope that is not a number ends at the cap too.
    np.fmin(slope, high, out=slope)
    np.fmax(slope, -high, out=slope)
    return slope


def _shorten(slope: Array, high: Array) -> Array:
    """Scale slopes of several outputs down onto their caps, in place."""
    # privacy: squares below the smallest number are lost, hence the last term.
    size = np.sqrt(np.sum(slope * slope, axis=1))
    size *= outwards(slope.shape[1])
    size += TINY
    # privacy: a slope that is not finite adds nothing.
    slope[~np.isfinite(size)] = 0.0
    factor = np.divide(high, size, out=size)
    # privacy: smaller ones may have been rounded up by more than the margin.
    factor[~(factor >= LEAST_CAP)] = 0.0
    np.minimum(factor, 1.0, out=factor)
    slope *= factor[:, None]
    return slope


def _dot(X: Any, w: Any) -> Array:
    # Several outputs one after the other, which is how slopes are computed fastest.
    return np.asarray(np.dot(X, w) if w.ndim == 1 else np.dot(w.T, X.T).T)


def _left(X: Any, slope: Array) -> Array:
    # A vector times a matrix is the faster way round.
    return np.asarray(np.dot(slope.T, X).T)


def _wide_dot(X: Any, w: Any) -> Array:
    return np.asarray(np.dot(X, w), dtype=np.float64)


def _sparse_dot(X: Any, w: Any) -> Array:
    return np.asarray(X @ w)


def _narrow_sum(X: Any, slope: Any) -> Array:
    return combined(X, slope.astype(np.float32))
