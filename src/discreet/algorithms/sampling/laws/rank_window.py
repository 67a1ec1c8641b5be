"""The law of ranks for many values, of which only those near the quantile are looked at.

Values further than :data:`FAR` over the scale from the quantile, counted in ranks, are not
kept. The points among them form two cells, proposed with the least score that any of their
points has. A point of such a cell is then kept with probability ``exp(least - score)``, by
an exact coin, or all is drawn anew. So every point has the probability that
:meth:`PiecewiseLinear.ranks` gives it, whatever was left out. Its score takes another look
at all values; that this happens at all has a probability below ``size * exp(-FAR)``.

Two passes are made: a histogram of coarse cells, then the values of the cells that matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from mpmath import mpf

from discreet.algorithms.sampling.laws.one_dimensional import PiecewiseLinear, rank_runs
from discreet.bounds import Integers
from discreet.data.blocks import in_order
from discreet.noise import Randomness
from discreet.noise.coins import below_exp

FAR = 200.0
"""Score, relative to the quantile, from which on values are not kept."""

CELLS = 16
"""Bits of a coarse cell's number."""


@dataclass(frozen=True)
class Ranks:
    """What is asked of one column.

    Parameters
    ----------
    place
        Turns a block of rows into the lattice points of the column's values.
    size
        Points of the lattice.
    quantile, scale
        As for :meth:`PiecewiseLinear.ranks`.
    """

    place: Callable[[Any], Integers]
    size: int
    quantile: float
    scale: float

    @property
    def shift(self) -> int:
        """Bits that a lattice point has beyond the number of its cell."""
        return max((self.size - 1).bit_length() - CELLS, 0)


@dataclass(frozen=True)
class RankWindow:
    """The law of ranks, with points near the quantile as runs and all others in two cells.

    Parameters
    ----------
    asked
        Lattice, quantile and scale.
    n
        Number of values.
    first, stop
        Lattice points from which and up to which values are known.
    below
        Number of values below ``first``.
    values
        Those in between.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> asked = Ranks(lambda rows: rows, 8, 0.5, 50.0)
    >>> RankWindow(asked, 3, 2, 6, 0, np.array([3, 3, 4])).draw(lambda i: (0, 3), Seeded(0))
    3
    """

    asked: Ranks
    n: int
    first: int
    stop: int
    below: int
    values: Integers

    def score(self, under: float, over: float) -> float:
        """Return the score of a point with so many values below and above it."""
        q, n = self.asked.quantile, self.n
        off = max(0.0, under - q * n, over - (1.0 - q) * n)
        return self.asked.scale * off

    def draw(self, count: Callable[[int], tuple[int, int]], random: Randomness) -> int:
        """Return one integer, exactly from the law.

        Parameters
        ----------
        count
            Returns the numbers of values below and above a lattice point.
        random
            Where the bits come from.
        """
        asked, within = self.asked, len(self.values)
        starts, counts, middles = rank_runs(
            self.values, self.first, self.stop, self.below, self.n, asked.quantile, asked.scale
        )
        # privacy: numbers of values grow along the lattice, so no point of a cell scores less.
        least = (self.score(0, self.n - self.below), self.score(self.below + within, 0))
        law = PiecewiseLinear(
            np.concatenate([[0], starts, [self.stop]]),
            np.concatenate([[self.first], counts, [asked.size - self.stop]]),
            np.concatenate([least[:1], middles, least[1:]]),
            np.zeros(len(starts) + 2),
        ).there()
        while True:
            point = law.draw(random)
            if self.first <= point < self.stop:
                return point
            low, score = least[point >= self.stop], self.score(*count(point))

            def exact(low: float = low, score: float = score) -> Any:
                return mpf(low) - mpf(score)

            # privacy: an exact coin makes up for the score that the cell was proposed with.
            if below_exp(low - score, 2.0**-52 * abs(score), exact, random):
                return point


def draw_ranks(
    blocks: Callable[[], Iterator[Any]],
    asked: Sequence[Ranks],
    random: Randomness,
    each: Callable[[Callable[[Iterator[Any]], Any]], list[Any]] | None = None,
) -> list[int]:
    """Return one exact draw for everything that is asked, from values that are read in blocks.

    Parameters
    ----------
    blocks
        Yields the rows, anew whenever it is called.
    asked
        Columns, quantiles and scales.
    random
        Where the bits come from.
    each
        Returns a function of the blocks of every part of the rows, where workers of a
        cluster have these.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> blocks = lambda: iter([np.array([3, 3]), np.array([4])])
    >>> draw_ranks(blocks, [Ranks(lambda rows: rows, 8, 0.5, 50.0)], Seeded(0))
    [3]
    """
    each = each or (lambda function: [function(blocks())])
    totals = [np.sum(found, axis=0) for found in zip(*each(partial(_counted, asked)), strict=True)]
    windows = [_window(one, total) for one, total in zip(asked, totals, strict=True)]
    held = list(zip(*each(partial(_kept, asked, windows)), strict=True))

    def draw(k: int) -> int:
        one, (first, stop), total = asked[k], windows[k], totals[k]

        def count(point: int) -> tuple[int, int]:
            found = each(partial(_beside, one, point))
            return sum(u for u, _ in found), sum(o for _, o in found)

        below = int(total[: first >> one.shift].sum())
        window = RankWindow(one, int(total.sum()), first, stop, below, np.concatenate(held[k]))
        return window.draw(count, random)

    return [draw(k) for k in range(len(asked))]


def _counted(asked: Sequence[Ranks], blocks: Iterator[Any]) -> list[Integers]:
    """Return how many values fall into each cell of a lattice."""
    cells = [((one.size - 1) >> one.shift) + 1 for one in asked]

    def counted(block: Any) -> list[Integers]:
        places = [one.place(block) >> one.shift for one in asked]
        return [np.bincount(p, minlength=m) for p, m in zip(places, cells, strict=True)]

    totals = [np.zeros(m, dtype=np.int64) for m in cells]
    for found in in_order(counted, blocks):
        for total, part in zip(totals, found, strict=True):
            total += part
    return totals


def _kept(
    asked: Sequence[Ranks], windows: Sequence[tuple[int, int]], blocks: Iterator[Any]
) -> list[Integers]:
    """Return the values near each quantile."""

    def kept(block: Any) -> list[Integers]:
        near = []
        for one, (first, stop) in zip(asked, windows, strict=True):
            places = one.place(block)
            near.append(places[(places >= first) & (places < stop)])
        return near

    held: list[list[Integers]] = [[np.zeros(0, dtype=np.int64)] for _ in asked]
    for found in in_order(kept, blocks):
        for parts, part in zip(held, found, strict=True):
            parts.append(part)
    return [np.concatenate(parts) for parts in held]


def _beside(one: Ranks, point: int, blocks: Iterator[Any]) -> tuple[int, int]:
    """Return the numbers of values below and above a point."""
    places = (one.place(block) for block in blocks)
    found = [(int((p < point).sum()), int((p > point).sum())) for p in places]
    return sum(u for u, _ in found), sum(o for _, o in found)


def _window(asked: Ranks, total: Integers) -> tuple[int, int]:
    """Return the lattice points between which values are kept, by the coarse histogram."""
    through = np.concatenate([[0], np.cumsum(total)])
    target, reach = asked.quantile * through[-1], FAR / asked.scale
    left = int(np.searchsorted(through, target - reach, side="right")) - 1
    right = int(np.searchsorted(through, target + reach, side="left"))
    first = max(left, 0) << asked.shift
    return first, max(first, min(right << asked.shift, asked.size))
