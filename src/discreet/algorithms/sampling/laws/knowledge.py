"""What passes over the data have shown about a score, and the coins it decides.

Every pass leaves a plane below the score. A proposal's coin is tossed first; if it
is too high for the highest plane at the point, and so for the score, the point is
turned down without a pass. The decision is the one the score would have given.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from discreet.algorithms.sampling.laws.tangents import Tangents
from discreet.algorithms.sampling.laws.target import Target, accepts, certify
from discreet.bounds import Array, Integers
from discreet.noise import Randomness
from discreet.noise.randomness import Words

MOST_WALLS = 512
"""Walls that are kept; more would slow the search for faces."""


class Proposal(Protocol):
    """Independent draws from an envelope, and what their chances were."""

    @property
    def place(self) -> Array:
        """The points, in steps from the middle of the region."""

    @property
    def envelope(self) -> Array:
        """Logs of the envelope at the points: the score is certified to be at least minus this."""

    @property
    def surplus(self) -> Array:
        """Logs of how much rarer they were proposed; never above 0 but for rounding."""

    @property
    def size(self) -> Array:
        """Sums of the magnitudes behind the log-chances."""

    def exact(self, i: int, score: float) -> Any:
        """Return the log-ratio of the density to the chance of proposal ``i``, up to a constant."""


class Knowledge:
    """Planes below a score and walls around its region; what the score is asked through.

    Places are points counted in lattice steps from the middle of the region.

    Parameters
    ----------
    target
        The law.

    Examples
    --------
    >>> from discreet.algorithms.sampling.laws import Region
    >>> from discreet.sets import Box
    >>> known = Knowledge(Target(Region.of(Box(), (1,)), lambda w: (float(w @ w), 2 * w), 1e-6))
    >>> known.evaluate(np.array([0.5]))
    (0.25, array([1.]))
    >>> known.tangents.highest(known.place_of(np.array([[1.0]])))[0]
    array([0.75])
    """

    def __init__(self, target: Target) -> None:
        self.target, region = target, target.region
        self._origin = region.points(region.counts // 2)
        self.tangents, self.walls = Tangents(region.dimension), Tangents(region.dimension)
        self.best, self.mode = math.inf, self._origin
        first = -(region.counts // 2).astype(np.float64)
        self.low, self.high = first, first + (region.counts - 1)

    def place_of(self, point: Array) -> Array:
        """Return a point in lattice steps from the middle."""
        return np.asarray((point - self._origin) / self.target.region.step)

    def point_at(self, place: Array) -> Array:
        """Return the point at a place; exact for whole numbers."""
        return np.asarray(self._origin + place * self.target.region.step)

    @property
    def mode_index(self) -> Integers:
        """The best point known, as lattice indices."""
        region = self.target.region
        index = np.rint(self.mode / region.step).astype(np.int64) - region.low
        return np.asarray(np.clip(index, 0, region.counts - 1))

    def evaluate(self, point: Array) -> tuple[float, Array]:
        """Pay for a pass at a point of the region and learn from it."""
        score, gradient = self.target.evaluate(point)
        self.learn(point, score, gradient)
        return score, gradient

    def evaluate_near(self, point: Array) -> None:
        """Pay for a pass at the nearest point of the set, and learn of a wall in between."""
        region = self.target.region
        near = region.nearest(np.clip(point, self.point_at(self.low), self.point_at(self.high)))
        if self.walls.count < MOST_WALLS and not region.contains(point):
            turn, shift = self.wall(point)
            if turn.any():
                self.walls.add(turn, shift)
        self.evaluate(near)

    def wall(self, point: Array) -> tuple[Array, float]:
        """Return slope and base of a plane that is never positive inside the region.

        ``point`` lies outside, above the plane unless it is too close to tell.
        """
        region = self.target.region
        anchor, normal = region.wall(point)
        return normal * region.step, float(normal @ (self._origin - anchor)) - 2.0 * region.edge

    def learn(self, point: Array, score: float, gradient: Array) -> None:
        """Keep the plane of a pass that was made."""
        base = score + float((self._origin - point) @ gradient)
        self.tangents.add(gradient * self.target.region.step, base)
        if score < self.best:
            self.best, self.mode = score, point

    def undecided(
        self, proposals: Proposal, height: Array, words: Words, some: Any = slice(None)
    ) -> Array:
        """Return which coins might still fall below the ratio, as far as the planes can tell."""
        # privacy: the score is above the planes up to the slack, so a coin above this bound is
        # above the ratio as well, and the proposal would be turned down after a pass too.
        most = proposals.surplus[some] - proposals.envelope[some] - height + self.target.slack
        chance = np.exp(np.minimum(most, 0.0)) * (1.0 + 2.0**-30) + 2.0**-40
        return np.asarray(words[some].astype(np.float64) * 2.0**-64 <= chance)

    def certify_planes(self, proposals: Proposal, height: Array) -> None:
        """Raise unless the rounding of planes at the proposals is within the slack."""
        # privacy: planes decide coins only where their rounding is within the slack.
        certify(-math.inf, float((np.abs(height) + proposals.size).max()), self.target)

    def keep(self, proposals: Proposal, i: int, score: float, random: Randomness) -> bool:
        """Toss the coin of proposal ``i``, whose score is known."""
        over = -score - float(proposals.envelope[i])
        size = abs(score) + float(proposals.size[i])
        certify(over, size, self.target)
        near = over + float(proposals.surplus[i])
        return accepts(near, size, lambda: proposals.exact(i, score), self.target, random)
