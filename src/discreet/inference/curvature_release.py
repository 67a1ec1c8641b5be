"""A fit, and then a noisy Hessian at the released weights: what intervals need besides.

Theorem. Given the released weights, the Hessian of the sum is a sum of semidefinite matrices of
trace at most ``beta``, so its Frobenius sensitivity is ``beta`` (``sqrt(2) beta`` for a
replacement) at any weights. Fit and Hessian are two releases whose costs are fixed in advance, and
compose as such.

The Hessian gets the part ``share`` of the squared signal-to-noise ratio of the budget, the fit the
rest; the composed curve decides. Where it exceeds the budget the fit gets less, and at worst both
get parts of epsilon and delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from discreet.accounting import (
    Budget,
    Composed,
    Gaussian,
    Guarantee,
    epsilon_at,
    gaussian_multiplier,
)
from discreet.accounting.theorems import theorems
from discreet.algorithms.gradient import NoisyGradientPlan
from discreet.algorithms.perturbation import ObjectivePerturbationPlan
from discreet.bounds import Array
from discreet.data import Source
from discreet.errors import BudgetTooSmall, Incompatible
from discreet.inference.base import TARGETS, InferredRelease, units_of
from discreet.inference.curvature_intervals import CurvatureIntervals
from discreet.inference.descent_law import law_of_descent
from discreet.losses import Logistic
from discreet.mechanisms.batches import FullBatch
from discreet.mechanisms.gradient_noise import most_rows, size_assumed
from discreet.mechanisms.hessian_noise import HessianNoise
from discreet.noise import Randomness
from discreet.problem import CalibratedPlan, Plan, Problem, checked, guarantee_for, with_randomness

Fit = ObjectivePerturbationPlan | NoisyGradientPlan

GAINS = (1.0, 0.7, 0.4)
"""Parts that are tried of what Gaussian noise gains, on a scale of logarithms; other laws do not
reach the first."""


@dataclass(frozen=True)
class CurvaturePlan(CalibratedPlan):
    """A calibrated fit, and one noisy Hessian at its weights."""

    fit: Fit
    budget: Budget
    multiplier: float
    """Deviation of the Hessian's noise over its sensitivity."""
    target: str

    @property
    def problem(self) -> Problem:
        """What the fit solves."""
        return self.fit.problem

    @property
    def algorithm(self) -> str:
        """Name of the algorithm of the fit."""
        return self.fit.algorithm

    @property
    def shifting(self) -> bool:
        """Whether rows of neighbours may stand at different positions."""
        return self.problem.neighbours == "add-remove"

    @cached_property
    def hessian(self) -> HessianNoise:
        """The noise of the Hessian."""
        rows = most_rows(self.problem)
        return HessianNoise.gaussian(
            self.problem, self.multiplier, n_rows=rows, shifting=self.shifting
        )

    @cached_property
    def event(self) -> Composed:
        """What fit and Hessian cost together."""
        return _together(self.fit, self.multiplier)

    @property
    def guarantee(self) -> Guarantee:
        """What fit and Hessian guarantee together."""
        fit = self.fit.guarantee
        named = theorems("composition/fixed", fit.theorem, "inference/curvature")
        return guarantee_for(self, self.event, named, *size_assumed(self.problem), *fit.assumptions)

    @property
    def expected_excess(self) -> float:
        """Bound on the expected excess risk (sum scale) of the fit."""
        return self.fit.expected_excess

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        said = f"for {TARGETS[self.target]}; a noisy Hessian is released for them"
        return self.fit.facts() | {
            "intervals": said,
            "epsilon of the fit alone": self.fit.budget.epsilon,
            "noise scale of the Hessian": self.hessian.scale,
        }

    @checked
    def run(self, source: Source, random: Randomness) -> InferredRelease:
        """Fit, then release the Hessian at the weights."""
        weights = self.fit.run(source, random).weights
        rows = self.problem.bound(source, afar=True)
        with np.errstate(all="ignore"):  # privacy: a warning of numpy would tell of the rows.
            exact = rows.hessian(self.problem.loss, weights, shifting=self.shifting)
        noisy = self.hessian.add(exact, random)  # privacy: the only exit of data here
        return InferredRelease(
            weights, with_randomness(self.guarantee, random), self._intervals(weights, noisy)
        )

    @property
    def ridge(self) -> float:
        """Ridge that was asked for, and belongs to the table's own minimiser."""
        if isinstance(self.fit, NoisyGradientPlan):
            return self.fit.strength
        asked = float(self.fit.settings.get("strength") or 0.0)
        return min(max(asked, self.problem.regularizer.strong_convexity), self.fit.strength)

    def _intervals(self, weights: Array, noisy: Array) -> CurvatureIntervals:
        covering, left = self._law(weights, noisy)
        return CurvatureIntervals(
            target=self.target,
            **units_of(self.problem.bounding),
            weights=weights,
            hessian=noisy,
            noise=self.hessian.scale,
            covering=(covering + covering.T) / 2,
            strength=self.fit.strength,
            ridge=self.ridge,
            left=left,
        )

    def _law(self, weights: Array, noisy: Array) -> tuple[Array, Array]:
        """Return the covariance of weights about the minimiser, and what is left of the way."""
        values, basis = np.linalg.eigh(noisy)
        # Where curvature is noise no interval is finite, whatever stands here.
        curvatures = np.maximum(values, self.hessian.scale)
        if isinstance(self.fit, ObjectivePerturbationPlan):
            hidden = self.fit.noise.mean_square / self.problem.dimension
            spread = self.fit.scale**2 / (curvatures + self.fit.strength) ** 2 + hidden
            return (basis * spread) @ basis.T, np.zeros_like(weights)
        spread, rest, swing = law_of_descent(self.fit, curvatures)
        left = basis @ (rest * (basis.T @ (self.fit.start - weights)))
        # Curvatures of rows sum up to at least the trace over the square of the longest row.
        margin = float(swing @ curvatures) * self.problem.row_norm**2 / float(curvatures.sum())
        return (basis * spread) @ basis.T, np.abs(left) + margin / 4 * np.abs(weights)


def with_curvature(
    plan: Callable[[Budget], Plan], budget: Budget, target: str, share: float
) -> CurvaturePlan:
    """Return a plan of fit and Hessian that cost the budget together.

    Parameters
    ----------
    plan
        Plans a fit for a budget.
    budget
        What both may cost.
    target
        ``"table"`` or ``"population"``.
    share
        Part of the squared signal-to-noise ratio that the Hessian gets.

    Examples
    --------
    >>> from discreet.algorithms import ObjectivePerturbation
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=3, n_rows=5000)
    >>> found = with_curvature(lambda part: ObjectivePerturbation().plan(problem, part),
    ...                        Budget(1.0, 1e-6), "table", 0.2)
    >>> found.guarantee.epsilon, round(found.fit.budget.epsilon, 2)
    (1.0, 0.83)
    """
    epsilon, delta = budget.epsilon, budget.delta
    if delta == 0:
        raise Incompatible(
            "Intervals need Gaussian noise, whose law they are computed from. Pass delta > 0."
        )
    # privacy: a hair more noise, for shares whose squares add up to a hair more than the whole.
    whole = gaussian_multiplier(epsilon, delta) * (1 + 1e-9)
    least = (1 - share) * epsilon
    most = min(epsilon, epsilon_at(Gaussian(whole / math.sqrt(1 - share)), delta) * (1 - 1e-9))
    multiplier = whole / math.sqrt(share)
    for gain in GAINS if most > least else ():
        try:
            fit = _usable(plan(budget.part(least * (most / least) ** gain, delta)), target)
        except BudgetTooSmall:
            continue
        if gain == 1.0 and isinstance(fit, ObjectivePerturbationPlan):
            continue
        # privacy: more than a part of the budget only where both together stay within it.
        if _together(fit, multiplier).delta(epsilon) <= delta:
            return CurvaturePlan(fit, budget, multiplier, target)
    part, rest = budget.split(share)
    multiplier = gaussian_multiplier(part.epsilon, part.delta)
    return CurvaturePlan(_usable(plan(rest), target), budget, multiplier, target)


def _together(fit: Plan, multiplier: float) -> Composed:
    """Return what a fit and a Hessian of that noise cost together."""
    return Composed((fit.guarantee.event, Gaussian(multiplier)))


def _usable(plan: Plan, target: str) -> Fit:
    """Return the plan if the law of its weights is known; otherwise refuse it."""
    problem = plan.problem
    known = isinstance(plan, ObjectivePerturbationPlan) and plan.correction is None
    if not (known or isinstance(plan, NoisyGradientPlan)):
        raise Incompatible(
            f"No intervals are known for {plan.algorithm}. Leave inference out, or use "
            "objective-perturbation, noisy-gradient or, for squares, sufficient-statistics."
        )
    if problem.grouping is not None:
        raise Incompatible(
            "Intervals of the logistic loss are known for single rows, not for groups of them. "
            "Leave inference or rows_per_group out."
        )
    if not (problem.regularizer.kernel.zero and problem.constraint.whole_space):
        raise Incompatible(
            "Intervals exist without a constraint and with a ridge as the only penalty. Leave "
            "regularizer and constraint out, or inference."
        )
    if problem.loss != Logistic():
        raise Incompatible(
            f"Intervals by {plan.algorithm} are known for the logistic loss, not for "
            f"{problem.loss.name}. Use sufficient-statistics for squares, or leave inference out."
        )
    reason = _unknown(plan) if isinstance(plan, NoisyGradientPlan) else None
    if reason is not None:
        raise Incompatible(f"Intervals of noisy-gradient need {reason}.")
    return cast(Fit, plan)


def _unknown(plan: NoisyGradientPlan) -> str | None:
    """Return what the law of a descent needs and this one lacks."""
    config = plan.config
    if not isinstance(plan.sampler, FullBatch):
        return "all rows in every step: sampler='full'"
    if config.line_search or config.hidden_state or config.adaptive_clip:
        return "plain steps: leave line_search, hidden_state and adaptive_clip out"
    if plan.rule.ridge_in_gradient or plan.problem.regularizer.strong_convexity:
        return "steps without projection: rule='heavy-ball', and the ridge as strength"
    if plan.clip < plan.problem.terms.lipschitz * (1 - 1e-9):
        return "gradients that are not clipped: leave clip out"
    return None
