"""Frank-Wolfe steps whose cost grows with the non-zeros they touch, not with the dimension.

Over the l1 ball a step moves one coordinate, ``w <- (1 - gamma) w + gamma R sign e_j``,
so ``w = a q`` with a public scale ``a`` that absorbs the shrinking and a ``q``
that changes in one place. Only rows with a non-zero in column ``j`` see more
than the scale change. Both kernels here give the exponential mechanism's exact
law on scores of ``+-R G_j``, ``G`` the gradient of the sum.

:class:`SquaredSteps` keeps ``X' W X q`` and ``X' W y``; the gradient is ``a``
times one minus the other, with no approximation but rounding, which
:func:`squared_rounding` bounds.

:class:`StaleSteps` serves other losses, where the scale changes every slope.
Row ``i`` keeps the slope of an earlier margin until its own margin has moved
by more than ``tolerance``. *Why that is private:* let the released vertices be
given. Whether and when row ``i`` is renewed, and to which slope, is then a
function of row ``i`` and public numbers alone: its margin is, and so is the
tolerance. So on neighbouring data sets all other rows contribute the very same
terms, and the one row that differs contributes a slope at a margin it had at
an earlier ``w`` in the ball, within the same bound as a fresh one. Nothing that
mixes rows may decide about a renewal: no budget of renewals shared by rows, no
"worst rows first", nothing about rejected proposals or time. Each term
``slope x_ij`` is rounded to a multiple of a public power of two, so that sums
of terms are exact and do not remember in which order terms came and went.

In both, something that moves with the scale alone (a margin, a score) is looked
at again only when it may have moved too far: see :func:`plain_steps.overdue`. The
loops are compiled where numba is installed, and give the same bits without.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from discreet.algorithms.frank_wolfe import plain_steps
from discreet.algorithms.frank_wolfe.compiled_steps import compiled_steps
from discreet.algorithms.frank_wolfe.plain_steps import Hot, Schedule, SparseTable, Sums
from discreet.bounds import Array
from discreet.data import Rows, gamma
from discreet.losses import Loss
from discreet.mechanisms.compiled_choice import compiled_choice
from discreet.mechanisms.signed_choice import Index, SignedSampler
from discreet.noise import Randomness

ROOM = 0.25
"""How far a log-odds may move with the scale before its class is found anew."""

COMPILED_FROM = 2**30
"""Steps times features from which compiling loops pays for itself."""


class Steps(Protocol):
    """State of a run: draws a signed coordinate and moves towards it."""

    def draw(self, random: Randomness) -> tuple[int, int]: ...

    def move(self, j: int, sign: int, step: float) -> None: ...


def squared_rounding(n_rows: int, steps: int) -> float:
    """Return the rounding error of a gradient of :class:`SquaredSteps`.

    In units of the largest sum of row gradients, coordinate by coordinate:
    every number is a sum of at most ``n_rows`` products, updated ``steps`` times.

    >>> squared_rounding(1000, 100) < 1e-12
    True
    """
    return gamma(n_rows + 4 * steps + 16)


class SquaredSteps:
    """Exact steps for half the squared error on sparse rows.

    Parameters
    ----------
    rows
        Sparse bounded rows with real labels.
    radius
        Radius of the l1 ball.
    scale
        Scale of the exponential mechanism: the log-weight of a vertex is minus
        its score over ``scale``.
    most
        A public bound on the size of log-weights.
    compiled
        Whether to compile the loops, if numba is installed.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> rows = Rows(sp.csr_array(np.eye(3)), np.array([1.0, 0.0, 0.0]))
    >>> steps = SquaredSteps(rows, 1.0, 0.01, most=100.0)
    >>> steps.draw(Seeded(0))
    (0, 1)
    """

    def __init__(
        self, rows: Rows, radius: float, scale: float, *, most: float, compiled: bool = False
    ) -> None:
        self._table, self._columns = _tables(rows.X)
        self._weight, self._radius, self._odds = rows.weight, radius, -radius / scale
        target = np.asarray(rows.X.T @ (rows.weight * rows.y))
        loops, self._loops = _loops(compiled)
        # Coordinates that no step has touched have no image: their scores never change.
        self._sampler = SignedSampler(np.abs(self._odds * target), most + ROOM, loops)
        self._hot = Hot.empty(target)
        self._sums = Sums.empty(rows.dimension)
        self._scale = 1.0

    def draw(self, random: Randomness) -> tuple[int, int]:
        """Return a coordinate and a sign."""
        return self._sampler.draw(self._log_odds, random)

    def _log_odds(self, j: int) -> float:
        hot = self._hot
        return float(self._odds * (self._scale * hot.image[hot.slot[j]] - hot.target[j]))

    def move(self, j: int, sign: int, step: float) -> None:
        """Move by ``step`` towards vertex ``sign * radius * e_j``."""
        # The first step has length 1 and leaves nothing of the start.
        self._scale = 1.0 if step == 1.0 else self._scale * (1.0 - step)
        self._loops.squared(
            self._table,
            self._columns,
            self._weight,
            j,
            sign * step * self._radius / self._scale,
            self._scale,
            self._odds,
            ROOM,
            self._hot,
            self._sums,
            self._sampler.classes,
        )


class StaleSteps:
    """Steps for any smooth loss of one output, with slopes renewed row by row.

    Parameters
    ----------
    rows, loss
        Sparse bounded rows and the loss.
    radius, scale, most, compiled
        As for :class:`SquaredSteps`.
    tolerance
        A row's slope is renewed when its margin has moved by more than this.
        0 renews every row whose margin moved at all.
    slope
        Bound on the size of a slope; enforced.
    grid
        Power of two that terms are rounded to; see :func:`term_grid`.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> from discreet.noise import Seeded
    >>> rows = Rows(sp.csr_array(np.eye(3)), np.array([1.0, 1.0, -1.0]))
    >>> steps = StaleSteps(rows, Logistic(), 1.0, 1.0, tolerance=0.1, slope=1.0, grid=2.0**-40,
    ...                    most=3.0)
    >>> steps.move(*steps.draw(Seeded(0)), 1.0)
    """

    def __init__(
        self,
        rows: Rows,
        loss: Loss,
        radius: float,
        scale: float,
        *,
        tolerance: float,
        slope: float,
        grid: float,
        most: float,
        compiled: bool = False,
    ) -> None:
        self._rows, self._loss = rows, loss
        self._table, self._columns = _tables(rows.X)
        self._radius, self._odds = radius, -radius / scale
        self._tolerance, self._slope_bound, self._grid = tolerance, slope, grid
        self._scale = 1.0
        self._margin = np.zeros(rows.n_rows)  # in units of the scale
        self._schedule = Schedule.empty(rows.n_rows)
        every = np.arange(rows.n_rows)
        self._slope = self._fresh(every)
        self._gradient = np.zeros(rows.dimension)
        loops, self._loops = _loops(compiled)
        self._sums = Sums.empty(rows.dimension)
        index, change = plain_steps.summed(self._table, every, self._slope, None, grid, self._sums)
        self._gradient[index] = change * grid
        self._sums.mark[:] = 0
        self._sampler = SignedSampler(np.abs(self._odds * self._gradient), most, loops)

    def draw(self, random: Randomness) -> tuple[int, int]:
        """Return a coordinate and a sign."""
        return self._sampler.draw(self._log_odds, random)

    def _log_odds(self, j: int) -> float:
        return float(self._odds * self._gradient[j])

    def move(self, j: int, sign: int, step: float) -> None:
        """Move by ``step`` towards vertex ``sign * radius * e_j`` and renew slopes."""
        # At the first step, of length 1, all margins are still zero.
        self._scale = 1.0 if step == 1.0 else self._scale * (1.0 - step)
        factor = sign * step * self._radius / self._scale
        # privacy: both reasons to renew a row look at that row and at public numbers only.
        renew = self._loops.touched(
            self._columns, j, factor, self._scale, self._tolerance, self._margin, self._schedule
        )
        fresh, old = self._fresh(renew), self._slope[renew]
        self._slope[renew] = fresh
        self._loops.renewed(
            self._table,
            renew,
            fresh,
            old,
            self._grid,
            self._odds,
            self._gradient,
            self._sums,
            self._sampler.classes,
        )

    def _fresh(self, index: Index) -> Array:
        slope = self._loss.slope(self._scale * self._margin[index], self._rows.y[index])
        # privacy: the bound holds for the computed slope, whatever rounding did to the margin.
        slope = np.minimum(np.maximum(slope, -self._slope_bound), self._slope_bound)
        return np.asarray(self._rows.weight[index] * slope)


def term_grid(n_rows: int, largest: float) -> float:
    """Return the power of two to which terms of size ``largest`` are rounded.

    Sums of ``2 n_rows`` of them stay below 2**52 steps, so they are exact.

    >>> term_grid(1000, 1.0) == 2.0**-40
    True
    """
    return float(2.0 ** (math.ceil(math.log2(largest * n_rows)) - 50))


def _tables(X: sp.csr_array) -> tuple[SparseTable, SparseTable]:
    """Return the rows and the columns of a matrix."""
    C = sp.csc_array(X)
    return SparseTable(X.indptr, X.indices, X.data), SparseTable(C.indptr, C.indices, C.data)


def _loops(compiled: bool) -> tuple[Any, Any]:
    """Return the loops of draws and of steps."""
    steps = compiled_steps() if compiled else None
    return (None, plain_steps) if steps is None else (compiled_choice(), steps)
