"""Exact draws from a log-concave law by adaptive rejection.

The lattice box is cut into cells, each under a plane that lies below the score
(:mod:`discreet.samplers.cells`), and a proposal is accepted with the exact ratio.
What makes it cheap is that every plane ever found is kept. A proposal's coin is
tossed first; if it is too high for the highest plane at the point, and so for the
score, the point is turned down without a pass over the data. The decision is the
one the score itself would have given. Every proposal that is turned down halves
its cell, which costs no pass either; now and then a pass is spent on a new plane.

Why it is exact. Whatever happened before, the chance to propose and accept a
point ``w`` in this round is ``exp(-score(w)) / M``, with ``M`` the same for all
points. So the accepted point has the law wanted, whatever the history was, and
the next draw from the same cells is independent of it. The history itself is
not private: cells, counts and times are never returned.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar

from discreet.noise import Randomness
from discreet.noise.randomness import Words
from discreet.samplers.cells import Cells, Proposals
from discreet.samplers.progress import Progress
from discreet.samplers.scout import scout
from discreet.samplers.tangents import Tangents
from discreet.samplers.target import Begun, Target, accepts, certify
from discreet.types import Array

BATCH = 256
"""Most proposals drawn from one state of the cells."""

EVERY = 32
"""So many proposals without a pass over the data, and the next one pays for a new plane."""

SEARCH = {"maxiter": 12}
"""A wall needs no exact multiplier, only a good one."""


def tangent_passes(dimension: int) -> float:
    """Return about how many passes over the data a first draw takes, as measured.

    >>> [round(tangent_passes(p)) for p in (2, 5, 10, 15)]
    [19, 53, 280, 1484]
    """
    return 10.0 * math.exp(dimension / 3.0)


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
        self._target, region = target, target.region
        self._origin = region.points(region.counts // 2)
        self._tangents = Tangents(region.dimension)
        self._cells = Cells(region, self._tangents)
        self._best, self._waiting = math.inf, 0
        for point, score, gradient in scout(target):
            self._learn(point, score, gradient)
        for plane in range(self._tangents.count):
            self._cells.learn(plane, plane + 1)

    def draw(self, random: Randomness) -> Array:
        """Return one lattice point, flat."""
        progress, most = Progress("drawing a point"), 1
        while True:
            progress.tick()
            proposals = self._cells.propose(most, random)
            most = min(2 * most, BATCH)
            point = self._first(proposals, random.words(len(proposals.cell)), random)
            if point is not None:
                return point

    def _first(self, proposals: Proposals, words: Words, random: Randomness) -> Array | None:
        """Return the first proposal that is kept, or refine the cells and return None."""
        region, known = self._target.region, self._tangents.count
        height, which = self._tangents.highest(proposals.place)
        # privacy: planes settle coins only where their rounding is within the slack.
        certify(-math.inf, float((np.abs(height) + proposals.size).max()), self._target)
        length: Array = np.abs(self._tangents.slope[which] - proposals.slope) * proposals.counts
        open_ = self._undecided(proposals, height, words)
        walls: dict[int, Array] = {}
        for i in range(len(words)):
            self._waiting += 1
            if open_[i] and self._tangents.count > known:
                one = self._tangents.highest(proposals.place[i : i + 1])[0]
                open_[i] = self._undecided(proposals, one, words, slice(i, i + 1))[0]
            if not open_[i]:
                if self._waiting >= EVERY:
                    self._explore(proposals.place[i], float(height[i]))
                continue
            point = self._cells.points(proposals, i)
            if not region.contains(point):
                length[i] = proposals.counts[i] * region.step
                walls[int(proposals.cell[i])] = point
                continue
            score, gradient = self._target.evaluate(point)
            if self._keep(proposals, i, score, Begun(int(words[i]), random)):
                return point
            length[i] = np.abs(gradient * region.step - proposals.slope[i]) * proposals.counts[i]
            self._learn(point, score, gradient)
        # Before the cells are cut, since the cuts go through the means under their planes.
        self._cells.learn(known)
        cells, first = np.unique(proposals.cell, return_index=True)
        self._cells.split(cells, length[first])
        known = self._tangents.count
        for cell, point in walls.items():
            self._wall(cell, point)
        self._cells.learn(known)
        return None

    def _undecided(
        self, proposals: Proposals, height: Array, words: Words, some: slice = slice(None)
    ) -> Array:
        """Return which coins might still fall below the ratio, as far as the planes can tell."""
        # privacy: the score is above the planes up to the slack, so a coin above this bound is
        # above the ratio as well, and the proposal would be turned down after a pass too.
        most = proposals.surplus[some] - proposals.envelope[some] - height + self._target.slack
        chance = np.exp(np.minimum(most, 0.0)) * (1.0 + 2.0**-30) + 2.0**-40
        return np.asarray(words[some].astype(np.float64) * 2.0**-64 <= chance)

    def _keep(self, proposals: Proposals, i: int, score: float, random: Randomness) -> bool:
        over = -score - float(proposals.envelope[i])
        size = abs(score) + float(proposals.size[i])
        certify(over, size, self._target)
        near = over + float(proposals.surplus[i])
        return accepts(near, size, lambda: proposals.exact(i, score), self._target, random)

    def _learn(self, point: Array, score: float, gradient: Array) -> None:
        region = self._target.region
        base = score + float((self._origin - point) @ gradient)
        self._tangents.add(gradient * region.step, base)
        if score < self._best:
            self._best = score
            self._cells.mode = np.rint(point / region.step).astype(np.int64) - region.low
        self._waiting = 0

    def _explore(self, place: Array, height: float) -> None:
        """Learn a plane between the best point and a place, where the mass is likely to be."""
        region = self._target.region
        best = region.points(self._cells.mode)
        # The score typically exceeds its minimum by half the dimension.
        usual = 0.5 * region.dimension
        share = math.sqrt(usual / max(height - self._best, usual))
        point = region.nearest(best + share * (self._origin + place * region.step - best))
        self._learn(point, *self._target.evaluate(point))

    def _wall(self, k: int, point: Array) -> None:
        """Learn a plane that is low beyond the edge of the set, for cell ``k``.

        Inside the set a wall's function ``<n, w - a> - 2 edge`` is never positive,
        so any multiple of it may be added to a plane; the one that leaves the
        cell the least mass is.
        """
        region = self._target.region
        anchor, normal = region.wall(point)
        near = region.nearest(point)
        if self._waiting >= EVERY:
            self._learn(near, *self._target.evaluate(near))
        _, which = self._tangents.highest(((near - self._origin) / region.step)[None])
        slope, base = self._tangents.slope[which[0]], float(self._tangents.base[which[0]])
        turn = normal * region.step
        shift = float(normal @ (self._origin - anchor)) - 2.0 * region.edge

        def mass(push: float) -> float:
            return self._cells.mass(k, slope + push * turn, base + push * shift)

        steep = float(np.linalg.norm(slope / region.step))
        most = 4.0 * steep + 1.0 / float(np.min(region.step * self._cells.counts(k)))
        push = float(minimize_scalar(mass, bounds=(0.0, most), method="bounded", options=SEARCH).x)
        tilted, height = slope + push * turn, base + push * shift
        # privacy: a plane so steep that it rounds by more than the slack might exceed the score.
        size = abs(height) + float(np.abs(tilted) @ region.counts)
        if mass(push) < mass(0.0) and 2.0**-45 * (64.0 + size) <= self._target.slack:
            self._tangents.add(tilted, height)
