"""Which plan leaves intervals behind, and why another one cannot."""

from __future__ import annotations

from collections.abc import Callable

from discreet.accounting import Budget
from discreet.algorithms import NoisyGradient, ObjectivePerturbation, SufficientStatistics
from discreet.algorithms.perturbation import SufficientStatisticsPlan
from discreet.checks import one_of
from discreet.errors import Incompatible
from discreet.inference.augmented_moments import AugmentedMomentsPlan
from discreet.inference.base import TARGETS
from discreet.inference.curvature_release import with_curvature
from discreet.problem import Plan, Problem

REASONS = {
    SufficientStatistics.name: "intervals follow from noisy second moments at no further cost",
    NoisyGradient.name: "intervals need a descent that arrives, and is not stopped early",
    ObjectivePerturbation.name: "intervals need a minimiser whose noise has a known law",
}
"""Why an algorithm is taken where intervals are asked for."""


def algorithm_with_intervals(problem: Problem, target: str = "table") -> str:
    """Return the algorithm that ``"auto"`` means where intervals are asked for.

    >>> from discreet.bounds import Bounds
    >>> from discreet.losses import Squared
    >>> algorithm_with_intervals(Problem(loss=Squared(), n_features=3, n_rows=1000,
    ...                          bounds=Bounds(row_norm=1.0, label=(-1, 1))))
    'sufficient-statistics'
    """
    squares = problem.loss.inner.quadratic and target != "robust"
    return SufficientStatistics.name if squares else ObjectivePerturbation.name


def with_intervals(
    plan: Callable[[Budget], Plan], budget: Budget, target: str, share: float
) -> Plan:
    """Return a plan within the budget whose release leaves intervals behind.

    Parameters
    ----------
    plan
        Plans a fit for a budget.
    budget
        What fit and intervals may cost together.
    target
        ``"table"``, ``"population"`` or ``"robust"``.
    share
        Share of the budget for what intervals need besides; noisy second moments need none.

    Examples
    --------
    >>> from discreet.bounds import Bounds
    >>> from discreet.losses import Squared
    >>> problem = Problem(loss=Squared(), bounds=Bounds(row_norm=1.0, label=(-1, 1)),
    ...                   n_features=3, n_rows=1000)
    >>> found = with_intervals(lambda part: SufficientStatistics().plan(problem, part),
    ...                        Budget(1.0, 1e-6), "table", 0.2)
    >>> found.facts()["intervals"]
    'for what the same table gives without noise; the squares of labels are released for them'
    """
    one_of("inference", target, TARGETS)
    whole = plan(budget)
    if isinstance(whole, SufficientStatisticsPlan):
        if target == "robust":
            raise Incompatible(
                "Second moments do not tell how errors vary along the line, as intervals for any "
                "law of labels need. Use algorithm='objective-perturbation', or "
                "inference='population' for errors of one variance."
            )
        return AugmentedMomentsPlan.of(whole, target).explained(settings=whole.settings)
    found = with_curvature(plan, budget, target, share)
    return found.explained(settings=found.fit.settings)
