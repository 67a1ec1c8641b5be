"""What a guarantee allows an attacker, as plain numbers.

An (epsilon, delta) guarantee bounds every test between two neighbouring data
sets, whatever the attacker knows or computes (Wasserman and Zhou 2010; Kairouz,
Oh and Viswanath 2015). These functions evaluate that bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from discreet.accounting import Guarantee
from discreet.checks import between, nonnegative

_POINTS = 24
"""How many points of the curve of an event are looked at."""


def odds_factor(epsilon: float) -> float:
    """Return the largest factor by which the odds of a guess can grow.

    >>> round(odds_factor(1.0), 2)
    2.72
    """
    epsilon = nonnegative("epsilon", epsilon)
    return math.exp(epsilon) if epsilon < 700 else math.inf


def detection_rate(epsilon: float, delta: float, false_alarms: float) -> float:
    """Return the largest share of rows a test finds at a share of false alarms.

    >>> round(detection_rate(1.0, 0.0, 0.01), 4)
    0.0272
    """
    delta = nonnegative("delta", delta)
    rate = between("false_alarms", false_alarms, 0, 1)
    factor = odds_factor(epsilon)
    # Both directions of the guarantee bound the test; the smaller bound counts.
    upper = min(factor * rate + delta, 1 - (1 - delta - rate) / factor)
    return min(1.0, max(rate, upper))


def best_guess(epsilon: float, delta: float) -> float:
    """Return the largest chance of guessing right between two equally likely cases.

    >>> round(best_guess(1.0, 0.0), 3), best_guess(0.0, 0.0)
    (0.731, 0.5)
    """
    delta = min(1.0, nonnegative("delta", delta))
    # exp(e) / (1 + exp(e)), written so that it cannot overflow.
    share = 1 / (1 + math.exp(-nonnegative("epsilon", epsilon)))
    return share + (1 - share) * delta


def detection_curve(guarantee: Guarantee, rates: Sequence[float]) -> list[float]:
    """Return the largest share of rows a test finds at each share of false alarms.

    Every point (epsilon, delta) that the noise has bounds the test, so the least of
    these bounds holds: it lies below the one of the stated point alone. Of an ex-post
    guarantee it is what the reserve allows, which was fixed in advance.

    >>> from discreet.accounting import Gaussian
    >>> claim = Guarantee(epsilon=1.0, delta=1e-6, neighbours="zero-out",
    ...                     event=Gaussian(4.2246789), theorem="t")
    >>> found = detection_curve(claim, [0.01])[0]
    >>> round(detection_rate(1.0, 1e-6, 0.01), 4), round(found, 4)
    (0.0272, 0.0183)
    """
    stated = guarantee.reserved or (guarantee.epsilon, guarantee.delta)
    most = min(1.2 * stated[0], 700.0)
    # Points are denser near 0, where they bound tests with many false alarms.
    sizes = [most * (k / _POINTS) ** 2 for k in range(_POINTS + 1)]
    points = [stated, *((e, guarantee.event.delta(e)) for e in sizes)]
    held = [(e, d) for e, d in points if d < 1]
    return [min((detection_rate(e, d, rate) for e, d in held), default=1.0) for rate in rates]


def posterior_bound(prior: float, epsilon: float) -> float:
    """Return the largest probability after the release, for a probability before it.

    >>> round(posterior_bound(0.01, 1.0), 4), posterior_bound(0.5, 0.0)
    (0.0267, 0.5)
    """
    prior = between("prior", prior, 0, 1)
    # Bayes' rule: the odds grow at most by exp(epsilon).
    return prior / (prior + (1 - prior) * math.exp(-min(nonnegative("epsilon", epsilon), 700.0)))
