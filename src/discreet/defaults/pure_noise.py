"""Pure noise where it is smaller: few weights, and a release that stands alone.

At the same epsilon, gamma noise on ``p`` weights has mean square ``p (p + 1) / epsilon^2`` and
Gaussian noise ``p sigma(epsilon, delta)^2``: with few weights the pure one is smaller although it
guarantees more. It composes worse, though: ten releases at epsilon 1 cost 10 together, with
Gaussian noise 3.5. So it is for releases that share their budget with nothing else. Two runs of
a logistic regression stay as they are too: where classes nearly separate, what the second run
gains is far more than what pure noise would save.
"""

from __future__ import annotations

from discreet.algorithms import ObjectivePerturbation, OutputPerturbation
from discreet.algorithms.perturbation import ObjectivePerturbationPlan
from discreet.defaults.case import Case
from discreet.errors import DiscreetError
from discreet.problem import Plan

ONCE = {
    ObjectivePerturbation.name: ObjectivePerturbation,
    OutputPerturbation.name: OutputPerturbation,
}
"""What draws noise once. Descent and two runs compose several draws, which a delta is for."""

TAKEN = "pure noise is smaller than Gaussian noise on so few weights, and nothing shares the budget"
LEFT = (
    "pure noise would be smaller on so few weights, but the budget is shared, and Gaussian noise "
    "adds up to less"
)


def with_least_noise(case: Case, plan: Plan) -> tuple[Plan, str]:
    """Return a plan with pure noise where its bound is smaller, else the given one, and why.

    Public facts decide: all plans exist before any row is read.

    Parameters
    ----------
    case
        Problem, budget and what was asked for.
    plan
        What a rule recommends.

    Examples
    --------
    >>> from discreet.accounting import Budget
    >>> from discreet.bounds import Bounds
    >>> from discreet.defaults.case import Asked
    >>> from discreet.losses import Huber
    >>> from discreet.problem import Problem
    >>> problem = Problem(loss=Huber(threshold=0.5), n_features=3, n_rows=100_000,
    ...                   bounds=Bounds(row_norm=1.0, label=(-1, 1)))
    >>> budget = Budget(1.0, 1e-6)
    >>> usual = ObjectivePerturbation().plan(problem, budget)
    >>> plan, why = with_least_noise(Case(problem, budget), usual)
    >>> plan.guarantee.delta, why
    (0.0, 'pure noise is smaller than Gaussian noise on so few weights, and nothing shares ...')
    >>> plan, why = with_least_noise(Case(problem, budget, Asked(alone=False)), usual)
    >>> plan.guarantee.delta
    1e-06
    """
    kind = ONCE.get(plan.algorithm)
    steps = isinstance(plan, ObjectivePerturbationPlan) and plan.correction is not None
    if kind is None or steps or case.budget.delta == 0.0:
        return plan, ""
    given = case.asked.parameters
    if isinstance(plan, ObjectivePerturbationPlan):
        given["norm_guess"] = plan.norm_guess
    try:
        pure = case.planned(kind(noise="gamma", **given))
        gaussian = kind(**given).plan(case.problem, case.budget)
    except DiscreetError:  # of a plan that nobody asked for
        return plan, ""
    if not pure.expected_excess < gaussian.expected_excess:
        return plan, ""
    return (pure, TAKEN) if case.asked.alone else (plan, LEFT)
