"""How far gradients of a logistic regression are worth capping, by public facts.

Where noise is the problem, a loss whose gradients are capped row by row
(:class:`~discreet.losses.calibrated_logistic.CalibratedLogistic`) needs less of it for
nearly the same curvature. With rows in plenty the logistic loss itself is
better: its minimiser has the least logistic risk also where the model is wrong.
"""

from __future__ import annotations

from dataclasses import replace

from discreet.accounting import Budget
from discreet.algorithms.perturbation import (
    ObjectivePerturbation,
    ObjectivePerturbationPlan,
)
from discreet.losses import CalibratedLogistic
from discreet.problem import ENOUGH_ROWS, Problem, rows_against_noise

PLENTY_OF_ROWS = 4 * ENOUGH_ROWS
"""Rows against noise above which nothing is capped."""

LEAST = 0.25
"""Clip of gradients, in row norms, where noise drowns the rows."""

LEAST_PERTURBED = 0.6
"""The same for objective perturbation."""

MOST = 0.7
"""Either of them where rows are just enough."""

SAVED = 0.9
"""Part of the noise that objective perturbation may keep for capping to be worth it."""


def capped(
    problem: Problem,
    budget: Budget,
    *,
    least: float = LEAST,
    enough: float = 2 * ENOUGH_ROWS,
    power: int = 1,
) -> Problem | None:
    """Return the logistic problem with capped gradients, or None where rows are plenty.

    Among rows as long as the bound a clip below half of it changes nothing but
    the scale. Shorter rows count more than those, at most one over the clip
    times: less noise for the same curvature, but bias where the model is wrong,
    so the clip rises as noise becomes less. The rule was chosen on artificial
    problems (``benchmarks/README.md``).

    Parameters
    ----------
    problem, budget
        Public facts.
    least
        Clip in row norms where noise drowns the rows.
    enough
        Rows against noise where it is ``MOST``.
    power
        How it rises with rows against noise.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> from discreet.bounds import Bounds
    >>> def clip(rows):
    ...     problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                       n_features=100, n_rows=rows)
    ...     found = capped(problem, Budget(0.1, 1e-6))
    ...     return found and round(found.loss.clip, 3)
    >>> clip(1000), clip(100_000), clip(300_000), clip(1_000_000)
    (0.251, 0.374, 0.622, None)
    """
    ratio = rows_against_noise(problem, budget)
    if problem.n_rows is None or ratio > PLENTY_OF_ROWS:
        return None
    part = least + (MOST - least) * min(1.0, ratio / enough) ** power
    return replace(problem, loss=CalibratedLogistic(clip=part * problem.row_norm))


def capped_objective(
    problem: Problem, budget: Budget, norm_guess: float | None = None
) -> ObjectivePerturbationPlan | None:
    """Return the plan of objective perturbation with capped gradients, or None.

    A small clip leaves more curvature in one record, so privacy asks for a
    stronger ridge; the clip is therefore larger here, and none where it saves
    too little noise. Constants were chosen on the problems of
    ``benchmarks/few_rows.py``.
    """
    surrogate = capped(problem, budget, least=LEAST_PERTURBED, enough=ENOUGH_ROWS, power=2)
    if surrogate is None:
        return None
    algorithm = ObjectivePerturbation(norm_guess=norm_guess)
    plan = algorithm.plan(surrogate, budget)
    return plan if plan.scale <= SAVED * algorithm.plan(problem, budget).scale else None
