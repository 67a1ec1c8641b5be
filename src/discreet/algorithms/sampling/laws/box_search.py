"""The search for nested boxes, and draws from them.

A walk under the known planes shows where the mass is and how it leans; linear
programs then say how low the score can be beyond every face. Each program also
tells where a pass would help it most, and that pass is made. All of it only makes
draws cheaper: any boxes whose faces are certified give the same law.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.algorithms.sampling.laws.faces import Face, lowest
from discreet.algorithms.sampling.laws.knowledge import Knowledge
from discreet.algorithms.sampling.laws.nested import Frame, Nested, Shells
from discreet.algorithms.sampling.laws.random_walk import RandomWalk
from discreet.algorithms.sampling.laws.target import Begun
from discreet.bounds import Array
from discreet.noise import Randomness

Side = tuple[int, float]
"""An axis and a sign."""

BATCH = (64, 4096)
"""Proposals drawn together, at first and after many in vain."""

PLANES = 128
"""Planes that are compared with proposals at once; those that decide a coin end its case."""

EXPLORE = 6
"""Rounds of the walk before boxes are fitted, with a plane for every coordinate each."""

ROUNDS = 8
"""Most rounds of fitting, with a pass for every face each."""

DISTANCE = 0.9
"""Where faces are looked for, in deviations times the root of the dimension."""

OTHERS = (0.6, 1.3)
"""Further distances at which faces are bounded in the end, as a part of the first."""

MOVE = 0.3
"""How far a pass goes from the last one for its face towards the lowest place known now."""

ENOUGH = 6.0
"""Log-mass above that of a normal law with the walk's deviations at which boxes will do."""

PATIENCE = 2**12
"""Proposals in vain, for every square of the dimension, that take about as long as a search."""

WORTH = 0.1
"""Least fall of the log-mass that is worth another round, or another search as soon."""


class BoxSearch:
    """Nested boxes around a law that get better as more is known.

    Parameters
    ----------
    known
        What is known of the law; shared and added to.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> from discreet.algorithms.sampling.laws import Region, Target
    >>> from discreet.sets import Box
    >>> law = Target(Region.of(Box(), (2,)), lambda w: (50 * float(w @ w), 100 * w), 1e-6)
    >>> known = Knowledge(law)
    >>> score, _ = known.evaluate(np.array([0.25, 0.25]))
    >>> search, random, point = BoxSearch(known), Seeded(0), None
    >>> while point is None:
    ...     point = search.draw(random)
    >>> bool(np.abs(point).max() < 0.7)
    True
    """

    def __init__(self, known: Knowledge) -> None:
        self._known = known
        self._walk = RandomWalk(known)
        self._boxes: Nested | None = None
        self._many, self._waiting = BATCH[0], 0
        self._patience = PATIENCE * len(known.low) ** 2
        self._centres: dict[Side, Array] = {}
        self._fit()

    @property
    def mass(self) -> float:
        """Log of the mass of the envelope; infinite if no boxes were found."""
        return math.inf if self._boxes is None else self._boxes.mass

    def draw(self, random: Randomness) -> Array | None:
        """Return a lattice point that was kept, or None after a batch of proposals in vain."""
        if self._boxes is None:
            return None
        if self._waiting >= self._patience:
            before, self._waiting = self.mass, 0
            self._fit()
            if not self.mass < before - WORTH:
                self._patience *= 2
        point = self._first(self._boxes.propose(self._many, random), random)
        self._waiting += self._many
        self._many = min(2 * self._many, BATCH[1])
        if point is not None:
            self._many, self._waiting = BATCH[0], 0
        return point

    def _first(self, proposals: Shells, random: Randomness) -> Array | None:
        """Return the first proposal that is kept, or None."""
        known, words = self._known, random.words(len(proposals.place))
        seen = known.tangents.count
        open_ = np.arange(len(words))
        height = np.full(len(words), -math.inf)
        for first in range(0, seen, PLANES):
            found = known.tangents.highest(proposals.place[open_], first, first + PLANES)[0]
            height[open_] = np.maximum(height[open_], found)
            open_ = open_[known.undecided(proposals, height[open_], words, open_)]
        known.certify_planes(proposals, height)
        for i in open_:
            one = np.array([i])
            if known.tangents.count > seen:
                new = known.tangents.highest(proposals.place[one], seen)[0]
                if not known.undecided(proposals, new, words, one)[0]:
                    continue
            point = known.point_at(proposals.place[i])
            if not known.target.region.contains(point):
                continue
            score, gradient = known.target.evaluate(point)
            if known.keep(proposals, int(i), score, Begun(int(words[i]), random)):
                return point
            known.learn(point, score, gradient)
        return None

    def _fit(self) -> None:
        """Look for boxes in the coordinates of what is known now; keep the better ones."""
        known = self._known
        self._walk.explore(EXPLORE)
        cloud = self._walk.cloud()
        frame = Frame.of(cloud, known.low, known.high)
        if frame is None:
            return
        sides: list[Side] = [(axis, side) for axis in range(len(known.low)) for side in (1.0, -1.0)]
        faces: dict[Side, list[Face]] = {side: [] for side in sides}
        far = DISTANCE * math.sqrt(len(known.low))
        normal = float(np.log(frame.spread).sum()) + math.log(2.0 * math.pi) * len(known.low) / 2.0
        last = math.inf
        for _ in range(ROUNDS):
            for side in sides:
                face = self._face(frame, cloud, side, far)
                if face is not None:
                    faces[side].append(face)
                    self._evaluate(frame, side, far, face)
            mass = self._try(frame, faces)
            if mass < normal - known.best + ENOUGH or not mass < last - WORTH:
                break
            last = mass
        for side in sides:
            found = (self._face(frame, cloud, side, part * far) for part in OTHERS)
            faces[side] += [face for face in found if face is not None]
        self._try(frame, faces)

    def _face(self, frame: Frame, cloud: Array, side: Side, distance: float) -> Face | None:
        planes = self._known.tangents
        # Planes that are highest somewhere in the cloud, and the newest.
        new = np.arange(max(0, planes.count - 8 * cloud.shape[1]), planes.count)
        some = np.union1d(planes.highest(cloud)[1], new)
        return lowest(frame.known(planes, self._known.walls, some), *side, distance)

    def _evaluate(self, frame: Frame, side: Side, distance: float, face: Face) -> None:
        """Pay for a pass near where the score beyond a face is lowest, as far as is known."""
        axis, sign = side
        centre = frame.middle + sign * distance * frame.turn[:, axis]
        # In small moves: the lowest place of all planes jumps about while they are few.
        centre = (1.0 - MOVE) * self._centres.get(side, centre)
        self._centres[side] = centre + MOVE * (frame.middle + frame.turn @ face.place)
        self._known.evaluate_near(self._known.point_at(self._centres[side]))

    def _try(self, frame: Frame, faces: dict[Side, list[Face]]) -> float:
        """Keep the boxes of some faces if they are the best so far; return their mass."""
        floor = lowest(frame.known(self._known.tangents, self._known.walls))
        if floor is None:
            return math.inf
        pairs = [(faces[axis, 1.0], faces[axis, -1.0]) for axis in range(len(self._known.low))]
        boxes = Nested(frame, floor.height, pairs)
        if boxes.mass < self.mass:
            self._boxes = boxes
        return boxes.mass
