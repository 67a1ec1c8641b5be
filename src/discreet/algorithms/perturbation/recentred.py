"""Objective perturbation twice: the second ridge pulls to where the first one ended.

The ridge that objective perturbation needs shrinks the weights, and with many rows
that costs more than the noise does. So a first run finds rough weights with a small
part of the budget, more noise and a stronger ridge. The second run has the rest and
the ridge term ``strength/2 ||w - first||^2``: what the first run found is not shrunk
again.

Classes that nearly separate need longer weights still. So for a logistic loss without
a penalty a small part of the budget goes to noisy sums along the second weights, which
lengthen them where that is clear (:mod:`discreet.algorithms.gradient.line_search`).

Theorem. Given the first weights, the second objective differs from the one of
:mod:`discreet.algorithms.perturbation.objective_perturbation` by a linear term that does not
depend on the data, which its proofs allow (they hold for any convex term of that
kind). So the two runs and the sums compose, as adaptive mechanisms do, and the
noise of all is what their composed curve needs at the budget.

Assumptions: those of objective perturbation with Gaussian noise, for both runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from discreet.accounting import (
    MODES,
    Budget,
    Composed,
    Event,
    Guarantee,
    LossTerms,
    default_strength,
)
from discreet.accounting.gaussian_profile import lowered, smallest_feasible
from discreet.accounting.pld import chain_delta
from discreet.accounting.theorems import theorems
from discreet.algorithms.gradient import LineSearch, estimates_logit
from discreet.algorithms.perturbation.objective_perturbation import (
    APPROXIMATE,
    ObjectivePerturbation,
    ObjectivePerturbationPlan,
)
from discreet.bounds import Array, Neighbours
from discreet.checks import integer, nonnegative
from discreet.data import Source
from discreet.errors import BudgetTooSmall, Incompatible
from discreet.mechanisms.batches import FullBatch
from discreet.mechanisms.gradient_noise import size_assumed
from discreet.noise import Randomness
from discreet.problem import (
    CalibratedPlan,
    Problem,
    check_solvable,
    guarantee_for,
    norm_guess_of,
    releasing,
)
from discreet.tuned.algorithms import (
    FIRST_RIDGE,
    FIRST_RUN,
    OUTPUT_SHARES,
    SECOND_LINE_SEARCH,
    SECOND_RIDGE_NOISE,
)


@dataclass(frozen=True, kw_only=True)
class RecentredPerturbation:
    """Objective perturbation whose ridge pulls to weights of a first, rougher run.

    Parameters
    ----------
    mode
        Calibration with Gaussian noise, as in :class:`ObjectivePerturbation`.
    norm_guess
        Public guess of the norm of good weights, for the solver; privacy does not
        depend on it.
    strength
        Least ridge strength, on the sum scale; raised to what the calibration needs.
    line_search
        Noisy sums that fit the length of the weights at the end, if the loss is
        logistic, without a penalty, and the number of rows is known or declared.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=50, n_rows=500_000)
    >>> plan = RecentredPerturbation().plan(problem, Budget(1.0, 1e-6))
    >>> round(plan.first.scale / plan.second.scale, 2), plan.first.strength > plan.second.strength
    (3.0, True)
    """

    name: ClassVar[str] = "recentred-perturbation"
    needs_delta: ClassVar[bool] = True

    mode: str = "auto"
    strength: float | None = None
    norm_guess: float | None = None
    line_search: int = 8

    def plan(self, problem: Problem, budget: Budget) -> RecentredPlan:
        """Calibrate both runs from public values."""
        integer("line_search", self.line_search, 0)
        if self.strength is not None:
            nonnegative("strength", self.strength)
        check_solvable(problem, self.name)
        if budget.delta == 0:
            raise Incompatible(
                "Two runs of objective perturbation compose well with Gaussian noise only, which "
                "needs delta > 0. Pass delta, or use objective-perturbation."
            )
        return self._calibrated(problem, budget, self._share(problem, budget))

    def _share(self, problem: Problem, budget: Budget) -> float:
        """Return the share of output noise, by runs before their noise is calibrated together."""
        first = self._calibrated(problem, budget, OUTPUT_SHARES[0], draft=True)
        if first.output_is_small:
            return OUTPUT_SHARES[0]
        drafts = {}
        for share in OUTPUT_SHARES:
            outputs, inner = budget.split(share)
            drafts[share] = first.second.draft(outputs.split(0.5)[0], inner)
        return min(drafts, key=lambda share: drafts[share].spread)

    def _calibrated(
        self, problem: Problem, budget: Budget, share: float, *, draft: bool = False
    ) -> RecentredPlan:
        single = ObjectivePerturbation(mode=self.mode, norm_guess=self.norm_guess)
        mode, aim = single.calibration(problem, budget), single.aim(problem, budget)
        guess = norm_guess_of(problem, self.norm_guess)
        outputs, inner = budget.split(share)
        output, _ = outputs.split(0.5)
        ridge = max(problem.regularizer.strong_convexity, self.strength or 0.0)
        logistic = estimates_logit(problem.loss) and problem.regularizer.zero
        sums = self.line_search if logistic and problem.n_rows is not None and not draft else 0
        *runs, multiplier = calibrated(
            problem.terms, mode, inner, problem.neighbours, ridge, sums=sums, draft=draft
        )
        first, second = (
            ObjectivePerturbationPlan(
                problem, budget, inner, output, mode, strength, scale, guess, aim
            )
            for strength, scale in runs
        )
        search = (
            LineSearch(problem, sums, multiplier, FullBatch(), conservative=True) if sums else None
        )
        return RecentredPlan(problem, budget, first, second, search)


@lru_cache(maxsize=64)
def calibrated(
    terms: LossTerms,
    mode: str,
    budget: Budget,
    neighbours: Neighbours,
    ridge: float = 0.0,
    *,
    sums: int = 0,
    draft: bool = False,
) -> tuple[tuple[float, float], tuple[float, float], float]:
    """Return strength and noise scale of both runs, and the noise multiplier of so many sums.

    The budget is what is left beside the output noise. In a draft nothing else is calibrated: it
    has about the noise that comes out, and guarantees nothing.

    >>> terms = LossTerms.logistic(radius=1.0)
    >>> *both, multiplier = calibrated(terms, "logistic", Budget(1.0, 1e-6), "zero-out", sums=8)
    >>> [(round(strength, 2), round(scale, 2)) for strength, scale in both], round(multiplier)
    ([(3.99, 14.76), (0.66, 4.92)], 91)
    """
    rule, sampler = MODES[mode], FullBatch()
    # The dimension matters only where a guess of the norm does.
    weakest, scale = default_strength(
        terms, mode, budget.epsilon, budget.delta, neighbours, 1, worth=SECOND_RIDGE_NOISE
    )
    weak = max(weakest, ridge)
    strong = max(FIRST_RIDGE * weakest, ridge)
    whole = sampler.multiplier(budget, sums, neighbours) if sums else 0.0

    def scales(factor: float) -> tuple[float, float, float]:
        shares = FIRST_RUN, 1 - FIRST_RUN, SECOND_LINE_SEARCH
        first, second, third = (factor / math.sqrt(share) for share in shares)
        return scale * first, scale * second, whole * third

    def result(factor: float) -> tuple[tuple[float, float], tuple[float, float], float]:
        first, second, multiplier = scales(factor)
        return (strong, first), (weak, second), multiplier

    if draft:
        return result(1.0)

    def achieved(factor: float) -> float:
        first, second, multiplier = scales(factor)
        events = (
            rule.event(terms, first, strong, neighbours),
            *([sampler.event(multiplier, sums, neighbours)] if sums else []),
            rule.event(terms, second, weak, neighbours),
        )
        return chain_delta(events, budget.epsilon)

    # Three Gaussians would need a factor of 1, and what else these cost is little.
    factor = smallest_feasible(
        achieved, lowered(budget.delta), limit=64.0, start=1.045, step=0.02, accuracy=1e-3
    )
    if math.isinf(factor):
        raise BudgetTooSmall(
            "Two runs of objective perturbation have no calibration at this budget in mode "
            f"{mode!r}. Use a larger epsilon or delta, another mode, or objective-perturbation."
        )
    return result(factor)


@dataclass(frozen=True)
class RecentredPlan(CalibratedPlan):
    """Two calibrated runs of objective perturbation, the second about the first.

    ``line_search`` is how the length of the second weights is fitted, if it is.
    """

    algorithm: ClassVar[str] = RecentredPerturbation.name

    problem: Problem
    budget: Budget
    first: ObjectivePerturbationPlan
    second: ObjectivePerturbationPlan
    line_search: LineSearch | None = None

    @property
    def output_is_small(self) -> bool:
        """Whether the output noise of both runs is small."""
        return self.first.output_is_small and self.second.output_is_small

    @property
    def spread(self) -> float:
        """Root mean square of the released weights' noise, see the plan of one run."""
        return self.second.spread

    @property
    def event(self) -> Event:
        """What both runs and the line search cost."""
        search = () if self.line_search is None else (self.line_search.event,)
        return Composed((self.first.event, self.second.event, *search))

    @property
    def guarantee(self) -> Guarantee:
        """What a run of this plan guarantees."""
        rule = MODES[self.second.mode].proof(self.problem.terms)
        theorem = theorems("objective-perturbation/two-runs", rule, APPROXIMATE)
        assumed = () if self.line_search is None else size_assumed(self.problem)
        return guarantee_for(self, self.event, theorem, *assumed)

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        return {
            "algorithm": self.algorithm,
            "mode": self.second.mode,
            "strength": self.second.strength,
            "gaussian noise scale": self.second.scale,
            "strength of the first run": self.first.strength,
            "noise scale of the first run": self.first.scale,
            "output noise scale": self.second.noise.scale,
            **({} if self.line_search is None else self.line_search.facts()),
            "norm guess": self.second.norm_guess,
            "expected excess (sum) <=": self.expected_excess,
        }

    @releasing
    def run(self, source: Source, random: Randomness) -> Array:
        """Run once for the centre and once about it, and release the second weights, at length."""
        rows = self.problem.bound(source, reread=True)
        centre = self.first.weights(rows, random)
        weights = self.second.weights(rows, random, centre)
        if self.line_search is None:
            return weights
        fitted = self.line_search.fitted(rows, weights, random)
        return self.problem.constraint.project(fitted)
