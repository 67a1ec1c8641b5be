"""What an event costs under each rule of a ledger: numbers only.

A price is fixed before its run, from the event alone. What is not known costs
infinity, which no rule admits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from scipy.special import erfinv, ndtri_exp

from discreet.accounting.events import (
    ZCDP,
    Approximate,
    BoundedRange,
    Composed,
    Event,
    Gaussian,
    Laplace,
    Pure,
    epsilon_at,
)
from discreet.ledger.amounts import Amount, times, total, up

Point: TypeAlias = tuple[Amount, Amount]
"""An epsilon or a Renyi bound, and a delta."""

POINTS = 16
"""An event with a curve takes at most this part of the delta of the basic rule, by default."""

# privacy: more than float64 can have lost in the formulas here, relative and absolute.
_SLACK, _LEAST = 1.0 + 2.0**-36, 2.0**-46


def basic_price(event: Event, largest: float, stated: tuple[float, float] | None = None) -> Point:
    """Return an (epsilon, delta) that ``event`` has, as amounts.

    Parameters
    ----------
    event
        What is priced.
    largest
        Delta of the basic rule.
    stated
        An (epsilon, delta) that a guarantee already states of the event.

    Examples
    --------
    >>> basic_price(Pure(0.5), 1e-6) == (2**59, 0)
    True
    """
    if isinstance(event, Pure):
        return up(event.epsilon), 0
    if isinstance(event, BoundedRange):
        return up(event.eta), 0
    if isinstance(event, Approximate):
        return up(event.epsilon), up(event.failure)
    if stated is not None and stated[1] <= largest / POINTS:
        return up(stated[0]), up(stated[1])
    delta = largest / POINTS
    epsilon = _epsilon(event, delta)
    if math.isinf(epsilon) and stated is not None:
        # Failures of a composed event may exceed that delta, and then only its claim is left.
        return up(stated[0]), up(stated[1])
    return up(epsilon), up(delta)


@lru_cache(maxsize=256)
def _epsilon(event: Event, delta: float) -> float:
    # privacy: float64 may find a delta smaller than it is, by some 1e-12 of it.
    return epsilon_at(event, delta * (1.0 - 2.0**-36))


@lru_cache(maxsize=1024)
def renyi_price(event: Event, order: int) -> Point:
    """Return a Renyi bound of ``event`` at that order, and the probability that it fails.

    >>> renyi_price(Gaussian(1.0), 24) == (12 * 2**60, 0)
    True
    """
    if isinstance(event, Composed):
        return _summed(event, lambda part: renyi_price(part, order))
    if isinstance(event, Gaussian):
        return up(Fraction(order, 2) / Fraction(event.multiplier) ** 2), 0
    if isinstance(event, ZCDP):
        return up(order * Fraction(event.rho)), 0
    if isinstance(event, Pure):
        return up(_response_rdp(event.epsilon, order)), 0
    if isinstance(event, BoundedRange):
        narrow = up(order * Fraction(event.eta) ** 2 / 8)
        return _least(narrow, up(_response_rdp(event.eta, order))), 0
    if isinstance(event, Approximate):
        # privacy: an (epsilon, delta) pair is pure outside an event of probability delta
        # (Kairouz, Oh and Viswanath 2015); failures are counted apart.
        return up(_response_rdp(event.epsilon, order)), up(event.failure)
    found = event.rdp(float(order))
    amount = up(found * _SLACK + _LEAST) if math.isfinite(found) and found >= 0 else None
    if isinstance(event, Laplace):
        amount = _least(amount, up(_response_rdp(1 / event.multiplier, order)))
    return amount, 0


def _response_rdp(epsilon: float, order: int) -> float:
    """Return the Renyi divergence of randomised response, which no pure event exceeds."""
    return min(epsilon, Pure(epsilon).rdp(float(order)) * _SLACK)


@lru_cache(maxsize=1024)
def mu_price(event: Event) -> Amount:
    """Return the square of the mu of ``event``, or infinity where none is proved.

    >>> mu_price(Gaussian(2.0)) == 2**58
    True
    >>> mu_price(Approximate(1.0, 1e-6))
    """
    if isinstance(event, Composed):
        return _summed(event, lambda part: (mu_price(part), 0))[0]
    if isinstance(event, Gaussian):
        return up(1 / Fraction(event.multiplier) ** 2)
    if isinstance(event, Pure):
        return _pure_mu(event.epsilon)
    if isinstance(event, BoundedRange):
        return _pure_mu(event.eta)
    if isinstance(event, Laplace):
        return _pure_mu(1 / event.multiplier)
    if isinstance(event, Approximate) and event.failure == 0:
        return _pure_mu(event.epsilon)
    return None


def _pure_mu(epsilon: float) -> Amount:
    # privacy: the G_mu curve is convex and meets the epsilon curve at 0, at 1 / (1 + e^epsilon)
    # and at 1, so it lies below it.
    if epsilon < 1:
        mu = 2 * math.sqrt(2) * float(erfinv(math.tanh(epsilon / 2)))
    else:
        mu = -2 * float(ndtri_exp(-epsilon - math.log1p(math.exp(-epsilon))))
    return up(Fraction(mu * _SLACK) ** 2) if math.isfinite(mu) else None


def hybrid_price(
    event: Event, largest: float, stated: tuple[float, float] | None = None
) -> tuple[Point, Amount]:
    """Return what the parts of ``event`` cost: the basic price of all but Gaussian noise, and mu^2.

    >>> hybrid_price(Composed((Pure(1.0), Gaussian(1.0))), 1e-6) == ((2**60, 0), 2**60)
    True
    """
    if isinstance(event, Gaussian):
        return (0, 0), mu_price(event)
    if not isinstance(event, Composed):
        return basic_price(event, largest, stated), 0
    noise = [part for part in event.events if isinstance(part, Gaussian)]
    if not noise:
        return basic_price(event, largest, stated), 0
    rest = tuple(part for part in event.events if not isinstance(part, Gaussian))
    point: Point = (0, 0)
    if rest:
        point = basic_price(rest[0] if len(rest) == 1 else Composed(rest), largest)
    return point, mu_price(Composed(tuple(noise)))


def _summed(event: Composed, price: Callable[[Event], Point]) -> Point:
    prices = [(price(part), count) for part, count in Counter(event.events).items()]
    return (
        total([times(found[0], count) for found, count in prices]),
        total([times(found[1], count) for found, count in prices]),
    )


def _least(one: Amount, other: Amount) -> Amount:
    known = [amount for amount in (one, other) if amount is not None]
    return min(known, default=None)
