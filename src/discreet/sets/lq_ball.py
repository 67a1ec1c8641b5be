"""Balls between the cross-polytope and the Euclidean ball."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq

from discreet.bounds import Array
from discreet.checks import between
from discreet.sets.base import Ball, expected_max_chi


@dataclass(frozen=True, init=False, repr=False)
class LqBall(Ball):
    """Weights with ``(sum |w_j|^power)^(1/power)`` at most ``radius``, for ``1 < power < 2``.

    The oracle is a formula: ``-radius sign(g) |g|^(r-1) / |g|_r^(r-1)`` with ``r = power / (power -
    1)``. The Gaussian width is bounded by the root of the mean of ``|b|_r^r``, by ``p^(1/r) E max
    |b_j|`` and by that of the Euclidean ball. Projection solves ``v + c v^(power-1) = |w|`` in
    every coordinate and looks for the ``c`` whose solution lies on the boundary.

    References
    ----------
    Talwar, Thakurta, Zhang, *Nearly-optimal private LASSO*, NIPS 2015.

    Examples
    --------
    >>> ball = LqBall(radius=1.0, power=1.5)
    >>> v = ball.project(np.array([2.0, -1.0]))
    >>> v.round(4), round(float((np.abs(v) ** 1.5).sum()), 9)
    (array([ 0.8753, -0.32  ]), 1.0)
    """

    power: float
    name: ClassVar[str] = "lq-ball"

    def __init__(self, *, radius: float, power: float = 1.5) -> None:
        super().__init__(radius=radius)
        object.__setattr__(self, "power", between("power", power, 1.0, 2.0))

    def __repr__(self) -> str:
        return f"LqBall(radius={self.size!r}, power={self.power!r})"

    def _norm(self, size: Array, power: float) -> float:
        top = float(size.max(initial=0.0))
        return top * float(((size / top) ** power).sum()) ** (1.0 / power) if top > 0.0 else 0.0

    def project(self, w: Array) -> Array:
        size = np.abs(w)
        if self._norm(size, self.power) <= self.size:
            return w
        unit = size / self.size  # in the ball of radius 1

        def inside(log_pull: float) -> Array:
            return _solve(unit, log_pull, self.power)

        def over(log_pull: float) -> float:
            return math.log(self._norm(inside(log_pull), self.power))

        low = high = 0.0
        while over(high) > 0.0:
            high += 8.0
        while over(low) < 0.0:
            low -= 8.0
            if low < -90.0:  # on the boundary up to rounding
                return w
        pull = low if low == high else brentq(over, low, high, xtol=1e-15, rtol=1e-15)
        kept = inside(pull)
        return np.copysign(kept * (self.size / max(1.0, self._norm(kept, self.power))), w)

    def minimize_linear(self, g: Array) -> Array:
        size, dual = np.abs(g), self.power / (self.power - 1.0)
        top = float(size.max(initial=0.0))
        if top == 0.0:
            return np.zeros_like(g)
        raised = (size / top) ** (dual - 1.0)
        scale = self.size / self._norm(raised, self.power)
        return -np.copysign(raised * scale, g)

    def gaussian_width(self, dim: int) -> float:
        dual = self.power / (self.power - 1.0)
        log_moment = dual / 2.0 * math.log(2.0) + math.lgamma((dual + 1.0) / 2.0)
        moment = math.exp((math.log(dim) + log_moment - 0.5 * math.log(math.pi)) / dual)
        largest = math.exp(math.log(dim) / dual) * expected_max_chi({1: dim})
        return self.size * min(moment, largest, expected_max_chi({dim: 1}))


def _solve(size: Array, log_pull: float, power: float) -> Array:
    """Return the ``v >= 0`` with ``v + exp(log_pull) v^(power - 1) = size`` in every coordinate.

    >>> _solve(np.array([2.0, 0.0]), 0.0, 1.5)
    array([1., 0.])
    """
    bend, out, positive = power - 1.0, np.zeros_like(size), size > 0.0
    log = np.log(size[positive])
    # In s = log v both terms are convex, so that Newton steps from above do not overshoot.
    s = np.minimum(log, (log - log_pull) / bend)
    for _ in range(60):
        # Terms over their size, so that nothing overflows.
        first, second = np.exp(s - log), np.exp(log_pull + bend * s - log)
        step = (first + second - 1.0) / (first + bend * second)
        s = s - step
        if float(np.abs(step).max(initial=0.0)) <= 1e-15 * (1.0 + float(np.abs(s).max())):
            break
    out[positive] = np.exp(s)
    return out
