"""The budget that a user gives."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.checks import LEAST_EPSILON, between, nonnegative, usable_epsilon
from discreet.errors import BudgetTooSmall, InvalidParameter

LEAST_DELTA = 1e-290
"""Least delta above 0: tails of noise are smaller than float64 can tell below it."""


@dataclass(frozen=True)
class Budget:
    """How much privacy may be spent.

    Budgets compare componentwise, so two budgets may be incomparable.

    Parameters
    ----------
    epsilon
        From 1e-30 to 1e12.
    delta
        0, or at least 1e-290 and below 1.

    Examples
    --------
    >>> Budget(0.5) <= Budget(1.0, 1e-6)
    True
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        epsilon, delta = usable_epsilon("epsilon", self.epsilon), below_one(self.delta)
        if 0 < delta < LEAST_DELTA:
            raise InvalidParameter(
                f"delta must be 0 or at least {LEAST_DELTA:g}. Got {delta!r} instead; pass delta=0 "
                "for pure privacy."
            )
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)

    def __le__(self, other: Budget) -> bool:
        return self.epsilon <= other.epsilon and self.delta <= other.delta

    def __ge__(self, other: Budget) -> bool:
        return other <= self

    def split(self, fraction: float) -> tuple[Budget, Budget]:
        """Return ``fraction`` of the budget and what is left of it.

        >>> Budget(1.0, 1e-6).split(0.25)
        (Budget(epsilon=0.25, delta=2.5e-07), Budget(epsilon=0.75, delta=7.5e-07))
        """
        fraction = between("fraction", fraction, 0, 1)
        part = self.part(fraction * self.epsilon, fraction * self.delta)
        return part, self.part(self.epsilon - part.epsilon, self.delta - part.delta)

    def part(self, epsilon: float, delta: float = 0.0) -> Budget:
        """Return a part of the budget; an error about a part that is too small names the whole.

        >>> Budget(1.0, 1e-6).part(0.5)
        Budget(epsilon=0.5, delta=0.0)
        """
        # Nobody passed the part itself, so it is not quoted.
        if epsilon < LEAST_EPSILON:
            raise BudgetTooSmall(
                "epsilon is too small to be split: a part of it would be below "
                f"{LEAST_EPSILON:g}. Use a larger epsilon."
            )
        if 0 < delta < LEAST_DELTA:
            raise BudgetTooSmall(
                "delta is too small to be split: a part of it would be above 0 but below "
                f"{LEAST_DELTA:g}. Use a larger delta, or delta=0 for pure privacy."
            )
        return Budget(epsilon, delta)

    def remarks(self, rows: int | None = None) -> tuple[str, ...]:
        """Return cautions about the budget itself, for so many rows where that is public.

        >>> Budget(1.0, 1e-6).remarks(5000)
        ()
        >>> Budget(1.0, 1e-3).remarks(5000)
        ('delta = 0.001 is not below one over the number of rows, ... smaller delta.',)
        """
        return remarks(self.epsilon, self.delta, rows)


def remarks(epsilon: float, delta: float, rows: int | None = None) -> tuple[str, ...]:
    """Return cautions about what was claimed or may be spent.

    >>> len(remarks(60.0, 0.5))
    2
    """
    found = []
    if epsilon > 50:
        found.append(
            f"epsilon = {epsilon:g} bounds the odds of any inference only by a factor "
            f"exp({epsilon:g}); that is no protection in practice."
        )
    if delta >= 1e-2:
        found.append(
            f"delta = {delta:g} allows publishing a row outright with about that "
            "probability; keep delta far below one over the number of rows."
        )
    elif rows is not None and delta * rows >= 1:
        found.append(
            f"delta = {delta:g} is not below one over the number of rows, so publishing a random "
            "row outright would be allowed; choose a much smaller delta."
        )
    return tuple(found)


def below_one(delta: float) -> float:
    delta = nonnegative("delta", delta)
    if delta >= 1:
        raise InvalidParameter(f"delta must be below 1. Got {delta!r} instead.")
    return delta
