"""Ranges and categories of columns that are not known, learned with fixed shares of a budget.

Every end of a range is one :class:`~discreet.mechanisms.unbounded_quantile.QuantileScan`
and every list of categories one
:class:`~discreet.mechanisms.partition_selection.PartitionSelection`. How many there are,
and what each may spend, is fixed before a row is read; costs add up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from discreet.accounting import Budget, Composed, Event, Pure
from discreet.accounting.theorems import theorems
from discreet.bounds import NEIGHBOURS, Array, Interval
from discreet.checks import between, finite, moderate, one_of
from discreet.errors import InvalidParameter
from discreet.mechanisms.partition_selection import PartitionSelection
from discreet.mechanisms.unbounded_quantile import (
    QuantileScan,
    interval_of,
    scan_epsilon,
    side_quantile,
)
from discreet.noise import Randomness


@dataclass(frozen=True, kw_only=True)
class UnknownRange:
    """A range of which one end, or both, are not known.

    Parameters
    ----------
    low, high
        A declared end costs nothing; None is learned.
    unit
        Public size below which numbers are not told apart well.
    secret
        Whether cells may be missing, so that one row changes how many values there are.

    Examples
    --------
    >>> UnknownRange(low=0.0).ends
    1
    """

    low: float | None = None
    high: float | None = None
    unit: float = 1.0
    secret: bool = False

    def __post_init__(self) -> None:
        moderate("unit", self.unit)
        for name in ("low", "high"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, finite(name, getattr(self, name)))
        if self.ends == 0:
            raise InvalidParameter("Both ends of this range are declared; none is to be learned.")

    @property
    def ends(self) -> int:
        """How many ends are to be learned."""
        return (self.low is None) + (self.high is None)

    def joined(self, low: float, high: float) -> Interval:
        """Return the range of two ends; a declared one stays where it is."""
        step = interval_of(0.0, 0.0, self.unit)[1]
        if self.low is not None:
            return self.low, max(high, self.low + max(step, abs(self.low) * 0.01))
        if self.high is not None:
            return min(low, self.high - max(step, abs(self.high) * 0.01)), self.high
        return interval_of(low, high, self.unit)


@dataclass(frozen=True, kw_only=True)
class LearnedColumns:
    """What is learned about columns, and what it costs.

    Parameters
    ----------
    budget
        Of everything together. Each end and each list of categories gets the same share
        of epsilon; delta goes to the categories, or where there are none to the ends.
    neighbours
        Which data sets count as neighbours.
    rows
        Public number of rows, None if it is secret and none is declared.
    ranges
        The ranges that are not known, by column.
    categories
        The columns whose categories are not known.
    coverage
        Share of the values that a range shall hold.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> import numpy as np
    >>> plan = LearnedColumns(budget=Budget(1.0, 1e-6), neighbours="zero-out", rows=1000,
    ...                       ranges={"age": UnknownRange(low=0.0)}, categories=("job",))
    >>> plan.each, len(plan.events)
    (0.5, 2)
    >>> low, high = plan.range("age", np.arange(1000) / 10.0, Seeded(0))
    >>> low, bool(90 < high < 105)
    (0.0, True)
    >>> plan.named("job", ["office"] * 900 + ["lighthouse"], Seeded(0))
    ('office',)
    """

    budget: Budget
    neighbours: str
    rows: int | None
    ranges: Mapping[str, UnknownRange]
    categories: tuple[str, ...] = ()
    coverage: float = 0.99

    def __post_init__(self) -> None:
        one_of("neighbours", self.neighbours, NEIGHBOURS)
        between("coverage", self.coverage, 0.0, 1.0)
        if not self.ranges and not self.categories:
            raise InvalidParameter("No column has anything to be learned.")
        # What cannot be drawn is refused here.
        _ = self.events, [self.scan(name, upper=True) for name in self.ranges]

    @property
    def _scans(self) -> int:
        return sum(range_.ends for range_ in self.ranges.values())

    @cached_property
    def each(self) -> float:
        """Epsilon of every end and of every list of categories."""
        count = self._scans + len(self.categories)
        if self.categories:
            return self.budget.part(self.budget.epsilon / count).epsilon
        return scan_epsilon(self.budget, count)

    @cached_property
    def selection(self) -> PartitionSelection:
        """How categories are chosen."""
        delta = self.budget.delta / max(1, len(self.categories))
        part = self.budget.part(self.each, delta)
        return PartitionSelection(budget=part, neighbours=self.neighbours)

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """What everything costs, one event for each release."""
        # privacy: ends cost Pure whatever the relation, for their noise is scaled to it
        ends = (Pure(self.each),) * self._scans
        names = (self.selection.event,) * len(self.categories) if self.categories else ()
        return (*ends, *names)

    @property
    def event(self) -> Event:
        """What everything costs together."""
        return self.events[0] if len(self.events) == 1 else Composed(self.events)

    @property
    def theorem(self) -> str:
        """What the cost rests on."""
        named = ["unbounded-quantile"] * bool(self.ranges)
        named += ["partition-selection"] * bool(self.categories)
        return theorems(*["composition/fixed"] * (len(self.events) > 1), *named)

    def scan(self, name: str, *, upper: bool) -> QuantileScan:
        """Return the planned release of one end."""
        asked = self.ranges[name]
        twice = asked.secret or self.rows is None or self.neighbours == "replace-one"
        ranks = (2.0 if twice else 1.0) / self.each
        return QuantileScan(
            quantile=side_quantile(self.coverage, asked.ends, ranks, self.rows),
            epsilon=self.each,
            neighbours=self.neighbours,
            rows=None if asked.secret else self.rows,
            unit=asked.unit,
            upper=upper,
        )

    @property
    def too_few(self) -> bool:
        """Whether noise outweighs the ranks, by public facts alone."""
        if self.rows is None:
            return False
        scans = [self.scan(name, upper=True) for name in self.ranges]
        too_noisy = any(scan.early > 0.5 * scan.quantile * self.rows for scan in scans)
        return too_noisy or (bool(self.categories) and self.selection.count_for(0.5) > self.rows)

    def range(self, name: str, values: Array, random: Randomness) -> Interval:
        """Return the range of a column; NaN counts for nothing.

        Parameters
        ----------
        name
            Which column.
        values
            Its numbers.
        random
            Where the bits come from.
        """
        asked = self.ranges[name]
        low = self.scan(name, upper=False).draw(values, random) if asked.low is None else 0.0
        high = self.scan(name, upper=True).draw(values, random) if asked.high is None else 0.0
        return asked.joined(low, high)

    def named(self, name: str, cells: Iterable[Any], random: Randomness) -> tuple[str, ...]:
        """Return the values of a column that may be named; empty text and None do not count.

        Parameters
        ----------
        name
            Which column.
        cells
            Its cells, as text.
        random
            Where the bits come from.
        """
        assert name in self.categories
        return self.selection.draw(Counter(cell for cell in cells if cell), random)
