"""Nested skew boxes: an envelope for laws that are round in many coordinates.

If the score is at least ``L`` outside a box, then ``exp(-L)`` lies above the density
there. Boxes for a ladder of levels, one inside the next, give an envelope that is a
mixture of uniform laws, whose probabilities are known exactly. It takes two faces a
coordinate, where cells would have to be cut in every coordinate at once.

Boxes are skew: a coordinate is counted from a whole number that depends on the later
ones, so that boxes can follow correlated laws, and are still products of runs of
integers with as many points as their sides say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import mp, mpf

from discreet.algorithms.sampling.laws.faces import Bounded, Face
from discreet.algorithms.sampling.laws.tangents import Tangents
from discreet.bounds import Array, Integers
from discreet.noise import Randomness, integers
from discreet.noise.randomness import integers_below
from discreet.noise.selection import integer_weights, scale_bits

STEP = 0.125
"""Rise of the score from one box to the next."""

DEEP = 20.0
"""Rise at which the ladder ends, beyond what makes up for the size of the last box, the region."""

NARROWEST = 2.0**8
"""Least spread of a coordinate, in lattice steps, at which two more a face cost hardly any mass."""


@dataclass(frozen=True)
class Frame:
    """Skew coordinates of places: ``place = middle + turn @ x``, ``turn`` upper triangular.

    Parameters
    ----------
    middle
        A whole place.
    turn
        Columns are the directions of the coordinates, each about one deviation long.
    low, high
        Least and greatest places of the region.
    """

    middle: Array
    turn: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, sample: Array, low: Array, high: Array) -> Frame | None:
        """Fit the coordinates to a cloud of places; None if float64 cannot carry them."""
        around = np.cov(sample.T).reshape(len(low), len(low))
        try:
            turn = np.linalg.cholesky(around[::-1, ::-1])[::-1, ::-1]
        except np.linalg.LinAlgError:
            return None
        frame = cls(np.rint(sample.mean(axis=0)), np.asarray(turn, np.float64), low, high)
        fine = frame.spread.min() >= NARROWEST and frame._slip().max() <= 1.0
        return frame if fine else None

    @property
    def spread(self) -> Array:
        """Lattice steps in one unit of every coordinate."""
        return np.asarray(np.diag(self.turn), np.float64)

    @property
    def _unskew(self) -> Array:
        """Matrix that takes places to whole offsets, but for rounding."""
        return np.asarray(np.linalg.inv(self.turn / self.spread), np.float64)

    @property
    def _extent(self) -> Array:
        return np.maximum(np.abs(self.low - self.middle), np.abs(self.high - self.middle)) + 1.0

    @property
    def reach(self) -> Array:
        """Largest size of every coordinate inside the region."""
        return np.asarray((np.abs(self._unskew) @ self._extent + 2.0) / self.spread)

    def _slip(self) -> Array:
        """Bound what rounding, also of the inverse, adds to the half step of a whole offset."""
        skew, back, p = self.turn / self.spread, self._unskew, len(self.middle)
        far = np.abs(back) @ self._extent
        wrong = np.abs(back @ skew - np.eye(p)) + p * 2.0**-51 * np.abs(back) @ np.abs(skew)
        return np.asarray(2.0 * wrong @ far + (p + 4) * 2.0**-52 * far)

    def known(self, planes: Tangents, walls: Tangents, some: Any = slice(None)) -> Bounded:
        """Return planes and walls in these coordinates; the region's box counts as walls."""
        eye, slope = np.eye(len(self.middle)), planes.slope[some]
        normal = np.concatenate([walls.slope, eye, -eye])
        offset = np.concatenate([-walls.base, self.high + 1.0, 1.0 - self.low])
        # One length for all walls, or the solver loses the short ones.
        turned = normal @ self.turn
        size = np.abs(turned).max(axis=1)
        return Bounded(
            slope @ self.turn,
            planes.base[some] + slope @ self.middle,
            turned / size[:, None],
            (offset - normal @ self.middle) / size,
            self.reach,
            self._doubt(slope, planes.base[some]),
            self._doubt(normal, offset) / size,
        )

    def _doubt(self, slope: Array, base: Array) -> Array:
        """Bound the rounding of planes in these coordinates anywhere in the region."""
        size = np.abs(slope)
        far = size @ np.abs(self.middle) + size @ np.abs(self.turn) @ self.reach
        return np.asarray(2.0**-40 * (np.abs(base) + far))

    def places(self, offset: Integers) -> Array:
        """Return the places of whole offsets, a one-to-one map; last coordinate first."""
        place = np.zeros(offset.shape)
        pull = -self._unskew
        for j in range(len(self.middle) - 1, -1, -1):
            gap = place[:, j + 1 :] - self.middle[j + 1 :]
            place[:, j] = offset[:, j] + np.rint(self.middle[j] + gap @ pull[j, j + 1 :])
        return place


@dataclass(frozen=True)
class Shells:
    """Independent draws from nested boxes, and what their chances were.

    Parameters
    ----------
    place
        The points, in steps from the middle of the region.
    shell
        The smallest box around each.
    boxes
        What they were drawn from.
    """

    place: Array
    shell: Integers
    boxes: Nested

    @property
    def envelope(self) -> Array:
        """Logs of the envelope at the points."""
        return self.boxes.top[self.shell]

    @property
    def surplus(self) -> Array:
        """Logs of how much rarer they were proposed."""
        return self.boxes.top[self.shell] - self.boxes.chance[self.shell]

    @property
    def size(self) -> Array:
        """Sums of the magnitudes behind the log-chances."""
        return self.boxes.size[self.shell]

    def exact(self, i: int, score: float) -> Any:
        """Return the log-ratio of the density to the chance of proposal ``i``, up to a constant."""
        return -mpf(score) - self.boxes.exact_chance(int(self.shell[i]))


class Nested:
    """A ladder of nested boxes around the mass of a law.

    Parameters
    ----------
    frame
        The coordinates.
    floor
        A bound of the score everywhere.
    faces
        For every coordinate, bounds beyond its two faces, the upper one first.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> frame = Frame(np.zeros(1), np.array([[2.0**20]]), np.array([-(2.0**24)]),
    ...               np.array([2.0**24]))
    >>> tent = [[Face(0.0, 1.0, np.zeros(1))]] * 2
    >>> boxes = Nested(frame, 0.0, [tent])
    >>> bool(abs(boxes.mass - math.log(2.0**21)) < 0.1)
    True
    >>> boxes.propose(3, Seeded(0)).place.shape
    (3, 1)
    """

    def __init__(
        self, frame: Frame, floor: float, faces: Sequence[Sequence[Sequence[Face]]]
    ) -> None:
        self._frame, p = frame, len(frame.middle)
        rise = DEEP + float(np.log(2.0 * frame.reach).sum())
        levels = floor + STEP * np.arange(1, math.ceil(rise / STEP))
        reach = np.ceil(frame.reach * frame.spread).astype(np.int64) + 1
        ends = [np.empty((len(levels) + 1, p), np.int64) for _ in range(2)]
        for j, pair in enumerate(faces):
            for end, pieces in zip(ends, pair, strict=True):
                width = np.full(len(levels), math.inf)
                for face in pieces:
                    if face.rise > 0.0:
                        width = np.minimum(width, (levels - face.height) / face.rise)
                # privacy: two steps more: half a one for whole offsets, one for the slip.
                outer = np.minimum(np.ceil(width * frame.spread[j]), reach[j] - 2) + 2
                end[:-1, j] = np.maximum.accumulate(outer)
                end[-1, j] = reach[j]
        self._high, self._low = ends[0], -ends[1]
        # Faces that have passed each other leave no point below the level; any box will do.
        self._low = np.minimum.accumulate(np.minimum(self._low, self._high))
        self._counts = self._high - self._low + 1
        # privacy: outside the box before, the score is above that box's level.
        self.top: Array = -np.concatenate([[floor], levels])
        own = np.concatenate([np.full(len(levels), math.log(-math.expm1(-STEP))), [0.0]])
        self._volume = np.log(self._counts).sum(axis=1)
        share = self.top + own + self._volume
        self._peak = float(share.max())
        self._ends = integer_weights(share, self._peak)
        self._weights = np.diff(self._ends, prepend=0)
        self._bits = scale_bits(share.size)
        scale = self._peak - self._bits * math.log(2.0)
        parts = np.log(self._weights) + scale - self._volume
        self.chance: Array = np.logaddexp.accumulate(parts[::-1])[::-1]
        self.mass = float(np.logaddexp.reduce(share))
        self.size: Array = 2.0 * (abs(self._peak) + np.abs(self.top) + self._volume) + 64.0 * p

    def propose(self, many: int, random: Randomness) -> Shells:
        """Draw some points from the envelope."""
        # privacy: whole-number weights and exact uniforms, so that chances are known exactly.
        box = self._ends.searchsorted(integers(int(self._ends[-1]), many, random), side="right")
        counts = self._counts[box]
        offset = self._low[box] + integers_below(counts.ravel(), random).reshape(counts.shape)
        shell = np.zeros(many, np.int64)
        for j in range(offset.shape[1]):
            above = self._high[:, j].searchsorted(offset[:, j])
            below = (-self._low[:, j]).searchsorted(-offset[:, j])
            shell = np.maximum(shell, np.maximum(above, below))
        return Shells(self._frame.places(offset), shell, self)

    def exact_chance(self, shell: int) -> Any:
        """Return the log of the chance of one point of a shell, up to a constant."""
        total = mpf(0)
        for weight, counts in zip(self._weights[shell:], self._counts[shell:], strict=True):
            total += mpf(int(weight)) / mpf(math.prod(counts.tolist()))
        return mp.log(total) + mpf(self._peak) - self._bits * mp.log(2)
