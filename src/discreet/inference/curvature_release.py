"""A fit, and then noisy matrices at the released weights: what intervals need besides.

Theorem. Given the released weights, the Hessian of the sum is a sum of semidefinite matrices of
trace at most ``beta``, so its Frobenius sensitivity is ``beta`` (``sqrt(2) beta`` for a
replacement) at any weights. So is the sum of squared gradients ``g g'``, of trace at most ``L^2``,
which intervals for the population need where no model of the labels tells it. Fit and matrices
are releases whose costs are fixed in advance, and compose as such.

The matrices get the part ``share`` of the squared signal-to-noise ratio of the budget, the fit the
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

_GAUSSIAN = (
    "Intervals need Gaussian noise, whose law they are computed from. Pass delta > 0, and no other "
    "noise."
)


@dataclass(frozen=True)
class CurvaturePlan(CalibratedPlan):
    """A calibrated fit, a noisy Hessian at its weights, and perhaps noisy squared gradients."""

    fit: Fit
    budget: Budget
    multiplier: float
    """Deviation of the Hessian's noise over its sensitivity, and of that of squared gradients."""
    target: str

    @property
    def squares(self) -> bool:
        """Whether squared gradients are released too."""
        return _squares(self.problem, self.target)

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
        return self._noise(squares=False)

    @cached_property
    def middle(self) -> HessianNoise:
        """The noise of squared gradients."""
        return self._noise(squares=True)

    def _noise(self, squares: bool) -> HessianNoise:
        rows = most_rows(self.problem)
        return HessianNoise.gaussian(
            self.problem, self.multiplier, n_rows=rows, shifting=self.shifting, squares=squares
        )

    @cached_property
    def event(self) -> Composed:
        """What fit and matrices cost together."""
        return _together(self.fit, self.multiplier, 1 + self.squares)

    @property
    def guarantee(self) -> Guarantee:
        """What fit and matrices guarantee together."""
        fit = self.fit.guarantee
        named = theorems("composition/fixed", fit.theorem, "inference/curvature")
        return guarantee_for(self, self.event, named, *size_assumed(self.problem), *fit.assumptions)

    @property
    def expected_excess(self) -> float:
        """Bound on the expected excess risk (sum scale) of the fit."""
        return self.fit.expected_excess

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        matrices = "a noisy Hessian is"
        if self.squares:
            matrices = "a noisy Hessian and a noisy sum of squared gradients are"
        found = self.fit.facts() | {
            "intervals": f"for {TARGETS[self.target]}; {matrices} released for them",
            "epsilon of the fit alone": self.fit.budget.epsilon,
            "noise scale of the Hessian": self.hessian.scale,
        }
        if self.squares:
            found["noise scale of squared gradients"] = self.middle.scale
        return found

    @checked
    def run(self, source: Source, random: Randomness) -> InferredRelease:
        """Fit, then release the Hessian at the weights, and squared gradients if they are paid."""
        weights = self.fit.run(source, random).weights
        rows, loss = self.problem.bound(source, remote=True), self.problem.loss
        squared = None
        with np.errstate(all="ignore"):  # privacy: a warning of numpy would tell of the rows.
            exact = rows.hessian(loss, weights, shifting=self.shifting)
            if self.squares:
                squared = rows.squared_gradients(loss, weights, shifting=self.shifting)
        # privacy: the only exits of data here, each with noise of its own.
        noisy = self.hessian.add(exact, random)
        middle = None if squared is None else self.middle.add(squared, random)
        found = self._intervals(weights, noisy, middle)
        return InferredRelease(weights, with_randomness(self.guarantee, random), found)

    @property
    def ridge(self) -> float:
        """Ridge that was asked for, and belongs to the table's own minimiser."""
        if isinstance(self.fit, NoisyGradientPlan):
            return self.fit.strength
        asked = float(self.fit.settings.get("strength") or 0.0)
        return min(max(asked, self.problem.regularizer.strong_convexity), self.fit.strength)

    def _intervals(self, weights: Array, noisy: Array, middle: Array | None) -> CurvatureIntervals:
        covering, left, outward = self._law(weights, noisy)
        squares: dict[str, Any] = {}
        if middle is not None:
            squares = {"middle": middle, "middle_noise": self.middle.scale}
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
            outward=outward,
            **squares,
        )

    def _law(self, weights: Array, noisy: Array) -> tuple[Array, Array, float]:
        """Return the covariance of weights about the minimiser, how far off they may be in the
        mean, and the part of their length that is to be taken off.
        """
        values, basis = np.linalg.eigh(noisy)
        # Where curvature is noise no interval is finite, whatever stands here.
        curvatures = np.maximum(values, self.hessian.scale)
        outward = 0.0
        if isinstance(self.fit, ObjectivePerturbationPlan):
            hidden = self.fit.noise.mean_square / self.problem.dimension
            spread = self.fit.scale**2 / (curvatures + self.fit.strength) ** 2 + hidden
            swing, left = spread, np.zeros_like(weights)
        else:
            spread, rest, swing = law_of_descent(self.fit, curvatures)
            left = np.abs(basis @ (rest * (basis.T @ (self.fit.start - weights))))
        # Curvatures of rows sum up to at least the trace over the square of the longest row.
        margin = float(swing @ curvatures) * self.problem.row_norm**2 / float(curvatures.sum())
        if self.problem.loss != Logistic():
            inverse = (basis**2 / curvatures).sum(axis=1)
            left = left + margin / 2 * second_order_shift(self.problem) * np.sqrt(inverse)
        elif isinstance(self.fit, NoisyGradientPlan):
            # Swinging moves weights out by 0 to margin/4 of their length: the middle is taken.
            outward = margin / 8
            left = left + outward * np.abs(weights)
        return (basis * spread) @ basis.T, left, outward


def with_curvature(
    plan: Callable[[Budget], Plan], budget: Budget, target: str, share: float
) -> CurvaturePlan:
    """Return a plan of a fit and matrices at its weights that cost the budget together.

    Parameters
    ----------
    plan
        Plans a fit for a budget.
    budget
        What both may cost.
    target
        ``"table"``, ``"population"`` or ``"robust"``.
    share
        Part of the squared signal-to-noise ratio that the Hessian gets, and squared gradients
        where the model of the loss does not tell them; they share it evenly.

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
        raise Incompatible(_GAUSSIAN)
    # privacy: a hair more noise, for shares whose squares add up to a hair more than the whole.
    whole = gaussian_multiplier(epsilon, delta) * (1 + 1e-9)
    least = (1 - share) * epsilon
    most = min(epsilon, epsilon_at(Gaussian(whole / math.sqrt(1 - share)), delta) * (1 - 1e-9))
    multiplier = whole / math.sqrt(share)
    for gain in GAINS if most > least else ():
        try:
            fit = _usable(plan(budget.part(least * (most / least) ** gain, delta)))
        except BudgetTooSmall:
            continue
        if gain == 1.0 and isinstance(fit, ObjectivePerturbationPlan):
            continue
        # privacy: more than a part of the budget only where all together stay within it.
        count = 1 + _squares(fit.problem, target)
        each = multiplier * math.sqrt(count)
        if _together(fit, each, count).delta(epsilon) <= delta:
            return CurvaturePlan(fit, budget, each, target)
    part, rest = budget.split(share)
    fit = _usable(plan(rest))
    multiplier = gaussian_multiplier(part.epsilon, part.delta)
    # privacy: two releases of sqrt(2) times the noise cost what one of the noise does.
    if _squares(fit.problem, target):
        multiplier *= math.sqrt(2) * (1 + 1e-9)
    return CurvaturePlan(fit, budget, multiplier, target)


def _together(fit: Plan, multiplier: float, count: int) -> Composed:
    """Return what a fit and so many matrices of that noise cost together."""
    return Composed((fit.guarantee.event, *(Gaussian(multiplier),) * count))


def _squares(problem: Problem, target: str) -> bool:
    """Return whether intervals need squared gradients: no model tells them."""
    return target == "robust" or (target == "population" and problem.loss != Logistic())


def second_order_shift(problem: Problem) -> float:
    """Return how far a margin that swings with variance 2 moves weights, in their curvature's norm.

    Where margins swing with variance ``v``, mean slopes move by ``v/2 f3``, ``f3`` the third
    derivative. Where curvatures rise once to ``beta`` and fall again over a range ``l`` of slopes,
    ``f3`` has the size ``2 beta/l`` times ``f''`` in the mean over margins that are spread out. By
    Cauchy-Schwarz weights then move by at most ``v/2 (2 beta/l) sqrt(sum f'')`` in the norm of the
    Hessian.

    >>> from discreet.bounds import Bounds
    >>> from discreet.losses import Huber
    >>> round(second_order_shift(Problem(loss=Huber(threshold=0.5), n_features=3, n_rows=400,
    ...                    bounds=Bounds(row_norm=1.0, label=(-1, 1)))), 9)
    40.0
    """
    terms, norm = problem.terms, problem.row_norm
    curvature = terms.smoothness / norm**2
    span = (max(terms.slopes) if terms.one_signed else sum(terms.slopes)) / norm
    return 2 * curvature / span * math.sqrt((problem.n_rows or 0) * curvature)


def _usable(plan: Plan) -> Fit:
    """Return the plan if the law of its weights is known; otherwise refuse it."""
    problem = plan.problem
    known = isinstance(plan, ObjectivePerturbationPlan) and plan.correction is None
    if not (known or isinstance(plan, NoisyGradientPlan)):
        raise Incompatible(
            f"No intervals are known for {plan.algorithm}. Leave inference out, or use "
            "objective-perturbation, noisy-gradient or, for squares, sufficient-statistics."
        )
    if cast(Fit, plan).budget.delta == 0:
        raise Incompatible(_GAUSSIAN)
    if problem.grouping is not None:
        raise Incompatible(
            f"Intervals of the {problem.loss.name} loss are known for single rows, not for groups "
            "of them. Leave inference or rows_per_group out."
        )
    if not (problem.regularizer.kernel.zero and problem.constraint.whole_space):
        raise Incompatible(
            "Intervals exist without a constraint and with a ridge as the only penalty. Leave "
            "regularizer and constraint out, or inference."
        )
    if problem.loss != Logistic():
        _check_loss(problem)
    reason = _unknown(plan) if isinstance(plan, NoisyGradientPlan) else None
    if reason is not None:
        raise Incompatible(f"Intervals of noisy-gradient need {reason}.")
    return cast(Fit, plan)


def _check_loss(problem: Problem) -> None:
    """Refuse a loss whose minimisers have no known law, or a number of rows that is not known."""
    loss = problem.loss
    if loss.outputs > 1:
        raise Incompatible(
            f"Intervals are known for losses of one output, and {loss.name} has {loss.outputs}. "
            "Leave inference out."
        )
    if not math.isfinite(problem.terms.smoothness):
        instead = f"Use {loss.smoothed}, or leave" if loss.smoothed else "Leave"
        raise Incompatible(
            f"Intervals need a loss with a second derivative, and that of {loss.name} jumps. "
            f"{instead} inference out."
        )
    if not loss.curvature_unimodal:
        raise Incompatible(
            f"Intervals need a loss whose curvature rises once and falls again, and {loss.name} "
            "does not say that it does. Declare curvature_unimodal in the class, or leave "
            "inference out."
        )
    if problem.n_rows is None:
        raise Incompatible(
            f"Intervals of the {loss.name} loss need about how many rows there are. Pass "
            "n_rows=..., a declared size."
        )


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
