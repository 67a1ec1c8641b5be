"""A lazy Metropolis walk on a cube, with a proved number of steps.

A reference only: the number of steps is public and very large, and the tangent
envelope is exact and faster. With ``m`` cells a side, score ``f`` with
coordinatewise (l-infinity) Lipschitz constant ``A`` on a cube of side ``t`` and
``h = A t / (2 m)``, isoperimetry of log-concave measures gives a spectral gap
of at least ``exp(-4h) / (8 p^2 m^2)``, so after

    8 p^2 m^2 exp(4h) (p log m + A t + log(1/xi))

steps every probability is within a factor ``1 +- xi`` of the law wanted. A
release then costs ``log((1 + xi) / (1 - xi))`` beside the mechanism itself.
"""

from __future__ import annotations

import math

import numpy as np
from mpmath import mpf

from discreet.algorithms.sampling.laws.heartbeat import Heartbeat
from discreet.algorithms.sampling.laws.target import Target
from discreet.bounds import Array
from discreet.checks import between, integer, nonnegative, positive
from discreet.errors import Incompatible
from discreet.noise import Randomness, integers
from discreet.noise.coins import below_exp

MOST_STEPS = 10_000_000


def walk_steps(dimension: int, cells: int, rise: float, accuracy: float) -> int:
    """Return the proved number of steps; ``rise`` is ``A t``, all arguments public.

    >>> walk_steps(1, 8, 1.0, 0.01)
    5053
    """
    p, m = integer("dimension", dimension), integer("cells", cells, minimum=2)
    rise, accuracy = nonnegative("rise", rise), between("accuracy", accuracy, 0, 1)
    relaxation = 8.0 * p**2 * m**2 * math.exp(min(2.0 * rise / m, 600.0))
    return math.ceil(relaxation * (p * math.log(m) + rise - math.log(accuracy)))


def walk_cost(accuracy: float) -> float:
    """Return what the walk adds to epsilon.

    >>> round(walk_cost(0.01), 6)
    0.020001
    """
    return 2.0 * math.atanh(accuracy) * (1.0 + 1e-15)


class GridWalk:
    """Walks the centres of ``cells`` cells a side of a box.

    Parameters
    ----------
    target
        What is sampled; its region must be a box.
    cells
        Cells a side.
    rise
        Public bound on the l-infinity Lipschitz constant of the score times the
        longest side of the box.
    accuracy
        The ``xi`` above.

    Examples
    --------
    >>> from discreet.sets import Box
    >>> from discreet.noise import Seeded
    >>> from discreet.algorithms.sampling.laws import Region
    >>> target = Target(Region.of(Box(), (1,)), lambda w: (abs(w[0]), np.sign(w)), 1e-6)
    >>> GridWalk(target, cells=4, rise=2.0, accuracy=0.1).draw(Seeded(0)).shape
    (1,)
    """

    def __init__(self, target: Target, *, cells: int, rise: float, accuracy: float) -> None:
        if not target.region.constraint.separable:
            raise Incompatible(
                "The grid walk is a reference for boxes only: its number of steps is proved for a "
                "cube. Use a Box, or the sampler 'tangent-envelope', which is exact on every set."
            )
        self._target, self._cells = target, cells
        self._steps = walk_steps(target.region.dimension, cells, positive("rise", rise), accuracy)
        if self._steps > MOST_STEPS:
            raise Incompatible(
                f"The grid walk needs {self._steps:.3g} steps here. Use 'tangent-envelope', which "
                "is exact."
            )
        self._known: dict[tuple[int, ...], float] = {}

    def draw(self, random: Randomness) -> Array:
        """Return one cell centre, flat."""
        progress = Heartbeat("walking a grid")
        p = self._target.region.dimension
        place = [self._cells // 2] * p
        score = self._score(place)
        # Staying half the time and 2p directions: one whole number decides both.
        moves = integers(4 * p, self._steps, random)
        for move in moves.tolist():
            progress.tick()
            if move >= 2 * p:
                continue
            j, sign = divmod(move, 2)
            there = place[j] + 2 * sign - 1
            if not 0 <= there < self._cells:
                continue
            step = [*place[:j], there, *place[j + 1 :]]
            after = self._score(step)
            # privacy: scores are exact floats, and below_exp is an exact coin for their difference
            if after <= score or _coin(score, after, random):
                place, score = step, after
        return self._centre(place)

    def _score(self, place: list[int]) -> float:
        key = tuple(place)
        if key not in self._known:
            self._known[key] = self._target.evaluate(self._centre(place))[0]
        return self._known[key]

    def _centre(self, place: list[int]) -> Array:
        region = self._target.region
        side = (region.counts - 1) * region.step / self._cells
        corner = region.points(np.zeros(region.dimension, np.int64))
        return np.asarray(corner + (np.array(place) + 0.5) * side)


def _coin(before: float, after: float, random: Randomness) -> bool:
    error = 2.0**-50 * (abs(before) + abs(after))
    return below_exp(before - after, error, lambda: mpf(before) - mpf(after), random)
