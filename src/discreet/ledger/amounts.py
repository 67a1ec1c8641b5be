"""Exact amounts: whole numbers of units of 2**-60, rounded against whoever spends.

Costs are rounded up and caps down, so that no number of roundings lets more
through than the cap. Amounts do not fit 64 bits (epsilon 8 is 2**63 units):
they are Python integers here and decimal text in a store. None is infinity.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple, TypeAlias

UNITS = 2**60
"""Units in 1."""

Amount: TypeAlias = int | None


def up(cost: float | Fraction) -> Amount:
    """Return a cost in units, rounded up; None when it is infinite or not a number.

    >>> up(2.0**-60), up(2.0**-61), up(math.inf)
    (1, 1, None)
    """
    if isinstance(cost, float) and not math.isfinite(cost):
        return None  # privacy: what is not known is not free
    return max(0, math.ceil(Fraction(cost) * UNITS))


def down(cap: float | Fraction) -> int:
    """Return a cap in units, rounded down, and 0 for what is below 0.

    >>> down(2.0**-61), down(-1.0)
    (0, 0)
    """
    return max(0, math.floor(Fraction(cap) * UNITS))


def real(amount: Amount) -> float:
    """Return an amount as a float, for showing.

    >>> real(2**59), real(None)
    (0.5, inf)
    """
    return math.inf if amount is None else amount / UNITS


class Price(NamedTuple):
    """What one event costs in every account."""

    basic_eps: Amount = 0
    basic_delta: Amount = 0
    renyi: Amount = 0
    renyi_delta: Amount = 0
    mu2: Amount = 0


def times(price: Amount, count: int) -> Amount:
    """Return the cost of ``count`` events of one price.

    >>> times(2, 3), times(None, 3)
    (6, None)
    """
    return None if price is None else price * count


def total(prices: list[Amount]) -> Amount:
    """Return the sum of costs.

    >>> total([1, 2]), total([1, None])
    (3, None)
    """
    known = [price for price in prices if price is not None]
    return sum(known) if len(known) == len(prices) else None
