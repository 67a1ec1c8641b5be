"""Quantiles of a column without bounds: the first candidate that enough values lie below.

Candidates ``t_1 < t_2 < ...`` are a public ladder that grows by one per cent a step.
With ``c_i`` the number of values below ``t_i`` and a target ``T``, the first ``t_i`` is
released for which

    c_i + nu_i >= T + rho,

where ``rho`` and all ``nu_i`` are geometric on a public grid of ranks, with mean about
``b`` ranks: ``P(nu >= k) = exp(-k / b)``.

Theorem (Durfee 2023, constants worked out here). The release is purely private with

    =====================================  =================  =====================
    target                                 neighbours         epsilon
    =====================================  =================  =====================
    public                                 zero-out,          1 / b
                                           add-remove
    any                                    replace-one        2 / b
    ``q`` times a secret number of values  zero-out,          max(1 + q, 1 - q) / b
                                           add-remove
    =====================================  =================  =====================

Counts, target and noise are whole numbers of the grid and every coin is exact, so
nothing is added for rounding. Proof: ``docs/proofs/unbounded-quantile.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from discreet.accounting import Budget, Pure, rdp_delta
from discreet.bounds import NEIGHBOURS, Array
from discreet.checks import between, integer, moderate, one_of, usable_epsilon
from discreet.noise import Randomness, below_exps, geometric

GROWTH = 1.01
"""Ratio of neighbouring candidates, far from zero."""

RUNGS = 4000
"""Candidates on either side of zero; the last is 1.9e17 units away."""

GRID = 1024
"""Fractions of a rank that targets and noise are counted in."""

EARLY = 3.0
"""How many times the mean size of the noise a target stays below the number of values."""


@cache
def _ladder() -> Array:
    steps = GROWTH ** np.arange(1, RUNGS + 1) - 1.0
    return np.concatenate([-steps[::-1], [0.0], steps])


def noise_rate(quantile: float, epsilon: float, neighbours: str, *, secret: bool) -> float:
    """Return ``1 / b``, the rate of the noise per rank.

    Parameters
    ----------
    quantile
        Share of the values below the wanted point, a multiple of ``1 / GRID``.
    epsilon
        What one scan may cost.
    neighbours
        Which data sets count as neighbours.
    secret
        Whether the target is a share of a number of values that one row changes.

    Examples
    --------
    >>> noise_rate(0.75, 1.0, "zero-out", secret=False)
    1.0
    >>> round(1 / noise_rate(0.75, 1.0, "zero-out", secret=True), 9)
    1.75
    >>> round(1 / noise_rate(0.75, 1.0, "replace-one", secret=True), 9)
    2.0
    """
    if one_of("neighbours", neighbours, NEIGHBOURS) == "replace-one":
        # privacy: a replacement moves an interval of counts one way, and the target by no more.
        return epsilon / 2.0
    if not secret:
        # privacy: one value moves all later counts alike.
        return epsilon
    # privacy: rounded down; the quantile is a multiple of 1 / GRID, so the sums are exact.
    return epsilon / max(1.0 + quantile, 1.0 - quantile) * (1.0 - 2.0**-50)


@dataclass(frozen=True, kw_only=True)
class QuantileScan:
    """One planned release of an end of a column.

    Parameters
    ----------
    quantile
        Share of the values that shall lie inside the end; rounded to ``1 / GRID``.
    epsilon
        What the scan costs, purely.
    neighbours
        Which data sets count as neighbours.
    rows
        Public number of rows that the target is a share of; None takes the secret
        number of values that are there.
    unit
        Public size of the first candidates: steps are one per cent of it near zero.
    upper
        Whether the end is the upper one; the lower end is scanned for from above.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> scan = QuantileScan(quantile=0.95, epsilon=1.0, neighbours="zero-out", rows=1000)
    >>> bool(80 < scan.draw(np.arange(1000) / 10.0, Seeded(0)) < 100)
    True
    """

    quantile: float
    epsilon: float
    neighbours: str
    rows: int | None = None
    unit: float = 1.0
    upper: bool = True

    def __post_init__(self) -> None:
        between("quantile", self.quantile, 0.0, 1.0)
        usable_epsilon("epsilon", self.epsilon)
        moderate("unit", self.unit)
        one_of("neighbours", self.neighbours, NEIGHBOURS)

    @property
    def share(self) -> int:
        """The quantile in multiples of ``1 / GRID``."""
        return min(GRID - 1, max(1, round(self.quantile * GRID)))

    @property
    def rate(self) -> float:
        """Rate of the noise per step of the grid; a power of two below that per rank."""
        secret = self.rows is None
        per_rank = noise_rate(self.share / GRID, self.epsilon, self.neighbours, secret=secret)
        return per_rank / GRID

    @property
    def early(self) -> float:
        """How many ranks too early the scan may stop: what 19 scans in 20 do not exceed."""
        return (math.log(2 * RUNGS + 1) + math.log(20.0)) / (self.rate * GRID)

    def candidates(self) -> Array:
        """Return the public ladder, from below for an upper end; signs of a lower end turn."""
        return _ladder() * self.unit

    def shortfalls(self, values: Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Return target minus count for each candidate, in steps of the grid."""
        present = values[~np.isnan(values)]
        present = np.sort(present if self.upper else -present)
        counts = np.searchsorted(present, self.candidates(), side="left").astype(np.int64)
        # privacy: under a public target no number of values enters but the counts.
        size = present.size if self.rows is None else self.rows
        return self.share * size - GRID * counts

    def draw(self, values: Array, random: Randomness) -> float:
        """Return the end of a column; values that are not numbers count for nothing.

        Parameters
        ----------
        values
            The column.
        random
            Where the bits come from.
        """
        shortfalls, rate = self.shortfalls(values), self.rate
        hits = below_exps(rate, shortfalls + geometric(rate, random), random)
        ladder = self.candidates()
        # privacy: a scan without a hit returns the last candidate, and costs no more.
        found = float(ladder[int(np.argmax(hits))] if hits.any() else ladder[-1])
        return found if self.upper else 0.0 - found


def scan_epsilon(budget: Budget, scans: int) -> float:
    """Return what each of several scans may cost: an equal share, or more where delta allows.

    >>> scan_epsilon(Budget(1.0), 4)
    0.25
    >>> round(scan_epsilon(Budget(1.0, 1e-6), 400) * 400, 2)
    4.44
    """
    share = budget.part(budget.epsilon / integer("scans", scans)).epsilon
    if budget.delta == 0:
        return share

    def fits(epsilon: float) -> bool:
        one = Pure(epsilon)
        return rdp_delta(lambda a: scans * one.rdp(a), budget.epsilon) <= budget.delta

    low, high = share, budget.epsilon
    if not fits(low):
        return share
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def side_quantile(coverage: float, sides: int, ranks: float, rows: int | None) -> float:
    """Return the quantile to aim at: not closer to the extreme than noise can tell.

    Parameters
    ----------
    coverage
        Share of the values that shall lie between the two ends.
    sides
        How many ends are looked for.
    ranks
        Mean size of the noise.
    rows
        Public number of rows, if there is one.

    Examples
    --------
    >>> round(side_quantile(0.99, 2, 1.0, 10_000), 6), side_quantile(0.99, 2, 10.0, 1000)
    (0.995, 0.97)
    """
    wanted = 1.0 - (1.0 - between("coverage", coverage, 0.0, 1.0)) / sides
    if rows is None:
        return wanted
    return max(0.5, min(wanted, 1.0 - EARLY * ranks / rows))


def interval_of(low: float, high: float, unit: float) -> tuple[float, float]:
    """Return two released ends as an interval, in order and not empty.

    >>> interval_of(3.0, 1.0, 1.0), interval_of(4.0, 4.0, 6.0)
    ((1.0, 3.0), (3.9, 4.1))
    """
    low, high = min(low, high), max(low, high)
    if low < high:
        return low, high
    # One step of the ladder to either side.
    step = (GROWTH - 1.0) * (abs(low) + unit)
    return low - step, high + step
