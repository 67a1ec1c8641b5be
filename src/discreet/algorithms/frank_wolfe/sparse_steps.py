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
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from discreet.bounds import Array
from discreet.data import Rows, gamma
from discreet.losses import Loss
from discreet.mechanisms.selection_tree import Index, SignedSampler
from discreet.noise import Randomness


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

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> rows = Rows(sp.csr_array(np.eye(3)), np.array([1.0, 0.0, 0.0]))
    >>> steps = SquaredSteps(rows, 1.0, 0.01)
    >>> steps.draw(Seeded(0))
    (0, 1)
    """

    def __init__(self, rows: Rows, radius: float, scale: float) -> None:
        self._rows, self._columns = rows, sp.csc_array(rows.X)
        self._radius, self._odds = radius, -radius / scale
        self._target = np.asarray(rows.X.T @ (rows.weight * rows.y))
        # Coordinates that no step has touched have no image: their scores never change.
        self._sampler = SignedSampler(-self._odds * self._target)
        self._image, self._hot_target = np.empty(0), np.empty(0)
        self._scale = 1.0

    def draw(self, random: Randomness) -> tuple[int, int]:
        """Return a coordinate and a sign."""
        gradient = self._scale * self._image - self._hot_target
        return self._sampler.draw(random, self._odds * gradient)

    def move(self, j: int, sign: int, step: float) -> None:
        """Move by ``step`` towards vertex ``sign * radius * e_j``."""
        # The first step has length 1 and leaves nothing of the start.
        self._scale = 1.0 if step == 1.0 else self._scale * (1.0 - step)
        touched, values = _column(self._columns, j)
        weight = self._rows.weight[touched] * values * (sign * step * self._radius / self._scale)
        index, change = _combined(self._rows.X, touched, weight)
        known = self._image.size
        place = self._sampler.warm(index)
        new = self._sampler.hot[known:]
        self._image = np.concatenate([self._image, np.zeros(new.size)])
        self._hot_target = np.concatenate([self._hot_target, self._target[new]])
        self._image[place] += change


class StaleSteps:
    """Steps for any smooth loss of one output, with slopes renewed row by row.

    Parameters
    ----------
    rows, loss
        Sparse bounded rows and the loss.
    radius, scale
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
    >>> steps = StaleSteps(rows, Logistic(), 1.0, 1.0, tolerance=0.1, slope=1.0, grid=2.0**-40)
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
    ) -> None:
        self._rows, self._loss, self._columns = rows, loss, sp.csc_array(rows.X)
        self._radius, self._odds = radius, -radius / scale
        self._tolerance, self._slope_bound, self._grid = tolerance, slope, grid
        self._scale = 1.0
        self._margin = np.zeros(rows.n_rows)  # in units of the scale
        self._due = np.full(rows.n_rows, -np.inf)
        every = np.arange(rows.n_rows)
        self._slope = self._fresh(every)
        self._gradient = np.zeros(rows.dimension)
        index, change = self._terms(every, self._slope)
        self._gradient[index] = change
        self._sampler = SignedSampler(self._odds * self._gradient)

    def draw(self, random: Randomness) -> tuple[int, int]:
        """Return a coordinate and a sign."""
        return self._sampler.draw(random)

    def move(self, j: int, sign: int, step: float) -> None:
        """Move by ``step`` towards vertex ``sign * radius * e_j`` and renew slopes."""
        if step == 1.0:
            self._scale = 1.0  # all margins are still zero
        else:
            self._scale *= 1.0 - step
        touched, values = _column(self._columns, j)
        self._margin[touched] += values * (sign * step * self._radius / self._scale)
        # privacy: both reasons to renew a row look at that row and at public numbers only.
        self._due[touched] = np.inf
        renew = np.flatnonzero(self._due > self._scale)
        size = np.abs(self._margin[renew])
        with np.errstate(divide="ignore"):
            self._due[renew] = np.where(size > 0.0, self._scale - self._tolerance / size, -np.inf)
        fresh = self._fresh(renew)
        index, change = self._terms(renew, fresh, self._slope[renew])
        self._slope[renew] = fresh
        self._gradient[index] += change
        self._sampler.update(index, self._odds * self._gradient[index])

    def _fresh(self, index: Index) -> Array:
        slope = self._loss.slope(self._scale * self._margin[index], self._rows.y[index])
        # privacy: the bound holds for the computed slope, whatever rounding did to the margin.
        return self._rows.weight[index] * np.clip(slope, -self._slope_bound, self._slope_bound)

    def _terms(self, index: Index, new: Array, old: Array | None = None) -> tuple[Index, Array]:
        """Return the coordinates that rows reach and the exact change of their sums."""
        columns, values, lengths = _gathered(self._rows.X, index)
        change = np.rint(np.repeat(new, lengths) * values / self._grid)
        if old is not None:
            change -= np.rint(np.repeat(old, lengths) * values / self._grid)
        reached, total = _summed(columns, change, self._rows.dimension)
        return reached, total * self._grid


def term_grid(n_rows: int, largest: float) -> float:
    """Return the power of two to which terms of size ``largest`` are rounded.

    Sums of ``2 n_rows`` of them stay below 2**52 steps, so they are exact.

    >>> term_grid(1000, 1.0) == 2.0**-40
    True
    """
    return float(2.0 ** (math.ceil(math.log2(largest * n_rows)) - 50))


def _column(columns: sp.csc_array, j: int) -> tuple[Index, Array]:
    part = slice(columns.indptr[j], columns.indptr[j + 1])
    return columns.indices[part], columns.data[part]


def _gathered(X: sp.csr_array, index: Index) -> tuple[Index, Array, Index]:
    """Return columns and values stored in some rows, and how many in each."""
    starts, ends = X.indptr[index], X.indptr[index + 1]
    lengths = ends - starts
    offsets = np.cumsum(lengths) - lengths
    at = np.arange(int(lengths.sum())) + np.repeat(starts - offsets, lengths)
    return X.indices[at], X.data[at], lengths


def _combined(X: sp.csr_array, index: Index, weight: Array) -> tuple[Index, Array]:
    """Return where ``sum_i weight_i x_i`` over some rows may be non-zero, and its values."""
    columns, values, lengths = _gathered(X, index)
    return _summed(columns, values * np.repeat(weight, lengths), X.shape[1])


def _summed(columns: Index, values: Array, dimension: int) -> tuple[Index, Array]:
    """Return the distinct columns and the sums of their values."""
    if columns.size > dimension // 16:
        # Sorting would cost more than a pass over all coordinates.
        total = np.bincount(columns, weights=values, minlength=dimension)
        seen = np.zeros(dimension, dtype=bool)
        seen[columns] = True
        reached = np.flatnonzero(seen)
        return reached, np.asarray(total[reached], dtype=np.float64)
    reached, place = np.unique(columns, return_inverse=True)
    sums = np.bincount(place, weights=values, minlength=reached.size)
    return reached, np.asarray(sums, dtype=np.float64)
