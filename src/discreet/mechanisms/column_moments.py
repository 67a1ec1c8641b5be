"""Means and variances of columns: one noisy vector of sums.

Columns are mapped to ``[-1, 1]`` by declared ranges. Released are ``sum x`` and
``sum (x^2 - 1/2)`` of every column, and the number of rows where it is not public.

Theorem. With ``p`` columns one row moves the vector by at most ``sqrt(1.25 p)`` in l2,
``sqrt(1.25 p + 1)`` with the number of rows, when it is blanked, added or removed, and
by at most ``2 sqrt(p)`` when it is replaced: ``(x - y)^2 + (x^2 - y^2)^2`` is at most 4.
Proof: ``docs/proofs/column-moments.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.accounting import Budget
from discreet.bounds import NEIGHBOURS, Array
from discreet.checks import one_of, row_count, weight_count
from discreet.mechanisms.release_noise import ReleaseNoise, release_noise
from discreet.noise import Randomness

_EXACT = 51  # sums stay below 2^51 units, so that float64 holds them exactly
_BLOCK = 2**16


@dataclass(frozen=True, kw_only=True)
class ColumnMoments:
    """A planned release of the moments of columns.

    Parameters
    ----------
    budget
        What the release may cost.
    neighbours
        Which data sets count as neighbours.
    columns
        How many there are.
    rows
        Public number of rows, or a declared one.
    counted
        Whether the number of rows that count is released too.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> budget = Budget(1.0, 1e-6)
    >>> plan = ColumnMoments(budget=budget, neighbours="zero-out", columns=1, rows=40_000)
    >>> X = np.repeat([[0.5], [-0.5]], 20_000, axis=0)
    >>> mean, variance = plan.draw(X, Seeded(0))
    >>> bool(abs(mean[0]) < 0.01), round(float(variance[0]), 2)
    (True, 0.25)
    """

    budget: Budget
    neighbours: str
    columns: int
    rows: int
    counted: bool = False

    def __post_init__(self) -> None:
        one_of("neighbours", self.neighbours, NEIGHBOURS)
        weight_count("columns", self.columns)
        row_count("rows", self.rows)
        _ = self.noise

    @property
    def _capacity(self) -> int:
        # privacy: under add-remove the size is only declared; sums beyond are clipped
        return 4 * self.rows if self.neighbours == "add-remove" else self.rows

    @property
    def sensitivity(self) -> float:
        """Largest l2 distance between neighbours' sums."""
        if self.neighbours == "replace-one":
            # privacy: a row against a blank one moves no more: 1.25 p + 1 <= 4 p.
            return 2.0 * math.sqrt(self.columns)
        return math.sqrt(1.25 * self.columns + self.counted)

    @cached_property
    def noise(self) -> ReleaseNoise:
        """The noise on the sums."""
        return release_noise(
            # privacy: the root is rounded, so a little more is paid for
            self.sensitivity * (1.0 + 2.0**-50),
            self.budget,
            dimension=2 * self.columns + self.counted,
            reach=2.0 * self._capacity,
        )

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise on one sum."""
        return math.sqrt(self.noise.mean_square / (2 * self.columns + self.counted))

    @property
    def bits(self) -> int:
        """Cells are rounded to multiples of ``2**-bits``."""
        return max(2, min(20, (_EXACT - self._capacity.bit_length()) // 2))

    def sums(self, X: Array) -> Array:
        """Return the exact sums of rows in ``[-1, 1]``; a row with a NaN counts for nothing."""
        good = X[~np.isnan(X).any(axis=1)]
        # privacy: each cell is rounded by itself and sums are whole numbers that cannot overflow,
        # so neighbours differ by exactly what one row adds.
        unit, totals = 2**self.bits, np.zeros((2, self.columns), dtype=object)
        for start in range(0, len(good), _BLOCK):
            part = np.clip(good[start : start + _BLOCK], -1.0, 1.0)
            whole = np.rint(part * unit).astype(np.int64)
            squares = whole * whole - unit * unit // 2
            totals += np.array([whole.sum(axis=0), squares.sum(axis=0)]).astype(object)
        first = totals[0].astype(np.float64) / unit
        second = totals[1].astype(np.float64) / unit**2
        return np.concatenate([first, second, [float(len(good))] if self.counted else []])

    def draw(self, X: Array, random: Randomness) -> tuple[Array, Array]:
        """Return noisy means and variances of columns in ``[-1, 1]``.

        Parameters
        ----------
        X
            Rows; one that holds a NaN counts for nothing.
        random
            Where the bits come from.
        """
        out = self.noise.add(self.sums(X), random)  # privacy: the only exit of data
        p = self.columns
        size = max(1.0, float(out[-1])) if self.counted else float(self.rows)
        mean = np.clip(out[:p] / size, -1.0, 1.0)
        least = 2.0 * self.deviation / size
        variance = np.clip(0.5 + out[p : 2 * p] / size - mean**2, min(least, 1.0), 1.0)
        return mean, variance
