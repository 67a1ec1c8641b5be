"""Exact draws from a log-concave law by adaptive rejection.

The box is cut into cells. In each cell the score lies above a tangent plane of
it, so ``exp(-tangent)`` lies above the density: a product of exponentials, which
is drawn exactly. A proposal is accepted with the exact ratio. After a rejection
the cell is halved and the tangent just paid for is used wherever it is tighter.

Why it is exact. Whatever happened before, the chance to propose and accept a
point ``w`` in this round is ``exp(-score(w)) / M``, with ``M`` the same for all
points. So the accepted point has the law wanted, whatever the history was, and
the next draw from the same cells is independent of it. The history itself is
not private: cells, counts and times are never returned.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from mpmath import mpf
from scipy.optimize import minimize_scalar

from discreet.noise import Randomness, exponential_mechanism
from discreet.samplers.geometric import exact_log_sum, log_sum, truncated
from discreet.samplers.progress import Progress
from discreet.samplers.region import Whole
from discreet.samplers.target import Target, accepts
from discreet.types import Array

SEARCH = {"maxiter": 12}
"""A wall needs no exact multiplier, only a good one."""


class TangentEnvelope:
    """Draws from a target with a convex score; keeps its cells between draws.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> from discreet.samplers import Region
    >>> from discreet.sets import Box
    >>> steep = Target(Region.of(Box(), (1,)), lambda w: (50 * abs(w[0]), 50 * np.sign(w)), 1e-6)
    >>> bool(abs(TangentEnvelope(steep).draw(Seeded(0))[0]) < 0.5)
    True
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        p = target.region.dimension
        self._cells = 1
        self._low = np.zeros((16, p), np.int64)
        self._counts = np.ones((16, p), np.int64)
        self._counts[0] = target.region.counts
        self._slope = np.zeros((16, p))
        self._base = np.zeros(16)
        self._mass = np.full(16, np.inf)
        middle = target.region.points(target.region.counts // 2)
        self._learn(middle, *target.evaluate(middle))

    def draw(self, random: Randomness) -> Array:
        """Return one lattice point, flat."""
        region, progress = self._target.region, Progress("drawing a point")
        while True:
            progress.tick()
            k = exponential_mechanism(self._mass[: self._cells], random)
            index = truncated(self._slope[k], self._counts[k], random)
            point = region.points(self._low[k] + index)
            if not region.contains(point):
                self._wall(k, point)
                continue
            score, gradient = self._target.evaluate(point)
            if self._keep(k, index, score, random):
                return point
            # The side along which the slope changes most is the one worth halving.
            change = np.abs(gradient * region.step - self._slope[k]) * self._counts[k]
            self._halve(k, change)
            self._learn(point, score, gradient)

    def _keep(self, k: int, index: Whole, score: float, random: Randomness) -> bool:
        slope, counts = self._slope[k].copy(), self._counts[k].copy()
        base, mass = float(self._base[k]), float(self._mass[k])
        offset = index - 0.5 * (counts - 1)
        terms = slope * offset
        near = float(terms.sum()) - score - base
        size = abs(score) + abs(base) + float(np.abs(slope) @ counts) + float(np.log(counts).sum())

        def exact() -> Any:
            # The cell was chosen by the rounded mass; its exact mass divides out here.
            total = -mpf(score) - mpf(mass)
            for a, t, n in zip(slope, offset, counts, strict=True):
                total += mpf(float(a)) * mpf(float(t)) + exact_log_sum(float(a), int(n))
            return total

        return accepts(near, size, exact, self._target, random)

    def _wall(self, k: int, point: Array) -> None:
        """Halve cell ``k`` and learn a plane that is low beyond the edge of the set.

        Inside the set a wall's function ``<n, w - a> - 2 edge`` is never positive,
        so any multiple of it may be added to a tangent; the one that leaves the
        cell the least mass is.
        """
        region = self._target.region
        nearby = region.nearest(point)
        score, gradient = self._target.evaluate(nearby)
        anchor, normal = region.wall(point)
        self._halve(k, self._counts[k] * region.step)
        if k >= self._cells:
            return
        shift = float(normal @ (nearby - anchor)) - 2.0 * region.edge
        middle = (region.low + self._low[k] + 0.5 * (self._counts[k] - 1)) * region.step

        def mass(push: float) -> float:
            slope = gradient + push * normal
            base = -score - push * shift - float((middle - nearby) @ slope)
            return base + float(log_sum(slope * region.step, self._counts[k]).sum())

        most = 4.0 * float(np.linalg.norm(gradient)) + 1.0 / float(
            np.min(region.step * self._counts[k])
        )
        push = float(minimize_scalar(mass, bounds=(0.0, most), method="bounded", options=SEARCH).x)
        if mass(push) > mass(0.0):
            push = 0.0
        self._learn(nearby, score + push * shift, gradient + push * normal)

    def _halve(self, k: int, length: Array) -> None:
        """Cut cell ``k`` in two across the side of greatest ``length``; drop empty halves."""
        region = self._target.region
        wide = self._counts[k] > 1
        if not wide.any():
            return
        j = int(np.argmax(np.where(wide, np.maximum(length, 1e-300), -1.0)))
        new, first = self._room(), self._counts[k, j] // 2
        for array in (self._low, self._counts, self._slope, self._base):
            array[new] = array[k]
        self._counts[k, j] = first
        self._low[new, j] += first
        self._counts[new, j] -= first
        # The same plane over each half, measured from the middle of it.
        self._base[k] += 0.5 * self._slope[k, j] * self._counts[new, j]
        self._base[new] -= 0.5 * self._slope[k, j] * first
        for c in (new, k):
            self._mass[c] = self._base[c] + log_sum(self._slope[c], self._counts[c]).sum()
            corner = region.points(self._low[c])
            if region.misses(corner, corner + (self._counts[c] - 1) * region.step):
                self._drop(c)

    def _learn(self, point: Array, score: float, gradient: Array) -> None:
        """Use the tangent at ``point`` in every cell where its mass is smaller."""
        region, m = self._target.region, self._cells
        middle = (region.low + self._low[:m] + 0.5 * (self._counts[:m] - 1)) * region.step
        base = -score - (middle - point) @ gradient
        slope = gradient * region.step
        mass = base + log_sum(slope, self._counts[:m]).sum(axis=1)
        better = np.flatnonzero(mass < self._mass[:m])
        self._base[better], self._mass[better] = base[better], mass[better]
        self._slope[better] = slope

    def _room(self) -> int:
        if self._cells == len(self._mass):
            for name in ("_low", "_counts", "_slope", "_base", "_mass"):
                array = getattr(self, name)
                setattr(self, name, np.concatenate([array, np.empty_like(array)]))
        self._cells += 1
        return self._cells - 1

    def _drop(self, k: int) -> None:
        self._cells -= 1
        for array in (self._low, self._counts, self._slope, self._base, self._mass):
            array[k] = array[self._cells]
