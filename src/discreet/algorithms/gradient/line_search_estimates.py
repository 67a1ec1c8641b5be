"""Two ways to read a length out of noisy derivatives along a direction.

:class:`Calibrated` starts from nothing. Rows are long across the direction and
short along it, about one over the root of the number of weights, so that is how
far they are clipped: the loss is :class:`~discreet.losses.CalibratedLogistic`,
which estimates the logit whatever the clip is. Most rows then reach the clip, and
the derivative runs from ``-(1 - 2 e)`` at zero through the length sought to ``e``
far out, in units of the clip and the number of rows, where ``e`` is the part of
rows on the wrong side. A curve of this kind is fitted to the sums. What it says
far from its root is rough, but sums gather where it does not matter.

:class:`Conservative` starts from the length that was found, and leaves it unless the
the sums speak clearly against it. Where rows are many for the noise that length is
right or, if few rows lie on the wrong side, too short: the descent stopped early.
So this one may be wrong about little, and fits the logistic loss itself. Its
derivative by the logarithm of the length adds ``-m / (1 + exp(m))`` for a row of
margin ``m``, which is below 0.28 for all rows on the right side. A clip of ``LINE_MARGIN``
therefore cuts only rows that are wrong by more than that, and noise is the same
for every length and number of weights. Such rows are counted first: the logistic
model has next to none of them, so with more than noise explains it is wrong, what
the clip cuts would count, and the length is left alone. The other sums are
compared with what Gaussian projections, of unknown spread, and labels that follow
the logistic model would give. The length is where the derivative then vanishes on
average. Rows may be far narrower along the weights than they are long: columns that
hardly vary beside an intercept, say. Long weights then have short margins, and the
loss turns within a small part of the length, so that all spreads down to such rows
are held possible. What sums at one place say of another is a guess, so the last one
may take the length back, but carries it no further than where it was itself.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.bounds import Array
from discreet.losses import CalibratedLogistic, Logistic
from discreet.tuned.algorithms import (
    LINE_CLIP,
    LINE_DOUBTS,
    LINE_KEPT,
    LINE_LONGEST,
    LINE_MARGIN,
    LINE_QUIET,
    LINE_RIGHT,
    LINE_SHORTEST,
    LINE_WRONG,
)

if TYPE_CHECKING:
    from discreet.algorithms.gradient.line_search import LineSearch

_WRONG = np.linspace(0.02, 0.48, 24)[:, None]
_TRIED = np.geomspace(LINE_SHORTEST, LINE_LONGEST, 200)
_SPREADS = np.exp(np.linspace(-6.0, 1.5, 31))[:, None]
_FACTORS = np.exp(np.linspace(-0.3, 2.1, 97))
# Logarithms of spreads are 10 times as far apart as those of factors, so that few products differ.
_PRODUCTS = np.exp(np.linspace(-6.3, 3.6, 397))
_PLACES = 10 * np.arange(31)[:, None] + np.arange(97)
_FOUND = int(np.argmin(np.abs(np.log(_FACTORS))))
_DEVIATIONS = np.geomspace(1e-4, 8.0, 300)


class Calibrated:
    """What sums say about the length, for a flat prior on its logarithm."""

    keeps_rows: ClassVar[bool] = True
    """Whether the rows of all sums are the same, as :meth:`line` returns them."""

    def __init__(self, length: LineSearch, size: float) -> None:
        # Weights of rows multiply what the loss has clipped.
        self.loss, self.length = CalibratedLogistic(clip=self.clip(length)), size / 2.0
        self._lengths = size * _TRIED
        self._evidence = np.zeros((_WRONG.size, _TRIED.size))
        self._most = _rows(length) * length.clip
        self._variance = _variance(length, length.clip)

    @staticmethod
    def clip(length: LineSearch) -> float:
        """Return the largest part of one row of weight 1 in one sum."""
        return LINE_CLIP * length.problem.row_norm / math.sqrt(length.problem.dimension)

    def line(self, along: Array, y: Array) -> Array:
        """Return the rows of the next sum, one number each, for their projections and labels."""
        return along

    @property
    def at(self) -> float:
        """Where the derivative is taken next."""
        return self.length

    def see(self, derivative: float, sums: int) -> None:
        """Take in the mean of several sums at the present length."""
        ratio = _WRONG / (1.0 - 2.0 * _WRONG)
        rise = (1.0 - _WRONG) * self.length / (self.length + ratio * self._lengths)
        expected = self._most * (rise - (1.0 - 2.0 * _WRONG))
        self._evidence -= sums * (derivative - expected) ** 2 / (2.0 * self._variance)
        chance = np.exp(self._evidence - self._evidence.max()).sum(axis=0)
        self.length = math.exp(float(np.log(self._lengths) @ (chance / chance.sum())))


class Conservative:
    """What sums say about the length, if it was right with probability ``LINE_KEPT`` before."""

    keeps_rows: ClassVar[bool] = False
    at = 1.0

    def __init__(self, length: LineSearch, size: float) -> None:
        self.loss, self.length = Logistic(), size
        self._clip = self.clip(length)
        self._found, self._left = size, length.rounds
        self._doubts = math.ceil(LINE_DOUBTS * length.rounds)
        self._wrong = self._counted = 0.0
        problem = length.problem
        self._most = _rows(length) * problem.bounds.weight
        self._variance = _variance(length, problem.bounds.weight * LINE_RIGHT)
        self._spreads = _SPREADS * problem.row_norm / math.sqrt(problem.dimension)
        self._lengths = size * _FACTORS
        usual = size * problem.row_norm / math.sqrt(problem.dimension)
        self._slopes = self._spreads * _slope(usual * _PRODUCTS)[_PLACES]
        prior = np.full(_FACTORS.size, (1.0 - LINE_KEPT) / _FACTORS.size)
        prior[_FOUND] += LINE_KEPT
        # Most often spreads are about one over the root of the number of weights.
        self._evidence = np.log(prior) - np.log(_SPREADS) ** 2 / (2.0 * 0.6**2)

    @staticmethod
    def clip(length: LineSearch) -> float:
        """Return the largest part of one row of weight 1 in one sum."""
        each = length.multiplier / (length.sampler.rate * _rows(length) * math.sqrt(length.sums))
        return LINE_MARGIN * math.cbrt(max(1.0, LINE_QUIET / each))

    def line(self, along: Array, y: Array) -> Array:
        """Return the margins of rows, or at first of those that are wrong by more than the clip.

        Each of these then adds the clip to a sum, up to a hundredth: they are counted.
        """
        margins = along * self.length
        # privacy: what becomes of a row depends on the row and on what was released only.
        return np.where(y * margins < -self._clip, margins, 0.0) if self._doubts else margins

    def see(self, derivative: float, sums: int) -> None:
        """Take in the mean of several sums at the present length."""
        self._left -= 1
        if self._doubts:
            self._wrong += sums * derivative
            self._counted += sums
            self._doubts -= 1
            return
        if self._wrong > LINE_WRONG * math.sqrt(self._counted * self._variance):
            return
        here = self._spreads * _slope(self._spreads * self.length)
        expected = self._most * self.length * (here - self._slopes)
        self._evidence -= sums * (derivative - expected) ** 2 / (2.0 * self._variance)
        chance = np.exp(self._evidence - self._evidence.max())
        chance /= chance.sum()
        rise = chance.sum(axis=1) @ self._slopes
        root = np.interp(float(np.sum(chance * self._slopes)), rise, np.log(self._lengths))
        moved, before = float(root) - math.log(self._found), math.log(self.length / self._found)
        if self._left > 0 or abs(moved) < abs(before):
            self.length = self._found * math.exp(moved)


def _rows(length: LineSearch) -> int:
    n_rows = length.problem.n_rows
    assert n_rows is not None
    return n_rows


def _variance(length: LineSearch, usual: float) -> float:
    """Return the variance of a sum, if batches are of rows that usually add so much."""
    sampler = length.sampler
    return (length.noise.scale / sampler.rate) ** 2 + sampler.variance(_rows(length), usual)


def _slope(scale: Array) -> Array:
    """Return the mean of ``z / (1 + exp(-scale z))`` for a normal ``z``.

    >>> _slope(np.array([0.0, 1.0, 1e3])).round(3)
    array([0.   , 0.207, 0.399])
    """
    z = _DEVIATIONS
    weight = z * np.exp(-(z**2) / 2.0) / math.sqrt(2.0 * math.pi) * np.gradient(z)
    return np.asarray(np.tanh(scale[..., None] * z / 2.0) @ weight)
