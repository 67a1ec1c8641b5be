"""When slopes of a logistic regression are worth capping, by public facts.

Where noise is the problem, :class:`~discreet.losses.CappedLogistic` needs less
of it for nearly the same curvature. With rows in plenty the logistic loss
itself is better: its minimiser has the least logistic risk also where the
model is wrong.
"""

from __future__ import annotations

from dataclasses import replace

from discreet.accounting import Budget
from discreet.algorithms.base import ENOUGH_ROWS, Problem, rows_against_noise
from discreet.algorithms.objective_perturbation import (
    ObjectivePerturbation,
    ObjectivePerturbationPlan,
)
from discreet.losses import CappedLogistic

PLENTY_OF_ROWS = 4 * ENOUGH_ROWS
"""Rows against noise above which nothing is capped."""

MOST = 0.7
"""Cap where rows are just enough."""

SAVED = 0.9
"""Part of the noise that objective perturbation may keep for capping to be worth it."""


def capped(problem: Problem, budget: Budget, *, least: float = 0.5) -> Problem | None:
    """Return the logistic problem with capped slopes, or None where rows are plenty.

    Parameters
    ----------
    problem, budget
        Public facts.
    least
        Cap where noise drowns the rows.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> from discreet.types import Bounds
    >>> def cap(rows):
    ...     problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                       n_features=100, n_rows=rows)
    ...     found = capped(problem, Budget(1.0))
    ...     return found and round(found.loss.cap, 3)
    >>> cap(1000), cap(30_000), cap(100_000), cap(1_000_000)
    (0.5, 0.571, 0.7, None)
    """
    ratio = rows_against_noise(problem, budget)
    if problem.n_rows is None or ratio > PLENTY_OF_ROWS:
        return None
    cap = least + (MOST - least) * min(1.0, ratio / ENOUGH_ROWS) ** 2
    return replace(problem, loss=CappedLogistic(cap=cap))


def capped_objective(
    problem: Problem, budget: Budget, norm_guess: float | None = None
) -> ObjectivePerturbationPlan | None:
    """Return the plan of objective perturbation with capped slopes, or None.

    A small cap has more curvature in one record, so privacy asks for a stronger
    ridge; the cap is therefore a little larger here, and none where it saves
    too little noise. Constants were chosen on the problems of
    ``benchmarks/few_rows.py``.
    """
    surrogate = capped(problem, budget, least=0.6)
    if surrogate is None:
        return None
    algorithm = ObjectivePerturbation(norm_guess=norm_guess)
    plan = algorithm.plan(surrogate, budget)
    return plan if plan.scale <= SAVED * algorithm.plan(problem, budget).scale else None
