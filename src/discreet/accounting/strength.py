"""How strong the ridge term of objective perturbation should be, by public values."""

from __future__ import annotations

import math
from functools import lru_cache

from discreet.accounting.gamma import gamma_epsilon, gamma_floor, gamma_scale, kst12_floor
from discreet.accounting.gaussian_profile import least, smallest_feasible
from discreet.accounting.objective_noise import MODES, best_mode
from discreet.accounting.terms import LossTerms
from discreet.accounting.utility import best_strength, mean_squared_noise, objective_excess
from discreet.bounds import Neighbours
from discreet.checks import integer, one_of
from discreet.tuned.algorithms import RIDGE_NOISE, RIDGE_WEAKER

_SHARES = (1.0, 2.0, 4.0)
"""Multiples of the share of epsilon that a floor leaves to the curvature of a record."""


@lru_cache(maxsize=256)
def default_strength(
    terms: LossTerms,
    mode: str | None,
    epsilon: float,
    delta: float,
    neighbours: Neighbours,
    dim: int,
    norm_guess: float | None = None,
    worth: float = RIDGE_NOISE,
) -> tuple[float, float]:
    """Return the default (strength, noise scale), from public values only.

    Without a guess of the solution's norm the strength is the mode's floor, and for
    the logistic loss the weakest that ``worth`` times its noise pays for. With one it is the
    strength of least expected excess among a few: a weaker ridge shrinks less,
    but its curvature leaves less of epsilon to the noise. With ``delta == 0``
    the scale is the one of gamma noise, and ``mode`` one of its rules.

    >>> strength, scale = default_strength(
    ...     LossTerms.logistic(radius=1.0), None, 2.0, 0.0, "zero-out", 3)
    >>> round(strength, 3), round(scale, 3)
    (0.223, 0.55)
    """
    dim = integer("dim", dim)
    if delta == 0:
        kind, gentle = "gamma", terms.self_bounded and mode in (None, "logistic")
        # Other rules for the logistic loss keep the strength at which they are of use.
        kept = terms.self_bounded and not gentle
        needed = gamma_floor(terms, epsilon, neighbours) if kept else 0.0
        if mode == "kst12":
            needed = max(needed, kst12_floor(terms, epsilon))

        def floor(share: float) -> float:
            return max(gamma_floor(terms, share * epsilon, neighbours), needed)

        def scale(at: float) -> float:
            return gamma_scale(terms, epsilon, at, neighbours, mode)

        def weakest_with(noise: float, start: float) -> float:
            return least(
                lambda at: gamma_epsilon(terms, noise, at, neighbours) <= epsilon, accuracy=1e-6
            )
    else:
        kind = "gaussian"
        rule = MODES[one_of("mode", mode or best_mode(terms, neighbours), MODES)]
        needed = rule.needed(terms, epsilon, neighbours)
        gentle = rule.name == "logistic"

        def floor(share: float) -> float:
            return max(rule.floor(terms, share * epsilon, neighbours), needed)

        def scale(at: float) -> float:
            return rule.sigma(terms, epsilon, delta, at, neighbours)

        def weakest_with(noise: float, start: float) -> float:
            return smallest_feasible(
                lambda at: rule.event(terms, noise, at, neighbours).delta(epsilon),
                delta,
                start=start,
                accuracy=1e-6,
            )

    weakest = floor(1.0)
    if gentle:
        first = scale(weakest)
        bought = weakest_with(worth * first, weakest / 2)
        # At a huge epsilon noise is no longer what a weak ridge costs.
        weakest = max(needed, weakest / RIDGE_WEAKER, bought)
    if norm_guess is None:
        return weakest, scale(weakest)
    best = (math.inf, 0.0, 0.0)
    for start in {floor(1.0)} if gentle else {floor(share) for share in _SHARES}:
        wanted = best_strength(kind, scale(start), dim, norm_guess)[0]
        strength = max(weakest if gentle else start, wanted)
        noise = scale(strength)
        spread = math.sqrt(mean_squared_noise(kind, noise, dim))
        best = min(best, (objective_excess(spread, strength, norm_guess), strength, noise))
    return best[1], best[2]
