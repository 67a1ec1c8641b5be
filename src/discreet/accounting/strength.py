"""How strong the ridge term of objective perturbation should be, by public values."""

from __future__ import annotations

import math

from discreet.accounting.gamma import gamma_floor, gamma_scale
from discreet.accounting.objective import MODES, best_mode
from discreet.accounting.terms import LossTerms
from discreet.accounting.utility import best_strength, mean_squared_noise, objective_excess
from discreet.checks import integer, one_of
from discreet.types import Neighbours

_SHARES = (1.0, 2.0, 4.0)
"""Multiples of the share of epsilon that a floor leaves to the curvature of a record."""


def default_strength(
    terms: LossTerms,
    mode: str | None,
    epsilon: float,
    delta: float,
    neighbours: Neighbours,
    dim: int,
    norm_guess: float | None = None,
) -> tuple[float, float]:
    """Return the default (strength, noise scale), from public values only.

    Without a guess of the solution's norm the strength is the mode's floor.
    With one it is the strength of least expected excess among a few: a weaker
    ridge shrinks less, but its curvature leaves less of epsilon to the noise.
    With ``delta == 0`` the scale is the one of gamma noise and ``mode`` is not
    used.

    >>> default_strength(LossTerms.logistic(radius=1.0), None, 2.0, 0.0, "zero-out", 3)
    (0.5, 0.5)
    """
    dim = integer("dim", dim)
    if delta == 0:
        kind = "gamma"
        needed = gamma_floor(terms, epsilon, neighbours) if terms.self_bounded else 0.0

        def floor(share: float) -> float:
            return max(gamma_floor(terms, share * epsilon, neighbours), needed)

        def scale(at: float) -> float:
            return gamma_scale(terms, epsilon, at, neighbours)
    else:
        kind = "gaussian"
        rule = MODES[one_of("mode", mode or best_mode(terms, neighbours), MODES)]
        needed = rule.needed(terms, epsilon, neighbours)

        def floor(share: float) -> float:
            return max(rule.floor(terms, share * epsilon, neighbours), needed)

        def scale(at: float) -> float:
            return rule.sigma(terms, epsilon, delta, at, neighbours)

    if norm_guess is None:
        return floor(1.0), scale(floor(1.0))
    best = (math.inf, 0.0, 0.0)
    for least in {floor(share) for share in _SHARES}:
        strength = max(least, best_strength(kind, scale(least), dim, norm_guess)[0])
        noise = scale(strength)
        spread = math.sqrt(mean_squared_noise(kind, noise, dim))
        best = min(best, (objective_excess(spread, strength, norm_guess), strength, noise))
    return best[1], best[2]
