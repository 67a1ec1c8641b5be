"""The rules of the default, in order: the first that applies makes the plan.

A rule says for which problems and regions of the axis it is, which plan it makes, and why.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

from discreet.accounting import best_mode, default_strength
from discreet.accounting.utility import mean_squared_noise
from discreet.algorithms import (
    ExponentialSampling,
    NoisyGradient,
    ObjectivePerturbation,
    OutputPerturbation,
    RecentredPerturbation,
    SufficientStatistics,
)
from discreet.algorithms.gradient import HeavyBall
from discreet.algorithms.perturbation import ObjectivePerturbationPlan, many_rows
from discreet.defaults.capping import capped
from discreet.defaults.case import Case
from discreet.defaults.early_stopping import early_stopped, reach
from discreet.defaults.rounded_corners import has_corner, rounded_corners
from discreet.errors import BudgetTooSmall, Incompatible, MissingBound
from discreet.losses import Logistic
from discreet.mechanisms.batches import rows_of_a_step
from discreet.problem import Plan, Problem, norm_guess_of
from discreet.tuned.defaults import (
    LEAST_RATE_SOFTMAX,
    PULL,
    REACH_PERTURBED,
    REGIONS,
    SAMPLED_WEIGHTS,
    SOFTMAX_ROWS,
    WORK_SOFTMAX,
)

PLENTY = REGIONS[-1]


class Rule:
    """One way to plan, for some problems and some regions of the axis."""

    regions: ClassVar[tuple[object, ...]] = REGIONS
    why: ClassVar[str]

    def applies(self, case: Case) -> bool:
        """Return whether the rule is for this case, by public facts alone."""
        raise NotImplementedError

    def plan(self, case: Case) -> Plan | None:
        """Return the plan, or None if another rule does better after all."""
        raise NotImplementedError


class EarlyStopping(Rule):
    """Noisy descent on capped gradients, stopped early, for logistic regression.

    With rows in plenty perturbation is better, unless rows belong to groups: what is proved of
    perturbation then leaves noise on the weights, which no curvature of the data damps.
    """

    why = "gradient descent with clipped gradients, stopped early, lets the least noise in"

    def applies(self, case: Case) -> bool:
        suits = case.region is not PLENTY or case.problem.grouping is not None
        logistic = case.problem.loss == Logistic()
        return suits and case.unhindered and case.budget.delta > 0 and logistic

    def plan(self, case: Case) -> Plan:
        surrogate = capped(case)
        return case.planned(early_stopped(case, surrogate), surrogate)


class ManyRows(Rule):
    """Objective perturbation that ends with noisy Newton steps, where rows are very many."""

    regions = (PLENTY,)
    why = "rounding errors of so many rows would outweigh the noise of one run"

    def applies(self, case: Case) -> bool:
        return many_rows(case.problem)

    def plan(self, case: Case) -> Plan | None:
        algorithm = ObjectivePerturbation(**case.asked.parameters)
        try:
            # The rules that follow may want another plan than the one without steps.
            if not algorithm.may_correct(case.problem, case.budget):
                return None
            plan = case.planned(algorithm)
        except (Incompatible, BudgetTooSmall, MissingBound):
            return None
        assert isinstance(plan, ObjectivePerturbationPlan)
        return None if plan.correction is None else plan


class TwoRuns(Rule):
    """Objective perturbation about the weights of a first run, for logistic regression."""

    regions = (PLENTY,)
    why = "the ridge of one run would shrink good weights by more than the noise moves them"

    def applies(self, case: Case) -> bool:
        """Return whether the ridge that privacy needs pulls about as hard as the noise does."""
        problem, budget = case.problem, case.budget
        if not (case.unhindered and budget.delta > 0 and problem.loss == Logistic()):
            return False
        if problem.grouping is not None:
            return False
        mode = best_mode(problem.terms, problem.neighbours)
        try:
            needed, scale = default_strength(
                problem.terms, mode, budget.epsilon, budget.delta, problem.neighbours, 1
            )
        except BudgetTooSmall:
            return False
        noise = math.sqrt(mean_squared_noise("gaussian", scale, problem.dimension))
        pull = needed * norm_guess_of(problem, case.asked.norm_guess)
        # A ridge beyond what privacy needs is asked for to shrink weights to zero.
        return pull >= PULL * noise and (case.asked.strength or 0.0) <= needed

    def plan(self, case: Case) -> Plan | None:
        try:
            return case.planned(RecentredPerturbation(**case.asked.parameters))
        except BudgetTooSmall:
            return None


class OneRun(Rule):
    """Objective perturbation once, for logistic regression: without a delta, or with many rows.

    The ridge is for weights as long as early stopping would reach. With rows in plenty it is for
    longer ones, as objective perturbation stretches any guess. With fewer rows, which is without a
    delta, it is for somewhat longer ones, and gradients are capped as far as the curvature of one
    record stays the same.
    """

    why = "a ridge that is about as strong as the noise leaves weak directions alone"

    def applies(self, case: Case) -> bool:
        if case.problem.clips_groups:
            return False
        return case.unhindered and case.problem.loss == Logistic()

    def plan(self, case: Case) -> Plan:
        problem, norm = case.problem, reach(case.problem, case.rows_per_noise, capped=False)
        if case.region is not PLENTY:
            problem = capped(case, perturbed=True)
            norm = REACH_PERTURBED * reach(case.problem, case.rows_per_noise)
        return case.planned(_for_norm(norm, case, problem), problem)


class RoundedCorner(Rule):
    """Objective perturbation of a loss with its corner rounded, under pure privacy."""

    why = "a rounded corner lets the curvature of the data damp the noise"

    def applies(self, case: Case) -> bool:
        weak = case.problem.regularizer.kernel.zero or case.unhindered
        return case.budget.delta == 0.0 and weak and has_corner(case.problem)

    def plan(self, case: Case) -> Plan | None:
        return rounded_corners(case)


class SoftmaxDescent(Rule):
    """Noisy descent with momentum for softmax regression.

    Objective perturbation of softmax pays for a slope up to ``sqrt(2)`` and for a curvature of
    rank K - 1. Noisy gradient sums are clipped at slope 1, which few rows exceed, and descent
    stopped early leaves weak directions alone at less bias than a ridge. Once every usual
    direction stands out from noise, clipped rows bias it, and one solve is faster.
    """

    why = "noise blurs the usual directions of the data, and descent leaves weak ones alone"

    def applies(self, case: Case) -> bool:
        rows = case.rows_per_noise / math.sqrt(case.problem.dimension)
        softmax = case.problem.loss.probabilities and case.problem.loss.outputs > 1
        softmax &= case.budget.delta > 0
        few = rows <= SOFTMAX_ROWS or case.problem.grouping is not None
        return case.unhindered and softmax and few

    def plan(self, case: Case) -> Plan:
        problem, n = case.problem, case.problem.n_rows
        assert n is not None
        algorithm = NoisyGradient(sampler="full", rule="heavy-ball", **case.asked.parameters)
        setting = algorithm.setting(problem, case.budget)
        work = n * problem.dimension * setting.rule.steps(setting.usual_facts)
        rate = max(WORK_SOFTMAX / work, LEAST_RATE_SOFTMAX)
        return case.planned(replace(algorithm, **rows_of_a_step(rate, n)))


class RegressionDescent(Rule):
    """Noisy descent stopped early, for regression unless rows are many.

    Objective perturbation needs a ridge in proportion to its noise, which pulls all weights to
    zero, strong directions of the data and weak ones alike. Descent that stops early leaves
    only the weak ones alone. With many rows the ridge vanishes, while descent still stops
    somewhere.
    """

    regions = REGIONS[:2]
    why = "descent shrinks weak directions of the data only, a ridge all of them"

    def applies(self, case: Case) -> bool:
        problem = case.problem
        if not case.unhindered or case.budget.delta == 0 or problem.loss.target != "real":
            return False
        try:
            terms = problem.terms
        except MissingBound:
            return False
        everywhere = problem.loss.regularity(label=problem.bounding.label_bound, reach=math.inf)
        # Clipped further out than labels range, squares are better left to second moments.
        clipped = terms.lipschitz <= problem.bounds.weight * problem.row_norm * (1 + 1e-9)
        return math.isfinite(terms.smoothness) and (clipped or math.isfinite(everywhere.lipschitz))

    def plan(self, case: Case) -> Plan:
        return case.planned(early_stopped(case, case.problem))


class SmallestBound(Rule):
    """The algorithm with the smallest bound on its error, for everything else.

    At the same strength and budget objective and output perturbation put noise of the same size
    on the weights, but the curvature of the data damps the noise inside the objective and not the
    noise on the output. So output perturbation serves only where objective perturbation cannot.
    The bounds of exponential sampling are nearly attained on any data, those of objective
    perturbation on data without curvature only. So sampling is weighed for pure privacy, and
    where objective perturbation cannot serve. Second moments serve squares with a ridge at most.
    The ridge of a perturbed regression is for weights as long as early stopping would reach.
    """

    why = "it has the smallest bound on its error"

    def applies(self, case: Case) -> bool:
        return True

    def plan(self, case: Case) -> Plan:
        plans: list[Plan] = []
        refusals: list[Exception] = []
        for kind in (ObjectivePerturbation, NoisyGradient, OutputPerturbation):
            # At corners its bound is the smaller one, but descent is better on ordinary data.
            if kind is OutputPerturbation and (has_corner(case.problem) or not refusals):
                continue
            try:
                plans.append(_comparable(case, kind))
            except (Incompatible, BudgetTooSmall) as refusal:
                refusals.append(refusal)
            except MissingBound:
                if kind is not NoisyGradient:
                    raise
        pure_corner = case.budget.delta == 0.0 and bool(refusals)
        pure_corner &= case.problem.dimension <= SAMPLED_WEIGHTS
        ridge_alone = case.problem.regularizer.kernel.zero
        for other in (SufficientStatistics, ExponentialSampling):
            if other is ExponentialSampling and not (pure_corner or not plans):
                continue
            if other is SufficientStatistics and not ridge_alone:
                continue
            try:
                plans.append(_comparable(case, other))
            except (Incompatible, BudgetTooSmall, MissingBound) as refusal:
                refusals.append(refusal)
        if not plans:
            raise refusals[0]
        best = min(plans, key=lambda plan: plan.expected_excess)
        # A ridge that is asked for is the least; it says nothing of the norm.
        free = replace(case, asked=replace(case.asked, strength=None)).unhindered
        perturbed = best.algorithm == ObjectivePerturbation.name
        if perturbed and free and case.problem.loss.target == "real":
            norm = reach(case.problem, case.rows_per_noise)
            return case.planned(_for_norm(norm, case, case.problem))
        return best


def _for_norm(norm: float, case: Case, problem: Problem) -> ObjectivePerturbation:
    """Return one run whose ridge is for weights of that norm."""
    if case.region is not PLENTY:
        # The ridge would be for shorter weights than the guess, by the rows.
        norm *= norm / ObjectivePerturbation(norm_guess=norm).aim(problem, case.budget)
    return ObjectivePerturbation(**({"norm_guess": norm} | case.asked.parameters))


def _comparable(case: Case, kind: type) -> Plan:
    """Return the plan of an algorithm, with a bound where it has a rule with one."""
    algorithm = kind(**case.asked.parameters)
    if isinstance(algorithm, NoisyGradient):
        setting = algorithm.setting(case.problem, case.budget)
        # No bound is known with momentum.
        if setting.rule.name == HeavyBall.name:
            algorithm = replace(algorithm, rule="smooth")
    return case.planned(algorithm)


RULES: tuple[Rule, ...] = (
    EarlyStopping(),
    ManyRows(),
    TwoRuns(),
    OneRun(),
    RoundedCorner(),
    SoftmaxDescent(),
    RegressionDescent(),
    SmallestBound(),
)
"""All rules; the last one is for every case."""
