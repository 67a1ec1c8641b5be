"""Pure noise where it is smaller: few weights, and a release that stands alone.

At the same epsilon, gamma noise on ``p`` weights has mean square ``p (p + 1) / epsilon^2`` and
Gaussian noise ``p sigma(epsilon, delta)^2``: with few weights the pure one is smaller although it
promises more. It composes worse, though: ten releases at epsilon 1 cost 10 together, with
Gaussian noise 3.5. So it is for releases that share their budget with nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet.accounting import Budget, Guarantee
from discreet.algorithms import ObjectivePerturbation, OutputPerturbation
from discreet.data import Source
from discreet.errors import DiscreetError
from discreet.noise import Randomness
from discreet.problem import CalibratedPlan, Plan, Problem, Release, checked

NOISED_ONCE = (ObjectivePerturbation.name, OutputPerturbation.name)
"""Algorithms that draw one vector of noise; others compose many, which is what a delta is for."""


@dataclass(frozen=True)
class PureNoise(CalibratedPlan):
    """A plan with pure noise, taken in place of one with Gaussian noise.

    Parameters
    ----------
    each
        The plan that is run.
    gaussian
        The bound on the excess that the other plan had.
    """

    each: Plan
    gaussian: float

    @property
    def problem(self) -> Problem:
        """What is solved."""
        return self.each.problem

    @property
    def algorithm(self) -> str:
        """Name of the algorithm."""
        return self.each.algorithm

    @property
    def guarantee(self) -> Guarantee:
        """What a run guarantees: no delta."""
        return self.each.guarantee

    @property
    def expected_excess(self) -> float:
        """Bound on the expected excess risk (sum scale)."""
        return self.each.expected_excess

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan, and why its noise is pure."""
        why = f"smaller for a release that stands alone; with Gaussian noise {self.gaussian:.6g}"
        return self.each.facts() | {"noise is pure": why}

    @checked
    def run(self, source: Source, random: Randomness) -> Release:
        """Run the plan."""
        return self.each.run(source, random)


def with_least_noise(plan: Callable[[Budget], Plan], budget: Budget, *, alone: bool) -> Plan:
    """Return a plan with Gaussian noise, or one without a delta where its bound is smaller.

    Public facts decide: both plans exist before any row is read.

    Parameters
    ----------
    plan
        Plans a fit for a budget.
    budget
        What the fit may cost.
    alone
        Whether nothing else shares the budget: no ledger, no other fit of the same rows, no
        second mechanism.

    Examples
    --------
    >>> from discreet.bounds import Bounds
    >>> from discreet.losses import Logistic
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=3, n_rows=1000)
    >>> def each(part):
    ...     return ObjectivePerturbation().plan(problem, part)
    >>> with_least_noise(each, Budget(1.0, 1e-6), alone=True).guarantee.delta
    0.0
    >>> with_least_noise(each, Budget(1.0, 1e-6), alone=False).guarantee.delta
    1e-06
    """
    usual = plan(budget)
    if not alone or budget.delta == 0.0 or usual.algorithm not in NOISED_ONCE:
        return usual
    try:
        pure = plan(budget.part(budget.epsilon, 0.0))
    except DiscreetError:  # of a budget that nobody asked for
        return usual
    # Bounds of different algorithms are not equally tight.
    if pure.algorithm != usual.algorithm or not pure.expected_excess < usual.expected_excess:
        return usual
    return PureNoise(pure, usual.expected_excess)
