"""Hit-and-run: a Markov chain whose mixing nobody has proved for these constants.

Its law approaches the one wanted, but how closely after a given number of steps
cannot be certified, so a plan takes it only under ``guarantee="approximate"``
and says so in the assumptions of the guarantee.
"""

from __future__ import annotations

import numpy as np

from discreet.algorithms.sampling.laws.heartbeat import Heartbeat
from discreet.algorithms.sampling.laws.target import Target
from discreet.bounds import Array
from discreet.noise import Gaussian, Grid, Randomness

_UNIT = Grid(step=2.0**-40, reach=0.0)


class HitAndRun:
    """Random directions and slice moves along them, ``steps`` times.

    Parameters
    ----------
    target
        What is sampled.
    steps
        Public number of moves.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> from discreet.algorithms.sampling.laws import Region
    >>> from discreet.sets import Box
    >>> target = Target(Region.of(Box(), (2,)), lambda w: (9 * float(w @ w), 18 * w), 1e-6)
    >>> HitAndRun(target, steps=20).draw(Seeded(0)).shape
    (2,)
    """

    def __init__(self, target: Target, *, steps: int) -> None:
        self._target, self._steps = target, steps

    def draw(self, random: Randomness) -> Array:
        """Return the last point of the chain, on the lattice of the region, flat."""
        region, progress = self._target.region, Heartbeat("walking")
        point = region.points(region.counts // 2)
        if not region.contains(point):
            point = region.constraint.project(point.reshape(region.shape)).ravel()
        score = self._target.evaluate(point)[0]
        reach = float(np.linalg.norm(region.counts * region.step))
        for _ in range(self._steps):
            progress.tick()
            direction = Gaussian(1.0, _UNIT).sample((region.dimension,), random)
            direction /= max(float(np.linalg.norm(direction)), 1e-300)
            point, score = self._slice(point, score, direction, reach, random)
        whole = np.rint(point / region.step)
        return np.asarray(np.clip(whole, region.low, region.low + region.counts - 1) * region.step)

    def _slice(
        self, point: Array, score: float, direction: Array, reach: float, random: Randomness
    ) -> tuple[Array, float]:
        """Move along a line by slice sampling: shrink a bracket until a point is high enough."""
        level = score - np.log(self._uniform(random))
        low, high = -reach, reach
        while True:
            t = low + (high - low) * self._uniform(random)
            there = point + t * direction
            if self._target.region.contains(there):
                after = self._target.evaluate(there)[0]
                if after <= level:
                    return there, after
            low, high = (t, high) if t < 0.0 else (low, t)

    @staticmethod
    def _uniform(random: Randomness) -> float:
        return (float(random.words(1)[0]) + 0.5) * 2.0**-64
