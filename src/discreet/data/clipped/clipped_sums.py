"""Sums of clipped gradients over rows: the kernel of the noisy gradient methods.

The gradient of one row is ``x`` times the slope of the loss, so a clipped sum
is two matrix products: margins, then slopes cut to ``clip / ||x||``, then their
combination of the rows. Rows are read once per sum, a few at a time that stay
in cache between the two products (:mod:`discreet.data.clipped.blockwise`); nothing as
large as the data is allocated.

Rounding. What a row adds is the real vector ``c x`` with the computed ``c``,
and its norm is at most ``clip`` in real arithmetic. Computed sums differ from
the real sum of these vectors by at most :func:`sum_rounding`. When neighbours
keep the positions of rows, all blocks but one are bit-for-bit the same. When
positions may shift, margins are computed row by row in a fixed order, so that
a row's ``c`` does not depend on where it stands. This takes elementwise
functions of numpy and scipy to give equal results for equal arguments.

Rows in float32 are read in half the time. Their margins may be computed in
float32, because ``c`` is clipped after it. Sums are float64, but for groups of
a few rows where positions are kept (:mod:`discreet.data.clipped.narrow`). The clip is
then a little smaller, so that the same bound holds.

With numba installed, sums over enough rows are taken by the kernels of
:mod:`discreet.data.compiled`, for which the same holds.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from discreet.bounds import Array, unit_roundoff
from discreet.checks import positive
from discreet.data.blocks import Total, cores, cut, gamma, one_blas_thread, slices, summed
from discreet.data.clipped.active_rows import ActiveRows, Reach, active_rows
from discreet.data.clipped.blockwise import BLOCK_ROWS, LEAST_CAP, Blockwise, Index
from discreet.data.clipped.narrow import SLIM, steady
from discreet.data.clipped.single_slopes import single_slopes
from discreet.data.compiled import Kernel, kernel_for
from discreet.data.norms import TINY
from discreet.data.rows import Rows
from discreet.data.storage import NARROW, NARROW_RANGE, NEARBY, Resident, Room, in_range
from discreet.losses import Loss

PATIENCE = 2**32
"""Values read before a kernel is loaded or compiled. On few columns it saves little."""

EAGER = 2**30
"""The same for rows of at least ``BROAD`` numbers, where a kernel takes half the time."""

BROAD = 64

GATHERED = 2**28
"""The same for batches: a kernel reads rows where they are, and numpy copies them first."""

MOST_CAP = 2.0**1000
"""Larger caps cut nothing, and twice as much would be infinite."""

MOST_ROWS = 2**30
"""Rows for which rounding is bounded when their number is secret."""


SMALL = 2**21
"""Products up to which a sum is over before threads have shared it out."""


STORED = 256
"""Values of a sparse row that are reckoned with. How many there are is secret."""


def shared_rows(n_rows: int, products: int = 1, least: int = 1) -> int:
    """Return the rows of a block: equal shares for two, four or eight cores.

    Few rows, or not so few with few products a row, make one block, for one thread. Where a
    block should have ``least`` rows to pay, there are fewer of them.

    >>> shared_rows(1000), shared_rows(10_000), shared_rows(1_000_000)
    (1000, 10000, 15625)
    >>> shared_rows(10_000, products=1000), shared_rows(10_000, products=1000, least=2000)
    (1250, 2000)
    """
    small = n_rows * products <= SMALL and n_rows <= BLOCK_ROWS
    if n_rows <= 2048 or small:
        return max(n_rows, 1)
    blocks = min(8 * -(-n_rows // (8 * BLOCK_ROWS)), n_rows // max(least, 1))
    return -(-n_rows // max(blocks, -(-n_rows // BLOCK_ROWS)))


def patience_of(dimension: int) -> int:
    """Return the values read before a kernel is loaded or compiled, for rows so long.

    >>> patience_of(10) == PATIENCE, patience_of(100) == EAGER
    (True, True)
    """
    return min(EAGER, PATIENCE) if dimension >= BROAD else PATIENCE


def work_of(values: float, *, batches: bool) -> float:
    """Return how much work it is to read so many values; without end if a kernel surely pays.

    >>> work_of(2.0**28, batches=False), work_of(2.0**28, batches=True)
    (268435456.0, inf)
    """
    return math.inf if batches and values >= GATHERED else values


def _kept(size: int) -> int:
    """Return how many sums of blocks wait to be added up, from public values only."""
    return max(16, min(1024, 2**20 // max(size, 1)))


def sum_rounding(clip: float, *, n_rows: int, shifting: bool) -> float:
    """Return by how much rounding can add to the distance of neighbouring sums.

    It holds for dense and for sparse rows, in float64 and in float32.

    Parameters
    ----------
    clip
        Bound on the norm of one row's part.
    n_rows
        Most rows in a sum.
    shifting
        Whether the positions of rows may differ between neighbours.

    Examples
    --------
    >>> sum_rounding(1.0, n_rows=10**6, shifting=False) < 1e-6
    True
    """
    # privacy: products and sums of any order inside a block, compensated addition between blocks.
    inside = gamma(BLOCK_ROWS + 4) * (n_rows if shifting else min(BLOCK_ROWS, n_rows))
    between = (unit_roundoff() + gamma(n_rows / BLOCK_ROWS + 9) ** 2) * n_rows
    return 2.01 * clip * (inside + between)


def parted(index: Index, n_rows: int, shard: int) -> Iterator[tuple[int, Index]]:
    """Yield the numbers of shards that a batch has rows of, with these rows, in their order.

    >>> list(parted(np.array([5, 0, 4]), 6, 3))
    [(0, array([0])), (1, array([5, 4]))]
    """
    if n_rows <= shard:
        yield 0, index
        return
    which = index // shard
    order = np.argsort(which, kind="stable")
    borders = np.searchsorted(which[order], np.arange(-(-n_rows // shard) + 1))
    for k, (a, b) in enumerate(pairwise(borders.tolist())):
        if b > a:
            yield k, index[order[a:b]]


class ClippedSums:
    """Clipped gradient sums over the same rows, again and again.

    Use it as a context: inside, BLAS runs on one thread and blocks of rows are
    shared out over the cores. Results do not depend on the number of threads.

    Parameters
    ----------
    rows
        Bounded rows: dense float64 or float32, or CSR.
    loss
        The loss.
    shifting
        Whether the positions of rows may differ between neighbours.
    work
        Public number of values that all sums together will read (:func:`work_of`): a kernel
        is compiled at once if that pays, or never. By default values are counted,
        unless ``shifting``, when their number is secret and numpy does it all.
    reach
        Public bounds on a row, with which sums at weights that move little may
        compute few rows anew (:mod:`discreet.data.clipped.active_rows`).
    coarse
        Whether noise hides what slopes lose in float32
        (:mod:`discreet.data.clipped.single_slopes`).

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> rows = Rows(np.array([[3.0, 4.0], [0.0, 1.0]]), np.array([1.0, -1.0]))
    >>> with ClippedSums(rows, Logistic()) as sums:
    ...     sums.full(np.zeros(2), 1.0).round(12)
    array([-0.6, -0.3])
    """

    _near: ClassVar[bool] = True  # the rows are in this process
    _active: ActiveRows | None = None
    _clip = math.nan  # none was asked for yet

    def __init__(
        self,
        rows: Rows,
        loss: Loss,
        *,
        shifting: bool = False,
        work: float | None = None,
        reach: Reach | None = None,
        coarse: bool = False,
    ) -> None:
        self.rows = rows
        self.loss = loss
        self.shifting = shifting
        norms, self._slim = rows.norms, rows.X.dtype == np.float32 and not rows.sparse
        room = Room(math.inf if rows.resident.spilled else 0)
        self._inverse, self._cap = room.empty(rows.n_rows), room.empty(rows.n_rows)
        self._resident = Resident(rows.X, rows.y, rows.weight, norms, self._inverse, self._cap)
        # privacy: rounded down, so that cap * norm stays at most clip in real arithmetic. With
        # float32 there is also room for the rounding of a group.
        below, plain = SLIM if self._slim else 1.0 - 8.0 * unit_roundoff(), True
        for s in self._parts():
            inverse, size, weight = self._inverse[s], norms[s], rows.weight[s]
            # A row of zeros needs no cap, but infinity times zero is not a number.
            inverse[:] = 1.0 / TINY
            np.divide(below, size, out=inverse, where=size > 0.0)
            if rows.share is not None:
                # privacy: a row that counts in part is clipped to that part, so that those of a
                # group together stay within its rows times the clip.
                inverse *= rows.share[s]
            if rows.X.dtype == np.float32 and not rows.sparse:
                # A slope within its cap then fits into float32.
                np.minimum(inverse, 1.0 / NARROW.tiny, out=inverse)
                # Always true for bounded rows.
                self._slim &= bool(size.max(initial=0.0) <= 2.0 * NARROW_RANGE)
            # privacy: a row of weight 0 may go without the product only if it is all zeros.
            plain &= bool(((weight == 1.0) | (size == 0.0)).all())
        self._weight = None if plain else rows.weight
        single = single_slopes(rows, loss) if coarse and not shifting and self._near else None
        self._blockwise = Blockwise(rows, loss, self._weight, shifting=shifting, single=single)
        if reach is not None and not shifting and self._near:
            self._active = active_rows(rows, loss, reach, self._weight)
        self._kernel: Kernel | None = None
        # privacy: kernels differ in rounding, so which one is used must not depend on secrets.
        patience = patience_of(rows.dimension)
        self._patience = patience if work is None and not shifting else math.inf
        if work is not None and work >= patience:
            self._kernel = kernel_for(loss, rows.X, shifting=shifting)
        self._resources = ExitStack()
        self._pool: ThreadPoolExecutor | None = None
        self._helpers = 0

    def __enter__(self) -> Self:
        self._resources.enter_context(one_blas_thread())
        # The thread that asks works too.
        self._helpers = cores() - 1
        if self._helpers:
            self._pool = self._resources.enter_context(ThreadPoolExecutor(self._helpers))
        return self

    def __exit__(self, *exception: object) -> None:
        self._pool = None
        self._resources.close()

    def full(self, w: Array, clip: float) -> Array:
        """Return the sum over all rows, shaped like ``w``."""
        return self._sum(None, w, clip, count=False)[0]

    def batch(self, index: Index | None, w: Array, clip: float) -> Array:
        """Return the sum over the rows of ``index``, in that order; over all rows if it is None."""
        return self._sum(index, w, clip, count=False)[0]

    def counted(self, index: Index | None, w: Array, clip: float) -> tuple[Array, int]:
        """Return the sum and how many of its rows, blank ones aside, were not clipped."""
        return self._sum(index, w, clip, count=True)

    def _sum(self, index: Index | None, w: Array, clip: float, count: bool) -> tuple[Array, int]:
        if clip != self._clip:
            positive("clip", clip)
        n_rows = self.rows.n_rows if index is None else len(index)
        if self._active is not None and index is None and not count:
            if clip != self._clip:
                self._limit(clip)
            total = self._active(w)
            if total is not None:
                return total, 0
        self._patience -= n_rows * self.rows.dimension
        if self._patience < 0:
            self._compile()
            self._patience = math.inf
        near = self._near and n_rows > 0 and self.rows.n_rows <= self.rows.shard
        if near and self._block(n_rows, w) == n_rows:
            # One block has no other to be added to.
            total, short = self._whole(n_rows, index, self._set(index, w, clip), count)
            return total + 0.0, short
        sums, short = Total(w.shape), 0
        for part, found in self._parts_of_sum(index, w, clip, count):
            sums.join(part)
            short += found
        return sums.value(), short

    def _compile(self) -> None:
        self._kernel = kernel_for(self.loss, self.rows.X, shifting=self.shifting)

    def _parts_of_sum(
        self, index: Index | None, w: Array, clip: float, count: bool
    ) -> Iterator[tuple[Total, int]]:
        """Yield the sum over each shard, and how many of its rows were not clipped."""
        w = self._set(index, w, clip)
        for shard, chosen in self._by_shard(index):
            rows = shard.stop - shard.start
            blocks = cut(shard, self._block(rows, w))
            room = np.empty((min(len(blocks), _kept(w.size)), *w.shape))
            total, short = Total(w.shape), 0
            for first in range(0, len(blocks), max(len(room), 1)):
                some = blocks[first : first + len(room)]
                short += self._fill(room, some, chosen, w, count)
                total.add(*summed(room[: len(some)]))
            yield total, short

    def _block(self, n_rows: int, w: Array) -> int:
        """Return the rows of a block."""
        if not self.rows.sparse:
            return shared_rows(n_rows, w.size)
        # privacy: blocks depend on public values, so not on how many values are stored. A sum is
        # as long as the weights are, so adding up those of short blocks would take longest.
        stored = w.size // len(w) * min(len(w), STORED)
        return shared_rows(n_rows, stored, len(w) // 4)

    def _set(self, index: Index | None, w: Array, clip: float) -> Any:
        """Set the clip, and return the weights in the type that margins are computed in."""
        if clip != self._clip:
            self._limit(clip)
        if self._slim and in_range(clip) and np.abs(w).max(initial=0.0) <= NARROW_RANGE**2:
            return self._narrowed(w, index)
        return w

    def _whole(self, n_rows: int, index: Index | None, w: Any, count: bool) -> tuple[Array, int]:
        """Return the sum over all rows of a sum that makes one block."""
        # privacy: a warning would tell of the rows.
        with np.errstate(all="ignore"):
            found = self._part(slice(0, n_rows), index, w, count)
        self._resident.touched(self._size(index) * n_rows)
        return found

    def _size(self, index: Index | None) -> int:
        """Return the bytes that a row of a sum brings into memory."""
        return NEARBY if index is not None else 8 * (self.rows.dimension + 4)

    def _by_shard(self, index: Index | None) -> Iterator[tuple[slice, Index | None]]:
        """Yield the rows of a sum, shard by shard, as places in what comes second."""
        if index is None:
            yield from ((s, None) for s in slices(self.rows.n_rows, self.rows.shard))
        elif not self.shifting:
            # privacy: rows that are exchanged keep their places in a batch, whatever their shards.
            yield slice(0, len(index)), index
        else:
            for _, chosen in parted(index, self.rows.n_rows, self.rows.shard):
                yield slice(0, len(chosen)), chosen

    def _limit(self, clip: float) -> None:
        """Set the largest slope of each row."""
        for s in self._parts():
            cap = self._cap[s]
            with np.errstate(over="ignore"):
                np.multiply(self._inverse[s], clip, out=cap)
            np.minimum(cap, MOST_CAP, out=cap)
            # privacy: smaller ones may have been rounded up by more than the margin.
            cap[cap < LEAST_CAP] = 0.0
        self._clip = clip
        self._blockwise.limit(self._cap)
        if self._active is not None:
            self._active.limit(self._cap, clip)

    def _parts(self) -> Iterator[slice]:
        """Yield long pieces of the numbers of rows; of spilled ones few are in memory."""
        for s in slices(self.rows.n_rows, 2**20):
            yield s
            self._resident.touched(40 * (s.stop - s.start))

    def _fill(
        self, room: Array, blocks: list[slice], index: Index | None, w: Any, count: bool
    ) -> int:
        """Write the sums over blocks into their places and return how many rows were counted."""
        todo, short = deque(enumerate(blocks)), [0] * len(blocks)

        def work() -> None:
            # privacy: a warning would tell of the rows.
            with np.errstate(all="ignore"):
                while True:
                    try:
                        number, block = todo.popleft()
                    except IndexError:
                        return
                    room[number], short[number] = self._part(block, index, w, count)
                    self._resident.touched(self._size(index) * (block.stop - block.start))

        helpers = []
        if self._pool is not None:
            helpers = [self._pool.submit(work) for _ in blocks[1 : self._helpers + 1]]
        work()
        for helper in helpers:
            helper.result()
        return sum(short)

    def _narrowed(self, w: Array, index: Index | None) -> Any:
        """Return the weights in float32 if that is how margins are to be computed."""
        if self._kernel is None and (index is not None or self.shifting or w.ndim == 2):
            return w
        # privacy: a row's margin depends on the row alone, in compiled code by construction.
        return w.astype(np.float32) if self._kernel or steady(len(w)) else w

    def _part(self, s: slice, index: Index | None, w: Any, count: bool) -> tuple[Array, int]:
        """Return the sum over a block, with products in float32 if the weights are."""
        if self._kernel is None:
            return self._blockwise(w, index, s, count=count)
        weighted = self._weight is not None
        y, weight, cap = self.rows.y, self.rows.weight, self._cap
        return self._kernel(w, y, weight, cap, index, s, weighted=weighted, count=count)
