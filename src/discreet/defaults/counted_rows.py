"""A noisy count of the rows, and then the plan for so many: add-remove without a declared size.

Under add-remove neighbours the number of rows is secret, and a plan that does not know it has to
do for any number. So a small part of epsilon goes to a count with noise, and the rest to the plan
that ``"auto"`` makes for so many rows.

Theorem (``docs/proofs/counted-rows.md``). The parts of the budget are fixed beforehand. Given the
count, the plan that follows keeps its part whatever the number of rows is, as it does for a
declared size. So epsilons and deltas add up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from discreet.accounting import Approximate, Budget, Composed, Event, Guarantee, Pure
from discreet.accounting.theorems import theorems
from discreet.bounds import Bounds
from discreet.data import Source
from discreet.data.clipped import MOST_ROWS
from discreet.defaults.case import COUNTED_ROWS, Asked, Case, Recommend
from discreet.defaults.residuals import residual_clip
from discreet.errors import DiscreetError, Incompatible, InvalidParameter
from discreet.losses import Clipped, Squared
from discreet.mechanisms.gradient_noise import GradientNoise, size_assumed
from discreet.noise import Randomness
from discreet.problem import (
    CalibratedPlan,
    Plan,
    Problem,
    Release,
    checked,
    guarantee_for,
    with_randomness,
)
from discreet.tuned.defaults import COUNTED_SHARE

REASON = "the number of rows is secret: a noisy count of them tells which plan to make"


@dataclass(frozen=True)
class CountedRowsPlan(CalibratedPlan):
    """A count with noise, and what to plan once it is there.

    ``unsized`` is the plan that does without a size, where no other can be made.
    """

    algorithm: ClassVar[str] = COUNTED_ROWS

    problem: Problem
    budget: Budget
    count: Budget
    rest: Budget
    unsized: Plan
    asked: Asked
    recommend: Recommend

    @cached_property
    def noise(self) -> GradientNoise:
        """Noise that covers the count, to which every row adds one."""
        ones = Problem(
            loss=Squared(), bounds=Bounds(row_norm=1.0, label=(0.0, 1.0)), n_features=1, n_rows=1
        )
        return GradientNoise.pure(1.0, self.count.epsilon, ones, n_rows=MOST_ROWS, shifting=False)

    @property
    def event(self) -> Event:
        """What the count and any plan after it cost together."""
        epsilon, delta = self.rest.epsilon, self.rest.delta
        # privacy: which plan follows depends on the count, so its own curve may not be told.
        last = Approximate(epsilon, delta) if delta else Pure(epsilon)
        return Composed((Pure(self.count.epsilon), last))

    @property
    def guarantee(self) -> Guarantee:
        """What a run of this plan guarantees."""
        rest = self.unsized.guarantee
        assumed = (*rest.assumptions, *size_assumed(self.problem))
        return guarantee_for(self, self.event, "counted-rows", *assumed)

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan, which leave open what follows the count."""
        return {
            "algorithm": self.algorithm,
            "epsilon of the count": self.count.epsilon,
            "noise scale of the count": self.noise.scale,
            "expected excess (sum) <=": self.expected_excess,
        }

    def sized(self, size: int) -> Plan:
        """Return the plan for so many rows."""
        try:
            problem = replace(self.problem, n_rows=size)
            if self.asked.free_clip:
                clip = residual_clip(problem, self.rest) * problem.typical_norm
                problem = replace(problem, loss=Clipped(loss=Squared(), clip=clip))
            return self.recommend(problem, self.rest, self.asked)
        except DiscreetError:  # of a size that nobody stated
            return self.unsized

    @checked
    def run(self, source: Source, random: Randomness) -> Release:
        """Count, plan for the count, and release the weights of that plan."""
        # privacy: the only exit of the number of rows.
        count = float(self.noise.add(np.array([float(source.n_rows)]), random)[0])
        plan = self.sized(max(1, round(count)))
        found = plan.run(source, random)
        claim, own = self.guarantee, found.guarantee
        both = theorems(claim.theorem, own.theorem)
        assumed = tuple(dict.fromkeys((*claim.assumptions, *own.assumptions)))
        claim = replace(claim, theorem=both, assumptions=assumed)
        return Release(found.weights, with_randomness(claim, random))


def counted_rows(case: Case, recommend: Recommend) -> CountedRowsPlan | None:
    """Return the plan that counts first, or None where the size is known or may not be counted.

    Parameters
    ----------
    case
        Problem, budget and what was asked for.
    recommend
        Plans for a number of rows.

    Examples
    --------
    >>> from discreet import PrivateLogisticRegression
    >>> bounds = Bounds(row_norm=1.0, classes=(0, 1))
    >>> model = PrivateLogisticRegression(bounds=bounds, neighbours="add-remove")
    >>> model.plan(10).algorithm, model.plan(10, 5000).algorithm
    ('counted-rows', 'noisy-gradient')
    """
    secret = case.problem.n_rows is None and case.problem.grouping is None
    if not (secret and case.asked.counts):
        return None
    try:
        return _planned(case, recommend)
    except DiscreetError:  # of a plan that nobody asked for
        return None


def asked_to_count(case: Case, recommend: Recommend) -> CountedRowsPlan:
    """Return the plan that counts first, or refuse in words: it was asked for by its name."""
    if case.asked.settings:
        raise InvalidParameter(f"{COUNTED_ROWS} has no settings. Leave settings out.")
    if case.problem.n_rows is not None or case.problem.grouping is not None:
        raise Incompatible(
            f"{COUNTED_ROWS} is for rows whose number is secret and not declared: add-remove "
            "neighbours, without n_rows and without groups. Take another algorithm."
        )
    return _planned(case, recommend)


def _planned(case: Case, recommend: Recommend) -> CountedRowsPlan:
    problem, budget = case.problem, case.budget
    asked = replace(case.asked, counts=False, algorithm="auto", settings=None)
    count = budget.part(COUNTED_SHARE * budget.epsilon)
    rest = budget.part((budget.epsilon - count.epsilon) * (1.0 - 1e-12), budget.delta)
    unsized = recommend(problem, rest, asked)
    plan = CountedRowsPlan(problem, budget, count, rest, unsized, asked, recommend)
    return plan.explained(reason=REASON)
