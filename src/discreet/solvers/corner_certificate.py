"""How far weights are from the minimiser of losses with corners and a ridge, proved by the dual.

The objective is ``F(w) = sum_i max(low_i t_i, high_i t_i) + (strength/2) ||w||^2`` with
``t_i = <x_i, w> - k_i``, over all of space or a ball around 0. Every ``s`` with ``low <= s <=
high`` gives a lower bound ``D(s)`` on its minimum, and by the equality of Fenchel and Young

    F(w) - D(s) = sum_i (max(low_i t_i, high_i t_i) - s_i t_i) + B(w),

``B(w) = ||strength w + v||^2 / (2 strength)`` for ``v = sum_i s_i x_i``. All terms are
nonnegative and each has a small relative error, while ``F`` and ``D`` agree in nearly all of their
digits. Strong convexity turns the gap into a distance: ``||w - w*||^2 <= 2 gap / strength``.

The slopes are the computed ones, weights of rows included: they define the loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.bounds import Array, unit_roundoff
from discreet.data import Rows
from discreet.data.corner_residuals import TINY, residuals
from discreet.losses import Loss, Squared
from discreet.solvers.objective import norm

OUTWARDS = 1.0 + 1e-12
"""Exceeds the relative rounding errors of the few operations on nonnegative terms."""


@dataclass(frozen=True)
class CornerObjective:
    """A sum of losses with one corner each, and a ridge.

    Parameters
    ----------
    rows
        The rows; their labels and weights are in the other parts already.
    place
        Where the corner of every row's loss is.
    low, high
        Slopes below and above it.
    strength
        Of the ridge.
    radius
        Of the ball that holds the weights; infinite without one.

    Examples
    --------
    >>> from discreet.losses import Absolute
    >>> rows = Rows(np.ones((3, 1)), np.array([0.0, 1.0, 5.0]))
    >>> objective = CornerObjective.of(rows, Absolute(), 0.5)
    >>> w, gap = objective.certified(np.array([1.0, -0.5, -1.0]))
    >>> w.tolist(), gap < 1e-25
    ([1.0], True)
    """

    rows: Rows
    place: Array
    low: Array
    high: Array
    strength: float
    radius: float = math.inf

    @classmethod
    def of(
        cls, rows: Rows, loss: Loss, strength: float, radius: float = math.inf
    ) -> CornerObjective:
        """Return the objective of a loss that has such a form."""
        form = loss.corner(rows.y)
        assert form is not None
        place, low, high = form
        # privacy: noise is scaled to the slope that the loss declares, whatever its corner says
        most = loss.regularity(label=math.inf, reach=math.inf).lipschitz
        low, high = np.clip(low, -most, most), np.clip(high, -most, most)
        return cls(rows, place, rows.weight * low, rows.weight * high, strength, radius)

    def combined(self, s: Array) -> Array:
        """Return ``sum_i s_i x_i``."""
        return self._like(-s).gradient(Squared(), np.zeros(self.rows.dimension))

    def gram(self, weight: Array) -> Array:
        """Return ``sum_i weight_i x_i x_i'``."""
        rows = Rows(self.rows.X, self.place, weight, self.rows.norms)
        return rows.hessian(Squared(), np.zeros(rows.dimension))

    def _like(self, labels: Array) -> Rows:
        return Rows(self.rows.X, labels, norms=self.rows.norms)

    def certified(self, s: Array) -> tuple[Array, float]:
        """Return the weights that belong to a dual point, and a proven bound on their gap."""
        # privacy: only slopes between the two bound the minimum from below
        if not bool(np.all((self.low <= s) & (s <= self.high))):
            raise ValueError("a dual point has left its box")
        # The gradient of half squares at 0, with labels -s, is the sum of s x.
        v, error = self._like(-s).certified_gradient(Squared(), np.zeros(self.rows.dimension))
        w, pull = self._weights(v, 1.01 * error)
        t, slack = residuals(self.rows, w, self.place)
        terms = np.maximum(self._term(s, t - slack), self._term(s, t + slack))
        gap = math.fsum(terms) * OUTWARDS + pull * OUTWARDS + (len(s) + 1) * TINY
        return w, gap if math.isfinite(gap) else math.inf

    def _term(self, s: Array, t: Array) -> Array:
        """Return what a row adds to the gap; convex in ``t``, so ends bound what lies between."""
        return np.asarray(np.where(t > 0.0, (self.high - s) * t, (self.low - s) * t))

    def _weights(self, v: Array, error: float) -> tuple[Array, float]:
        """Return the weights where ``(strength/2) ||w||^2 + <v, w>`` is least, and ``B`` there.

        ``v`` is known up to ``error``.
        """
        size, strength, radius = norm(v), self.strength, self.radius
        rest = error + 4.0 * unit_roundoff() * size
        if size * OUTWARDS + rest <= strength * radius:
            return -v / strength, rest**2 / (2.0 * strength)
        # privacy: shrunk by more than rounding, so that the weights are in the ball
        shrunk = 8.0 * (v.size + 4) * unit_roundoff()
        w = v * (-radius * (1.0 - shrunk) / size)
        # The error of v counts at w and at the least point, both of norm at most the radius.
        inside = max(strength * radius - size, 0.0) ** 2 / (2.0 * strength)
        return w, 2.0 * radius * rest + 3.0 * shrunk * radius * size + inside * OUTWARDS
