"""How strongly each of several private choices may depend on the scores.

A choice by the exponential mechanism whose log-weights move by amounts within
``eta`` of each other is ``eta``-bounded-range. Rounds of it compose by zero-
concentrated privacy (``eta**2 / 8`` each) or by the privacy loss distribution
of the worst bounded-range mechanism, whichever allows more. Permute-and-flip is
not bounded-range; its rounds cost ``eta**2 / 2`` each, or add up their epsilons.
"""

from __future__ import annotations

import math
from functools import lru_cache

from discreet.accounting import ZCDP, BoundedRange, Budget, Composed, Event, Pure, zcdp_rho
from discreet.accounting.pld import pld_delta
from discreet.checks import integer

MOST_ROUNDS = 24
"""Rounds up to which the privacy loss distribution may beat zCDP; it costs time to try."""


def per_round(budget: Budget, rounds: int, *, bounded: bool = True) -> tuple[float, Event]:
    """Return the largest ``eta`` each round may have, and the event of all rounds.

    Parameters
    ----------
    budget
        What all rounds together may cost. Without a delta, epsilons add up.
    rounds
        Number of choices, each free to depend on the ones before.
    bounded
        Whether each choice is ``eta``-bounded-range, as the exponential
        mechanism is, or only ``eta``-private, as permute-and-flip is.

    References
    ----------
    Dong, Durfee, Rogers, *Optimal differential privacy composition for
    exponential mechanisms*, ICML 2020; Cesar, Rogers, *Bounding, concentrating
    and truncating*, ALT 2021.

    Examples
    --------
    >>> eta, event = per_round(Budget(1.0, 1e-6), 100)
    >>> round(eta, 5), event == ZCDP(event.rho)
    (0.04414, True)
    >>> per_round(Budget(1.0), 4)
    (0.25, Pure(epsilon=1.0))
    """
    integer("rounds", rounds)
    if budget.delta == 0:
        return budget.epsilon / rounds, Pure(budget.epsilon)
    rho = rho_of(budget)
    if not bounded:
        # privacy: without bounded range a choice costs eta**2 / 2, four times as much.
        eta, plain = math.sqrt(2 * rho / rounds) * (1 - 2.0**-50), budget.epsilon / rounds
        return (eta, ZCDP(rho)) if eta > plain else (plain, Pure(budget.epsilon))
    eta = math.sqrt(8 * rho / rounds) * (1 - 2.0**-50)
    better = _by_distribution(budget, rounds, eta) if rounds <= MOST_ROUNDS else eta
    if better <= eta:
        return eta, ZCDP(rho)
    each = BoundedRange(better)
    return better, each if rounds == 1 else Composed((each,) * rounds)


@lru_cache(maxsize=64)
def rho_of(budget: Budget) -> float:
    """Return the zero-concentrated privacy that implies a budget.

    >>> round(rho_of(Budget(1.0, 1e-6)), 7)
    0.024356
    """
    return zcdp_rho(budget.epsilon, budget.delta)


@lru_cache(maxsize=64)
def _by_distribution(budget: Budget, rounds: int, low: float) -> float:
    """Return an ``eta`` above ``low`` that the loss distribution allows, or ``low``."""

    def allowed(eta: float) -> bool:
        each = BoundedRange(eta)
        if rounds == 1:
            return each.delta(budget.epsilon) <= budget.delta
        return pld_delta((each,) * rounds, budget.epsilon) <= budget.delta

    # Epsilons add up, whatever a distribution says.
    best = max(low, budget.epsilon / rounds)
    if best == low and not allowed(low):
        return low
    step = best * 0.04
    while allowed(best + step):
        best += step
    for _ in range(3):
        step /= 2
        if allowed(best + step):
            best += step
    return best
