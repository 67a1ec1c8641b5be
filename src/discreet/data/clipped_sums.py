"""Sums of clipped gradients over rows: the kernel of the noisy gradient methods.

The gradient of one row is ``x`` times the slope of the loss, so a clipped sum
is two matrix products: margins, then slopes cut to ``clip / ||x||``, then their
combination of the rows. Rows are read once per sum, in blocks that stay in
cache between the two products; nothing as large as the data is allocated.

Rounding. What a row adds is the real vector ``c x`` with the computed ``c``,
and its norm is at most ``clip`` in real arithmetic. Computed sums differ from
the real sum of these vectors by at most :func:`sum_rounding`. When neighbours
keep the positions of rows, all chunks but one are bit-for-bit the same. When
positions may shift, margins are computed row by row in a fixed order, so that
a row's ``c`` does not depend on where it stands. This takes elementwise
functions of numpy and scipy to give equal results for equal arguments.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from discreet.checks import positive
from discreet.data.blocks import Total, gamma, one_blas_thread, slices
from discreet.data.norms import norms_of, outwards
from discreet.data.rows import Rows
from discreet.losses import Loss
from discreet.types import Array, unit_roundoff

BLOCKS = 16
"""Blocks in a chunk, which is what one thread works on at a time."""

MOST_ROWS = 2**30
"""Rows for which rounding is bounded when their number is secret."""

Index = npt.NDArray[np.int64]


def cache_rows(dimension: int, *, sparse: bool = False) -> int:
    """Return the rows of a block, from public values only.

    >>> cache_rows(100), cache_rows(10_000), cache_rows(10_000, sparse=True)
    (2608, 16, 8192)
    """
    if sparse:
        return 8192
    return max(16, min(4096, 2**18 // max(dimension, 1) // 16 * 16))


def sum_rounding(clip: float, *, n_rows: int, dimension: int, shifting: bool) -> float:
    """Return by how much rounding can add to the distance of neighbouring sums.

    It holds for dense and for sparse rows.

    Parameters
    ----------
    clip
        Bound on the norm of one row's part.
    n_rows
        Most rows in a sum.
    dimension
        Coordinates of a row.
    shifting
        Whether the positions of rows may differ between neighbours.

    Examples
    --------
    >>> sum_rounding(1.0, n_rows=10**6, dimension=100, shifting=False) < 1e-6
    True
    """
    dense, sparse = cache_rows(dimension), cache_rows(dimension, sparse=True)
    block, chunks = max(dense, sparse), n_rows / (BLOCKS * min(dense, sparse)) + 1
    # privacy: inside a chunk sums of block products, between chunks compensated addition.
    inside = gamma(block + BLOCKS + 2) * (n_rows if shifting else min(BLOCKS * block, n_rows))
    between = (unit_roundoff() + gamma(chunks) ** 2) * n_rows
    return 2.01 * clip * (inside + between)


class ClippedSums:
    """Clipped gradient sums over the same rows, again and again.

    Use it as a context: inside, BLAS runs on one thread and chunks of rows are
    shared out over the cores. Results do not depend on the number of threads.

    Parameters
    ----------
    rows
        Bounded rows: dense float64 or float32, or CSR.
    loss
        The loss.
    shifting
        Whether the positions of rows may differ between neighbours.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> rows = Rows(np.array([[3.0, 4.0], [0.0, 1.0]]), np.array([1.0, -1.0]))
    >>> with ClippedSums(rows, Logistic()) as sums:
    ...     sums.full(np.zeros(2), 1.0).round(12)
    array([-0.6, -0.3])
    """

    def __init__(self, rows: Rows, loss: Loss, *, shifting: bool = False) -> None:
        self.rows = rows
        self.loss = loss
        self.shifting = shifting
        self._block = cache_rows(rows.dimension, sparse=rows.sparse)
        # privacy: rounded down, so that cap * norm stays at most clip in real arithmetic.
        self._local = threading.local()
        norms = self._norms()
        self._inverse = np.full(rows.n_rows, np.inf)
        np.divide(1.0 - 8.0 * unit_roundoff(), norms, out=self._inverse, where=norms > 0.0)
        # A blank row is all zeros, so weights 0 and 1 need no product.
        plain = bool(np.isin(rows.weight, (0.0, 1.0)).all())
        self._weight = None if plain else rows.weight
        self._clip, self._cap, self._floor = 0.0, self._inverse, self._inverse
        self._resources = ExitStack()
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
        self._resources.enter_context(one_blas_thread())
        self._pool = self._resources.enter_context(ThreadPoolExecutor(min(8, cores)))
        return self

    def __exit__(self, *exception: object) -> None:
        self._pool = None
        self._resources.close()

    def full(self, w: Array, clip: float) -> Array:
        """Return the sum over all rows, shaped like ``w``."""
        return self._sum(None, w, clip, count=False)[0]

    def batch(self, index: Index, w: Array, clip: float) -> Array:
        """Return the sum over the rows of ``index``, in that order."""
        return self._sum(index, w, clip, count=False)[0]

    def counted(self, index: Index | None, w: Array, clip: float) -> tuple[Array, int]:
        """Return the sum and how many of its rows, blank ones aside, were not clipped."""
        return self._sum(index, w, clip, count=True)

    def _sum(self, index: Index | None, w: Array, clip: float, count: bool) -> tuple[Array, int]:
        if clip != self._clip:
            self._cap = positive("clip", clip) * self._inverse
            self._clip, self._floor = clip, -self._cap
        n_rows = self.rows.n_rows if index is None else len(index)
        chunks = slices(n_rows, BLOCKS * self._block)

        def one(chunk: slice) -> tuple[Array, int]:
            return self._chunk(chunk, index, w, count)

        total, short = Total(w.shape), 0
        run = map if self._pool is None or len(chunks) < 2 else self._pool.map
        for part, inside in run(one, chunks):
            total.add(part)
            short += inside
        return total.value(), short

    def _chunk(self, chunk: slice, index: Index | None, w: Array, count: bool) -> tuple[Array, int]:
        """Return the sum over a chunk, block after block in order."""
        out, short = np.zeros(w.shape), 0
        for start in range(chunk.start, chunk.stop, self._block):
            s = slice(start, min(start + self._block, chunk.stop))
            pick = s if index is None else index[s]
            X = self._rows(pick)
            slope = self.loss.slope(self._margins(X, w), self.rows.y[pick])
            if self._weight is not None:
                slope = (self._weight[pick] * slope.T).T
            cut = self._clipped(slope, pick)
            if count:
                same = cut == slope if w.ndim == 1 else (cut == slope).all(axis=1)
                # privacy: a blank row is not counted either way.
                short += int(np.count_nonzero(same & (self.rows.weight[pick] > 0.0)))
            out += np.asarray(X.T @ cut) if sp.issparse(X) or w.ndim == 2 else np.dot(cut, X)
        return out, short

    def _clipped(self, slope: Array, pick: slice | Index) -> Array:
        """Return slopes whose product with the row has at most the norm of the clip."""
        cap = self._cap[pick]
        if slope.ndim == 1:
            return np.asarray(np.minimum(np.maximum(slope, self._floor[pick]), cap))
        size = norms_of(slope) * outwards(slope.shape[1])
        # privacy: 0/0 counts as 1; a longer row is scaled down onto its cap.
        scale = np.divide(cap, size, out=np.ones_like(cap), where=size > cap)
        return np.asarray(slope * scale[:, None])

    def _norms(self) -> Array:
        """Return upper bounds on the norms of the rows as they are stored."""
        if self.rows.sparse or self.rows.X.dtype == np.float64:
            return self.rows.norms
        parts = [norms_of(np.asarray(self._rows(s))) for s in slices(self.rows.n_rows, self._block)]
        # privacy: norms computed in float32 could be too small to be bounds.
        return np.concatenate(parts) * outwards(self.rows.dimension)

    def _rows(self, pick: slice | Index) -> Any:
        if self.rows.sparse:
            return self.rows._slice(pick) if isinstance(pick, slice) else self.rows.X[pick]
        X = self.rows.X
        if isinstance(pick, slice) and X.dtype == np.float64:
            return X[pick]
        # Every thread gathers into a block of its own, which stays in cache.
        room = getattr(self._local, "room", None)
        if room is None:
            room = self._local.room = np.empty((self._block, X.shape[1]))
        size = pick.stop - pick.start if isinstance(pick, slice) else len(pick)
        # privacy: float32 is storage only; sums in float32 would be off by whole rows.
        np.copyto(room[:size], X[pick])
        return room[:size]

    def _margins(self, X: Any, w: Array) -> Array:
        if sp.issparse(X) or not self.shifting:
            return np.asarray(X @ w)
        # privacy: one row after the other, so that its margin does not depend on its position.
        if w.ndim == 1:
            return np.asarray(np.einsum("ij,j->i", X, w))
        return np.stack([np.einsum("ij,j->i", X, column) for column in w.T], axis=1)
