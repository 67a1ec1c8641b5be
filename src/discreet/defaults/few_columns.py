"""What serves least squares and logistic regression over an l1 ball: Frank-Wolfe, or one solve.

The error of Frank-Wolfe hardly grows with the number of columns, that of second moments and of
objective perturbation does. But Frank-Wolfe takes the more steps the more rows there are, and each
reads all rows. From as many steps as there are columns on, one solve is faster, and on nearly all
of the problems of ``benchmarks/l1_choice.py`` closer.
"""

from __future__ import annotations

from discreet.accounting import Budget
from discreet.algorithms import FrankWolfe, ObjectivePerturbation, SufficientStatistics
from discreet.defaults.case import Asked, Case
from discreet.errors import DiscreetError
from discreet.problem import CalibratedPlan, Plan, Problem


def over_l1_ball(problem: Problem, budget: Budget, algorithm: FrankWolfe) -> Plan:
    """Plan Frank-Wolfe, or one solve where columns are few; ``print`` of the plan says why.

    Steps that were asked for are taken.

    >>> from discreet.bounds import Bounds
    >>> from discreet.losses import Squared
    >>> from discreet.sets import L1Ball
    >>> def plan(columns):
    ...     bounds = Bounds(features=(-1, 1), label=(-1, 1))
    ...     problem = Problem(loss=Squared(), bounds=bounds, n_features=columns, n_rows=100_000,
    ...                       constraint=L1Ball(radius=1.0))
    ...     return over_l1_ball(problem, Budget(1.0, 1e-6), FrankWolfe())
    >>> plan(20).algorithm, plan(200).algorithm
    ('sufficient-statistics', 'frank-wolfe')
    """
    case = Case(problem, budget, Asked(algorithm=algorithm))
    steps = case.planned(algorithm)
    taken = getattr(steps, "steps", 0)
    if algorithm != FrankWolfe() or problem.dimension > taken:
        return steps
    plans: list[Plan] = []
    for kind in (SufficientStatistics, ObjectivePerturbation):
        try:
            plans.append(case.planned(kind()))
        except DiscreetError:
            continue
    best = min(plans, key=lambda plan: plan.expected_excess, default=steps)
    if not best.expected_excess < steps.expected_excess or not isinstance(best, CalibratedPlan):
        return steps
    return best.explained(
        reason=f"{taken} steps of frank-wolfe, each over all rows, would be no fewer than the "
        f"{problem.dimension} columns: one solve has the smaller bound on its error"
    )
