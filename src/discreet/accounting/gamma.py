"""Objective perturbation with gamma noise: pure epsilon, any convex smooth loss.

The noise has density proportional to ``exp(-|b|/scale)``. Also here: the
sensitivity of output perturbation, which uses the same noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from discreet.accounting.curves import logistic_loss, logistic_noise
from discreet.accounting.terms import LossTerms, kappa
from discreet.bounds import rows_apart
from discreet.checks import nonnegative, one_of, positive
from discreet.errors import BudgetTooSmall, Incompatible


def _tight(terms: LossTerms, epsilon: float, strength: float, factor: int) -> float:
    # privacy: a replacement also changes the log-determinant by at most one Jacobian cost.
    return factor * terms.lipschitz / _left(epsilon - terms.jacobian(strength), terms, epsilon)


def _logistic(terms: LossTerms, epsilon: float, strength: float, factor: int) -> float:
    if not terms.self_bounded:
        raise Incompatible("The logistic rule needs the logistic loss with hard labels.")
    # privacy: a replacement also has the noise loss of the record it takes away.
    noise = logistic_noise(np.array([epsilon]), kappa(terms, strength), spent=factor - 1.0)
    return terms.lipschitz / _left(float(noise[0]), terms, epsilon)


def kst12_floor(terms: LossTerms, epsilon: float) -> float:
    """Return the least strength of the rule of Kifer, Smith and Thakurta 2012.

    >>> kst12_floor(LossTerms.logistic(radius=2.0), 0.5)
    4.0
    """
    return 2 * terms.rank * terms.eigenvalue / epsilon


def _kst12(terms: LossTerms, epsilon: float, strength: float, factor: int) -> float:
    if strength < kst12_floor(terms, epsilon) * (1 - 1e-12):
        raise BudgetTooSmall(
            f"Kifer, Smith and Thakurta 2012 needs a strength of at least "
            f"{kst12_floor(terms, epsilon):.6g} at epsilon {epsilon:g}."
        )
    return factor * 2 * terms.lipschitz / epsilon


def _cms11(terms: LossTerms, epsilon: float, strength: float, factor: int) -> float:
    left = _left(epsilon - 2 * terms.jacobian(strength), terms, epsilon / 2)
    return 2 * terms.lipschitz / left


def _left(epsilon: float, terms: LossTerms, whole: float) -> float:
    if epsilon <= 0:
        raise BudgetTooSmall(
            "The record's curvature alone uses up epsilon. Use a strength above "
            f"{terms.strength_for(whole):.6g}, a larger epsilon or smaller row bounds."
        )
    return epsilon


GAMMA_MODES: dict[str, Callable[[LossTerms, float, float, int], float]] = {
    "tight": _tight,
    "logistic": _logistic,
    "kst12": _kst12,
    "cms11": _cms11,
}
"""Rules for the scale of gamma noise."""

GAMMA_THEOREMS = {
    "tight": "objective-perturbation/gamma",
    "logistic": "objective-perturbation/gamma-logistic",
    "kst12": "objective-perturbation/gamma",
    "cms11": "objective-perturbation/gamma",
}
"""What each of them rests on."""


def best_gamma_mode(terms: LossTerms) -> str:
    """Return the rule with the least gamma noise that is valid for the loss.

    >>> best_gamma_mode(LossTerms.logistic(radius=1.0))
    'logistic'
    """
    return "logistic" if terms.self_bounded else "tight"


def gamma_floor(terms: LossTerms, epsilon: float, neighbours: str) -> float:
    """Return the smallest strength worth using with gamma noise.

    >>> gamma_floor(LossTerms.logistic(radius=2.0), 2.0, "zero-out")
    2.0
    """
    epsilon = positive("epsilon", epsilon)
    if terms.self_bounded:
        return rows_apart(neighbours) * kappa(terms, epsilon)
    _curved(terms)
    return terms.strength_for(epsilon / 10)


def gamma_scale(
    terms: LossTerms, epsilon: float, strength: float, neighbours: str, mode: str | None = None
) -> float:
    """Return the scale of gamma noise for pure epsilon.

    Parameters
    ----------
    terms
        What is known about one record's loss.
    epsilon, strength
        Both above 0.
    neighbours
        The relation to protect.
    mode
        A key of ``GAMMA_MODES``; by default the best for the loss.

    Examples
    --------
    >>> round(gamma_scale(LossTerms.logistic(radius=1.0), 1.0, 1.0, "zero-out"), 6)
    1.0
    >>> round(gamma_scale(LossTerms.logistic(radius=1.0), 1.0, 1.0, "zero-out", "tight"), 6)
    1.287239
    """
    epsilon, strength = positive("epsilon", epsilon), positive("strength", strength)
    factor = rows_apart(neighbours)
    _curved(terms)
    mode = best_gamma_mode(terms) if mode is None else mode
    return GAMMA_MODES[one_of("mode", mode, GAMMA_MODES)](terms, epsilon, strength, factor)


def gamma_epsilon(terms: LossTerms, scale: float, strength: float, neighbours: str) -> float:
    """Return the pure epsilon of gamma noise of that scale.

    >>> round(gamma_epsilon(LossTerms.logistic(radius=1.0), 1.0, 1.0, "zero-out"), 6)
    1.0
    """
    scale, strength = positive("scale", scale), positive("strength", strength)
    factor = rows_apart(neighbours)
    _curved(terms)
    noise = factor * terms.lipschitz / scale
    if not terms.self_bounded:
        return noise + terms.jacobian(strength)
    one = terms.lipschitz / scale
    return float(logistic_loss(np.array([one]), kappa(terms, strength))[0]) + (noise - one)


def output_sensitivity(
    lipschitz: float, strength: float, tolerance: float, neighbours: str
) -> float:
    """Return the l2 sensitivity of a strongly convex minimiser.

    Parameters
    ----------
    lipschitz
        Bound on the norm of one record's gradient on the constraint set.
    strength
        Strong convexity of the sum objective that holds without data.
    tolerance
        Certified distance of the returned point from the minimiser times ``strength``, such
        as the norm of a subgradient there; 0 if exact.
    neighbours
        The relation to protect.

    Examples
    --------
    >>> output_sensitivity(1.0, 4.0, 0.0, "replace-one")
    0.5
    """
    lipschitz, strength = positive("lipschitz", lipschitz), positive("strength", strength)
    tolerance = nonnegative("tolerance", tolerance)
    return (rows_apart(neighbours) * lipschitz + 2 * tolerance) / strength


def _curved(terms: LossTerms) -> None:
    if not math.isfinite(terms.eigenvalue):
        raise Incompatible(
            "Objective perturbation needs a loss with bounded curvature. "
            "Use a smoothed loss, or output perturbation."
        )
