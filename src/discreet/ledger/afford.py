"""What a ledger can still pay for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from discreet.accounting import Approximate, BoundedRange, Event, Gaussian, Guarantee, Pure
from discreet.accounting.gaussian_profile import gaussian_multiplier
from discreet.ledger.filter import Account, Filter
from discreet.ledger.prices import POINTS
from discreet.ledger.views import stated


@dataclass(frozen=True)
class Affordable:
    """How often something still fits, and the largest epsilon of its kind that does.

    Parameters
    ----------
    times
        How many such runs would be admitted, one after the other.
    epsilon, delta
        A run of the same kind with these is admitted; epsilon is the largest
        up to the cap, and 0 when there is none.
    """

    times: int
    epsilon: float
    delta: float

    def __bool__(self) -> bool:
        return self.times > 0

    def __str__(self) -> str:
        if self.epsilon == 0:
            return "nothing of this kind fits any more"
        most = f"the largest epsilon that fits is {self.epsilon:g} at delta {self.delta:g}"
        return f"fits {self.times} more time{'s' * (self.times != 1)}; {most}"


Fits = Callable[[Event, tuple[float, float]], int]


def counting(rules: Filter, accounts: Iterable[Account]) -> Fits:
    """Return the function that says how many events of one kind every account still admits."""
    held = list(accounts)

    def fits(event: Event, point: tuple[float, float]) -> int:
        price = rules.price(event, point)
        return min((rules.fits(account, price) for account in held), default=0)

    return fits


def affordable(
    fits: Fits, guarantee: Guarantee, rules: Filter, cap: float, again: Callable[..., object] | None
) -> Affordable:
    """Return how often ``guarantee`` fits, and the largest epsilon of its kind that does.

    ``again`` makes the guarantee of another epsilon; without it the kind is known
    from the event: pure, of bounded range, Gaussian, or any (epsilon, delta).
    """
    point = stated(guarantee)
    delta, event = point[1], guarantee.event
    kind: Callable[[float], Event]
    if again is not None:

        def feasible(epsilon: float) -> bool:
            made = again(epsilon)
            assert isinstance(made, Guarantee)
            return fits(made.event, stated(made)) > 0
    else:
        if isinstance(event, Pure):
            kind = Pure
        elif isinstance(event, BoundedRange):
            kind = BoundedRange
        elif isinstance(event, Gaussian) and delta > 0:

            def kind(epsilon: float) -> Event:
                return Gaussian(gaussian_multiplier(epsilon, delta))
        else:
            delta = min(delta, rules.largest / POINTS)

            def kind(epsilon: float) -> Event:
                return Approximate(epsilon, delta)

        def feasible(epsilon: float) -> bool:
            return fits(kind(epsilon), (epsilon, delta)) > 0

    return Affordable(fits(event, point), _largest(feasible, cap), delta)


def _largest(feasible: Callable[[float], bool], cap: float) -> float:
    """Return the largest epsilon up to the cap that is feasible, in a few digits."""
    if feasible(cap):
        return cap
    low, high = cap * 2.0**-30, cap
    if not feasible(low):
        return 0.0
    while high > low * (1 + 1e-7):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if feasible(middle) else (low, middle)
    for tidy in (float(f"{high:.6g}"), float(f"{low * (1 - 5e-6):.6g}")):
        if feasible(tidy):
            return tidy
    return low
