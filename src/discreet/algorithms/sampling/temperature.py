"""How sharp an exponential mechanism may be for a budget: its constants ``c`` and ``m``."""

from __future__ import annotations

import math

from discreet.accounting import BoundedRange, Budget
from discreet.accounting.gaussian_profile import gaussian_multiplier, least
from discreet.algorithms.sampling.sensitivity import covered_rows, public_size, score_error
from discreet.errors import BudgetTooSmall
from discreet.problem import Problem


def affordable_range(budget: Budget) -> float:
    """Return the largest bounded range a budget pays for; epsilon itself without a delta.

    >>> affordable_range(Budget(1.0))
    1.0
    >>> 1.0 < affordable_range(Budget(1.0, 1e-6)) < 1.01
    True
    """
    if budget.delta == 0.0:
        return budget.epsilon

    def fits(extra: float) -> bool:
        return BoundedRange(budget.epsilon + 1.0 / extra).delta(budget.epsilon) <= budget.delta

    return budget.epsilon + 1.0 / least(fits)


def gaussian_temperature(
    problem: Problem, budget: Budget, *, strength: float, guess: float, radius: float, step: float
) -> tuple[float, float]:
    """Return ``c`` and ``m`` of the regularised mechanism of Gopi, Lee and Liu.

    ``exp(-c (losses + m/2 |w|^2))`` on a convex set is as private as Gaussian
    noise of multiplier ``1/mu`` with ``mu = a L sqrt(c/m)``. The theorem is for
    the continuous law; ``step`` is half the diagonal of a lattice cell.
    """
    ideal = _pair(problem, budget, strength, guess)
    # privacy: a lattice cell's mass is within exp(2 gap) of the continuous law's, so epsilon
    # loses 4 gap and delta a factor; c only falls by this.
    slope = covered_rows(problem) * problem.terms.lipschitz + ideal[1] * radius
    public = public_size(problem, ideal[1], radius)
    gap = ideal[0] * (slope * step + score_error(problem, radius, public))
    if 4.0 * gap >= 0.5 * budget.epsilon:
        raise BudgetTooSmall("The lattice is too coarse for so many rows at this epsilon.")
    left = budget.part(budget.epsilon - 4.0 * gap, budget.delta * math.exp(-2.0 * gap))
    return _pair(problem, left, strength, guess)


def _pair(problem: Problem, budget: Budget, strength: float, guess: float) -> tuple[float, float]:
    mu = 1.0 / gaussian_multiplier(budget.epsilon, budget.delta)
    shift = problem.apart * problem.terms.lipschitz
    m = max(shift * math.sqrt(2.0 * problem.dimension) / (mu * guess), strength)
    return mu**2 * m / shift**2, m
