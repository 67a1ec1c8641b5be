"""Where the mass of a law is, from its planes: a walk that costs hardly any passes.

The walk goes by the highest of the known planes instead of the score, pays for a
new plane here and there, and goes on. Its cloud of places only shapes the boxes of
:mod:`discreet.algorithms.sampling.laws.nested`, so it need not be accurate, nor random to anyone.
"""

from __future__ import annotations

import contextlib
import math

import numpy as np

from discreet.algorithms.sampling.laws.knowledge import Knowledge
from discreet.bounds import Array

CLOUD = 60
"""Places of a cloud, for every coordinate."""


class RandomWalk:
    """A walk under the known planes of a law.

    Parameters
    ----------
    known
        The planes, which the walk adds to.

    Examples
    --------
    >>> from discreet.algorithms.sampling.laws import Region, Target
    >>> from discreet.sets import Box
    >>> law = Target(Region.of(Box(), (2,)), lambda w: (50 * float(w @ w), 100 * w), 1e-6)
    >>> known = Knowledge(law)
    >>> score, _ = known.evaluate(np.array([0.25, 0.25]))
    >>> walk = RandomWalk(known)
    >>> walk.explore(8)
    >>> spread = known.point_at(walk.cloud().std(axis=0))
    >>> bool((spread > 0.03).all() and (spread < 0.3).all())
    True
    """

    def __init__(self, known: Knowledge) -> None:
        self._known = known
        # Steers only, so a fixed seed is no secret given away.
        self._random = np.random.default_rng(0)
        self._turn: Array = np.diag(0.1 * (known.high - known.low))

    def explore(self, rounds: int) -> None:
        """Pay for some planes where the mass seems to be, one a coordinate and round."""
        known = self._known
        p = len(known.low)
        for _ in range(rounds):
            for _ in range(p):
                place, height = self._walk(p)
                # The score typically exceeds its minimum by half the dimension.
                share = math.sqrt(0.5 * p / max(height - known.best, 0.5 * p))
                mode = known.place_of(known.mode)
                known.evaluate_near(known.point_at(mode + share * (place - mode)))
            self.cloud()

    def cloud(self) -> Array:
        """Return places that lie about where the mass does."""
        p = len(self._known.low)
        places: list[Array] = []
        self._walk(CLOUD * p, places)
        cloud = np.array(places)
        # A cloud without width in some direction: the old steps will do.
        with contextlib.suppress(np.linalg.LinAlgError):
            turn = np.linalg.cholesky(np.cov(cloud.T).reshape(p, p))
            self._turn = np.asarray(turn, dtype=np.float64)
        return cloud

    def _walk(self, moves: int, places: list[Array] | None = None) -> tuple[Array, float]:
        """Move along random lines from the best point; return the end and its height."""
        known = self._known
        slope, base = known.tangents.slope, known.tangents.base
        place = np.clip(known.place_of(known.mode), known.low, known.high)
        eye = np.eye(len(place))
        wall = np.concatenate([known.walls.slope, eye, -eye])
        edge = np.concatenate([-known.walls.base, known.high, -known.low])
        height = base + slope @ place
        room = np.maximum(edge - wall @ place, 0.0)
        lines = self._random.normal(size=(moves, len(place))) @ self._turn.T
        drops = self._random.exponential(size=moves)
        shares = self._random.random(moves)
        with np.errstate(divide="ignore", invalid="ignore"):
            for line, drop, share in zip(lines, drops, shares, strict=True):
                rate = np.concatenate([slope @ line, wall @ line])
                limit = np.concatenate([height.max() + drop - height, room]) / rate
                # The slice of the line that stays below the level and inside the walls.
                high = np.where(rate > 0.0, limit, math.inf).min()
                low = np.where(rate < 0.0, limit, -math.inf).max()
                move = low + share * (high - low)
                if math.isfinite(move):
                    place = place + move * line
                    height = height + move * rate[: len(height)]
                    room = np.maximum(room - move * rate[len(height) :], 0.0)
                if places is not None:
                    places.append(place)
        return place, float(height.max())
