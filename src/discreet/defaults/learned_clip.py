"""A clip of residuals that a first run tells: squared losses in two runs.

Noise grows with the clip of residuals, and bias falls with it. Which clip is best depends on how
large the residuals of good weights are, which nothing public says: labels that fill their range
need a clip ten times that of labels which good weights predict well. So a small part of the
budget goes to a first run with the usual clip, a smaller one to the mean square of its residuals,
and the rest to a second run, whose clip is in proportion to their root mean square. It is one
of a few clips, for all of which plans exist before a row is read.

Theorem (``docs/proofs/learned-clip.md``). Given the first weights and the noisy mean square, the
second run is one of the plans. So all three compose, the last with the largest of the curves
of its plans. Which clip was chosen is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any, ClassVar

import numpy as np

from discreet.accounting import (
    Budget,
    Composed,
    Event,
    Gaussian,
    Guarantee,
    Parallel,
    Pure,
    epsilon_at,
    gaussian_multiplier,
)
from discreet.accounting.gaussian_profile import lowered
from discreet.accounting.pld import chain_delta
from discreet.accounting.theorems import theorems
from discreet.algorithms import SufficientStatistics
from discreet.algorithms.perturbation import ObjectivePerturbationPlan
from discreet.bounds import Array, Bounds
from discreet.checks import one_of
from discreet.data import Rows, Source
from discreet.defaults.case import LEARNED_CLIP, Asked, Case, Recommend
from discreet.defaults.residuals import residual_clip
from discreet.errors import BudgetTooSmall, DiscreetError, Incompatible, InvalidParameter
from discreet.losses import Clipped, Squared
from discreet.mechanisms.gradient_noise import GradientNoise, most_rows, size_assumed
from discreet.mechanisms.group_sums import sums_over
from discreet.noise import Randomness
from discreet.problem import CalibratedPlan, Plan, Problem, guarantee_for, releasing
from discreet.tuned.defaults import (
    LEARNED_FIRST,
    LEARNED_MOMENTS,
    LEARNED_MOST,
    LEARNED_ONCE,
    LEARNED_ROWS,
    LEARNED_SIZE,
    LEARNED_WIDTH,
    RESIDUAL_PLENTY,
)

WHY = "a first run tells how large residuals are, and a second one clips by that"

LEAST, GRID = 0.125, math.sqrt(2.0)
"""Least clip of the second run, in half label ranges for a row of typical norm, and the factor
between clips. The largest leaves the longest row at least ``1 / GRID`` of the label range."""

NOISES = ("auto", "gaussian", "gamma")
"""With ``"auto"`` the noise that one run would have, see :mod:`discreet.defaults.pure_noise`."""

LEFT = (0.97, 0.94, 0.9, 0.8)
"""Parts of what Gaussian noise would leave to the second run that are tried in turn."""


@dataclass(frozen=True)
class ResidualSize:
    """The mean square of residuals, with noise.

    Each counts at most a half label range, and more or less as its row is longer or shorter than
    typical: that is what clips of gradients cut.

    Parameters
    ----------
    problem
        What the residuals are of.
    cost
        What one release costs: a Gaussian, or a pure event.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> problem = Problem(loss=Squared(), bounds=Bounds(row_norm=1.0, label=(-1, 1)),
    ...                   n_features=1, n_rows=2000)
    >>> rows = Rows(np.ones((2000, 1)), np.repeat([0.9, -0.1], 1000))
    >>> size = ResidualSize(problem, Gaussian(5.0)).measured(rows, np.array([0.4]), Seeded(0))
    >>> round(size, 1)
    0.5
    """

    problem: Problem
    cost: Gaussian | Pure

    @cached_property
    def noise(self) -> GradientNoise:
        """Noise that covers the sum of the squares."""
        problem = self.problem
        # privacy: squares lie between 0 and 1, so one that is replaced moves the sum by 1 as well.
        line = Problem(
            loss=Squared(),
            bounds=Bounds(row_norm=1.0, label=(-1.0, 1.0)),
            n_features=1,
            n_rows=problem.n_rows,
            neighbours="zero-out",
        )
        rows, shifting = most_rows(problem), problem.size_is_declared
        if isinstance(self.cost, Pure):
            return GradientNoise.pure(1.0, self.cost.epsilon, line, n_rows=rows, shifting=shifting)
        return GradientNoise.gaussian(
            1.0, self.cost.multiplier, line, n_rows=rows, shifting=shifting
        )

    def measured(self, rows: Rows, weights: Array, random: Randomness) -> float:
        """Return the root mean square of the residuals of released weights, with noise."""
        most = self.problem.bounding.label_bound
        labels = rows.y if rows.y.ndim == 1 else rows.y[:, 0]
        found = np.clip(rows.projected(weights), -most, most)
        found -= labels
        found *= rows.norms
        found /= most * self.problem.typical_norm
        # privacy: what is not a number adds nothing, so that no part of a row is above 1.
        found = np.nan_to_num(np.clip(found, -1.0, 1.0, out=found), copy=False)
        # The gradient of half a square at 1 is the square: summed and covered as gradients are.
        line = Rows(found[:, None], np.zeros(rows.n_rows), rows.weight)
        shifting = self.problem.size_is_declared
        with sums_over(self.problem, line, Squared(), shifting=shifting, work=0.0) as sums:
            total = sums.full(np.ones(1), 1.0)
        # privacy: the only exit of data here.
        covered = float(self.noise.add(total, random)[0])
        assert self.problem.n_rows is not None
        return math.sqrt(max(covered / self.problem.n_rows, 0.0))


@dataclass(frozen=True)
class LearnedClipPlan(CalibratedPlan):
    """A rough run, the size of its residuals, and a run for every clip that may follow."""

    algorithm: ClassVar[str] = LEARNED_CLIP

    problem: Problem
    budget: Budget
    rows_per_noise: float
    first: Plan
    size: ResidualSize
    clips: tuple[float, ...]
    second: tuple[Plan, ...]
    """One plan for each of the clips."""

    @cached_property
    def event(self) -> Event:
        """What all parts cost together, whichever clip is chosen."""
        return _together(self.first, self.size, self.second)

    @property
    def usual(self) -> Plan:
        """The second run with the clip nearest to the one that public facts alone would give."""
        return self.second[_nearest(residual_clip(self.problem, self.budget), self.clips)]

    @property
    def expected_excess(self) -> float:
        """Bound on the expected excess risk (sum scale) of the second run, with a usual clip."""
        return self.usual.expected_excess

    @property
    def guarantee(self) -> Guarantee:
        """What a run of this plan guarantees."""
        parts = (self.first, *self.second)
        theorem = theorems("learned-clip", *(part.guarantee.theorem for part in parts))
        assumed = dict.fromkeys(a for part in parts for a in part.guarantee.assumptions)
        return guarantee_for(self, self.event, theorem, *assumed, *size_assumed(self.problem))

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan, and of the second run with a usual clip."""
        return {
            **self.usual.facts(),
            "algorithm": self.algorithm,
            "first run": self.first.algorithm,
            "noise scale of squared residuals": self.size.noise.scale,
            "second run": self.usual.algorithm,
            "clip of residuals": f"{self.clips[0]:g} to {self.clips[-1]:.3g}, learned",
        }

    def clip(self, size: float) -> int:
        """Return the number of the clip for residuals of that root mean square."""
        grown = math.sqrt(self.rows_per_noise / LEARNED_ONCE)
        return _nearest(size * min(LEARNED_MOST, max(1.0, grown)), self.clips)

    @releasing
    def run(self, source: Source, random: Randomness) -> Array:
        """Run once, measure residuals, and release the weights of the run with their clip."""
        first = self.first.run(source, random).weights
        size = self.size.measured(self.problem.bound(source, reread=True), first, random)
        return self.second[self.clip(size)].run(source, random).weights


def learned_clip(case: Case, recommend: Recommend) -> LearnedClipPlan | None:
    """Return the plan of two runs, or None where one run is better or nothing is to be learned.

    Parameters
    ----------
    case
        Problem, budget and what was asked for.
    recommend
        Plans a run whose clip is given.

    Examples
    --------
    >>> from discreet import PrivateRidge
    >>> model = PrivateRidge(bounds=Bounds(row_norm=1.0, label=(-1, 1)))
    >>> model.plan(10, 20_000).algorithm, model.plan(10, 1000).algorithm
    ('learned-clip', 'noisy-gradient')
    """
    if not (_learns(case) and LEARNED_ROWS <= case.rows_per_noise <= RESIDUAL_PLENTY):
        return None
    try:
        plan = _planned(case, recommend)
    except DiscreetError:  # of plans that nobody asked for
        return None
    reason = f"{case.rows_per_noise:.3g} rows per unit of noise: {WHY}"
    return None if plan is None else plan.explained(reason=reason)


def asked_for(case: Case, recommend: Recommend) -> LearnedClipPlan:
    """Return the plan of two runs, or refuse in words: it was asked for by its name."""
    if set(case.asked.settings or {}) - {"noise"}:
        raise InvalidParameter(f"The only setting of {LEARNED_CLIP} is noise. Leave others out.")
    if not _learns(case):
        raise Incompatible(
            f"{LEARNED_CLIP} is for PrivateRidge without clip and without groups, where the number "
            "of rows is public or declared. Take another algorithm, or leave clip out."
        )
    plan = _planned(case, recommend)
    if plan is None:
        raise BudgetTooSmall(
            f"{LEARNED_CLIP} has no calibration at this budget. Use a larger epsilon or delta, or "
            "another algorithm."
        )
    return plan


def _learns(case: Case) -> bool:
    problem = case.problem
    return case.asked.free_clip and problem.grouping is None and problem.n_rows is not None


def _planned(case: Case, recommend: Recommend) -> LearnedClipPlan | None:
    problem, budget = case.problem, case.budget
    asked = replace(case.asked, free_clip=False, algorithm="auto", settings=None)
    noise = one_of("noise", (case.asked.settings or {}).get("noise", "auto"), NOISES)
    if noise == "gaussian" and budget.delta == 0.0:
        raise Incompatible("noise='gaussian' needs delta > 0. Set delta, or leave noise out.")
    # Where pure noise is smaller on the weights, nothing is left for a delta to pay.
    once = recommend(problem, budget, asked) if noise == "auto" else None
    if noise == "gamma" or (once is not None and once.guarantee.delta == 0.0):
        budget = Budget(budget.epsilon)
    asked = replace(asked, alone=asked.alone and budget.delta == 0.0)

    def run(clip: float, part: Budget, asked: Asked = asked) -> Plan:
        loss = Clipped(loss=Squared(), clip=clip * problem.typical_norm)
        return recommend(replace(problem, loss=loss), part, asked)

    first_part, cost, rests = _shares(budget)
    usual = residual_clip(problem, first_part)
    size = ResidualSize(problem, cost)
    narrow = problem.dimension <= min(LEARNED_MOMENTS * case.rows_per_noise, LEARNED_WIDTH)
    if budget.delta and narrow:
        # One pass over the rows is precise enough to tell the size of residuals.
        first: Plan = SufficientStatistics(**case.asked.parameters).plan(problem, first_part)
    else:
        first = run(usual, first_part)

    def affordable(*second: Plan) -> bool:
        return _delta(_together(first, size, second), budget.epsilon) <= lowered(budget.delta)

    clips = _clips(problem)
    usual = clips[_nearest(residual_clip(problem, budget), clips)]
    for rest in rests:
        # privacy: one clip tells whether the rest is likely to do; all of them have to.
        one, again = run(usual, rest), asked
        if not affordable(one):
            continue
        if isinstance(one, ObjectivePerturbationPlan):
            # Its settings do not depend on the clip, and need not be found again.
            again = replace(asked, algorithm=one.algorithm, settings=one.settings, norm_guess=None)
        second = tuple(one if clip == usual else run(clip, rest, again) for clip in clips)
        if affordable(*second):
            rows = case.rows_per_noise
            plan = LearnedClipPlan(problem, budget, rows, first, size, clips, second)
            return plan.explained(settings={"noise": "gaussian" if budget.delta else "gamma"})
    return None


def _shares(budget: Budget) -> tuple[Budget, Gaussian | Pure, list[Budget]]:
    """Return the budget of the first run, the cost of the size, and budgets of the second run."""
    epsilon, delta, left = budget.epsilon, budget.delta, 1.0 - LEARNED_FIRST - LEARNED_SIZE
    if delta == 0.0:
        parts = [share * (1.0 - 1e-12) * epsilon for share in (LEARNED_FIRST, LEARNED_SIZE, left)]
        return budget.part(parts[0]), Pure(parts[1]), [budget.part(parts[2])]
    whole = gaussian_multiplier(epsilon, lowered(delta))

    def part(share: float) -> Budget:
        return budget.part(epsilon_at(Gaussian(whole / math.sqrt(share)), delta), delta)

    cost = Gaussian(whole / math.sqrt(LEARNED_SIZE))
    return part(LEARNED_FIRST), cost, [part(left * share) for share in LEFT]


def _together(first: Plan, size: ResidualSize, second: tuple[Plan, ...]) -> Composed:
    """Return what a first run, the size of residuals and one of several runs cost together."""
    costs = [plan.guarantee.event for plan in second]
    if isinstance(size.cost, Pure):
        most = max(plan.guarantee.epsilon for plan in second)
        return Composed((first.guarantee.event, size.cost, Pure(most)))
    parts = [cost.events if isinstance(cost, Composed) else (cost,) for cost in costs]
    # privacy: whichever plan is chosen, none of its parts has a curve above the largest.
    largest = [Parallel(tuple(filter(None, each))) for each in zip_longest(*parts)]
    simple = (one.events[0] if len(one.events) == 1 else one for one in largest)
    return Composed((first.guarantee.event, size.cost, *simple))


def _delta(event: Composed, epsilon: float) -> float:
    """Return delta of the parts one after the other, quickly."""
    noise = [part for part in event.merged() if isinstance(part, Gaussian)]
    others = [part for part in event.merged() if not isinstance(part, Gaussian)]
    chained = bool(noise and others)
    return chain_delta((*noise, *others), epsilon) if chained else event.delta(epsilon)


def _clips(problem: Problem) -> tuple[float, ...]:
    """Return the clips that the second run may have."""
    most = 2.0 * problem.row_norm / problem.typical_norm
    count = max(0, math.floor(math.log(most / LEAST, GRID) + 1e-9))
    return tuple(LEAST * GRID**k for k in range(count + 1))


def _nearest(clip: float, clips: tuple[float, ...]) -> int:
    """Return the number of the nearest of the clips, on a scale of logarithms."""
    return int(np.argmin(np.abs(np.log(clips) - math.log(max(clip, LEAST / 2)))))
