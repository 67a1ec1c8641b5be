"""Clipped sums that compute few rows anew, for losses whose slope is made of straight pieces.

Take weights ``v`` and a radius ``r``. A row with a prediction further than ``r ||x||`` from
the next joint of its clipped slope stays on the same piece for all ``w`` within ``r`` of
``v``. There a hinge, pinball or absolute loss has a constant slope, so the sum over such rows is
one vector. A squared loss whose residual stays within the clip has a sum ``H w - b`` with the
second moments of the rows. Only the other rows, the active ones, are computed anew. Noisy
descents move little from step to step, so few rows are active for many steps.

Which rows are active changes no real sum, only its rounding: sums run over few rows
at a time, added with compensation, so that the whole error stays within
:func:`discreet.data.clipped_sums.sum_rounding`, wherever a row stands. Where it may not, from
public values, rows are summed in the usual way. The proof is in
``docs/proofs/lemmas/rounding-of-sums.md``.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from discreet.bounds import Array
from discreet.data.blocks import Total, gamma, slices, summed
from discreet.data.blockwise import BLOCK_ROWS, Index, cut_slopes
from discreet.data.norms import TINY, products
from discreet.data.rows import Rows
from discreet.losses import Loss

LEAST_VALUES = 2**19
"""Values of the rows from which on it saves time."""

MOST_VALUES = 2**25
"""Values up to which half of the rows may be copied without filling memory."""

MOST_ROWS = 2**20

MOST_COLUMNS = {"corner": 40, "quadratic": 128}
"""Columns up to which it saves time: with more, noise moves weights further at a step."""

MEMORY = 64
"""Steps that are remembered, to guess how long weights stay near."""

SHARES = tuple(2.0**-k for k in range(1, 9))
"""Shares of active rows that are considered."""

RECENTRING = 1.5
"""What it takes to find the active rows, in sums over all rows."""

SAMPLE = 4096
"""Rows that tell how many are active, about."""

SMALL = 16
"""Rows of the sums of second moments that are added with compensation."""

SLACK = 2.0**-30
"""Far more than the relative rounding error of a prediction, for these columns."""


class Reach(NamedTuple):
    """Public bounds on the norm, the label and the weight of a row."""

    row_norm: float
    label: float
    weight: float


def few_are_active(rows: Rows, loss: Loss) -> bool:
    """Return whether sums over few of the rows are possible and pay.

    >>> from discreet.losses import Hinge, Logistic
    >>> rows = Rows(np.ones((2**18, 2)), np.ones(2**18))
    >>> few_are_active(rows, Hinge()), few_are_active(rows, Logistic())
    (True, False)
    """
    n, p = rows.n_rows, rows.dimension
    if rows.sparse or rows.X.dtype != np.float64 or rows.resident.spilled or loss.outputs > 1:
        return False
    # privacy: sizes are public where positions are kept.
    if not LEAST_VALUES <= n * p <= MOST_VALUES:
        return False
    if not BLOCK_ROWS <= n <= min(MOST_ROWS, rows.shard):
        return False
    inner = loss.inner
    if not inner.quadratic and inner.corner(np.ones(1)) is None:
        return False
    return p <= MOST_COLUMNS["quadratic" if inner.quadratic else "corner"]


def active_rows(rows: Rows, loss: Loss, reach: Reach, weight: Array | None) -> ActiveRows | None:
    """Return a way to sum over few of the rows, or None if there is none or it does not pay.

    >>> from discreet.losses import Hinge, Logistic
    >>> rows, reach = Rows(np.ones((2**18, 2)), np.ones(2**18)), Reach(2.0, 1.0, 1.0)
    >>> [active_rows(rows, loss, reach, None) is None for loss in (Hinge(), Logistic())]
    [False, True]
    """
    return ActiveRows(rows, loss, reach, weight) if few_are_active(rows, loss) else None


class ActiveRows:
    """Clipped sums over all rows, most of them from what was summed before.

    Parameters
    ----------
    rows, loss
        Dense rows in float64, and a loss of straight pieces.
    reach
        Public bounds on what a row may be.
    weight
        Weights of the rows; None if they are all 1 (or their rows zero).

    Examples
    --------
    >>> from discreet.losses import Absolute
    >>> rows = Rows(np.array([[1.0], [2.0]]), np.array([0.0, 9.0]))
    >>> sums = ActiveRows(rows, Absolute(), Reach(2.0, 9.0, 1.0), None)
    >>> sums.limit(np.array([1.0, 1.0]), 2.0)
    >>> sums(np.array([1.0]))
    array([-1.])
    """

    def __init__(self, rows: Rows, loss: Loss, reach: Reach, weight: Array | None) -> None:
        self._rows, self._loss, self._reach, self._weight = rows, loss, reach, weight
        y = rows.y if rows.y.ndim == 1 else rows.y[:, 0]
        self._corner = None if loss.inner.quadratic else loss.inner.corner(y)
        self._joint = y if self._corner is None else self._corner[0]
        self._farthest = float(np.abs(self._joint).max(initial=0.0))
        self._last: deque[Array] = deque(maxlen=MEMORY)
        self._moments: tuple[Array, Array] | None = None
        self._few = self._steps()
        self._room = np.empty((2, rows.n_rows))
        self._copies: Any = np.empty((0, rows.dimension))

    def limit(self, cap: Array, clip: float) -> None:
        """Set the largest slope of each row and the clip it comes from."""
        self._cap, self._clip, self._radius = cap, clip, -1.0
        if self._corner is not None:
            own = self._rows.y[:, 1] if self._rows.y.ndim == 2 else np.inf
            self._sides = tuple(
                self._weighted(np.clip(side, -own, own)) for side in self._corner[1:]
            )
            self._sides = tuple(cut_slopes(side, cap) for side in self._sides)
            return
        self._most = cap
        if self._weight is not None:
            # A row of weight 0 is the same everywhere.
            room = np.full(len(cap), np.inf)
            # privacy: a warning would tell of the rows.
            with np.errstate(over="ignore"):
                self._most = np.divide(cap, self._weight, out=room, where=self._weight > 0.0)
        if self._rows.y.ndim == 2:
            self._most = np.minimum(self._most, self._rows.y[:, 1])

    def __call__(self, w: Array) -> Array | None:
        """Return the sum, or None where rounding might exceed what is accounted for."""
        if not self._accounted(w):
            return None
        # privacy: a warning would tell of the rows.
        with np.errstate(all="ignore"):
            if not (self._radius >= 0.0 and self._away(w) <= self._radius):
                self._recentre(w)
            self._last.append(w.copy())
            total = Total(w.shape)
            total.add(*self._passive(w))
            total.add(*self._active(w))
        return total.value()

    def _accounted(self, w: Array) -> bool:
        """Return whether rounding stays within what :func:`sum_rounding` allows inside blocks."""
        n, p = self._rows.n_rows, self._rows.dimension
        allowed = self._clip * gamma(BLOCK_ROWS + 4) * BLOCK_ROWS
        if self._corner is not None:
            return self._few >= SMALL
        longest, label, weight = self._reach
        longest *= 1.0 + SLACK
        most = weight * longest * (longest * float(np.linalg.norm(w)) + label)
        # privacy: second moments and excesses over groups of rows, the product with the weights,
        # and the prediction of the one row that differs.
        error = n * gamma(2 * SMALL + p + 24) + gamma(p + 12)
        return bool(1.01 * most * error <= allowed)

    def _steps(self) -> int:
        """Return how many rows are summed before compensation, from public values."""
        if self._corner is None:
            return SMALL
        most = BLOCK_ROWS * BLOCK_ROWS // (2 * self._rows.n_rows) - 8
        return 1 << min(10, max(1, most).bit_length() - 1)

    def _away(self, w: Array) -> float:
        return float(np.linalg.norm(w - self._centre)) * (1.0 + SLACK)

    def _recentre(self, w: Array) -> None:
        """Take these weights as the centre, and find the rows that are active near it."""
        rows, size = self._rows, float(np.linalg.norm(w))
        room, slope = self._room
        for s in slices(rows.n_rows, 8192):
            part = np.subtract(rows.X[s] @ w, self._joint[s], out=room[s])
            if self._corner is not None:
                slope[s] = self._side(part, *(side[s] for side in self._sides))
            np.abs(part, out=part)
            if self._corner is None:
                np.subtract(self._most[s], part, out=part)
        # privacy: room for the rounding of predictions, here and later.
        radius, self._unsure = self._chosen(w, size)
        least = rows.norms * (radius * (1.0 + SLACK))
        least += self._unsure
        # A room that is not a number makes a row active too.
        places = np.flatnonzero(~(room > least))
        self._centre, self._radius = w.copy(), radius
        self._X, self._places = self._copied(places), places
        self._near = self._joint[places]
        if self._corner is None:
            self._within = self._most[places] - self._unsure
        else:
            self._near_sides = tuple(side[places] for side in self._sides)
            slope[places] = 0.0
            self._fixed = self._sum(rows.X, slope)

    def _copied(self, places: Index) -> Array:
        """Return some rows, in memory that later ones take too: fresh memory is slow."""
        if len(places) > len(self._copies):
            # A little more, because the number is about the same again and again.
            room = min(self._rows.n_rows, len(places) + len(places) // 4)
            self._copies = np.empty((room, self._rows.dimension))
        # Without a mode numpy gathers into memory of its own first.
        room = self._copies[: len(places)]
        return np.asarray(np.take(self._rows.X, places, axis=0, out=room, mode="wrap"))

    def _chosen(self, w: Array, size: float) -> tuple[float, float]:
        """Return the radius that should cost least, and by how much predictions may be off."""
        most = 2.0 * size + 1.0
        unsure = (self._rows.longest * (size + most) + self._farthest) * SLACK
        if not self._last:
            return 0.0, unsure
        moved = np.linalg.norm(np.array(self._last)[::-1] - w, axis=1)
        stride = max(1, self._rows.n_rows // SAMPLE)
        near = np.sort((self._room[0][::stride] - unsure) / self._rows.norms[::stride])
        best, radius = math.inf, 0.0
        for share in SHARES:
            r = min(float(near[int(share * len(near))]), most)
            if not r > 0.0:
                continue
            # As many steps as it took to come from that far, or more if none came from there.
            beyond = np.flatnonzero(moved > r)
            stay = float(beyond[0]) if len(beyond) else len(moved) * r / max(moved.max(), TINY)
            cost = share + RECENTRING / max(stay, 1.0)
            if cost < best:
                best, radius = cost, r
        return radius, unsure

    def _passive(self, w: Array) -> tuple[Array, Array | float]:
        """Return the sum over the rows that are not active, and what rounding took from it."""
        if self._corner is not None:
            return self._fixed
        if self._moments is None:
            self._moments = self._second()
        matrix, vector = self._moments
        return matrix @ w - vector, 0.0

    def _second(self) -> tuple[Array, Array]:
        """Return ``X' X`` and ``X' y``."""
        rows, p = self._rows, self._rows.dimension
        total = Total((p, p + 1))
        for s in slices(rows.n_rows, 1024):
            X, y = rows.X[s], self._joint[s]
            left = X if self._weight is None else X * self._weight[s, None]
            whole = len(X) // SMALL * SMALL
            parts = np.empty((len(range(0, len(X), SMALL)), p, p + 1))
            for a, b, k in ((0, whole, SMALL), (whole, len(X), len(X) - whole)):
                if b > a:
                    body = np.concatenate([X[a:b], y[a:b, None]], axis=1).reshape(-1, k, p + 1)
                    place = slice(a // SMALL, a // SMALL + len(body))
                    turned = left[a:b].reshape(-1, k, p).transpose(0, 2, 1)
                    np.matmul(turned, body, out=parts[place])
            total.add(*summed(parts))
        found = total.value()
        return np.ascontiguousarray(found[:, :p]), found[:, p].copy()

    def _active(self, w: Array) -> tuple[Array, Array | float]:
        """Return what active rows add to the sum of the others."""
        t = self._X @ w
        t -= self._near
        size = np.abs(t)
        # privacy: rows that rounding might take across a joint are computed by themselves, so that
        # each is on the same side wherever it stands.
        if self._corner is not None:
            close = np.flatnonzero(~(size > self._unsure))
            if len(close):
                t[close] = products(self._X[close], w) - self._near[close]
            return self._sum(self._X, self._side(t, *self._near_sides))
        # privacy: rows within their caps add exactly zero, active or not.
        places = np.flatnonzero(~(size <= self._within))
        if not len(places):
            return np.zeros(w.shape), 0.0
        X, found = self._X[places], self._places[places]
        z = products(X, w)
        slope = self._weighted(self._loss.slope(z, self._rows.y[found]), found)
        whole = self._weighted(z - self._joint[found], found)
        return self._sum(X, cut_slopes(slope, self._cap[found]) - whole)

    @staticmethod
    def _side(t: Array, low: Array, high: Array) -> Array:
        """Return slopes at predictions that are so far beyond the corner."""
        # Bits are chosen by masks, in a quarter of the time of np.where.
        mask = (t < 0.0).astype(np.int64)
        np.negative(mask, out=mask)
        other = high.view(np.int64)
        mask &= low.view(np.int64) ^ other
        mask ^= other
        return mask.view(np.float64)

    def _weighted(self, slope: Array, places: Any = slice(None)) -> Array:
        return slope if self._weight is None else self._weight[places] * slope

    def _sum(self, X: Array, slope: Array) -> tuple[Array, Array | float]:
        """Return a sum over rows, few at a time, and what rounding took from it."""
        k, p = self._few, X.shape[1]
        whole = len(slope) // k * k
        parts = np.empty((-(-len(slope) // k), 1, p))
        np.matmul(
            slope[:whole].reshape(-1, 1, k), X[:whole].reshape(-1, k, p), out=parts[: whole // k]
        )
        if whole < len(slope):
            parts[-1, 0] = np.dot(slope[whole:], X[whole:])
        return summed(parts[:, 0]) if len(parts) else (np.zeros(p), 0.0)
