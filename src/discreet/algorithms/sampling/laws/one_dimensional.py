"""Medians and quantiles in one dimension, in closed form.

Between two neighbouring values the rank of a point is constant and the pinball
loss of a quantile is a straight line, so their exponential laws are one uniform
or truncated geometric law per gap. Choosing a gap by its mass and then a point
in it is an exact draw, with no rejection to speak of and one sort of the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import mpf

from discreet.algorithms.sampling.laws.geometric import exact_log_sum, log_sum, truncated
from discreet.bounds import Array, Integers
from discreet.noise import Randomness, exponential_mechanism
from discreet.noise.coins import below_exp

SLACK = 2.0**-20
"""Least factor, in logarithm, that all runs pay for the rounding of their masses."""


@dataclass(frozen=True)
class PiecewiseLinear:
    """The law ``P(i) ~ exp(-score(i))`` on integers, the score linear in runs.

    Parameters
    ----------
    starts, counts
        First integer and length of every run.
    middles, slopes
        The score is ``middle + slope * (i - start - (count - 1) / 2)`` in a run.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> law = PiecewiseLinear.pinball(np.array([3, 3, 4]), size=8, quantile=0.5, scale=50.0)
    >>> law.draw(Seeded(0))
    3
    """

    starts: Integers
    counts: Integers
    middles: Array
    slopes: Array

    @classmethod
    def pinball(
        cls, values: Integers, *, size: int, quantile: float, scale: float
    ) -> PiecewiseLinear:
        """Return the law of ``scale`` times the summed pinball loss on ``0 .. size - 1``.

        Sums are whole numbers, so the only rounding is in a handful of last
        products, below ``2**-48 * scale * len(values) * size``.
        """
        ordered = np.sort(values)
        knots = np.unique(ordered)
        inside = knots[(knots > 0) & (knots < size)]
        starts = np.concatenate([[0], inside]).astype(np.int64)
        counts = np.diff(np.append(starts, size))
        below = np.searchsorted(ordered, starts, side="right")
        sums = np.concatenate([[0], np.cumsum(ordered)])
        twice = 2 * starts + counts - 1
        under = below * twice - 2 * sums[below]
        over = 2 * (sums[-1] - sums[below]) - (ordered.size - below) * twice
        middles = 0.5 * scale * (quantile * over + (1.0 - quantile) * under)
        slopes = scale * ((1.0 - quantile) * below - quantile * (ordered.size - below))
        return cls(starts, counts, middles, slopes)

    @classmethod
    def ranks(
        cls, values: Integers, *, size: int, quantile: float, scale: float
    ) -> PiecewiseLinear:
        """Return the law of ``scale`` times how many ranks a point of ``0 .. size - 1`` is off.

        That is the distance of zero from the subgradients of the pinball loss. Numbers of values
        are whole, so rounding stays below ``2**-50 * scale * len(values)``.

        >>> law = PiecewiseLinear.ranks(np.array([3, 3, 4]), size=8, quantile=0.5, scale=2.0)
        >>> law.scores(np.arange(8)).tolist()
        [3.0, 3.0, 3.0, 0.0, 1.0, 3.0, 3.0, 3.0]
        """
        starts, counts, middles = rank_runs(values, 0, size, 0, values.size, quantile, scale)
        return cls(starts, counts, middles, np.zeros(len(starts)))

    def there(self) -> PiecewiseLinear:
        """Return the law without empty runs.

        >>> law = PiecewiseLinear(np.array([0, 0]), np.array([0, 3]), np.zeros(2), np.zeros(2))
        >>> law.there().counts
        array([3])
        """
        some = self.counts > 0
        return PiecewiseLinear(
            self.starts[some], self.counts[some], self.middles[some], self.slopes[some]
        )

    def scores(self, index: Integers) -> Array:
        """Return the scores of integers, for tests and plots of public data."""
        run = np.searchsorted(self.starts, index, side="right") - 1
        offset = index - self.starts[run] - 0.5 * (self.counts[run] - 1)
        return np.asarray(self.middles[run] + self.slopes[run] * offset)

    def draw(self, random: Randomness) -> int:
        """Return one integer, exactly from the law."""
        sums = log_sum(self.slopes, self.counts)
        masses = sums - self.middles
        errors = 2.0**-45 * (64.0 + np.abs(self.middles) + np.abs(self.slopes) * self.counts)
        # privacy: the same for every run, so that it divides out, and at least what rounding may
        # add to any mass, so that no coin would need a chance above one.
        slack = max(SLACK, float(errors.max()))
        while True:
            k = exponential_mechanism(masses, random)
            slope, count = float(self.slopes[k]), int(self.counts[k])
            middle, mass = float(self.middles[k]), float(masses[k])

            def exact(s: float = slope, n: int = count, c: float = middle, m: float = mass) -> Any:
                return exact_log_sum(s, n) - mpf(c) - mpf(m) - mpf(slack)

            # privacy: the run was chosen by a rounded mass; the coin puts the exact one back.
            if below_exp(-slack, float(errors[k]), exact, random):
                index = truncated(self.slopes[k : k + 1], self.counts[k : k + 1], random)
                return int(self.starts[k] + index[0])


def rank_runs(
    values: Integers, first: int, stop: int, below: int, n: int, quantile: float, scale: float
) -> tuple[Integers, Integers, Array]:
    """Return starts, lengths and scores of the runs that have one rank each.

    Parameters
    ----------
    values
        All values from ``first`` up to ``stop``.
    first, stop
        Lattice points.
    below
        Number of values below ``first``.
    n
        Number of all values.
    quantile, scale
        As for :meth:`PiecewiseLinear.ranks`.

    Examples
    --------
    >>> rank_runs(np.array([3, 3]), 2, 6, 0, 3, 0.5, 2.0)
    (array([2, 3, 4]), array([1, 1, 2]), array([3., 0., 1.]))
    """
    knots, times = np.unique(values, return_counts=True)
    through = below + np.cumsum(times)
    # A value is a run of its own, and so is the gap behind it.
    starts = np.append(first, np.column_stack([knots, knots + 1]))
    under = np.append(below, np.column_stack([through - times, through]))
    over = np.append(n - below, np.repeat(n - through, 2))
    off = np.maximum(0.0, np.maximum(under - quantile * n, over - (1.0 - quantile) * n))
    counts = np.diff(np.append(starts, stop))
    some = counts > 0
    return starts[some], counts[some], scale * off[some]
