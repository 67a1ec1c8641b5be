"""Which values of a column may be named: each is kept by a coin that its count decides.

A value that ``n`` rows hold is kept with probability ``pi_n``, where ``pi_0 = 0`` and

    pi_n = min(e^eps pi_(n-1) + delta, 1 - e^-eps (1 - pi_(n-1) - delta), 1).

Theorem (Desfontaines, Voss, Gipson, Mandayam 2022). Under zero-out and add-remove the
set of kept values is (eps, delta)-private, and no rule that is keeps any value more
often. A replacement changes two counts, so under replace-one it is (2 eps, 2 delta).
Proof: ``docs/proofs/partition-selection.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from mpmath import mp, mpf

from discreet.accounting import Approximate, Budget
from discreet.bounds import rows_apart
from discreet.errors import Incompatible
from discreet.noise import Randomness, coin


def keep_chances(epsilon: float, delta: float) -> Iterator[Any]:
    """Yield ``pi_0, pi_1, ...`` at mpmath's working precision, without end.

    >>> from itertools import islice
    >>> [round(float(p), 4) for p in islice(keep_chances(1.0, 0.01), 4)]
    [0.0, 0.01, 0.0372, 0.1111]
    """
    chance, grow, failure = mpf(0), mp.exp(mpf(epsilon)), mpf(delta)
    while True:
        yield chance
        rising = grow * chance + failure
        chance = min(rising, 1 - (1 - chance - failure) / grow, mpf(1))


@lru_cache(maxsize=64)
def _table(epsilon: float, delta: float, precision: int) -> list[Any]:
    """Return the chances up to the first that is 1."""
    chances = []
    with mp.workprec(precision):
        for chance in keep_chances(epsilon, delta):
            chances.append(chance)
            if chance >= 1:
                return chances
    raise AssertionError


def _chance(epsilon: float, delta: float, count: int) -> Any:
    table = _table(epsilon, delta, mp.prec)
    return table[min(count, len(table) - 1)]


@dataclass(frozen=True, kw_only=True)
class PartitionSelection:
    """A planned choice of the values of one column that may be named.

    Parameters
    ----------
    budget
        What the choice may cost; delta must not be 0.
    neighbours
        Which data sets count as neighbours.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> selection = PartitionSelection(budget=Budget(1.0, 1e-6), neighbours="zero-out")
    >>> selection.count_for(0.5), selection.count_for(0.99)
    (14, 18)
    >>> selection.draw({"office": 400, "lighthouse": 1}, Seeded(0))
    ('office',)
    """

    budget: Budget
    neighbours: str

    def __post_init__(self) -> None:
        if self.budget.delta == 0:
            raise Incompatible(
                "Naming values that rows hold needs a delta above 0: any rule that names a value "
                "held by one row with some probability fails with that probability. Pass delta, or "
                "declare the categories.",
                parameter="delta",
            )

    @property
    def each(self) -> Budget:
        """What the coin of one value may cost."""
        # privacy: a replacement changes the counts of two values.
        times = rows_apart(self.neighbours)
        return self.budget.part(self.budget.epsilon / times, self.budget.delta / times)

    @property
    def event(self) -> Approximate:
        """What the choice costs."""
        return Approximate(self.budget.epsilon, self.budget.delta)

    def count_for(self, probability: float) -> int:
        """Return how many rows must hold a value for it to be kept with that probability."""
        for count, chance in enumerate(keep_chances(self.each.epsilon, self.each.delta)):
            if chance >= min(probability, 1.0):
                return count
        raise AssertionError

    def draw(self, counts: Mapping[str, int], random: Randomness) -> tuple[str, ...]:
        """Return the values that are kept, in the order of their text.

        Parameters
        ----------
        counts
            How many rows hold each value.
        random
            Where the bits come from.
        """
        one = self.each
        # privacy: sorted, so that no order of rows or counts is left in the release.
        return tuple(
            value
            for value in sorted(counts)
            if coin(partial(_chance, one.epsilon, one.delta, counts[value]), random)
        )
