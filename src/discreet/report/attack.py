"""What a guarantee allows an attacker, as plain numbers.

An (epsilon, delta) guarantee bounds every test between two neighbouring data
sets, whatever the attacker knows or computes (Wasserman and Zhou 2010; Kairouz,
Oh and Viswanath 2015). These functions evaluate that bound.
"""

from __future__ import annotations

import math

from discreet.checks import between, nonnegative


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
