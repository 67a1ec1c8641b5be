"""Exact draws from a log-concave law by adaptive rejection.

The score lies above planes found by passes over the data, and so above an envelope
made of them: first of cells, each under one plane (:mod:`discreet.algorithms.sampling.laws.cells`);
where those do not soon suffice, of nested boxes (:mod:`discreet.algorithms.sampling.laws.nested`),
whichever has the smaller mass. A proposal is accepted with the exact ratio. What
makes it cheap is that every plane ever found is kept and decides most coins without
a pass (:mod:`discreet.algorithms.sampling.laws.knowledge`).

Every proposal from the cells that is turned down halves its cell, which costs no
pass either; now and then a pass is spent on a new plane.

Why it is exact. Whatever happened before, the chance to propose and accept a
point ``w`` in this round is ``exp(-score(w)) / M``, with ``M`` the same for all
points. So the accepted point has the law wanted, whatever the history was, and
the next draw from the same envelope is independent of it. The history itself is
not private: cells, counts and times are never returned.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar

from discreet.algorithms.sampling.laws.box_search import BoxSearch
from discreet.algorithms.sampling.laws.cells import Cells, Proposals
from discreet.algorithms.sampling.laws.heartbeat import Heartbeat
from discreet.algorithms.sampling.laws.initial_points import initial_points
from discreet.algorithms.sampling.laws.knowledge import Knowledge
from discreet.algorithms.sampling.laws.target import Begun, Target, check_slack
from discreet.bounds import Array
from discreet.noise import Randomness
from discreet.noise.randomness import Words

BATCH = 256
"""Most proposals drawn from one state of the cells."""

FEW_CELLS = 256
"""Cells for every coordinate, after which nested boxes are tried as well."""

NEAR = 6.0
"""Cells of a log-mass so little above that of the boxes take turns with them."""

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
    >>> from discreet.algorithms.sampling.laws import Region
    >>> from discreet.sets import Box
    >>> steep = Target(Region.of(Box(), (1,)), lambda w: (50 * abs(w[0]), 50 * np.sign(w)), 1e-6)
    >>> bool(abs(TangentEnvelope(steep).draw(Seeded(0))[0]) < 0.5)
    True
    """

    def __init__(self, target: Target) -> None:
        check_slack(target.slack)
        self._known = Knowledge(target)
        self._cells = Cells(target.region, self._known.tangents)
        self._boxes: BoxSearch | None = None
        self._waiting, self._few = 0, FEW_CELLS * target.region.dimension
        for point, score, gradient in initial_points(target):
            self._known.learn(point, score, gradient)
        for plane in range(self._known.tangents.count):
            self._cells.learn(plane, plane + 1)

    @property
    def _mass(self) -> float:
        """Log of the mass of the boxes; infinite if there are none."""
        return math.inf if self._boxes is None else self._boxes.mass

    def draw(self, random: Randomness) -> Array:
        """Return one lattice point, flat."""
        progress, most = Heartbeat("drawing a point"), 1
        while True:
            progress.tick()
            # A search that found nothing is made again once much more is known.
            if self._mass == math.inf and self._cells.count > self._few:
                self._boxes, self._few = BoxSearch(self._known), 2 * self._few
                # What the search has learned may serve the cells too.
                self._cells.learn(0)
            gap = math.inf if self._mass == math.inf else self._mass - self._cells.total
            point = self._boxes.draw(random) if self._boxes is not None and gap < 0.0 else None
            if point is None and gap > -NEAR:
                proposals = self._cells.propose(most, random)
                most = min(2 * most, BATCH)
                point = self._first(proposals, random.words(len(proposals.cell)), random)
            if point is not None:
                return point

    def _first(self, proposals: Proposals, words: Words, random: Randomness) -> Array | None:
        """Return the first proposal that is kept, or refine the cells and return None."""
        known, tangents = self._known, self._known.tangents
        region, count = known.target.region, tangents.count
        height, which = tangents.highest(proposals.place)
        known.certify_planes(proposals, height)
        length: Array = np.abs(tangents.slope[which] - proposals.slope) * proposals.counts
        open_ = known.undecided(proposals, height, words)
        walls: dict[int, Array] = {}
        for i in range(len(words)):
            self._waiting += 1
            if open_[i] and tangents.count > count:
                one = slice(i, i + 1)
                again = tangents.highest(proposals.place[one])[0]
                open_[i] = known.undecided(proposals, again, words, one)[0]
            if not open_[i]:
                if self._waiting >= EVERY:
                    self._explore(proposals.place[i], float(height[i]))
                continue
            point = known.point_at(proposals.place[i])
            if not region.contains(point):
                length[i] = proposals.counts[i] * region.step
                walls[int(proposals.cell[i])] = point
                continue
            score, gradient = known.target.evaluate(point)
            if known.keep(proposals, i, score, Begun(int(words[i]), random)):
                return point
            length[i] = np.abs(gradient * region.step - proposals.slope[i]) * proposals.counts[i]
            known.learn(point, score, gradient)
            self._waiting = 0
        # Before the cells are cut, since the cuts go through the means under their planes.
        self._cells.learn(count)
        cells, first = np.unique(proposals.cell, return_index=True)
        self._cells.split(cells, length[first], known.mode_index)
        count = tangents.count
        for cell, point in walls.items():
            self._wall(cell, point)
        self._cells.learn(count)
        return None

    def _explore(self, place: Array, height: float) -> None:
        """Learn a plane between the best point and a place, where the mass is likely to be."""
        known, usual = self._known, 0.5 * len(self._known.low)
        # The score typically exceeds its minimum by half the dimension.
        share = math.sqrt(usual / max(height - known.best, usual))
        point = known.mode + share * (known.point_at(place) - known.mode)
        known.evaluate(known.target.region.nearest(point))
        self._waiting = 0

    def _wall(self, k: int, point: Array) -> None:
        """Learn a plane that is low beyond the edge of the set, for cell ``k``.

        Inside the set a wall's function ``<n, w - a> - 2 edge`` is never positive,
        so any multiple of it may be added to a plane; the one that leaves the
        cell the least mass is.
        """
        known, tangents = self._known, self._known.tangents
        region = known.target.region
        near = region.nearest(point)
        if self._waiting >= EVERY:
            known.evaluate(near)
            self._waiting = 0
        _, which = tangents.highest(known.place_of(near)[None])
        slope, base = tangents.slope[which[0]], float(tangents.base[which[0]])
        turn, shift = known.wall(point)

        def mass(push: float) -> float:
            return self._cells.mass(k, slope + push * turn, base + push * shift)

        steep = float(np.linalg.norm(slope / region.step))
        most = 4.0 * steep + 1.0 / float(np.min(region.step * self._cells.counts(k)))
        push = float(minimize_scalar(mass, bounds=(0.0, most), method="bounded", options=SEARCH).x)
        tilted, height = slope + push * turn, base + push * shift
        # privacy: a plane so steep that it rounds by more than the slack might exceed the score.
        size = abs(height) + float(np.abs(tilted) @ region.counts)
        if mass(push) < mass(0.0) and 2.0**-45 * (64.0 + size) <= known.target.slack:
            tangents.add(tilted, height)
