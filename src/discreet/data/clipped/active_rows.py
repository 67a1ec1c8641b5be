"""Clipped sums that look at few rows anew, for losses whose slope is made of straight pieces.

A hinge, pinball or absolute loss has one slope on either side of its corner, so a sum changes by
the rows that turned, which are few at a step. A squared loss has the sum ``H w - b`` with the
second moments of the rows, and what rows beyond their clip add to it. So all that has to be known
of most rows is on which piece of its clipped slope each is. Predictions in float32 tell that,
and rows too close to a joint for that are computed by themselves.

Take weights ``v`` and a radius ``r``. A row with a prediction further than ``r ||x||`` from
the next joint stays on its piece for all ``w`` within ``r`` of ``v``. Only the others, the active
rows, are looked at. Noisy descents move little from step to step, so few are, for many steps.

How a row is looked at changes no real sum, only its rounding: sums run over few rows
at a time, added with compensation, so that the whole error stays within
:func:`discreet.data.clipped.sum_rounding`, wherever a row stands. Where it may not, from
public values, rows are summed in the usual way. The proof is in
``docs/proofs/lemmas/rounding-of-sums.md``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from discreet.bounds import Array
from discreet.data.blocks import Total, gamma, slices
from discreet.data.clipped.blockwise import BLOCK_ROWS, Index, cut_slopes
from discreet.data.clipped.narrow import Narrow, columns
from discreet.data.clipped.side_sums import FEWEST, SideSums, corners, few_at_a_time
from discreet.data.norms import TINY, products
from discreet.data.rows import Rows
from discreet.data.storage import NARROW_RANGE, NARROW_ROUNDOFF
from discreet.losses import Loss

LEAST_VALUES = 2**19
"""Values of the rows from which on it saves time."""

MOST_VALUES = 2**25
"""Values up to which copies in float32 do not fill memory."""

MOST_ROWS = 2**20

MOST_COLUMNS = 128
"""Columns up to which it saves time: with more, noise moves weights further at a step."""

MEMORY = 64
"""Steps that are remembered, to guess how long weights stay near."""

SHARES = tuple(2.0**-k for k in range(1, 9))
"""Shares of active rows that are considered."""

RECENTRING, COPYING = 1.5, 4.0
"""What it takes to find the active rows, and to copy all, in looks at all rows."""

SAMPLE = 2048
"""Rows that tell how many are active, about."""

SMALL = 16
"""Rows of the sums of second moments that are added with compensation."""

PAIRED = 64
"""Such sums that are added in pairs before that."""

SLACK = 2.0**-30
"""Far more than the relative rounding error of a distance, for these columns."""

LEAST = 1e-30
"""Far more than what predictions lose below the smallest numbers of float32."""


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
    return p <= MOST_COLUMNS


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
        n, p = rows.n_rows, rows.dimension
        self._corners = corners(loss, rows.y, weight)
        y = rows.y if rows.y.ndim == 1 else rows.y[:, 0]
        self._joint = y if self._corners is None else self._corners[0]
        self._farthest = float(np.abs(self._joint).max(initial=0.0))
        self._longest = rows.longest
        # privacy: twice what predictions from float32 may be off by, for a row as long as 1 and
        # weights as long; the rest is for the rounding of what they are compared with.
        self._slack = 2.0 * (p + 16) * NARROW_ROUNDOFF
        self._past, self._steps = np.empty((MEMORY, p)), 0
        self._moments: tuple[Array, Array] | None = None
        self._few, self._sides = SMALL, None
        if self._corners is not None:
            self._sides = SideSums(rows, 1)
            self._few = self._sides.few
        self._all: Narrow | None = None
        self._everywhere = np.arange(n)
        self._copies = np.empty(0, np.float32)

    def limit(self, cap: Array, clip: float) -> None:
        """Set the largest slope of each row and the clip it comes from."""
        self._cap, self._clip, self._radius = cap, clip, -1.0
        if self._corners is not None and self._sides is not None:
            self._sides.limit(self._corners[1][None], self._corners[2][None], cap)
            return
        most = cap
        if self._weight is not None:
            # A row of weight 0 is the same everywhere.
            room = np.full(len(cap), np.inf)
            # privacy: a warning would tell of the rows.
            with np.errstate(over="ignore"):
                most = np.divide(cap, self._weight, out=room, where=self._weight > 0.0)
        if self._rows.y.ndim == 2:
            most = np.minimum(most, self._rows.y[:, 1])
        # privacy: predictions that float32 cannot hold are beyond it.
        most = np.minimum(most, 1.0 / LEAST) * (1.0 - 8.0 * NARROW_ROUNDOFF)
        self._most = most.astype(np.float32)

    def __call__(self, w: Array) -> Array | None:
        """Return the sum, or None where rounding might exceed what is accounted for."""
        if not self._accounted(w):
            return None
        # privacy: a warning would tell of the rows.
        with np.errstate(all="ignore"):
            if self._radius >= 0.0 and self._away(w) <= self._radius:
                total = self._total(w, self._predicted(w))
            else:
                total = self._recentred(w)
        self._past[self._steps % MEMORY] = w
        self._steps += 1
        return total

    def _accounted(self, w: Array) -> bool:
        """Return whether rounding stays within what :func:`sum_rounding` allows inside blocks."""
        n, p, size = self._rows.n_rows, self._rows.dimension, _size(w)
        longest, label, weight = self._reach
        # privacy: so that predictions are far from the ends of float32.
        if not max(size, longest) <= NARROW_RANGE:
            return False
        if self._sides is not None:
            return self._few >= FEWEST
        allowed = self._clip * gamma(BLOCK_ROWS + 4) * BLOCK_ROWS
        longest *= 1.0 + SLACK
        most = weight * longest * (longest * size + label)
        # privacy: second moments and excesses over groups of rows, pairs of groups, the product
        # with the weights, and the prediction of the one row that differs.
        error = n * gamma(2 * SMALL + p + 24) + gamma(p + 12)
        return bool(1.01 * most * error <= allowed)

    def _away(self, w: Array) -> float:
        return _size(w - self._centre) * (1.0 + SLACK)

    def _predicted(self, w: Array) -> Narrow:
        """Return how far predictions of the rows that are looked at are beyond their joints."""
        return np.asarray(np.dot(self._near.T, np.append(w, -1.0).astype(np.float32)))

    def _recentred(self, w: Array) -> Array:
        """Return the sum from all rows, and take these weights as the centre from now on."""
        rows, size, n = self._rows, _size(w), self._rows.n_rows
        if self._all is None:
            self._all, self._norms = columns(rows.X, 1), rows.norms.astype(np.float32)
            self._all[-1] = self._joint
            self._norms *= 1.0 + 8.0 * NARROW_ROUNDOFF
        most = 2.0 * size + 1.0
        # privacy: room for the rounding of predictions, here and later.
        self._unsure = (self._longest * (size + most) + self._farthest) * self._slack + LEAST
        self._keep(self._all, self._everywhere)
        t = self._predicted(w)
        total = self._total(w, t)
        np.abs(t, out=t)
        if self._corners is None:
            np.subtract(self._most, t, out=t)
        radius = self._chosen(w, t, most)
        least = self._norms * (radius * (1.0 + 8.0 * NARROW_ROUNDOFF))
        least += self._unsure
        self._centre, self._radius = w.copy(), radius
        if radius > 0.0:
            # Room that is not a number makes a row active too.
            places = np.flatnonzero(~(t > least))
            if len(places) < n:
                self._keep(self._copied(places), places)
        return total

    def _keep(self, near: Narrow, places: Index) -> None:
        """Take some rows as those whose predictions are found."""
        self._near, self._places = near, places
        every = places is self._everywhere
        if self._sides is not None:
            self._side = self._sides.below[0, slice(None) if every else places].copy()
        else:
            self._within = (self._most if every else self._most[places]) - self._unsure

    def _copied(self, places: Index) -> Narrow:
        """Return some rows in float32, in memory that later ones take too: fresh memory is slow."""
        assert self._all is not None
        p, n = self._all.shape
        if p * len(places) > len(self._copies):
            # A little more, because the number is about the same again and again.
            self._copies = np.empty(p * min(n, len(places) + len(places) // 4), np.float32)
        room = self._copies[: p * len(places)].reshape(p, -1)
        # Without a mode numpy gathers into memory of its own first.
        return np.asarray(np.take(self._all, places, axis=1, out=room, mode="wrap"))

    def _chosen(self, w: Array, room: Narrow, most: float) -> float:
        """Return the radius that should cost least; 0 if all rows should be looked at."""
        if not self._steps:
            return 0.0
        last = (self._steps - 1 - np.arange(min(self._steps, MEMORY))) % MEMORY
        moved = np.linalg.norm(self._past[last] - w, axis=1)
        stride = max(1, self._rows.n_rows // SAMPLE)
        near = np.sort((room[::stride] - self._unsure) / self._norms[::stride])
        best, radius = 1.0 + RECENTRING, 0.0
        for share in SHARES:
            r = min(float(near[int(share * len(near))]), most)
            if not r > 0.0:
                continue
            # As many steps as it took to come from that far, or more if none came from there.
            beyond = np.flatnonzero(moved > r)
            stay = float(beyond[0]) if len(beyond) else len(moved) * r / max(moved.max(), TINY)
            cost = share + (RECENTRING + COPYING * share) / max(stay, 1.0)
            if cost < best:
                best, radius = cost, r
        return radius

    def _total(self, w: Array, t: Narrow) -> Array:
        """Return the sum, for rows that are looked at and so far beyond their joints."""
        if self._sides is not None:
            return np.asarray(self._sides(self._turned(w, t)).value()[0])
        if self._moments is None:
            self._moments = self._second()
        matrix, vector = self._moments
        total = Total(w.shape)
        total.add(matrix @ w - vector)
        # privacy: rows within their caps add exactly zero, looked at or not, computed or not.
        close = np.flatnonzero(~(np.abs(t) <= self._within))
        if len(close):
            places = self._places[close]
            X = self._rows.X[places]
            z = products(X, w)
            slope = self._weighted(self._loss.slope(z, self._rows.y[places]), places)
            whole = self._weighted(z - self._joint[places], places)
            excess = cut_slopes(slope, self._cap[places]) - whole
            total.add(*(part[0] for part in few_at_a_time(X, excess[None], self._few)))
        return total.value()

    def _turned(self, w: Array, t: Narrow) -> list[Index]:
        """Return the rows that are on the other side of their corners now."""
        below = t < 0.0
        # privacy: rows that rounding might take across a joint are computed by themselves, so that
        # each is on the same side wherever it stands.
        close = np.flatnonzero(~(np.abs(t) > self._unsure))
        if len(close):
            places = self._places[close]
            below[close] = products(self._rows.X[places], w) < self._joint[places]
        turned = np.flatnonzero(below != self._side)
        self._side = below
        return [self._places[turned]]

    def _second(self) -> tuple[Array, Array]:
        """Return ``X' X`` and ``X' y``."""
        rows, p = self._rows, self._rows.dimension
        total = Total((p, p + 1))
        for s in slices(rows.n_rows, SMALL * PAIRED):
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
            # privacy: pairs, and pairs of pairs, so that a number is rounded a few times only.
            while len(parts) > 1:
                half = -(-len(parts) // 2)
                parts[: len(parts) - half] += parts[half:]
                parts = parts[:half]
            total.add(parts[0])
        found = total.value()
        return np.ascontiguousarray(found[:, :p]), found[:, p].copy()

    def _weighted(self, slope: Array, places: Any = slice(None)) -> Array:
        return slope if self._weight is None else self._weight[places] * slope


def _size(w: Array) -> float:
    return math.sqrt(float(np.dot(w, w)))
